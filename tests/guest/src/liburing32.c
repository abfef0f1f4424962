// SPDX-License-Identifier: MIT
/*
 * As much of liburing as uring.c calls and liburing.h does not define, for
 * programs of 32 bits: Debian has the library for those of 64 only.
 *
 * liburing.h fills the entries; here the two rings are mapped, and the kernel
 * is called for each submission and each wait.
 */
#include <liburing.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static void *map(int fd, size_t bytes, off_t offset)
{
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, offset);
}

static void find_submissions(struct io_uring_sq *sq, const struct io_sqring_offsets *at, char *ring)
{
	sq->khead = (unsigned int *)(ring + at->head);
	sq->ktail = (unsigned int *)(ring + at->tail);
	sq->kflags = (unsigned int *)(ring + at->flags);
	sq->array = (unsigned int *)(ring + at->array);
	sq->ring_mask = *(unsigned int *)(ring + at->ring_mask);
	sq->ring_entries = *(unsigned int *)(ring + at->ring_entries);
	for (unsigned int i = 0; i < sq->ring_entries; i++)
		sq->array[i] = i;
}

static void find_completions(struct io_uring_cq *cq, const struct io_cqring_offsets *at, char *ring)
{
	cq->khead = (unsigned int *)(ring + at->head);
	cq->ktail = (unsigned int *)(ring + at->tail);
	cq->cqes = (struct io_uring_cqe *)(ring + at->cqes);
	cq->ring_mask = *(unsigned int *)(ring + at->ring_mask);
	cq->ring_entries = *(unsigned int *)(ring + at->ring_entries);
}

int io_uring_queue_init(unsigned int entries, struct io_uring *ring, unsigned int flags)
{
	struct io_uring_params p = { .flags = flags };
	size_t entry = sizeof(struct io_uring_sqe) << !!(flags & IORING_SETUP_SQE128);
	char *sq, *cq;

	memset(ring, 0, sizeof(*ring));
	ring->ring_fd = (int)syscall(SYS_io_uring_setup, entries, &p);
	if (ring->ring_fd < 0)
		return -errno;
	ring->flags = p.flags;
	sq = map(ring->ring_fd, p.sq_off.array + p.sq_entries * sizeof(*ring->sq.array),
		 IORING_OFF_SQ_RING);
	cq = map(ring->ring_fd, p.cq_off.cqes + p.cq_entries * sizeof(*ring->cq.cqes),
		 IORING_OFF_CQ_RING);
	ring->sq.sqes = map(ring->ring_fd, p.sq_entries * entry, IORING_OFF_SQES);
	if (sq == MAP_FAILED || cq == MAP_FAILED || ring->sq.sqes == MAP_FAILED)
		return -errno;
	find_submissions(&ring->sq, &p.sq_off, sq);
	find_completions(&ring->cq, &p.cq_off, cq);
	return 0;
}

static int enter(struct io_uring *ring, unsigned int submit, unsigned int wait)
{
	long done = syscall(SYS_io_uring_enter, ring->ring_fd, submit, wait, IORING_ENTER_GETEVENTS,
			    NULL, 0);

	return done < 0 ? -errno : (int)done;
}

int io_uring_submit_and_wait(struct io_uring *ring, unsigned int wait)
{
	unsigned int fresh = ring->sq.sqe_tail - ring->sq.sqe_head;

	ring->sq.sqe_head = ring->sq.sqe_tail;
	__atomic_store_n(ring->sq.ktail, ring->sq.sqe_tail, __ATOMIC_RELEASE);
	return enter(ring, fresh, wait);
}

int __io_uring_get_cqe(struct io_uring *ring, struct io_uring_cqe **cqe, unsigned int submit,
		       unsigned int wait, sigset_t *mask)
{
	unsigned int head = *ring->cq.khead;
	int error = 0;

	while (!error && __atomic_load_n(ring->cq.ktail, __ATOMIC_ACQUIRE) == head) {
		error = enter(ring, submit, wait);
		error = error < 0 ? error : 0;
	}
	*cqe = &ring->cq.cqes[head & ring->cq.ring_mask];
	return error;
}

int io_uring_register_buffers(struct io_uring *ring, const struct iovec *iovecs, unsigned int count)
{
	long done = syscall(SYS_io_uring_register, ring->ring_fd, IORING_REGISTER_BUFFERS, iovecs,
			    count);

	return done < 0 ? -errno : (int)done;
}
