// SPDX-License-Identifier: MIT
/*
 * Hands the machine over to another kernel, by an orderly restart.
 *
 *	kexec KERNEL INITRD COMMAND-LINE      load it
 *	kexec                                 start what has been loaded
 */
#include <linux/reboot.h>
#include <sys/syscall.h>

#include "common.h"

static int open_image(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		die("%s", path);
	return fd;
}

int main(int argc, char **argv)
{
	if (argc == 1) {
		syscall(SYS_reboot, LINUX_REBOOT_MAGIC1, LINUX_REBOOT_MAGIC2,
			LINUX_REBOOT_CMD_KEXEC, 0);
		die("reboot");
	}
	if (argc != 4)
		die("usage: kexec [KERNEL INITRD COMMAND-LINE]");
	if (syscall(SYS_kexec_file_load, open_image(argv[1]), open_image(argv[2]),
		    strlen(argv[3]) + 1, argv[3], 0))
		die("kexec_file_load");
	return 0;
}
