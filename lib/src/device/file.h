/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* The library's state of an open file or block device. */
#ifndef CHARIO_DEVICE_FILE_H
#define CHARIO_DEVICE_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "device/ops.h"
#include "device/transfer.h"

/**
 * struct chario_file - a file or block device
 * @rules: demands on a transfer
 * @capacity_bytes: farthest end that has been seen, in bytes; atomic
 * @number: device number of a block device
 * @block: true for a block device
 */
struct chario_file {
	struct chario_transfer_rules rules;
	uint64_t capacity_bytes;
	dev_t number;
	bool block;
};

/* Find out the file's demands on a transfer, which depend on its open flags. */
void chario_file_align(int fd, struct chario_file *file);

/* Measure the file in whole blocks.  Returns 0 or a negative errno. */
int chario_file_measure(int fd, const struct chario_file *file, uint64_t *capacity);

/* Returns whether the block device, or the file system of the file, is read-only. */
bool chario_file_is_read_only(int fd, bool block);

/* &struct chario_device_ops.get_info of a file. */
int chario_file_get_info(const struct chario_device *device, struct chario_info *info, size_t size);

#endif /* CHARIO_DEVICE_FILE_H */
