// SPDX-License-Identifier: MIT
/*
 * Processes that write to a store are killed at any moment, and others go on where they
 * were: what was durable once is never replaced by what is older.
 *
 *	successors STORE SEED ROUNDS WAY
 *
 * Each round has a writer of its own.  It opens the area, which is named for how often it
 * has been renamed, checks all of it, and then writes groups of blocks, makes them
 * durable and renames the area, until it is killed.  Each block says in which group it was
 * written; memory that all share says for each block which group has been begun last, and
 * which has become durable last.  WAY is how blocks are written: "calls" one after the
 * other, "ring" or "threads" eight at a time.
 */
#include <chario/area.h>
#include <chario/queue.h>
#include <chario/store.h>
#include <signal.h>

#include "common.h"
#include "system/sys.h"

#define BLOCK     4096U
#define NR_BLOCKS 256U
#define GROUP     8U
#define LIFE_US   300000U

/* What all processes know. */
static struct {
	uint64_t group;
	uint64_t name_begun;
	uint64_t name_durable;
	uint64_t groups_durable;
	uint64_t begun[NR_BLOCKS];
	uint64_t durable[NR_BLOCKS];
} *shared;

static uint64_t state;
static bool at_once, threads;

static int no_ring(unsigned int entries, struct io_uring *ring, struct io_uring_params *params)
{
	return -EPERM;
}

/* All words of a block are the number of its group, but for the first, which is its own. */
static void fill(uint64_t *words, uint64_t block, uint64_t group)
{
	words[0] = block;
	for (unsigned int i = 1; i < BLOCK / sizeof(*words); i++)
		words[i] = group;
}

static void check_block(const uint64_t *words, uint64_t block)
{
	uint64_t group = words[1];
	bool whole = words[0] == block || !group;

	for (unsigned int i = 1; i < BLOCK / sizeof(*words); i++)
		whole = whole && words[i] == group;
	if (whole && group >= shared->durable[block] && group <= shared->begun[block])
		return;
	printf("block %" PRIu64 " holds group %" PRIu64 "%s; durable was %" PRIu64
	       ", begun %" PRIu64 "\n",
	       block, group, whole ? "" : " in part", shared->durable[block], shared->begun[block]);
	fflush(stdout);
	_exit(3);
}

static int look(const struct chario_area_info *area, void *data)
{
	uint64_t number = strtoull(area->name, NULL, 10);

	if (number < shared->name_durable || number > shared->name_begun) {
		printf("the area is called %s; %" PRIu64 " was durable, %" PRIu64 " begun\n",
		       area->name, shared->name_durable, shared->name_begun);
		fflush(stdout);
		_exit(3);
	}
	*(uint64_t *)data = number;
	return 0;
}

static void name_of(uint64_t number, char name[24])
{
	snprintf(name, 24, "%" PRIu64, number);
}

/* Its only area: the name may change until a table that is being written has been read. */
static uint64_t open_area(struct chario_store *store, int flags, struct chario_area **area)
{
	uint64_t number = 0;
	char name[24];
	int err;

	do {
		must(chario_store_each(store, look, &number), "list");
		name_of(number, name);
		err = chario_area_open(store, name, flags, area);
	} while (err == -ENOENT);
	must(err, "open area");
	return number;
}

static void check_all(struct chario_area *area, const struct chario_buffer *buffer)
{
	const unsigned char *memory = chario_buffer_memory(buffer);

	for (uint64_t first = 0; first < NR_BLOCKS; first += GROUP) {
		must(chario_area_read_buffer(area, buffer, 0, GROUP * BLOCK, first * BLOCK, 0),
		     "read");
		for (uint64_t i = 0; i < GROUP; i++)
			check_block((const uint64_t *)(const void *)(memory + i * BLOCK),
				    first + i);
	}
}

static void write_at_once(struct chario_queue *queue, const struct chario_buffer *buffer,
			  const uint64_t *blocks, uint64_t offset)
{
	struct chario_queue_result result;

	for (uint64_t i = 0; i < GROUP; i++) {
		struct chario_transfer transfer = {
			.size = sizeof(transfer),
			.op = CHARIO_TRANSFER_WRITE,
			.buffer = chario_buffer_id(buffer),
			.buffer_offset = i * BLOCK,
			.disk_offset = offset + blocks[i] * BLOCK,
			.bytes = BLOCK,
		};

		must(chario_queue_add(queue, &transfer, i), "add");
	}
	must(chario_queue_submit(queue), "submit");
	for (uint64_t i = 0; i < GROUP; i++) {
		must(chario_queue_reap(queue, &result, 1, -1), "reap");
		must(result.result, "write");
	}
}

