// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Records that are missing and were not durable.
 *
 * Each batch tells how many records its program knew to be durable when it was written.  A
 * power cut takes none of these, so a record among them that is missing is lost.  A record
 * behind those that the last batch of its part tells was on its way to the disk: a power cut
 * may take it, and leave one behind it.  It may also have become durable after that batch was
 * written; nothing on the disk tells, until the recording is closed.
 *
 * A program that continues a recording counts missing records as durable, so each part is
 * judged by its own batches.
 */
#include "stream/losses.h"

#include <stdlib.h>
#include <sys/param.h>

void chario_losses_reset(struct chario_losses *losses)
{
	free(losses->gaps);
	*losses = (struct chario_losses){ 0 };
}

/* Records that the ring was about to overwrite have gone as they should. */
static bool is_worn(struct chario_losses *losses, const struct chario_gap *gap, uint64_t segment)
{
	if (segment >= losses->worn_end)
		return false;
	losses->worn += gap->numbers;
	return true;
}

/* Returns 1 if the first record of a segment begins in the segment before, and goes with it. */
static uint64_t begins_before(const struct chario_disk_batch *batch)
{
	return batch->segment && !batch->offset && batch->flags & CHARIO_DISK_BATCH_MIDDLE;
}

/* Without memory a gap counts as one of durable records, which is the safe side. */
static void add_gap(struct chario_losses *losses, const struct chario_gap *gap, uint64_t segment)
{
	size_t room = losses->room ? 2 * losses->room : 16;
	struct chario_gap *gaps;

	if (!gap->numbers || is_worn(losses, gap, segment))
		return;
	if (losses->nr_gaps == losses->room) {
		gaps = reallocarray(losses->gaps, room, sizeof(*gaps));
		if (!gaps)
			return;
		losses->gaps = gaps;
		losses->room = room;
	}
	losses->gaps[losses->nr_gaps++] = *gap;
}

/* Leave out of the gaps what was durable. */
static void settle(struct chario_losses *losses, uint64_t durable)
{
	size_t left = 0;

	losses->durable = MAX(losses->durable, durable);
	for (size_t i = 0; i < losses->nr_gaps; i++) {
		struct chario_gap gap = losses->gaps[i];

		if (gap.from < losses->durable) {
			uint64_t records = MIN(losses->durable, gap.to) - gap.from;

			gap.numbers -= MIN(gap.numbers, records);
			gap.from += records;
		}
		if (gap.from < gap.to && gap.numbers)
			losses->gaps[left++] = gap;
	}
	losses->nr_gaps = left;
}

static uint64_t sum(const struct chario_losses *losses)
{
	uint64_t numbers = 0;

	for (size_t i = 0; i < losses->nr_gaps; i++)
		numbers += losses->gaps[i].numbers;
	return numbers;
}

/* Find the records of the present batch that cannot be read. */
static struct chario_gap gap_in(const struct chario_losses *losses)
{
	const struct chario_disk_batch *batch = &losses->batch;
	uint64_t missing = batch->nr_records > losses->given ? batch->nr_records - losses->given :
							       0;

	return (struct chario_gap){
		.from = batch->records + batch->nr_records - missing,
		.to = batch->records + batch->nr_records,
		.numbers = missing,
	};
}

/* Find the records between two batches.  Rooms that were given back have numbers as well. */
static struct chario_gap gap_before(const struct chario_disk_batch *last,
				    const struct chario_disk_batch *batch)
{
	struct chario_gap gap = {
		.from = last->records + last->nr_records,
		.to = batch->records,
	};

	if (gap.to <= gap.from)
		return gap;
	gap.numbers = gap.to - gap.from;
	if (last->lost_records == batch->lost_records && batch->sequence > last->next_sequence)
		gap.numbers = batch->sequence - last->next_sequence;
	return gap;
}

/* An earlier part that was ended had become durable before the next one began. */
static void end_part(struct chario_losses *losses)
{
	if (!(losses->batch.flags & CHARIO_DISK_BATCH_END))
		losses->undurable += sum(losses);
	losses->nr_gaps = 0;
	losses->durable = 0;
}

void chario_losses_pass(struct chario_losses *losses, const struct chario_disk_batch *batch,
			bool is_whole)
{
	static const struct chario_disk_batch none;
	const struct chario_disk_batch *last = &losses->batch;
	struct chario_gap gap = { 0 };

	if (losses->begun && last->segment == batch->segment && last->offset == batch->offset &&
	    last->part == batch->part)
		return;
	if (losses->begun) {
		gap = gap_in(losses);
		add_gap(losses, &gap, last->segment - begins_before(last));
	}
	if (losses->begun && last->part != batch->part)
		end_part(losses);
	else if (losses->begun || is_whole)
		gap = gap_before(losses->begun ? last : &none, batch);
	if (!losses->begun || last->part == batch->part)
		add_gap(losses, &gap, batch->segment ? batch->segment - 1 : 0);
	losses->begun = true;
	losses->batch = *batch;
	losses->given = 0;
	settle(losses, batch->durable_records);
}

uint64_t chario_losses_count(const struct chario_losses *losses, bool is_closed)
{
	struct chario_gap last = { 0 };

	if (!losses->begun)
		return 0;
	if (is_closed)
		return losses->undurable +
		       (losses->batch.flags & CHARIO_DISK_BATCH_CLEAN ? 0 : losses->worn);
	last = gap_in(losses);
	if (last.from < losses->durable)
		last.numbers = 0;
	return losses->undurable + losses->worn + sum(losses) + last.numbers;
}
