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

int main(int argc, char **argv)
{
	if (argc == 1) {
		syscall(SYS_reboot, LINUX_REBOOT_MAGIC1, LINUX_REBOOT_MAGIC2,
			LINUX_REBOOT_CMD_KEXEC, 0);
		die("reboot");
	}
	if (argc != 4)
		die("usage: kexec [KERNEL INITRD COMMAND-LINE]");
	if (syscall(SYS_kexec_file_load, must_open(argv[1], O_RDONLY), must_open(argv[2], O_RDONLY),
		    strlen(argv[3]) + 1, argv[3], 0))
		die("kexec_file_load");
	return 0;
}
