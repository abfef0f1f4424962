/* SPDX-License-Identifier: MIT */
/*
 * The file that the lab reads: 64-bit little-endian words. It starts with
 * RECORD_MAGIC and MAP_MAX_LAYERS; then records, each begun by a word with its
 * kind in the low and its length in words in the high half:
 *
 *	RECORD_SEGMENT	no words: a series of operations starts
 *	RECORD_OPERATION	the members of struct counters
 *	RECORD_SYMBOLS	where the operation before spent its instructions: one
 *			word a symbol, index in the low, count in the high half
 */
#ifndef CHARIO_RECORD_H
#define CHARIO_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "map.h"

#define RECORD_MAGIC 0x31544e434f494843ull /* "CHIOCNT1" */

enum record_kind {
	RECORD_SEGMENT = 1,
	RECORD_OPERATION = 2,
	RECORD_SYMBOLS = 3,
};

/* One element of the scoreboard; all members only ever grow. */
struct counters {
	uint64_t layer[MAP_MAX_LAYERS];
	uint64_t irqs;
	uint64_t ticks;
	uint64_t switches;
	uint64_t sq_doorbells;
	uint64_t cq_doorbells;
	uint64_t stalls_missed; /* STALL gave up: the device was not awaited */
};

/* record_open() - create the file; false and a message when that fails. */
bool record_open(const char *path);

/* record_segment() - the next operations belong to a new series. */
void record_segment(void);

/* record_operation() - what was counted between @begin and @end. */
void record_operation(const struct counters *begin, const struct counters *end);

/* record_symbols() - the same by symbol, for @count symbols. */
void record_symbols(const uint64_t *begin, const uint64_t *end, size_t count);

/* record_flush() - hand to the system what was recorded. */
void record_flush(void);

#endif
