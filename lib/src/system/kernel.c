// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * What the running kernel can do.  Version numbers say little: features are
 * configured, forbidden, and carried back to older kernels.
 */
#include "system/kernel.h"

#include <chario/probe.h>

#include <fcntl.h>
#include <liburing.h>
#include <linux/userfaultfd.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "system/pagemap.h"
#include "system/sys.h"

/* Headers of Linux 6.1 do not know these. */
#ifndef UFFD_FEATURE_WP_ASYNC
#define UFFD_FEATURE_WP_ASYNC (1 << 15)
#endif

static uint64_t uring_features(void)
{
	struct io_uring_params params = { .flags = IORING_SETUP_SQE128 | IORING_SETUP_SUBMIT_ALL |
						   IORING_SETUP_COOP_TASKRUN };
	uint64_t features = CHARIO_PROBE_URING;
	struct io_uring_probe *operations;
	struct io_uring ring;

	if (chario_sys.ring(1, &ring, &params))
		return 0;
	operations = io_uring_get_probe_ring(&ring);
	if (operations && io_uring_opcode_supported(operations, IORING_OP_URING_CMD))
		features |= CHARIO_PROBE_URING_COMMAND;
	io_uring_free_probe(operations);
	io_uring_queue_exit(&ring);
	return features;
}

/* A search through no pages at all succeeds where there is such a search. */
static bool has_scan(void)
{
	int fd = chario_pagemap_open();
	uint64_t start = 0;
	int err = fd < 0 ? fd : chario_pagemap_find(fd, &start, start, NULL, 0);

	if (fd >= 0)
		close(fd);
	return !err;
}

/* Faults of user space only: that needs no right. */
static bool has_async_protection(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	long fd = syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
	bool found;

	if (fd < 0)
		return false;
	found = !ioctl((int)fd, UFFDIO_API, &api) && (api.features & UFFD_FEATURE_WP_ASYNC);
	close((int)fd);
	return found;
}

uint64_t chario_kernel_features(void)
{
	uint64_t features = uring_features();

	if (has_scan() && has_async_protection())
		features |= CHARIO_PROBE_WRITE_TRACE;
	return features;
}
