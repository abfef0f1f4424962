/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The checksum of what stands on a disk: CRC-32C, as iSCSI and NVMe have it.
 */
#ifndef CHARIO_CRC32C_H
#define CHARIO_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/*
 * The CRC-32C of @bytes at @memory, going on from @seed: 0 at the start, or the
 * checksum of what stands before, so that crc(crc(0, a), b) is crc(0, ab).
 */
uint32_t chario_crc32c(uint32_t seed, const void *memory, size_t bytes);

#endif /* CHARIO_CRC32C_H */
