/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* Records that are missing and were not durable, as far as the batches that are left tell. */
#ifndef CHARIO_LOSSES_H
#define CHARIO_LOSSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stream/tape.h"

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
 * struct chario_losses - the gaps of a recording that is read from batch to batch
 * @begun: true if @batch is known
 * @batch: header of the batch that is being read
 * @before: header of the last batch of the part before
 * @first_segment: number of the segment in which its first record began, as far as known; if
 *	all before the batch is there, that of the batch
 * @given: number of records that end in it and have been read
 * @is_middle_given: true if one of these began before the batch
 * @reached: number behind the last record that has been read
 * @voids: number of rooms in @batch that were given back, up to the place
 * @voids_reached: the same up to the last record that has been read
 * @voids_started: the same up to the first record that counts
 * @starts_here: true if that one ends in @batch
 * @start: number of that one
 * @lost_before: number of records that the producer lost before it, if it ends before @batch
 * @lost_reached: number that the producer lost before the last record that has been read, if
 *	that ends before @batch
 * @is_ended: true if the records that are missing at the end have been counted
 * @is_ended_before: true if those of the part before have been, and nothing of that of @batch
 * @durable: largest number of durable records in the header of any batch of the part of @batch
 * @gaps: gaps that may count, those of earlier parts first
 * @nr_gaps: number of gaps
 * @nr_past: number of gaps in earlier parts
 * @nr_sure: number of gaps before the last record that has been read
 * @room: number of gaps that there is memory for
 * @lap: number of segments of a ring that the one being written leaves alone
 * @worn_end: number behind the last segment of a ring that an interrupted program may have
 *	begun to overwrite, if the recording was not closed; 0 if there is none
 * @torn_end: the same for programs before the last one
 */
struct chario_losses {
	bool begun;
	struct chario_disk_batch batch;
	struct chario_disk_batch before;
	uint64_t first_segment;
	uint64_t given;
	bool is_middle_given;
	uint64_t reached;
	uint64_t voids;
	uint64_t voids_reached;
	uint64_t voids_started;
	bool starts_here;
	uint64_t start;
	uint64_t lost_before;
	uint64_t lost_reached;
	bool is_ended;
	bool is_ended_before;
	uint64_t durable;
	struct chario_gap *gaps;
	size_t nr_gaps;
	size_t nr_past;
	size_t nr_sure;
	size_t room;
	uint64_t lap;
	uint64_t worn_end;
	uint64_t torn_end;
};

/* Begin anew, at no batch of the same recording. */
void chario_losses_reset(struct chario_losses *losses);

/* Take note of the newest segment of a ring, of which @lap segments are left alone. */
void chario_losses_set_ring(struct chario_losses *losses, uint64_t newest, uint64_t lap);

/*
 * Go on to a batch; @is_whole says that the recording begins with it or a gap before it,
 * @is_joined that all of its first record that lies before it has been read.
 */
void chario_losses_pass(struct chario_losses *losses, const struct chario_disk_batch *batch,
			bool is_whole, bool is_joined);

/* Returns the number of records that the producer had lost when a batch began. */
uint64_t chario_losses_before_batch(const struct chario_disk_batch *batch);

/* Returns the number of records lost before a recording goes on behind its head or its end. */
uint64_t chario_losses_before_head(const struct chario_head *head, const struct store_end *end);

/* Forget all records before one of the present batch, from which on missing ones count. */
void chario_losses_start(struct chario_losses *losses, uint64_t sequence);

/* Count a record that ends in the present batch; @is_middle says that it began before. */
void chario_losses_give(struct chario_losses *losses, uint64_t sequence, bool is_middle);

/* Take note of a room in the present batch that was given back: its number is not missing. */
void chario_losses_take_back(struct chario_losses *losses);

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