static void write_group(struct chario_area *area, struct chario_queue *queue,
			const struct chario_buffer *buffer)
{
	unsigned char *memory = chario_buffer_memory(buffer);
	uint64_t group = ++shared->group, blocks[GROUP];
	struct chario_area_info info;

	must(chario_area_get_info(area, &info, sizeof(info)), "info");
	for (uint64_t i = 0; i < GROUP; i++) {
		/* No block twice. */
		blocks[i] = i * (NR_BLOCKS / GROUP) + random_below(&state, NR_BLOCKS / GROUP);
		shared->begun[blocks[i]] = group;
		fill((uint64_t *)(void *)(memory + i * BLOCK), blocks[i], group);
	}
	if (queue)
		write_at_once(queue, buffer, blocks, info.offset);
	else
		for (uint64_t i = 0; i < GROUP; i++)
			must(chario_area_write_buffer(area, buffer, i * BLOCK, BLOCK,
						      blocks[i] * BLOCK, 0),
			     "write");
	must(chario_area_sync(area), "sync");
	for (uint64_t i = 0; i < GROUP; i++)
		shared->durable[blocks[i]] = group;
	shared->groups_durable++;
}

static void rename_area(struct chario_store *store, uint64_t *number)
{
	char from[24], to[24];
	int err;

	name_of(*number, from);
	if (*number + 1 > shared->name_begun)
		shared->name_begun = *number + 1;
	name_of(++*number, to);
	err = chario_store_rename(store, from, to);
	/* The last change of the writer before has come since we looked. */
	if (err != -ENOENT)
		must(err, "rename");
	shared->name_durable = *number;
}

static void write_on(const char *path)
{
	struct chario_queue *queue = NULL;
	struct chario_buffer *buffer;
	struct chario_store *store;
	struct chario_area *area;
	uint64_t number;

	if (threads)
		chario_sys.ring = no_ring;
	must(chario_store_open(path, O_RDWR, &store), "open store");
	number = open_area(store, O_RDWR, &area);
	must(chario_buffer_pool(chario_store_device(store), GROUP * BLOCK, 0, &buffer), "pool");
	check_all(area, buffer);
	if (at_once)
		must(chario_queue_open(chario_store_device(store), GROUP, 0, &queue), "queue");
	for (;;) {
		write_group(area, queue, buffer);
		if (!random_below(&state, 4))
			rename_area(store, &number);
	}
}

static void check_at_end(const char *path)
{
	struct chario_buffer *buffer;
	struct chario_store *store;
	struct chario_area *area;

	must(chario_store_open(path, O_RDWR, &store), "open store");
	open_area(store, O_RDWR, &area);
	must(chario_buffer_pool(chario_store_device(store), GROUP * BLOCK, 0, &buffer), "pool");
	check_all(area, buffer);
	chario_buffer_free(buffer);
	chario_area_close(area);
	chario_store_close(store);
}

static void make(const char *path)
{
	static unsigned char zeroes[NR_BLOCKS * BLOCK];
	const struct chario_store_layout layout = {
		.size = sizeof(layout),
		.flags = CHARIO_LAYOUT_REPLACE,
		.max_areas = 20,
	};
	struct chario_store *store;
	struct chario_area *area;

	must(chario_store_format(path, &layout), "format");
	must(chario_store_open(path, O_RDWR, &store), "open store");
	must(chario_store_create(store, "0", sizeof(zeroes), 0), "create");
	must(chario_area_open(store, "0", O_RDWR, &area), "open area");
	must(chario_area_write(area, zeroes, sizeof(zeroes), 0), "clear");
	must(chario_area_sync(area), "sync");
	chario_area_close(area);
	chario_store_close(store);
}

/* A writer, who is killed unless it finds something wrong before. */
static void run_round(const char *path)
{
	unsigned int life_us = (unsigned int)random_below(&state, LIFE_US);
	pid_t child;
	int status;

	fflush(stdout);
	child = fork();
	if (child < 0)
		die("fork");
	if (!child)
		write_on(path);
	usleep(life_us);
	kill(child, SIGKILL);
	if (waitpid(child, &status, 0) != child)
		die("wait");
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
		exit(3);
}

int main(int argc, char **argv)
{
	unsigned int rounds;

	if (argc != 5)
		die("usage: successors STORE SEED ROUNDS calls|ring|threads");
	state = number(argv[2]);
	rounds = (unsigned int)number(argv[3]);
	at_once = strcmp(argv[4], "calls") != 0;
	threads = !strcmp(argv[4], "threads");
	shared = must_map(sizeof(*shared), MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	make(argv[1]);
	for (unsigned int i = 0; i < rounds; i++)
		run_round(argv[1]);
	check_at_end(argv[1]);
	printf("%u writers, %" PRIu64 " groups durable of %" PRIu64 ", renamed %" PRIu64 " times\n",
	       rounds, shared->groups_durable, shared->group, shared->name_durable);
	return 0;
}
