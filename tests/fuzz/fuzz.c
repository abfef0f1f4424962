// SPDX-License-Identifier: MIT
/*
 * For libFuzzer: a disk, or a recording, with anything on it.  `make fuzz-library`
 * runs it with each kind of input.
 */
#include <stdint.h>

#include "input.h"

/* What libFuzzer asks for, and has. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned int seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	input_try(data, size);
	return 0;
}

/* Blind mutations now and then: what they find no thought would have. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned int seed)
{
	uint64_t random = seed;

	if (most > INPUT_MOST)
		most = INPUT_MOST;
	if (seed % 8 == 0)
		size = LLVMFuzzerMutate(data, size, most);
	return input_mutate(data, size, most, &random);
}
