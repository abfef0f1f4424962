// SPDX-License-Identifier: MIT
/*
 * Writes a part of a disk, a file or a block device through a queue of the
 * library, reads it back through the queue and by pread(2), compares it.
 *
 *	queue DEVICE DEPTH CALLS BYTES [FLAG]...
 *
 * CALLS calls of BYTES each, DEPTH of them at a time, which are submitted
 * together.  FLAG is
 *	poll      a queue that is polled
 *	threads   as if there were no io_uring
 *	fua       each write is durable by itself
 *	forever   do not end
 *
 * Results are waited for with epoll, unless they are polled.  The last line says
 * what the device is, and how many threads there are in the end.
 */
#include <chario/queue.h>
#include <sys/epoll.h>

#include "common.h"
#include "system/sys.h"
#include "threads.h"

struct state {
	struct chario_device *device;
	struct chario_buffer *buffer;
	struct chario_queue *queue;
	unsigned char *memory;
	unsigned int depth;
	uint64_t calls;
	uint64_t bytes;
	uint32_t write_flags;
	int loop; /* epoll, or -1 */
};

static int no_ring(unsigned int entries, struct io_uring *ring, struct io_uring_params *params)
{
	return -ENOSYS;
}

/* Each 8 bytes get a value of their own. */
static uint64_t content(uint64_t call, uint64_t at)
{
	uint64_t state = call * 0x100000000 + at;

	return random_next(&state);
}

static void fill(struct state *s, unsigned int slot, uint64_t call)
{
	uint64_t *words = (uint64_t *)(s->memory + slot * s->bytes);

	for (uint64_t i = 0; i < s->bytes / 8; i++)
		words[i] = content(call, i);
}

static void compare(const void *memory, const struct state *s, uint64_t call)
{
	const uint64_t *words = memory;

	errno = 0;
	for (uint64_t i = 0; i < s->bytes / 8; i++)
		if (words[i] != content(call, i))
			die("call %" PRIu64 " differs at byte %" PRIu64, call, i * 8);
}

static void wait_for_results(const struct state *s)
{
	struct epoll_event event;
	int ret;

	if (s->loop < 0)
		return;
	do
		ret = epoll_wait(s->loop, &event, 1, -1);
	while (ret < 0 && errno == EINTR);
	must(ret < 0 ? -errno : ret, "epoll_wait");
}

static void reap(const struct state *s, unsigned int count, int64_t expected)
{
	struct chario_queue_result results[8];

	while (count) {
		int ret;

		wait_for_results(s);
		ret = chario_queue_reap(s->queue, results, 8, s->loop < 0 ? -1 : 0);
		must(ret, "chario_queue_reap");
		for (int i = 0; i < ret; i++) {
			must((long)results[i].result, "a transfer");
			if (results[i].result != expected)
				die("a transfer was short: %" PRId64, results[i].result);
		}
		count -= (unsigned int)ret;
	}
}

static void move(struct state *s, uint32_t op, uint64_t first, unsigned int count)
{
	for (unsigned int slot = 0; slot < count; slot++) {
		struct chario_transfer transfer = {
			.op = op,
			.flags = op == CHARIO_TRANSFER_WRITE ? s->write_flags : 0,
			.buffer = chario_buffer_id(s->buffer),
			.buffer_offset = slot * s->bytes,
			.disk_offset = (first + slot) * s->bytes,
			.bytes = s->bytes,
		};

		must(chario_queue_add(s->queue, &transfer, slot), "chario_queue_add");
	}
	must(chario_queue_submit(s->queue), "chario_queue_submit");
	reap(s, count, (int64_t)s->bytes);
}

static unsigned int batch(const struct state *s, uint64_t first)
{
	uint64_t left = s->calls - first;

	return left < s->depth ? (unsigned int)left : s->depth;
}

static void write_all(struct state *s)
{
	struct chario_transfer flush = { .op = CHARIO_TRANSFER_FLUSH };

	for (uint64_t first = 0; first < s->calls; first += s->depth) {
		for (unsigned int slot = 0; slot < batch(s, first); slot++)
			fill(s, slot, first + slot);
		move(s, CHARIO_TRANSFER_WRITE, first, batch(s, first));
	}
	must(chario_queue_add(s->queue, &flush, 0), "chario_queue_add");
	must(chario_queue_submit(s->queue), "chario_queue_submit");
	reap(s, 1, 0);
}

static void read_all(struct state *s)
{
	for (uint64_t first = 0; first < s->calls; first += s->depth) {
		move(s, CHARIO_TRANSFER_READ, first, batch(s, first));
		for (unsigned int slot = 0; slot < batch(s, first); slot++)
			compare(s->memory + slot * s->bytes, s, first + slot);
	}
}

/* What others see. */
static void read_plainly(const struct state *s)
{
	int fd = chario_device_fd(s->device);
	void *memory = aligned_alloc(4096, s->bytes);

	for (uint64_t call = 0; call < s->calls; call++) {
		ssize_t got = pread(fd, memory, s->bytes, (off_t)(call * s->bytes));

		must(got < 0 ? -errno : got, "pread");
		compare(memory, s, call);
	}
	free(memory);
}

static void open_all(struct state *s, const char *name, bool poll)
{
	struct epoll_event event = { .events = EPOLLIN };
	int fd;

	must(chario_device_open_any(name, O_RDWR, &s->device), name);
	must(chario_buffer_pool(s->device, s->depth * s->bytes, 0, &s->buffer), "a buffer");
	s->memory = chario_buffer_memory(s->buffer);
	must(chario_queue_open(s->device, s->depth, poll ? CHARIO_QUEUE_POLL : 0, &s->queue),
	     "chario_queue_open");
	fd = chario_queue_fd(s->queue);
	if (poll != (fd == -EOPNOTSUPP))
		die("chario_queue_fd: %d", fd);
	s->loop = poll ? -1 : epoll_create1(0);
	if (!poll && epoll_ctl(s->loop, EPOLL_CTL_ADD, fd, &event))
		die("epoll_ctl");
}

static void close_all(struct state *s)
{
	char *name = strdup(chario_device_path(s->device));

	must(chario_queue_close(s->queue), "chario_queue_close");
	must(chario_buffer_free(s->buffer), "chario_buffer_free");
	chario_device_close(s->device);
	/* Nothing goes on holding the device. */
	must(chario_device_open_any(name, O_RDWR | O_EXCL, &s->device), "O_EXCL");
	chario_device_close(s->device);
	free(name);
}

int main(int argc, char **argv)
{
	bool poll = false, forever = false;
	struct chario_info info;
	struct state s = { .loop = -1 };

	if (argc < 5)
		die("usage: queue DEVICE DEPTH CALLS BYTES [FLAG]...");
	s.depth = (unsigned int)number(argv[2]);
	s.calls = number(argv[3]);
	s.bytes = number(argv[4]);
	for (int i = 5; i < argc; i++) {
		poll |= !strcmp(argv[i], "poll");
		forever |= !strcmp(argv[i], "forever");
		if (!strcmp(argv[i], "threads"))
			chario_sys.ring = no_ring;
		if (!strcmp(argv[i], "fua"))
			s.write_flags = CHARIO_TRANSFER_FUA;
	}
	open_all(&s, argv[1], poll);
	must(chario_device_get_info(s.device, &info, sizeof(info)), "chario_device_get_info");
	do {
		write_all(&s);
		read_all(&s);
	} while (forever);
	read_plainly(&s);
	printf("{\"backend\": \"%s\", \"threads\": %u}\n", info.backend, count_threads());
	close_all(&s);
	return 0;
}
