/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The rules of a transfer, for devices whose rules no kernel module keeps.
 */
#ifndef CHARIO_TRANSFER_H
#define CHARIO_TRANSFER_H

#include <stdint.h>
#include <sys/types.h>

#include <chario/uapi.h>

/**
 * struct chario_transfer_rules - what a device wants of a transfer
 * @access: O_RDONLY, O_WRONLY or O_RDWR: how it is open
 * @block_bytes: offset and length are multiples of this
 * @alignment_bytes: the place in the buffer is a multiple of this
 */
struct chario_transfer_rules {
	int access;
	uint32_t block_bytes;
	uint32_t alignment_bytes;
};

/*
 * What is wrong with a transfer whatever buffers there are: 0, -EINVAL, -EBADF,
 * or -EOPNOTSUPP for a physical address.
 */
int chario_transfer_check(const struct chario_transfer *transfer,
			  const struct chario_transfer_rules *rules);

/*
 * The bytes of a read or write that has been checked that lie on the device; 0
 * where there is nothing to do, -ENOSPC for a write behind the end.
 */
ssize_t chario_transfer_clip(const struct chario_transfer *transfer, uint64_t capacity_bytes);

#endif /* CHARIO_TRANSFER_H */
