/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* Records that are missing and were not durable, as far as the batches that are left tell. */
#ifndef CHARIO_LOSSES_H
#define CHARIO_LOSSES_H

#include <stdbool.h>
#include <stdint.h>

#include "stream/gaps.h"
#include "stream/tape.h"

/**
 * struct chario_losses_batch - a batch, and what has been read of it
 * @header: header of the batch; all zero before the first one
 * @first_segment: number of the segment in which its first record began, as far as known; if
 *	all before the batch is there, that of the batch
 * @given: number of records that end in it and have been read
 * @skips_middle: true if the record that began before the batch is not to be counted as missing
 * @start: number of the first record that counts, if it ends in the batch; else UINT64_MAX
 * @reached: number behind the last record that has been read
 * @voids: number of rooms that were given back, up to the place
 * @voids_started: the same up to the first record that counts
 * @voids_reached: the same up to the last record that has been read
 */
struct chario_losses_batch {
	struct chario_disk_batch header;
	uint64_t first_segment;
	uint64_t given;
	bool skips_middle;
	uint64_t start;
	uint64_t reached;
	uint64_t voids;
	uint64_t voids_started;
	uint64_t voids_reached;
};

/**
 * struct chario_losses_lost - records that the producer lost
 * @before: number of those before the first record that counts, if it ends before the batch, or
 *	before the first batch if no record counts yet
 * @reached: number of those before the last record that has been read, if it ends before the
 *	batch
 * @behind: number of those between that record and the end, behind the last batch
 */
struct chario_losses_lost {
	uint64_t before;
	uint64_t reached;
	uint64_t behind;
};

/**
 * enum chario_losses_end - the end up to which missing records have been counted
 * @CHARIO_LOSSES_OPEN: no end, only the last record that has been read
 * @CHARIO_LOSSES_ENDED: the end of the present part
 * @CHARIO_LOSSES_ENDED_BEFORE: the end of the last part that was closed, and nothing behind it
 */
enum chario_losses_end {
	CHARIO_LOSSES_OPEN,
	CHARIO_LOSSES_ENDED,
	CHARIO_LOSSES_ENDED_BEFORE,
};

/**
 * struct chario_losses - the missing records of a recording that is read from batch to batch
 * @batch: batch that is being read
 * @closed: header of the last batch of the last part that was closed; all zero if there is none
 * @reached_records: number of records committed up to the last one that has been read, if that ends
 *	before the batch, or is the end
 * @lost: records that the producer lost
 * @first_sequence: number of the first record of the first batch
 * @gaps: records that are missing in the batches before
 * @end: end that has been reached
 * @left_out: least number of numbers that a program that continues the recording leaves out for
 *	damage
 */
struct chario_losses {
	struct chario_losses_batch batch;
	struct chario_disk_batch closed;
	uint64_t reached_records;
	struct chario_losses_lost lost;
	uint64_t first_sequence;
	struct chario_gaps gaps;
	enum chario_losses_end end;
	uint64_t left_out;
};

/* Returns whether there has been a batch. */
bool chario_losses_have_begun(const struct chario_losses *losses);

/* Begin anew, at no batch of the same recording. */
void chario_losses_reset(struct chario_losses *losses);

/*
 * Take note of the newest segment of a ring that is known; @kept is what chario_tape_kept_slots()
 * returns.  A power cut can take the first headers of a window, and so hide that many newer ones.
 */
void chario_losses_set_newest(struct chario_losses *losses, uint64_t newest, uint64_t kept,
			      uint64_t window);

/*
 * Go on to a batch; @from_start says that the recording begins with it or a gap before it,
 * @is_joined that all of its first record that lies before it has been read.  @kept is what
 * chario_tape_kept_slots() returns.
 */
void chario_losses_go_to(struct chario_losses *losses, const struct chario_disk_batch *batch,
			 bool from_start, bool is_joined, uint64_t kept);

/* Forget all records before one of the present batch, from which on missing ones count. */
void chario_losses_start(struct chario_losses *losses, uint64_t sequence);

/* Count a record that ends in the present batch; @is_middle says that it began before. */
void chario_losses_give(struct chario_losses *losses, uint64_t sequence, bool is_middle);

/* Take note of a room in the present batch that was given back: its number is not missing. */
void chario_losses_take_back(struct chario_losses *losses);

/*
 * Returns the number of records behind the last one that has been read that were durable, as the
 * last batch tells, of which nothing but a header may be left.
 */
uint64_t chario_losses_count_durable_behind(const struct chario_losses *losses);

/*
 * Count as missing the records that chario_losses_count_durable_behind() returns; the rest of
 * @numbers were lost by the producer.
 */
void chario_losses_pass_durable(struct chario_losses *losses, uint64_t numbers);

/* Count the records that are missing behind the last one, up to the number @end. */
void chario_losses_end(struct chario_losses *losses, uint64_t end);

/*
 * Returns the number of missing sequence numbers, counted like those below, that were lost; @end
 * is that in the table.
 */
uint64_t chario_losses_count_lost(const struct chario_losses *losses, const struct store_end *end);

/*
 * Returns the number of missing sequence numbers that no batch tells to have been durable, or
 * whose segments were being overwritten.  They lie between the records that have been read,
 * and behind them after chario_losses_end().
 * @is_closed says that the table has the end of the part that has been read last.
 */
uint64_t chario_losses_count_undurable(const struct chario_losses *losses, bool is_closed);

#endif /* CHARIO_LOSSES_H */
