/* SPDX-License-Identifier: MIT */
/*
 * Transfers as commands of io_uring, in each form that there is: the struct in
 * an entry of 128 bytes, or its address in one of 64; completed by interrupt or
 * polled.  There is one ring for each form.
 */
#ifndef GUEST_RING_H
#define GUEST_RING_H

#include <liburing.h>

#include "common.h"

#define RING_ENTRIES 8u
#define RING_PIECE   4096u

static inline void ring_init(struct io_uring *ring, unsigned int entries, unsigned int flags)
{
	must(io_uring_queue_init(entries, ring, flags), "io_uring_queue_init");
}

static inline void ring_submit(struct io_uring *ring, unsigned int count)
{
	if (io_uring_submit(ring) != (int)count)
		die("io_uring_submit");
}

/* Wait for a completion: its result. */
static inline int ring_reap(struct io_uring *ring)
{
	struct io_uring_cqe *cqe;
	int result;

	must(io_uring_wait_cqe(ring, &cqe), "io_uring_wait_cqe");
	result = cqe->res;
	io_uring_cqe_seen(ring, cqe);
	return result;
}

/* A read or write; @fixed is the number of a registered buffer, or below 0. */
static inline void ring_prep_call(struct io_uring_sqe *sqe, int fd, bool write, int fixed,
				  void *memory, size_t bytes, uint64_t offset)
{
	unsigned int size = (unsigned int)bytes;

	if (fixed < 0)
		io_uring_prep_rw(write ? IORING_OP_WRITE : IORING_OP_READ, sqe, fd, memory, size,
				 offset);
	else if (write)
		io_uring_prep_write_fixed(sqe, fd, memory, size, offset, fixed);
	else
		io_uring_prep_read_fixed(sqe, fd, memory, size, offset, fixed);
}

/* A transfer as a command: the struct in the entry, or its address where @pointer says so. */
static inline void ring_prep_transfer(struct io_uring_sqe *sqe, int fd,
				      const struct chario_transfer *t, bool pointer)
{
	uint64_t address = (uintptr_t)t;

	io_uring_prep_rw(IORING_OP_URING_CMD, sqe, fd, NULL, 0, 0);
	sqe->cmd_op = CHARIO_IOC_TRANSFER;
	/* From here on, an entry of 128 bytes has 80. */
	if (pointer)
		memcpy((char *)sqe + offsetof(struct io_uring_sqe, cmd), &address, sizeof(address));
	else
		memcpy((char *)sqe + offsetof(struct io_uring_sqe, cmd), t, sizeof(*t));
}

enum ring_form { RING_POLL = 1, RING_POINTER = 2, RING_FORMS = 4 };

static inline struct io_uring *ring_get(unsigned int form)
{
	static struct io_uring rings[RING_FORMS];
	static bool made[RING_FORMS];
	unsigned int flags = form & RING_POLL ? IORING_SETUP_IOPOLL : 0;

	if (!(form & RING_POINTER))
		flags |= IORING_SETUP_SQE128;
	if (!made[form])
		ring_init(&rings[form], RING_ENTRIES, flags);
	made[form] = true;
	return &rings[form];
}

/* Bytes of all, or the error of one. */
static inline long ring_collect(struct io_uring *ring, unsigned int count)
{
	long total = 0, failed = 0;

	must(io_uring_submit_and_wait(ring, count), "io_uring_enter");
	while (count--) {
		int result = ring_reap(ring);

		if (result < 0)
			failed = result;
		else
			total += result;
	}
	return failed ? failed : total;
}

/*
 * A transfer in three pieces of whole pages, or fewer where it is short, that
 * are submitted together.
 */
static inline long ring_transfer(int fd, unsigned int form, const struct chario_transfer *whole)
{
	uint64_t step = (whole->bytes / 3 + RING_PIECE - 1) / RING_PIECE * RING_PIECE;
	struct chario_transfer pieces[RING_ENTRIES];
	struct io_uring *ring = ring_get(form);
	unsigned int count = 0;
	uint64_t done = 0;

	do {
		uint64_t left = whole->bytes - done;
		struct chario_transfer *t = &pieces[count++];

		*t = *whole;
		t->size = sizeof(*t);
		t->bytes = left < step ? left : step;
		t->buffer_offset += done;
		t->disk_offset += done;
		done += t->bytes;
		ring_prep_transfer(io_uring_get_sqe(ring), fd, t, form & RING_POINTER);
	} while (done < whole->bytes);
	return ring_collect(ring, count);
}

#endif /* GUEST_RING_H */
