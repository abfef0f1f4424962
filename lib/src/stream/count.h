/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* Arithmetic on counts that stand on a disk, where damage may have made them anything. */
#ifndef CHARIO_COUNT_H
#define CHARIO_COUNT_H

#include <stdint.h>

/* Returns @count less @taken, or 0 where that is more. */
static inline uint64_t chario_saturating_sub(uint64_t count, uint64_t taken)
{
	return count > taken ? count - taken : 0;
}

#endif /* CHARIO_COUNT_H */
