/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* Gaps: records that are missing and may not have been durable. */
#ifndef CHARIO_GAPS_H
#define CHARIO_GAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * struct chario_gap - records that are missing
 * @segment: number of the segment in which they began, as far as known
 * @from: number of records committed before the first of them
 * @to: number of records committed up to the last of them
 * @numbers: number of missing sequence numbers, without lost records
 * @undurable: number of these that no batch of their part tells to have been durable
 */
struct chario_gap {
	uint64_t segment;
	uint64_t from;
	uint64_t to;
	uint64_t numbers;
	uint64_t undurable;
};

/**
 * struct chario_gaps - the gaps that may count, those of earlier parts first
 * @list: gaps
 * @nr: number of gaps
 * @nr_closed: number of gaps up to the end of the last part that was closed
 * @nr_past: number of gaps in earlier parts
 * @nr_sure: number of gaps before the last record that has been read
 * @room: number of gaps that there is memory for
 * @durable: largest number of durable records that any batch of the present part tells
 * @overwritten_end: number behind the last segment of a ring that an interrupted program may have
 *	begun to overwrite, if the recording was not closed; 0 if there is none
 * @distrusted_end: number behind the last segment that counts as torn although the recording was
 *	closed: by a part before the last one, or left out because it is not trusted
 * @nr_hidden: number of segments by which @overwritten_end may still rise, because bad batches have
 *	hidden the newest segments
 */
struct chario_gaps {
	struct chario_gap *list;
	size_t nr;
	size_t nr_closed;
	size_t nr_past;
	size_t nr_sure;
	size_t room;
	uint64_t durable;
	uint64_t overwritten_end;
	uint64_t distrusted_end;
	uint64_t nr_hidden;
};

/* Returns a gap of @records records that ends at record @to, none of them known to be durable. */
struct chario_gap chario_gap_of(uint64_t segment, uint64_t to, uint64_t records);

/* Leave out of a gap what was durable. */
void chario_gap_settle(struct chario_gap *gap, uint64_t durable);

/* Forget all but @overwritten_end and @nr_hidden. */
void chario_gaps_reset(struct chario_gaps *gaps);

/* Add a gap, if it has any numbers. */
void chario_gaps_add(struct chario_gaps *gaps, const struct chario_gap *gap);

/* Take note of the number of durable records in the present part. */
void chario_gaps_settle(struct chario_gaps *gaps, uint64_t durable);

/* Begin the next part; all of one that was closed had become durable before. */
void chario_gaps_end_part(struct chario_gaps *gaps, bool is_closed);

/*
 * Returns the missing numbers of a gap of the present part that were not durable, or were being
 * overwritten; @is_closed says that the part was closed.
 */
uint64_t chario_gaps_judge(const struct chario_gaps *gaps, const struct chario_gap *gap,
			   bool is_closed);

/* Returns those of all gaps before the last record that has been read. */
uint64_t chario_gaps_count(const struct chario_gaps *gaps, bool is_closed);

/*
 * Returns the numbers not known to be durable in all gaps behind the last record that has been
 * read, and that end at @records committed records or before.
 */
uint64_t chario_gaps_count_behind(const struct chario_gaps *gaps, uint64_t records);

#endif /* CHARIO_GAPS_H */
