// SPDX-License-Identifier: MIT
/*
 * A second open file of the same disk, which keeps reads in flight while calls
 * of the first one are counted.
 *
 * What the rival does is not counted itself: it submits before a call, and
 * looks for its completions after it.
 */
#include "bench.h"

#define RIVAL_READS 16

static struct chario_device *rival;
static struct chario_transfer reads[RIVAL_READS];
static struct io_uring ring;

static void take_queue(struct chario_device *device)
{
	struct chario_queue_create queue = { .size = sizeof(queue),
					     .depth = 32,
					     .flags = CHARIO_QUEUE_POLL };

	must(chario_device_take_queue(device, &queue, sizeof(queue)), "chario_device_take_queue");
}

void set_up_own_queue(struct bench *b)
{
	set_up_transfer(b);
	take_queue(b->device);
}

static void open_rival(const struct bench *b)
{
	static char memory[RIVAL_READS * 4096];
	struct chario_buffer *buffer;

	must(chario_device_open(b->path, O_RDONLY, &rival), b->path);
	must(chario_buffer_register(rival, memory, sizeof(memory), 0, &buffer),
	     "chario_buffer_register");
	must(io_uring_queue_init(RIVAL_READS, &ring, IORING_SETUP_IOPOLL | IORING_SETUP_SQE128),
	     "io_uring_queue_init");
	for (unsigned int i = 0; i < RIVAL_READS; i++)
		reads[i] = (struct chario_transfer){
			.size = sizeof(reads[i]),
			.op = CHARIO_TRANSFER_READ,
			.buffer = chario_buffer_id(buffer),
			.buffer_offset = i * 4096,
			.disk_offset = i * (uint64_t)b->bytes,
			.bytes = 4096,
		};
}

void set_up_shared_rival(struct bench *b)
{
	set_up_transfer(b);
	open_rival(b);
}

void set_up_own_rival(struct bench *b)
{
	set_up_own_queue(b);
	open_rival(b);
	take_queue(rival);
}

/* io_uring_submit() would look for completions too. */
static void submit_only(void)
{
	struct io_uring_sq *sq = &ring.sq;

	for (unsigned int at = sq->sqe_head; at != sq->sqe_tail; at++)
		sq->array[at & sq->ring_mask] = at & sq->ring_mask;
	sq->sqe_head = sq->sqe_tail;
	io_uring_smp_store_release(sq->ktail, sq->sqe_tail);
	if (io_uring_enter((unsigned int)ring.ring_fd, RIVAL_READS, 0, 0, NULL) != RIVAL_READS)
		fail("io_uring_enter");
}

void start_rival(struct bench *b)
{
	for (unsigned int i = 0; i < RIVAL_READS; i++) {
		struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);

		if (!sqe)
			fail("io_uring_get_sqe");
		memset(sqe, 0, 2 * sizeof(*sqe));
		sqe->opcode = IORING_OP_URING_CMD;
		sqe->fd = chario_device_fd(rival);
		sqe->cmd_op = CHARIO_IOC_TRANSFER;
		memcpy(sqe->cmd, &reads[i], sizeof(reads[i]));
	}
	submit_only();
}

void end_rival(struct bench *b)
{
	for (unsigned int i = 0; i < RIVAL_READS; i++) {
		struct io_uring_cqe *cqe;

		errno = -io_uring_wait_cqe(&ring, &cqe);
		if (errno || cqe->res != 4096)
			fail("a read of the rival");
		io_uring_cqe_seen(&ring, cqe);
	}
}
