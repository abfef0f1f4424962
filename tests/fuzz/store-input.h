/* SPDX-License-Identifier: MIT */
/*
 * Images of small stores: ones to begin with, and how they are mutated.
 */
#ifndef CHARIO_STORE_INPUT_H
#define CHARIO_STORE_INPUT_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of an image that the fuzzer begins with, and that it may grow to. */
#define INPUT_BYTES (96U << 10)
#define INPUT_MOST  (128U << 10)

/* Images to begin with. */
#define INPUTS 6

/* Make image @number, of INPUT_BYTES: always the same, but for ids and times. */
void input_make(unsigned int number, unsigned char *image);

/*
 * Change an image in a place that means something, and have its checksums right
 * most of the time.  Returns its new length, @most at most.
 */
size_t input_mutate(unsigned char *image, size_t bytes, size_t most, uint64_t *random);

/* Do everything with an image; ends the program where that goes wrong. */
void input_try(const unsigned char *image, size_t bytes);

#endif /* CHARIO_STORE_INPUT_H */
