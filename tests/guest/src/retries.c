// SPDX-License-Identifier: MIT
/*
 * Reads or sets how long a drive may retry: the Error Recovery feature of its namespaces.
 *
 *	retries CONTROLLER NAMESPACES            print the limit of each, from the first on
 *	retries CONTROLLER NAMESPACES LIMIT...   set them
 *
 * nvme-cli can do it too, a namespace a process, and each costs an emulated processor
 * half a second.
 */
#include <linux/nvme_ioctl.h>

#include "common.h"

#define SET_FEATURES   0x09
#define GET_FEATURES   0x0A
#define ERROR_RECOVERY 0x05

static uint32_t ask(int fd, uint8_t opcode, uint32_t nsid, uint32_t limit)
{
	struct nvme_admin_cmd command = {
		.opcode = opcode,
		.nsid = nsid,
		.cdw10 = ERROR_RECOVERY,
		.cdw11 = limit,
	};

	errno = 0;
	if (ioctl(fd, NVME_IOCTL_ADMIN_CMD, &command))
		die("namespace %u", nsid);
	return command.result;
}

int main(int argc, char **argv)
{
	uint32_t namespaces = argc < 3 ? 0 : (uint32_t)number(argv[2]);
	int fd;

	if (!namespaces || (argc != 3 && argc != 3 + (int)namespaces))
		die("usage: retries CONTROLLER NAMESPACES [LIMIT...]");
	fd = must_open(argv[1], O_RDONLY);
	for (uint32_t i = 0; i < namespaces; i++) {
		if (argc == 3)
			printf("%u\n", ask(fd, GET_FEATURES, i + 1, 0));
		else
			ask(fd, SET_FEATURES, i + 1, (uint32_t)number(argv[3 + i]));
	}
	close(fd);
	return 0;
}
