/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A histogram of times: 16 buckets for each power of two, so that a quantile is
 * at most a sixteenth too high, in memory that does not grow.
 */
#ifndef CHARIO_HISTOGRAM_H
#define CHARIO_HISTOGRAM_H

#include <stdint.h>

#define CHARIO_HISTOGRAM_FINE 4U /* log2 of the buckets of a power of two */

/* The buckets cover times up to 2^44 ns, nearly five hours; the last one has longer times too. */
#define CHARIO_HISTOGRAM_BUCKETS ((44U - CHARIO_HISTOGRAM_FINE + 1) << CHARIO_HISTOGRAM_FINE)

/**
 * struct chario_histogram - counted times
 * @total: number of times
 * @counts: number of times in each bucket
 */
struct chario_histogram {
	uint64_t total;
	uint64_t counts[CHARIO_HISTOGRAM_BUCKETS];
};

void chario_histogram_add(struct chario_histogram *histogram, uint64_t ns);

/*
 * Returns the shortest time that at least @per_mille of a thousand times do not exceed, in
 * nanoseconds; 0 if there are none.
 */
uint64_t chario_histogram_quantile(const struct chario_histogram *histogram,
				   unsigned int per_mille);

#endif /* CHARIO_HISTOGRAM_H */
