// SPDX-License-Identifier: MIT
/*
 * Calls that are submitted together: io_uring, with and without memory of its own, polled
 * or not; commands of io_uring; and Linux's older aio.
 */
#include <sys/file.h>
#include <sys/syscall.h>

#include "../ring.h"
#include "siege.h"

enum { RING_PLAIN, RING_POLLED, RING_128, RING_64, RING_128_POLLED, RING_64_POLLED };

static const int rings[WAYS] = {
	[WAY_RING] = RING_PLAIN,
	[WAY_RING_FIXED] = RING_PLAIN,
	[WAY_RING_POLLED] = RING_POLLED,
	[WAY_RING_POLLED_FIXED] = RING_POLLED,
	[WAY_COMMAND_128] = RING_128,
	[WAY_COMMAND_64] = RING_64,
	[WAY_COMMAND_POLLED_128] = RING_128_POLLED,
	[WAY_COMMAND_POLLED_64] = RING_64_POLLED,
};

static const unsigned int ring_flags[] = {
	[RING_POLLED] = IORING_SETUP_IOPOLL,
	[RING_128] = IORING_SETUP_SQE128,
	[RING_128_POLLED] = IORING_SETUP_SQE128 | IORING_SETUP_IOPOLL,
	[RING_64_POLLED] = IORING_SETUP_IOPOLL,
};

/*
 * Linux 6.1 announces the workers of a new ring to processors that come before it has made
 * them, and dies of that.  Who has this lock alone switches processors.
 */
static int keep_processors(void)
{
	int fd = must_open("/run/siege", O_RDONLY | O_CREAT);

	if (flock(fd, LOCK_SH))
		die("/run/siege");
	return fd;
}

static struct io_uring *ring_of(struct seat *s, enum way way)
{
	int which = rings[way];
	struct io_uring *ring = &s->rings[which];
	struct iovec fixed = { s->fixed, MEMORY_BYTES };
	int processors, err;

	if (s->ring_made[which])
		return ring;
	processors = keep_processors();
	err = io_uring_queue_init(2 * PIECES, ring, ring_flags[which]);
	close(processors);
	if (!err && which <= RING_POLLED)
		err = io_uring_register_buffers(ring, &fixed, 1);
	must(err, "io_uring");
	s->ring_made[which] = true;
	return ring;
}

static void collect(struct io_uring *ring, struct op *op)
{
	struct io_uring_cqe *cqe;
	int ret;

	do
		ret = io_uring_submit_and_wait(ring, op->nr);
	while (ret == -EINTR || ret == -EAGAIN);
	for (uint32_t i = 0; i < op->nr; i++) {
		do
			ret = io_uring_wait_cqe(ring, &cqe);
		while (ret == -EINTR || ret == -EAGAIN);
		must(ret, "io_uring_wait_cqe");
		op->pieces[io_uring_cqe_get_data64(cqe)].result = cqe->res;
		io_uring_cqe_seen(ring, cqe);
	}
}

void run_ring(struct seat *s, struct op *op)
{
	struct io_uring *ring = ring_of(s, op->way);
	bool fixed = op->way == WAY_RING_FIXED || op->way == WAY_RING_POLLED_FIXED;

	for (uint32_t i = 0; i < op->nr; i++) {
		struct io_uring_sqe *sqe = io_uring_get_sqe(ring);
		const struct piece *p = &op->pieces[i];

		ring_prep_call(sqe, s->fd, op->write, fixed ? 0 : -1, p->memory, p->bytes,
			       p->disk_offset);
		io_uring_sqe_set_data64(sqe, i);
		if (chance(s, 8))
			io_uring_sqe_set_flags(sqe, IOSQE_ASYNC);
	}
	collect(ring, op);
}

void run_command(struct seat *s, struct op *op)
{
	struct io_uring *ring = ring_of(s, op->way);
	struct chario_transfer transfers[PIECES];

	for (uint32_t i = 0; i < op->nr; i++) {
		struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

		transfer_of(s, op, &op->pieces[i], &transfers[i]);
		ring_prep_transfer(sqe, s->fd, &transfers[i],
				   op->way == WAY_COMMAND_64 || op->way == WAY_COMMAND_POLLED_64);
		io_uring_sqe_set_data64(sqe, i);
	}
	collect(ring, op);
}

void run_aio(struct seat *s, struct op *op)
{
	struct iocb blocks[PIECES] = { 0 }, *list[PIECES];
	struct io_event events[PIECES];
	long submitted = 0, ended = 0, ret;

	if (!s->aio && syscall(SYS_io_setup, PIECES, &s->aio))
		die("io_setup");
	for (uint32_t i = 0; i < op->nr; i++) {
		blocks[i].aio_data = i;
		blocks[i].aio_lio_opcode = op->write ? IOCB_CMD_PWRITE : IOCB_CMD_PREAD;
		blocks[i].aio_fildes = (uint32_t)s->fd;
		blocks[i].aio_buf = (uintptr_t)op->pieces[i].memory;
		blocks[i].aio_nbytes = op->pieces[i].bytes;
		blocks[i].aio_offset = (int64_t)op->pieces[i].disk_offset;
		list[i] = &blocks[i];
	}
	while (submitted < op->nr) {
		ret = syscall(SYS_io_submit, s->aio, op->nr - submitted, list + submitted);
		if (ret <= 0)
			die("io_submit");
		submitted += ret;
	}
	while (ended < submitted) {
		ret = syscall(SYS_io_getevents, s->aio, 1, PIECES, events, NULL);
		if (ret < 0 && errno != EINTR)
			die("io_getevents");
		for (long i = 0; i < ret; i++)
			op->pieces[events[i].data].result = (long)events[i].res;
		ended += ret > 0 ? ret : 0;
	}
}
