// SPDX-License-Identifier: MIT
/*
 * What several verbs do with a disk.
 */
#include <fcntl.h>

#include <chario/device.h>

#include "cli.h"

struct chario_device *cli_open_disk(const struct cli *cli, const char *name)
{
	struct chario_device *device;
	int err = chario_device_open(name, O_RDONLY, &device);

	if (!err)
		return device;
	cli_fail(cli, err, "cannot open disk \"%s\"", name);
	return NULL;
}

const char *cli_completion_name(uint32_t completion)
{
	switch (completion) {
	case CHARIO_COMPLETION_DEFAULT:
		return "default";
	case CHARIO_COMPLETION_IRQ:
		return "irq";
	case CHARIO_COMPLETION_POLL:
		return "poll";
	case CHARIO_COMPLETION_SPIN:
		return "spin";
	}
	return "unknown";
}
