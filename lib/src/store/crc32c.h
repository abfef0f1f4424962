/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* The checksum of stored data: CRC-32C, as in iSCSI and NVMe. */
#ifndef CHARIO_CRC32C_H
#define CHARIO_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/*
 * Compute the CRC-32C of @bytes at @memory.  @seed is 0 at the start, or the checksum of
 * the data before, so that crc(crc(0, a), b) is crc(0, ab).
 */
uint32_t chario_crc32c(uint32_t seed, const void *memory, size_t bytes);

#endif /* CHARIO_CRC32C_H */
