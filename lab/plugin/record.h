/* SPDX-License-Identifier: MIT */
/*
 * The file that the lab reads: 64-bit little-endian words. It starts with
 * RECORD_MAGIC and MAP_MAX_LAYERS; then records, each begun by a word with its
 * kind in the low and its length in words in the high half:
 *
 *	RECORD_SEGMENT	no words: a series of operations starts
 *	RECORD_OPERATION	the number of the CPU that began an operation, and the
 *			members of struct counters for that CPU
 *	RECORD_OTHER_VCPU	the same for another CPU, which executed something during
 *			the operation before; there may be several
 *	RECORD_SYMBOLS	where the CPU of the record before spent its instructions:
 *			one word a symbol, index in the low, count in the high half
 *	RECORD_POINT	the members of struct snapshot: a point that the operation
 *			before reached; there may be several, in the order of time
 */
#ifndef CHARIO_RECORD_H
#define CHARIO_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "points.h"
#include "scores.h"

#define RECORD_MAGIC 0x32544e434f494843ull /* "CHIOCNT2" */

enum record_kind {
	RECORD_SEGMENT = 1,
	RECORD_OPERATION = 2,
	RECORD_SYMBOLS = 3,
	RECORD_OTHER_VCPU = 4,
	RECORD_POINT = 5,
};

/* record_open() - create the file; false and a message when that fails. */
bool record_open(const char *path);

/* record_segment() - the next operations belong to a new series. */
void record_segment(void);

/* record_counters() - what @vcpu counted between @begin and @end. */
void record_counters(enum record_kind kind, unsigned int vcpu, const struct counters *begin,
		     const struct counters *end);

/* record_symbols() - the same by symbol, for @count symbols. */
void record_symbols(const uint64_t *begin, const uint64_t *end, size_t count);

/* record_points() - the points that the operation reached. */
void record_points(const struct points *points);

/* record_flush() - hand to the system what was recorded. */
void record_flush(void);

#endif
