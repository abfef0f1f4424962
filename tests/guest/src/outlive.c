// SPDX-License-Identifier: MIT
/*
 * Has buffers of every kind and a queue of its own on a disk that goes.
 *
 *	outlive DISK WINDOW BUSY GONE UNBOUND
 *
 * Transfers until one fails; the file BUSY appears when all is in use.  Then
 * makes every call there is, and again when there is a file UNBOUND; the file
 * GONE appears between.  Each call is a line: its name and what came of it.
 * WINDOW is the physical address of an open window.
 */
#include <linux/fs.h>

#include "common.h"

#define BYTES (64ul << 10)

enum { HEAP, POOL, WINDOW, BUFFERS };

static int file;
static unsigned char *memory;
static uint32_t ids[2 * BUFFERS];
static unsigned char *mapped[BUFFERS];

static void say(const char *name, long result)
{
	printf("%s %s\n", name, result < 0 ? strerrorname_np(errno) : "ok");
}

static struct chario_buffer_create describe(uint32_t kind, uint64_t address)
{
	return (struct chario_buffer_create){ .size = sizeof(struct chario_buffer_create),
					      .kind = kind,
					      .address = address,
					      .bytes = BYTES };
}

static void create(int place, struct chario_buffer_create c)
{
	if (ioctl(file, CHARIO_IOC_BUFFER_CREATE, &c))
		die("a buffer of kind %u", c.kind);
	ids[place] = c.id;
	if (!c.mmap_offset || place >= BUFFERS)
		return;
	mapped[place] = must_map(BYTES, MAP_SHARED, file, c.mmap_offset);
}

static long transfer(uint32_t id)
{
	struct chario_transfer t = { .size = sizeof(t), .buffer = id, .bytes = BYTES };

	return ioctl(file, CHARIO_IOC_TRANSFER, &t);
}

static long destroy(uint32_t id)
{
	struct chario_buffer_destroy d = { .size = sizeof(d), .id = id };

	return ioctl(file, CHARIO_IOC_BUFFER_DESTROY, &d);
}

static void begin(uint64_t window)
{
	struct chario_queue_create queue = { .size = sizeof(queue), .cpu = -1 };

	memory = must_map_own(BYTES, 0);
	/* Two of each: one is given back after each step of the end. */
	for (int i = 0; i < 2; i++) {
		create(i * BUFFERS + HEAP, describe(CHARIO_BUFFER_REGISTERED, (uintptr_t)memory));
		create(i * BUFFERS + POOL, describe(CHARIO_BUFFER_POOL, 0));
		create(i * BUFFERS + WINDOW, describe(CHARIO_BUFFER_WINDOW, window + i * BYTES));
	}
	if (ioctl(file, CHARIO_IOC_QUEUE_CREATE, &queue))
		die("a queue");
}

static void ask_options(void)
{
	struct chario_info info = { .size = sizeof(info) };
	struct chario_file_options options = { .size = sizeof(options) };
	struct chario_queue_create queue = { .size = sizeof(queue), .cpu = -1 };
	struct chario_timeline_open timeline = { .size = sizeof(timeline), .records = 64 };
	struct chario_pin pin = { .size = sizeof(pin), .wanted = CHARIO_PIN_APST };

	say("info", ioctl(file, CHARIO_IOC_INFO, &info));
	say("set-file", ioctl(file, CHARIO_IOC_SET_FILE, &options));
	say("queue-create", ioctl(file, CHARIO_IOC_QUEUE_CREATE, &queue));
	say("timeline-open", ioctl(file, CHARIO_IOC_TIMELINE_OPEN, &timeline));
	say("set-pin", ioctl(file, CHARIO_IOC_SET_PIN, &pin));
}

static void ask_buffers(void)
{
	struct chario_buffer_create registered =
		describe(CHARIO_BUFFER_REGISTERED, (uintptr_t)memory);
	struct chario_buffer_create pool = describe(CHARIO_BUFFER_POOL, 0);
	struct chario_buffer_sync sync = { .size = sizeof(sync),
					   .id = ids[POOL],
					   .bytes = BYTES,
					   .direction = CHARIO_SYNC_FOR_CPU };
	void *at;

	say("register", ioctl(file, CHARIO_IOC_BUFFER_CREATE, &registered));
	say("pool", ioctl(file, CHARIO_IOC_BUFFER_CREATE, &pool));
	say("sync", ioctl(file, CHARIO_IOC_BUFFER_SYNC, &sync));
	at = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, file, (off_t)ids[POOL] * 4096);
	say("mmap", at == MAP_FAILED ? -1 : 0);
}

/* Every call there is; then the buffers from a place on are given back. */
static void ask(int from)
{
	say("transfer-heap", transfer(ids[from + HEAP]));
	say("transfer-pool", transfer(ids[from + POOL]));
	say("transfer-window", transfer(ids[from + WINDOW]));
	say("read", pread(file, memory, BYTES, 0));
	say("write", pwrite(file, memory, BYTES, 0));
	say("fsync", fsync(file));
	say("seek", lseek(file, 0, SEEK_END));
	ask_options();
	ask_buffers();
	say("destroy-heap", destroy(ids[from + HEAP]));
	say("destroy-pool", destroy(ids[from + POOL]));
	say("destroy-window", destroy(ids[from + WINDOW]));
	/* What is mapped stays memory. */
	memset(mapped[POOL], 1, BYTES);
	memset(mapped[WINDOW], 1, BYTES);
	say("memory", mapped[POOL][BYTES - 1] == 1 && mapped[WINDOW][BYTES - 1] == 1 ? 0 : -1);
}

int main(int argc, char **argv)
{
	unsigned int turn = 0;

	if (argc != 6)
		die("usage: outlive DISK WINDOW BUSY GONE UNBOUND");
	file = must_open(argv[1], O_RDWR);
	begin(number(argv[2]));
	while (transfer(ids[turn++ % BUFFERS]) == (long)BYTES)
		if (turn == 2 * BUFFERS)
			touch(argv[3]);
	say("under-way", -1);
	ask(0);
	touch(argv[4]);
	await(argv[5]);
	ask(BUFFERS);
	return 0;
}
