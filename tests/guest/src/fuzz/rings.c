// SPDX-License-Identifier: MIT
/*
 * io_uring: entries of both sizes, polled or not, in batches; and rings that
 * are closed with commands in flight.
 */
#include "fuzz.h"

#define ENTRIES 16
/* Behind the struct of an ioctl: a struct for each entry, reused at will. */
#define STRUCTS (PAGE / sizeof(struct chario_transfer))

#define RING_KINDS 4

static const unsigned int ring_flags[RING_KINDS] = { 0, IORING_SETUP_SQE128, IORING_SETUP_IOPOLL,
						     IORING_SETUP_IOPOLL | IORING_SETUP_SQE128 };

static void begin_ring(struct fuzzer *f, unsigned int flags)
{
	f->ring_flags = flags;
	f->in_flight = 0;
	f->has_ring = !io_uring_queue_init(ENTRIES, &f->ring, f->ring_flags);
}

/* Whatever is in flight: the kernel waits for it, or takes it back. */
void end_ring(struct fuzzer *f)
{
	if (f->has_ring)
		io_uring_queue_exit(&f->ring);
	f->has_ring = false;
}

static enum kind kind_of_ring(const struct fuzzer *f)
{
	bool polled = f->ring_flags & IORING_SETUP_IOPOLL;

	if (f->ring_flags & IORING_SETUP_SQE128)
		return polled ? KIND_URING_POLLED_128 : KIND_URING_128;
	return polled ? KIND_URING_POLLED_64 : KIND_URING_64;
}

/* Mostly: elsewhere there is little to try out. */
static struct open_file *file_with_buffer(struct fuzzer *f)
{
	struct open_file *file = some_file(f);

	for (int i = 0; i < FILES && !some_buffer(f, file)->id; i++)
		file = some_file(f);
	return file;
}

/* The address of a struct, or what is none. */
static uint64_t pointer(struct fuzzer *f, const struct open_file *file, struct chario_transfer *t)
{
	return !f->careful && chance(f, 64) ? edge(f, file->disk, sizeof(*t)) : (uintptr_t)t;
}

static void prepare_command(struct fuzzer *f, struct io_uring_sqe *sqe)
{
	struct open_file *file = file_with_buffer(f);
	struct chario_transfer *t = (struct chario_transfer *)(f->args + PAGE) + below(f, STRUCTS);
	enum kind kind = kind_of_ring(f);
	uint64_t address = pointer(f, file, t);

	build_transfer(f, file, t);
	/* No ring polls for some of its commands only. */
	if (!(f->ring_flags & IORING_SETUP_IOPOLL) && !chance(f, 32))
		t->flags &= ~CHARIO_TRANSFER_POLL;
	mutate(f, file->disk, t, sizeof(*t));
	io_uring_prep_rw(IORING_OP_URING_CMD, sqe, file->fd, NULL, 0, 0);
	sqe->cmd_op = CHARIO_IOC_TRANSFER;
	if (f->ring_flags & IORING_SETUP_SQE128)
		memcpy(sqe->cmd, t, sizeof(*t));
	else
		memcpy(sqe->cmd, &address, sizeof(address));
	if (chance(f, 16)) {
		kind = KIND_URING_GARBAGE;
		sqe->cmd_op = chance(f, 2) ? (uint32_t)random_next(&f->random) :
					     (uint32_t)_IO(CHARIO_IOC_TYPE, below(f, 256));
		sqe->uring_cmd_flags = chance(f, 4) ? 1u << below(f, 32) : 0;
	}
	io_uring_sqe_set_data64(sqe, kind);
}

static void prepare_file(struct fuzzer *f, struct io_uring_sqe *sqe)
{
	const struct open_file *file = some_file(f);
	unsigned int bytes = (unsigned int)some_blocks(f, file->disk, MOVE_BYTES);
	uint64_t offset = some_place(f, file->disk);

	switch (below(f, 5)) {
	case 0:
	case 1:
		io_uring_prep_read(sqe, file->fd, own_memory(f), bytes, offset);
		break;
	case 2:
	case 3:
		io_uring_prep_write(sqe, file->fd, some_memory(f), bytes, offset);
		break;
	default:
		io_uring_prep_fsync(sqe, file->fd, 0);
	}
	if (chance(f, 8))
		sqe->rw_flags = 1 << below(f, 6);
	io_uring_sqe_set_data64(sqe, KIND_URING_FILE);
}

static void prepare(struct fuzzer *f)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&f->ring);

	if (!sqe)
		return;
	if (chance(f, 5))
		prepare_file(f, sqe);
	else
		prepare_command(f, sqe);
	if (chance(f, 8))
		io_uring_sqe_set_flags(sqe, IOSQE_ASYNC);
	if (chance(f, 16))
		sqe->flags |= IOSQE_IO_LINK;
}

static void reap(struct fuzzer *f)
{
	struct io_uring_cqe *cqe;

	while (f->in_flight && !io_uring_peek_cqe(&f->ring, &cqe)) {
		note(f, (enum kind)io_uring_cqe_get_data64(cqe), cqe->res);
		io_uring_cqe_seen(&f->ring, cqe);
		f->in_flight--;
	}
}

void use_ring(struct fuzzer *f)
{
	unsigned int count = 1 + (unsigned int)below(f, 8), wanted = 0;
	int submitted;

	if (!f->has_ring)
		begin_ring(f, ring_flags[below(f, RING_KINDS)]);
	if (!f->has_ring)
		return;
	while (count--)
		prepare(f);
	/* All of them at times, else those that are too many. */
	if (f->careful || chance(f, 4) || f->in_flight > ENTRIES)
		wanted = f->in_flight + 1;
	submitted = io_uring_submit_and_wait(&f->ring, wanted);
	if (submitted > 0)
		f->in_flight += (unsigned int)submitted;
	reap(f);
	if (chance(f, 64))
		end_ring(f);
}

void use_every_ring(struct fuzzer *f)
{
	for (int i = 0; i < RING_KINDS; i++) {
		end_ring(f);
		begin_ring(f, ring_flags[i]);
		use_ring(f);
	}
}
