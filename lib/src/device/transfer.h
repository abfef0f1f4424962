/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* The rules of a transfer, for devices without a kernel module that enforces them. */
#ifndef CHARIO_TRANSFER_H
#define CHARIO_TRANSFER_H

#include <stdint.h>
#include <sys/types.h>

#include <chario/uapi.h>

/**
 * struct chario_transfer_rules - the demands of a device on a transfer
 * @access: O_RDONLY, O_WRONLY or O_RDWR, the way the device is open
 * @block_bytes: unit of offset and length in bytes
 * @alignment_bytes: alignment of the place in the buffer in bytes
 */
struct chario_transfer_rules {
	int access;
	uint32_t block_bytes;
	uint32_t alignment_bytes;
};

/*
 * Check a transfer without regard to buffers.  Returns 0, -EINVAL, -EBADF, or -EOPNOTSUPP
 * for a physical address.
 */
int chario_transfer_check(const struct chario_transfer *transfer,
			  const struct chario_transfer_rules *rules);

/*
 * Cut a read or write that has been checked at the end of the device.  Returns its bytes; 0
 * if there is nothing to do, or -ENOSPC for a write behind the end.
 */
ssize_t chario_transfer_clip(const struct chario_transfer *transfer, uint64_t capacity_bytes);

#endif /* CHARIO_TRANSFER_H */
