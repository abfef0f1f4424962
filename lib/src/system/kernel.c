// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Features of the running kernel.  A version number says little: features are configured,
 * forbidden, and carried back to older kernels.
 */
#include "system/kernel.h"

#include <chario/probe.h>

#include <liburing.h>
#include <stdbool.h>

#include "system/pagemap.h"
#include "system/scope.h"
#include "system/sys.h"

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
static bool has_write_trace(void)
{
	int fault_fd CHARIO_SCOPED(chario_scope_close) = chario_pagemap_open_faults();
	int pagemap_fd CHARIO_SCOPED(chario_scope_close) = chario_pagemap_open();

	return fault_fd >= 0 && pagemap_fd >= 0 &&
	       !chario_pagemap_each(pagemap_fd, false, 0, 0, NULL, NULL);
}

uint64_t chario_kernel_features(void)
{
	uint64_t features = uring_features();

	if (has_write_trace())
		features |= CHARIO_PROBE_WRITE_TRACE;
	return features;
}
