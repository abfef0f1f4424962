/* SPDX-License-Identifier: MIT */
/*
 * The two kinds of queues: each test of a file runs with io_uring, then with
 * threads.
 */
#ifndef CHARIO_KINDS_H
#define CHARIO_KINDS_H

#include <liburing.h>

#include "system/sys.h"
#include "tap.h"

/* A test of both. */
#define TEST_BOTH(function, claim)                     \
	static void function(void);                    \
	TAP_ADD(function, claim ", io_uring")          \
	static void function##_threads(void)           \
	{                                              \
		function();                            \
	}                                              \
	TAP_ADD(function##_threads, claim ", threads") \
	static void function(void)

static int forbid(unsigned int entries, struct io_uring *ring, struct io_uring_params *params)
{
	return -EPERM;
}

/* Whether queues are rings now. */
static inline bool kinds_is_ring(void)
{
	return chario_sys.ring != forbid;
}

static int (*ring_of_kernel)(unsigned int entries, struct io_uring *ring,
			     struct io_uring_params *params);

static void see_whether_there_are_rings(void)
{
	struct io_uring_params params = { .flags = IORING_SETUP_SQE128 };
	struct io_uring ring;
	int err = chario_sys.ring(1, &ring, &params);

	ring_of_kernel = chario_sys.ring;
	if (!err)
		io_uring_queue_exit(&ring);
	else
		printf("# no io_uring here (%s): threads in its place\n", strerror(-err));
	if (err)
		ring_of_kernel = forbid;
}

/* To be called before each test. */
static inline void kinds_next(void)
{
	static unsigned int nr_begun;

	if (!nr_begun)
		see_whether_there_are_rings();
	chario_sys.ring = nr_begun++ % 2 ? forbid : ring_of_kernel;
}

#endif /* CHARIO_KINDS_H */
