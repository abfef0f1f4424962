// SPDX-License-Identifier: MIT
#include "input.h"

#include "log-device.h"

#define BLOCK 4096U

uint64_t input_value(uint64_t *random, uint64_t old)
{
	switch (log_below(random, 6)) {
	case 0:
		return old + log_below(random, 9) - 4;
	case 1:
		return old ^ 1ULL << log_below(random, 64);
	case 2:
		return UINT64_MAX >> log_below(random, 64);
	case 3:
		return log_below(random, 2 * INPUT_MOST / BLOCK) * BLOCK;
	case 4:
		return 0;
	default:
		return log_random(random);
	}
}
