// SPDX-License-Identifier: MIT
/*
 * What a store costs as it grows: transfers, bytes and time of its own for each
 * operation, at numbers of areas from 10 to 100,000.
 *
 *	store-costs [MOST]
 *
 * The disk is memory, so a time here is that of the library alone, checksums and
 * copies of blocks included: processor time of this thread, the mean of some calls.
 */
#include <inttypes.h>
#include <time.h>

#include "store-rig.h"

#define CALLS 20

static struct log_disk *disk;
static struct chario_store *store;
static uint64_t count;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static void must(int err)
{
	if (!err)
		return;
	printf("# an operation gives %d\n", err);
	exit(1);
}

static const char *name_of(uint64_t number)
{
	static char name[40];

	snprintf(name, sizeof(name), "area-%" PRIu64, number);
	return name;
}

/* operations; each is told which call it is */

static void reopen(uint64_t call)
{
	chario_store_close(store);
	must(rig_open(disk, O_RDWR, &store));
}

static int look(const struct chario_area_info *area, void *data)
{
	return 0;
}

static void list(uint64_t call)
{
	must(chario_store_each(store, look, NULL));
}

static void find(uint64_t call)
{
	struct chario_area_info info;

	must(chario_store_find(store, name_of(call * 7919 % count), &info, sizeof(info)));
}

static void create(uint64_t call)
{
	must(chario_store_create(store, name_of(count + call), 4096, 0));
}

/* What was created, and then as many in the middle of the others. */
static void remove_new(uint64_t call)
{
	must(chario_store_remove(store, name_of(count + call)));
}

static void remove_middle(uint64_t call)
{
	must(chario_store_remove(store, name_of(count / 2 + call)));
}

static void create_middle(uint64_t call)
{
	must(chario_store_create(store, name_of(count / 2 + call), 4096, 0));
}

static void rename_one(uint64_t call)
{
	char old[40];
	uint64_t number = call / 2 * 31 % count;

	strcpy(old, call % 2 ? "renamed" : name_of(number));
	must(chario_store_rename(store, old, call % 2 ? name_of(number) : "renamed"));
}

static void measure(const char *what, void (*operation)(uint64_t call), uint64_t calls)
{
	uint64_t reads = disk->nr_reads, writes = disk->nr_writes, flushes = disk->nr_flushes;
	uint64_t began = now_ns();

	for (uint64_t call = 0; call < calls; call++)
		operation(call);
	began = now_ns() - began;
	printf("%8" PRIu64 "  %-14s %8.1f reads %6.1f writes %6.1f durable %12.1f us\n", count,
	       what, (double)(disk->nr_reads - reads) / (double)calls,
	       (double)(disk->nr_writes - writes) / (double)calls,
	       (double)(disk->nr_flushes - flushes) / (double)calls,
	       (double)began / 1000.0 / (double)calls);
}

static void grow_to(uint64_t wanted)
{
	while (count < wanted) {
		must(chario_store_create(store, name_of(count), 4096, 0));
		count++;
	}
}

static void measure_all(void)
{
	uint64_t few = count / 2 < CALLS ? count / 2 : CALLS;

	measure("open", reopen, 3);
	measure("list", list, 3);
	measure("find", find, CALLS);
	measure("create", create, CALLS);
	measure("remove", remove_new, CALLS);
	measure("remove, middle", remove_middle, few);
	measure("create, middle", create_middle, few);
	measure("rename", rename_one, CALLS);
}

int main(int argc, char **argv)
{
	uint64_t most = argc > 1 ? strtoull(argv[1], NULL, 0) : 100000;
	const struct chario_store_layout layout = {
		.size = sizeof(layout),
		.max_areas = most + 2 * CALLS,
	};

	/* An area has a block, its entry twice a tenth of one. */
	disk = log_disk_create(most * 4096 * 13 / 10 + (1 << 20), 512);
	must(disk ? 0 : -ENOMEM);
	must(rig_format(disk, &layout));
	must(rig_open(disk, O_RDWR, &store));
	for (uint64_t wanted = 10; wanted <= most; wanted *= 10) {
		grow_to(wanted);
		measure_all();
	}
	chario_store_close(store);
	log_disk_destroy(disk);
	return 0;
}
