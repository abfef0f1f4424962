/* SPDX-License-Identifier: MIT */
/*
 * The two ends of a disk as a file in memory, for libraries that read and write at any place:
 * a character disk needs whole blocks.
 *
 * The file has the size of the disk, and is empty except for the first and the last
 * mebibytes: marks of file systems and partition tables are there.
 */
#ifndef CHARIO_CLI_ENDS_H
#define CHARIO_CLI_ENDS_H

#include <stdint.h>

#include <chario/device.h>

/**
 * struct cli_ends - a disk, and two files in memory, of its size, that hold its two ends
 * @device: the disk
 * @bytes: capacity of the disk in bytes
 * @block_bytes: logical block of the disk in bytes
 * @fd: descriptor of the file that may be read and changed
 * @read: descriptor of the file that keeps the ends as they were read from the disk
 */
struct cli_ends {
	struct chario_device *device;
	uint64_t bytes;
	uint32_t block_bytes;
	int fd;
	int read;
};

/*
 * Read the ends of a disk, a block device or a file.  @flags: O_RDONLY or O_RDWR.  Returns 0 or
 * a negative errno; the caller closes @ends in any case.
 */
int cli_open_ends(struct cli_ends *ends, const char *name, int flags);

/*
 * Write what has changed in the file to the disk, durably, the first end first.  A block that
 * another program has written meanwhile is left alone.  Returns 0 or a negative errno.
 */
int cli_restore_ends(const struct cli_ends *ends);

void cli_close_ends(const struct cli_ends *ends);

#endif /* CHARIO_CLI_ENDS_H */
