// SPDX-License-Identifier: MIT
/*
 * The command-count contract: types/split against a model that shares nothing
 * with it.
 *
 * The model walks block by block and asks, at each border between two blocks,
 * whether a command may go on across it.  It is slow and has no arithmetic to
 * get wrong.
 */
#include "split.h"
#include "tap.h"

#define MAX_BLOCKS 64

/* Where commands end, as a flag for each block border of the call. */
static void model(const struct chario_split_limits *limits, uint64_t offset, uint64_t blocks,
		  uint32_t block_bytes, bool ends[MAX_BLOCKS + 1])
{
	uint64_t in_command = 0;

	memset(ends, 0, (MAX_BLOCKS + 1) * sizeof(ends[0]));
	for (uint64_t i = 1; i <= blocks; i++) {
		uint64_t in_call = i * block_bytes;

		in_command += block_bytes;
		ends[i] = in_command == limits->command_bytes ||
			  in_call % limits->chunk_bytes == 0 ||
			  (limits->boundary_bytes &&
			   (offset + in_call) % limits->boundary_bytes == 0) ||
			  i == blocks;
		if (ends[i])
			in_command = 0;
	}
}

static uint64_t commands(const struct chario_split_limits *limits, uint64_t offset, uint64_t length)
{
	struct chario_split split;
	uint64_t count = 0;

	chario_split_start(&split, limits, offset, length);
	while (chario_split_next(&split, limits))
		count++;
	return count;
}

static void compare(const struct chario_split_limits *limits, uint64_t offset, uint64_t blocks,
		    uint32_t block_bytes)
{
	uint64_t done = 0;
	bool ends[MAX_BLOCKS + 1];
	struct chario_split split;
	uint32_t bytes;

	model(limits, offset, blocks, block_bytes, ends);
	chario_split_start(&split, limits, offset, blocks * block_bytes);
	while ((bytes = chario_split_next(&split, limits)) != 0) {
		for (uint64_t at = done + block_bytes; at < done + bytes; at += block_bytes)
			CHECK(!ends[at / block_bytes]);
		done += bytes;
		CHECK(done <= blocks * block_bytes && done % block_bytes == 0);
		CHECK(ends[done / block_bytes]);
	}
	EQUAL(done, blocks * block_bytes);
	EQUAL(chario_split_next(&split, limits), 0);
}

/* Every command, chunk and boundary size up to 7 blocks, every phase. */
TEST(test_all_small_limits, "all small limits as the block-by-block model")
{
	const uint32_t block = 512;

	for (uint32_t command = 1; command <= 7; command++)
		for (uint32_t chunk = 1; chunk <= 7; chunk++)
			for (uint32_t boundary = 0; boundary <= 7; boundary++)
				for (uint64_t offset = 0; offset <= 14; offset++)
					for (uint64_t blocks = 0; blocks <= 24; blocks++) {
						struct chario_split_limits limits = {
							command * block, chunk * block,
							boundary * block
						};

						compare(&limits, offset * block, blocks, block);
						if (tap_failed)
							return;
					}
}

static uint64_t next_random(uint64_t *state)
{
	/* xorshift64: the same numbers in every run. */
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Sizes that no model can walk: the parts of the rule, one by one. */
static void check_rules(const struct chario_split_limits *limits, uint64_t offset, uint64_t length)
{
	uint64_t pos = offset, end = offset + length, last;
	struct chario_split split;
	uint32_t bytes;

	chario_split_start(&split, limits, offset, length);
	while ((bytes = chario_split_next(&split, limits)) != 0) {
		last = pos + bytes - 1;
		CHECK(bytes <= limits->command_bytes);
		CHECK(last < end);
		EQUAL((pos - offset) / limits->chunk_bytes, (last - offset) / limits->chunk_bytes);
		if (limits->boundary_bytes)
			EQUAL(pos / limits->boundary_bytes, last / limits->boundary_bytes);
		/* No command is shorter than it must be. */
		CHECK(bytes == limits->command_bytes || last + 1 == end ||
		      (last + 1 - offset) % limits->chunk_bytes == 0 ||
		      (limits->boundary_bytes && (last + 1) % limits->boundary_bytes == 0));
		pos += bytes;
	}
	EQUAL(pos, end);
}

TEST(test_rules_at_random, "the rules hold for large limits at random")
{
	uint64_t state = 0x9e3779b97f4a7c15;

	for (int i = 0; i < 20000 && !tap_failed; i++) {
		uint32_t block = next_random(&state) & 1 ? 512 : 4096;
		struct chario_split_limits limits = {
			.command_bytes = block * (uint32_t)(1 + next_random(&state) % 512),
			.chunk_bytes = block * (uint32_t)(1 + next_random(&state) % 8192),
			.boundary_bytes = block * (uint32_t)(next_random(&state) % 4 ?
								     next_random(&state) % 1024 :
								     0),
		};
		uint64_t offset = block * (next_random(&state) >> 16);
		uint64_t length = block * (next_random(&state) % 40000);

		check_rules(&limits, offset, length);
	}
}

/* The numbers that the documentation promises. */
TEST(test_defaults, "the default limits give the documented counts")
{
	const struct chario_split_limits limits = { 128 << 10, 4 << 20, 0 };

	EQUAL(commands(&limits, 0, 0), 0);
	EQUAL(commands(&limits, 0, 512), 1);
	EQUAL(commands(&limits, 4096, 1 << 20), 8);
	EQUAL(commands(&limits, 0, (1 << 20) + 512), 9);
	EQUAL(commands(&limits, 512, 16 << 20), 128);
}

/* The last block that a 64-bit offset can name. */
TEST(test_far_end, "a call that ends at 2^63 is split to its end")
{
	const struct chario_split_limits limits = { 128 << 10, 4 << 20, 128 << 10 };
	const uint64_t end = 1ULL << 63;

	check_rules(&limits, end - (9 << 20) - 512, (9 << 20) + 512);
}

/* A chunk that is no multiple of the command ends with a short command. */
TEST(test_chunk_not_multiple, "a chunk that is no multiple of the command")
{
	const struct chario_split_limits limits = { 4096, 10240, 0 };

	EQUAL(commands(&limits, 0, 20480), 6);
}

TEST_MAIN(tap_nothing, tap_nothing)
