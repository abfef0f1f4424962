// SPDX-License-Identifier: MIT
/*
 * Writes a part of a disk through io_uring, reads it back, compares it.
 *
 *	uring DEVICE DEPTH CALLS BYTES [FLAG]...
 *
 * CALLS calls of BYTES each, in random order, DEPTH of them at a time.  FLAG is
 *	poll      IORING_SETUP_IOPOLL
 *	fixed     registered buffers
 *	async     have the kernel use its worker threads
 *	skew      buffers 4 bytes past a page's start
 *	transfer  buffers of CharIO, commands of io_uring
 *	pointer   the same, in entries of 64 bytes that say where the struct is
 *	dsync     each write is durable when it ends
 *
 * The last line says how many threads the process had at its end: one and the
 * worker threads that the kernel has made for calls that could not be started
 * at once.
 */
#include "ring.h"
#include "threads.h"

#define PAGE 4096ul

struct state {
	struct io_uring ring;
	int fd;
	unsigned int depth;
	uint64_t calls;
	uint64_t bytes;
	bool fixed;
	bool async;
	bool transfer;
	bool pointer;
	bool dsync;
	struct chario_transfer *transfers; /* one for each buffer */
	char **buffers;
	uint64_t *places; /* of the call in flight with this buffer */
	uint64_t *order;
};

static void shuffle(uint64_t *order, uint64_t count)
{
	uint64_t random = 1;

	for (uint64_t i = 0; i < count; i++)
		order[i] = i;
	for (uint64_t i = count; i > 1; i--) {
		uint64_t j = random_below(&random, i), kept = order[i - 1];

		order[i - 1] = order[j];
		order[j] = kept;
	}
}

/* Each 8 bytes of the disk get a value of their own. */
static uint64_t content(uint64_t place, uint64_t at)
{
	uint64_t state = place * 0x100000000 + at;

	return random_next(&state);
}

static void fill(struct state *s, unsigned int slot)
{
	for (uint64_t at = 0; at < s->bytes; at += 8) {
		uint64_t value = content(s->places[slot], at);

		memcpy(s->buffers[slot] + at, &value, 8);
	}
}

static void check(struct state *s, unsigned int slot)
{
	for (uint64_t at = 0; at < s->bytes; at += 8) {
		uint64_t value = content(s->places[slot], at);

		if (memcmp(s->buffers[slot] + at, &value, 8))
			die("wrong content at byte %" PRIu64, s->places[slot] * s->bytes + at);
	}
}

static void prepare_command(struct state *s, struct io_uring_sqe *sqe, unsigned int slot,
			    uint64_t offset, bool write)
{
	struct chario_transfer *t = &s->transfers[slot];

	t->op = write ? CHARIO_TRANSFER_WRITE : CHARIO_TRANSFER_READ;
	t->disk_offset = offset;
	t->bytes = s->bytes;
	t->flags = write && s->dsync ? CHARIO_TRANSFER_FUA : 0;
	ring_prep_transfer(sqe, s->fd, t, s->pointer);
}

static void submit(struct state *s, unsigned int slot, uint64_t place, bool write)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&s->ring);
	uint64_t offset = place * s->bytes;

	s->places[slot] = place;
	if (write)
		fill(s, slot);
	else
		memset(s->buffers[slot], 0xee, s->bytes);
	if (s->transfer)
		prepare_command(s, sqe, slot, offset, write);
	else
		ring_prep_call(sqe, s->fd, write, s->fixed ? (int)slot : -1, s->buffers[slot],
			       s->bytes, offset);
	if (write && s->dsync && !s->transfer)
		sqe->rw_flags = RWF_DSYNC;
	if (s->async)
		io_uring_sqe_set_flags(sqe, IOSQE_ASYNC);
	io_uring_sqe_set_data64(sqe, slot);
}

