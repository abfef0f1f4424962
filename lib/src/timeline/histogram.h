/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A histogram of times: 16 buckets for each power of two, so that a quantile is
 * at most a sixteenth too high, in memory that does not grow.
 */
#ifndef CHARIO_HISTOGRAM_H
#define CHARIO_HISTOGRAM_H

#include <stdint.h>

#define CHARIO_HISTOGRAM_FINE 4U /* log2 of the buckets of a power of two */

/* Times up to 2^44 ns, nearly five hours; the last bucket has longer ones too. */
#define CHARIO_HISTOGRAM_BUCKETS ((44U - CHARIO_HISTOGRAM_FINE + 1) << CHARIO_HISTOGRAM_FINE)

/**
 * struct chario_histogram - how often times were
 * @total: times
 * @counts: of them in each bucket
 */
struct chario_histogram {
	uint64_t total;
	uint64_t counts[CHARIO_HISTOGRAM_BUCKETS];
};

void chario_histogram_add(struct chario_histogram *histogram, uint64_t ns);

/*
 * A time that at least @per_mille of a thousand were not longer than; 0 where there
 * is none.
 */
uint64_t chario_histogram_quantile(const struct chario_histogram *histogram,
				   unsigned int per_mille);

#endif /* CHARIO_HISTOGRAM_H */
