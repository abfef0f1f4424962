/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* Records that are missing and were not durable, as far as the batches that are left tell. */
#ifndef CHARIO_LOSSES_H
#define CHARIO_LOSSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stream/format.h"

/**
 * struct chario_gap - records that are missing
 * @from: number of records committed before the first of them
 * @to: number of records committed up to the last of them
 * @numbers: number of missing sequence numbers, without lost records
 */
struct chario_gap {
	uint64_t from;
	uint64_t to;
	uint64_t numbers;
};

/**
 * struct chario_losses - the gaps of a recording that is read from batch to batch
 * @begun: true if @batch is known
 * @batch: header of the batch that is being read
 * @given: number of records that end in it and have been read
 * @durable: largest number of durable records that a batch of its part tells
 * @gaps: gaps of the part that are behind these
 * @nr_gaps: number of gaps
 * @room: number of gaps that there is memory for
 * @undurable: number of missing sequence numbers that were not durable in earlier parts
 * @worn_end: number behind the last segment of a ring that an interrupted program may have
 *	begun to overwrite; 0 if there is none
 * @worn: number of sequence numbers that are missing in such segments
 */
struct chario_losses {
	bool begun;
	struct chario_disk_batch batch;
	uint64_t given;
	uint64_t durable;
	struct chario_gap *gaps;
	size_t nr_gaps;
	size_t room;
	uint64_t undurable;
	uint64_t worn_end;
	uint64_t worn;
};

/* Begin anew, at no batch. */
void chario_losses_reset(struct chario_losses *losses);

/* Go on to a batch; @is_whole says that the recording begins with it or a gap before it. */
void chario_losses_pass(struct chario_losses *losses, const struct chario_disk_batch *batch,
			bool is_whole);

/*
 * Returns the number of missing sequence numbers that no batch tells to have been durable, or
 * whose segments were being overwritten;
 * @is_closed says that the table has the end of the part that has been read last.
 */
uint64_t chario_losses_count(const struct chario_losses *losses, bool is_closed);

#endif /* CHARIO_LOSSES_H */
