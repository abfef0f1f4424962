// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The parts of CharIO that this machine has, and the features of its kernel that they use.
 * These are tried, because a version number says little: features are configured, forbidden,
 * and carried back to older kernels.  A feature that cannot be tried counts as missing.
 */
#include <chario/list.h>
#include <chario/probe.h>
#include <chario/uapi.h>

#include <liburing.h>

#include "machine/pci.h"
#include "system/pagemap.h"
#include "system/scope.h"
#include "system/sys.h"

/* Size in bytes of the first version of the struct. */
#define PROBE_MIN 80

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

static int count(const struct chario_list_disk *disk, void *data)
{
	uint32_t *nr_disks = data;

	(void)disk;
	(*nr_disks)++;
	return 0;
}

int chario_probe(struct chario_probe *probe, size_t size)
{
	struct chario_probe found = {
		.size = sizeof(found),
		.library_abi_version = CHARIO_ABI_VERSION,
		.library_version = CHARIO_VERSION,
		.features = uring_features(),
	};
	int err;

	if (has_write_trace())
		found.features |= CHARIO_PROBE_WRITE_TRACE;
	found.module_loaded = chario_sys_exists(CHARIO_MODULE);
	if (found.module_loaded) {
		err = chario_sys_read(found.module_version, sizeof(found.module_version),
				      CHARIO_MODULE "/version");
		if (err)
			return err;
	}
	err = chario_list_disks(count, &found.nr_disks);
	if (err)
		return err;
	return chario_sys_give(probe, size, &found, sizeof(found), PROBE_MIN);
}
