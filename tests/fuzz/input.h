/* SPDX-License-Identifier: MIT */
/*
 * What is fuzzed: images to begin with, how they are mutated, and what is done with
 * them.  store-input.c has small stores, stream-input.c recordings.
 */
#ifndef CHARIO_FUZZ_INPUT_H
#define CHARIO_FUZZ_INPUT_H

#include <stddef.h>
#include <stdint.h>

/* Bytes that an image may grow to. */
#define INPUT_MOST (128U << 10)

/* Images to begin with. */
#define INPUTS 6

/* Times that the unit test mutates each: more where trying one costs less. */
extern const unsigned int input_mutations;

/* Make image @number: always the same, but for ids and times.  Returns its bytes. */
size_t input_make(unsigned int number, unsigned char *image);

/*
 * Change an image in a place that means something, and have its checksums right
 * most of the time.  Returns its new length, @most at most.
 */
size_t input_mutate(unsigned char *image, size_t bytes, size_t most, uint64_t *random);

/* Do everything with an image; ends the program where that goes wrong. */
void input_try(const unsigned char *image, size_t bytes);

/* A number for the place of @old: near it, round, at a limit, or any. */
uint64_t input_value(uint64_t *random, uint64_t old);

#endif /* CHARIO_FUZZ_INPUT_H */
