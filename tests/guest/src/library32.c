// SPDX-License-Identifier: MIT
/*
 * What the library wants of liburing, for programs of 32 bits: Debian has
 * liburing for those of 64 only, so that for these there are no rings, and
 * queues are threads.
 */
#include <errno.h>
#include <liburing.h>
#include <stdlib.h>

int io_uring_queue_init_params(unsigned int entries, struct io_uring *ring,
			       struct io_uring_params *params)
{
	(void)entries;
	(void)ring;
	(void)params;
	return -ENOSYS;
}

/* Nobody has a ring to call the others with. */
#define NEVER(type, name, ...)                            \
	__attribute__((noreturn)) type name(__VA_ARGS__); \
	type name(__VA_ARGS__)                            \
	{                                                 \
		abort();                                  \
	}

#pragma GCC diagnostic ignored "-Wunused-parameter"
NEVER(void, io_uring_queue_exit, struct io_uring *ring)
NEVER(int, io_uring_submit, struct io_uring *ring)
NEVER(int, io_uring_register_files, struct io_uring *ring, const int *files, unsigned int count)
NEVER(int, io_uring_unregister_files, struct io_uring *ring)
NEVER(int, io_uring_wait_cqes, struct io_uring *ring, struct io_uring_cqe **cqe, unsigned int wait,
      struct __kernel_timespec *time, sigset_t *mask)
NEVER(struct io_uring_probe *, io_uring_get_probe_ring, struct io_uring *ring)
NEVER(void, io_uring_free_probe, struct io_uring_probe *probe)

/* liburing32.c has this one, for programs with rings of their own. */
#pragma weak __io_uring_get_cqe
NEVER(int, __io_uring_get_cqe, struct io_uring *ring, struct io_uring_cqe **cqe,
      unsigned int submit, unsigned int wait, sigset_t *mask)
