// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* CRC-32C by ISA-L, which uses the instructions that the processor has. */
#include "store/crc32c.h"

#include <isa-l/crc.h>

/* ISA-L counts in an int; this is a multiple of its unit of work. */
#define STEP_BYTES (1U << 30)

uint32_t chario_crc32c(uint32_t seed, const void *memory, size_t bytes)
{
	/* ISA-L omits the inversion at both ends, and its parameter is not const. */
	unsigned char *rest = (unsigned char *)(uintptr_t)memory;
	uint32_t crc = ~seed;

	for (; bytes > STEP_BYTES; bytes -= STEP_BYTES, rest += STEP_BYTES)
		crc = crc32_iscsi(rest, STEP_BYTES, crc);
	return ~crc32_iscsi(rest, (int)bytes, crc);
}
