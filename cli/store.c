// SPDX-License-Identifier: MIT
/* Choosing the store, and opening it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <chario/device.h>
#include <chario/list.h>

#include "progress.h"
#include "store.h"

/**
 * struct only - the disk, if there is only one
 * @nr_disks: number of disks
 * @path: path of the last disk
 */
struct only {
	unsigned int nr_disks;
	char path[32];
};

#define SOON_NS  2000000000ULL
#define PAUSE_NS 50000000L

bool cli_once_more(int err, uint64_t begin_ns)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };

	if (err != -EBUSY || cli_now_ns() - begin_ns > SOON_NS)
		return false;
	nanosleep(&pause, NULL);
	return true;
}

int cli_open_area(const struct cli *cli, const char *name, int flags, struct chario_area **area)
{
	uint64_t begin_ns = cli_now_ns();
	int err;

	do
		err = chario_area_open(cli->store, name, flags, area);
	while (cli_once_more(err, begin_ns));
	return err;
}

void cli_forget_cache(const struct cli *cli)
{
	posix_fadvise(chario_device_fd(chario_store_device(cli->store)), 0, 0, POSIX_FADV_DONTNEED);
}

static int count_disk(const struct chario_list_disk *disk, void *data)
{
	struct only *only = data;

	only->nr_disks++;
	snprintf(only->path, sizeof(only->path), "%s", disk->path);
	return 0;
}

static const char *only_disk(const struct cli *cli)
{
	static struct only only;
	int err;

	only.nr_disks = 0;
	err = chario_list_disks(count_disk, &only);
	if (err) {
		cli_fail(cli, err, "cannot look for disks; give --store STORE");
		return NULL;
	}
	if (only.nr_disks == 1)
		return only.path;
	cli_say(cli,
		"which store? there %s %s of CharIO here\n"
		"give --store STORE (a disk, a block device or a file), or set CHARIO_STORE; "
		"the only disk of a machine needs neither",
		only.nr_disks ? "are several" : "is no", only.nr_disks ? "disks" : "disk");
	return NULL;
}

const char *cli_choose_store(const struct cli *cli)
{
	const char *set = getenv("CHARIO_STORE");

	if (cli->store_name && !*cli->store_name) {
		cli_say(cli, "the name of the store is empty");
		return NULL;
	}
	if (cli->store_name)
		return cli->store_name;
	return set && *set ? set : only_disk(cli);
}

bool cli_has_store(void)
{
	const char *set = getenv("CHARIO_STORE");
	struct only only = { 0 };

	return (set && *set) || (!chario_list_disks(count_disk, &only) && only.nr_disks == 1);
}

/* Warn that a part of the store is missing, because the disk has been cut off. */
static void tell_of_cut(const struct cli *cli, const char *name)
{
	struct chario_store_info info;
	struct chario_info disk;
	char is[32], was[32];

	if (chario_store_get_info(cli->store, &info, sizeof(info)) ||
	    chario_device_get_info(chario_store_device(cli->store), &disk, sizeof(disk)) ||
	    disk.capacity_bytes >= info.capacity_bytes)
		return;
	cli_say(cli, "\"%s\" has %s, and the store on it %s: what lies behind the end is missing",
		name, cli_exact_size(is, disk.capacity_bytes),
		cli_exact_size(was, info.capacity_bytes));
}

bool cli_open_store(struct cli *cli, int flags)
{
	const char *name = cli_choose_store(cli);
	int err;

	if (!name)
		return false;
	err = chario_store_open(name, flags, &cli->store);
	if (err)
		cli_fail_store(cli, err, "cannot open the store \"%s\"", name);
	else
		tell_of_cut(cli, name);
	return !err;
}

bool cli_find_area(const struct cli *cli, const char *name, struct chario_area_info *info)
{
	int err = chario_store_find(cli->store, name, info, sizeof(*info));

	if (err)
		cli_fail_area(cli, err, "cannot find \"%s\"", name);
	return !err;
}

int cli_areas_add(const struct chario_area_info *area, void *data)
{
	struct cli_areas *list = data;

	list->areas = cli_grow(list->areas, list->nr_areas, sizeof(*area));
	list->areas[list->nr_areas++] = *area;
	return 0;
}
