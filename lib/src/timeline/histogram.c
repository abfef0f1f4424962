// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Log-linear buckets: the highest bit of a time selects the row, the bits below it the bucket. */
#include "timeline/histogram.h"

#define FINE  CHARIO_HISTOGRAM_FINE
#define COUNT CHARIO_HISTOGRAM_BUCKETS

static unsigned int bucket_of(uint64_t ns)
{
	unsigned int row, bucket;

	if (ns < 1U << FINE)
		return (unsigned int)ns;
	row = 63 - (unsigned int)__builtin_clzll(ns) - FINE;
	bucket = ((row + 1) << FINE) + ((unsigned int)(ns >> row) & ((1U << FINE) - 1));
	return bucket < COUNT ? bucket : COUNT - 1;
}

/* Returns the longest time of a bucket in nanoseconds. */
static uint64_t longest(unsigned int bucket)
{
	unsigned int row = bucket >> FINE;
	uint64_t within = bucket & ((1U << FINE) - 1);

	if (!row)
		return bucket;
	return ((within + (1U << FINE) + 1) << (row - 1)) - 1;
}

void chario_histogram_add(struct chario_histogram *histogram, uint64_t ns)
{
	histogram->total++;
	histogram->counts[bucket_of(ns)]++;
}

uint64_t chario_histogram_quantile(const struct chario_histogram *histogram, unsigned int per_mille)
{
	uint64_t wanted = (histogram->total * per_mille + 999) / 1000, seen = 0;

	if (!histogram->total)
		return 0;
	for (unsigned int i = 0; i < COUNT; i++) {
		seen += histogram->counts[i];
		if (seen >= wanted)
			return longest(i);
	}
	return longest(COUNT - 1);
}