/* Wait for one call; its buffer is free again. */
static unsigned int reap(struct state *s, bool write)
{
	struct io_uring_cqe *cqe;
	unsigned int slot;

	must(io_uring_submit_and_wait(&s->ring, 1), "io_uring_enter");
	must(io_uring_wait_cqe(&s->ring, &cqe), "io_uring_enter");
	slot = (unsigned int)io_uring_cqe_get_data64(cqe);
	if (cqe->res != (int)s->bytes)
		die("%s of %" PRIu64 " bytes at %" PRIu64 " gave %d", write ? "write" : "read",
		    s->bytes, s->places[slot] * s->bytes, cqe->res);
	io_uring_cqe_seen(&s->ring, cqe);
	if (!write)
		check(s, slot);
	return slot;
}

static void pass(struct state *s, bool write)
{
	uint64_t next = 0, done = 0;

	while (next < s->calls && next < s->depth) {
		submit(s, (unsigned int)next, s->order[next], write);
		next++;
	}
	for (; done < s->calls; done++) {
		unsigned int slot = reap(s, write);

		if (next < s->calls)
			submit(s, slot, s->order[next++], write);
	}
}

static unsigned int parse(struct state *s, int argc, char **argv, bool *skew)
{
	unsigned int flags = 0;

	for (int i = 5; i < argc; i++) {
		if (!strcmp(argv[i], "poll"))
			flags |= IORING_SETUP_IOPOLL;
		else if (!strcmp(argv[i], "fixed"))
			s->fixed = true;
		else if (!strcmp(argv[i], "async"))
			s->async = true;
		else if (!strcmp(argv[i], "skew"))
			*skew = true;
		else if (!strcmp(argv[i], "transfer"))
			s->transfer = true;
		else if (!strcmp(argv[i], "pointer"))
			s->transfer = s->pointer = true;
		else if (!strcmp(argv[i], "dsync"))
			s->dsync = true;
		else
			die("no such flag: %s", argv[i]);
	}
	if (s->transfer && !s->pointer)
		flags |= IORING_SETUP_SQE128;
	return flags;
}

static void register_with_disk(struct state *s)
{
	s->transfers = calloc(s->depth, sizeof(*s->transfers));
	for (unsigned int i = 0; i < s->depth; i++) {
		s->transfers[i].size = sizeof(s->transfers[i]);
		s->transfers[i].buffer =
			must_create(s->fd, CHARIO_BUFFER_REGISTERED, s->buffers[i], s->bytes, 0).id;
	}
}

static void make_buffers(struct state *s, bool skew)
{
	uint64_t stride = (s->bytes / PAGE + 2) * PAGE;
	char *memory = must_map_own(stride * s->depth, 0);
	struct iovec *all = calloc(s->depth, sizeof(*all));

	s->buffers = calloc(s->depth, sizeof(*s->buffers));
	s->places = calloc(s->depth, sizeof(*s->places));
	s->order = calloc(s->calls, sizeof(*s->order));
	if (!all || !s->buffers || !s->places || !s->order)
		die("no memory");
	for (unsigned int i = 0; i < s->depth; i++) {
		s->buffers[i] = memory + i * stride + (skew ? 4 : 0);
		all[i] = (struct iovec){ s->buffers[i], s->bytes };
	}
	shuffle(s->order, s->calls);
	if (s->transfer)
		register_with_disk(s);
	if (s->fixed)
		must(io_uring_register_buffers(&s->ring, all, s->depth), "register buffers");
	free(all);
}

int main(int argc, char **argv)
{
	struct state s = { .fd = -1 };
	unsigned int flags;
	bool skew = false;

	if (argc < 5)
		die("usage: uring DEVICE DEPTH CALLS BYTES [FLAG]...");
	s.fd = must_open(argv[1], O_RDWR | O_DIRECT);
	s.depth = (unsigned int)number(argv[2]);
	s.calls = number(argv[3]);
	s.bytes = number(argv[4]);
	flags = parse(&s, argc, argv, &skew);
	ring_init(&s.ring, s.depth, flags);
	make_buffers(&s, skew);
	pass(&s, true);
	pass(&s, false);
	printf("{\"calls\": %" PRIu64 ", \"threads\": %u}\n", 2 * s.calls, count_threads());
	return 0;
}
