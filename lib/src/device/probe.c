// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* The parts of CharIO that this machine has. */
#include <chario/list.h>
#include <chario/probe.h>
#include <chario/uapi.h>

#include <errno.h>

#include "system/kernel.h"
#include "machine/pci.h"
#include "system/sys.h"

/* Size in bytes of the first version of the struct. */
#define PROBE_MIN 80

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
		.features = chario_kernel_features(),
	};
	int err;

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
