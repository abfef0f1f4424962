// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Records that are missing and were not durable.
 *
 * Each batch tells how many records its program knew to be durable when it was written.  A
 * power cut takes none of these, so a record among them that is missing is lost.  A record
 * beyond the number that the last batch of its part tells may not have reached the disk: a power
 * cut may take it, and leave one behind it.  It may also have become durable after that batch was
 * written; nothing on the disk tells, until the recording is closed.
 *
 * A program that continues a recording counts missing records as durable, so each part is
 * judged by its own batches.  It makes durable what it finds, and continues behind the last
 * whole record, so of the last batch of an interrupted part it tells what was there.  Its own
 * first number of durable records has all that it found, so records that are missing between two
 * parts are judged by the batches of the later one.
 *
 * An interrupted program may have torn segments of a ring that it had begun to overwrite.
 * Those of the last program are known from the newest segment, and those of an earlier one
 * from the segment in which the next one continued.
 */
#include "stream/losses.h"

#include <stdlib.h>
#include <sys/param.h>

/**
 * enum gaps - the gaps that a batch can have
 * @GAP_MIDDLE: the record that began before the batch
 * @GAP_INNER: records before the last one that was read
 * @GAP_TAIL: records behind that, or all others if none was read
 * @NR_GAPS: number of these
 */
enum gaps {
	GAP_MIDDLE,
	GAP_INNER,
	GAP_TAIL,
	NR_GAPS,
};

void chario_losses_reset(struct chario_losses *losses)
{
	free(losses->gaps);
	*losses = (struct chario_losses){
		.lap = losses->lap,
		.worn_end = losses->worn_end,
	};
}

void chario_losses_set_ring(struct chario_losses *losses, uint64_t newest, uint64_t lap)
{
	losses->lap = lap;
	losses->worn_end = newest + 1 > lap ? newest + 1 - lap : 0;
}

static bool begins_in_middle(const struct chario_disk_batch *batch)
{
	return batch->flags & CHARIO_DISK_BATCH_MIDDLE;
}

/* Leave out of a gap what was durable. */
static void settle_gap(struct chario_gap *gap, uint64_t durable)
{
	if (gap->from < durable) {
		uint64_t records = MIN(durable, gap->to) - gap->from;

		gap->undurable -= MIN(gap->undurable, records);
		gap->from += records;
	}
	if (gap->from == gap->to)
		gap->undurable = 0;
}

static void settle(struct chario_losses *losses, uint64_t durable)
{
	size_t kept = losses->nr_past, sure = losses->nr_sure;

	losses->durable = MAX(losses->durable, durable);
	for (size_t i = losses->nr_past; i < losses->nr_gaps; i++) {
		struct chario_gap gap = losses->gaps[i];

		settle_gap(&gap, losses->durable);
		if (gap.undurable || gap.segment < losses->worn_end)
			losses->gaps[kept++] = gap;
		else if (i < losses->nr_sure)
			sure--;
	}
	losses->nr_gaps = kept;
	losses->nr_sure = sure;
}

/* Without memory a gap counts as one of durable records, which is the safe side. */
static void add_gap(struct chario_losses *losses, const struct chario_gap *gap)
{
	size_t room = losses->room ? 2 * losses->room : 16;
	struct chario_gap *gaps;

	if (!gap->numbers)
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

static struct chario_gap make_gap(uint64_t segment, uint64_t to, uint64_t records)
{
	return (struct chario_gap){
		.segment = segment,
		.from = to - records,
		.to = to,
		.numbers = records,
		.undurable = records,
	};
}

/* Returns the number of records lost in a batch.  Rooms that were given back have numbers as well. */
static uint64_t count_lost(const struct chario_disk_batch *batch)
{
	uint64_t begun = batch->next_sequence - batch->sequence;

	return begun > batch->nr_records ? begun - batch->nr_records : 0;
}

uint64_t chario_losses_before_batch(const struct chario_disk_batch *batch)
{
	uint64_t inside = count_lost(batch);

	return batch->lost_records > inside ? batch->lost_records - inside : 0;
}

/*
 * Returns the number of records lost behind a batch, up to the end in the table: numbers that no
 * record has.  A full area has no room for a batch that tells of them.
 */
static uint64_t lost_before_end(const struct store_end *end, uint64_t sequence, uint64_t records)
{
	uint64_t numbers = end->sequence - MIN(end->sequence, sequence);
	uint64_t missing = end->records - MIN(end->records, records);

	/* A table may come from any program. */
	if (!end->time_ns || end->sequence >= CHARIO_DISK_COUNT_MAX)
		return 0;
	return numbers - MIN(numbers, missing);
}

/* Numbers behind the last whole record come again, and with them those of lost records. */
uint64_t chario_losses_before_head(const struct chario_head *head, const struct store_end *end)
{
	const struct chario_disk_batch *last = &head->last;
	uint64_t begun = head->next_sequence - last->sequence;
	uint64_t found = head->records - last->records;
	uint64_t lost = chario_losses_before_batch(last) + begun - MIN(begun, found);

	return MIN(lost, last->lost_records) +
	       lost_before_end(end, head->next_sequence, head->records);
}

/* Returns the number of records lost in the present batch, as far as it has been read. */
static uint64_t count_lost_here(const struct chario_losses *losses)
{
	uint64_t lost = count_lost(&losses->batch);

	return lost - MIN(lost, losses->voids);
}

/* Returns the number of numbers that are missing behind the start, in its batch. */
static uint64_t count_behind_start(const struct chario_losses *losses)
{
	uint64_t numbers = losses->batch.next_sequence - losses->start;
	uint64_t known = losses->given + losses->voids - losses->voids_started;

	return numbers - MIN(numbers, known);
}

/* Returns the number of numbers behind the last record that was read, in its batch. */
static uint64_t count_behind_last(const struct chario_losses *losses)
{
	uint64_t numbers = losses->batch.next_sequence - losses->reached;

	return numbers - MIN(numbers, losses->voids - losses->voids_reached);
}

/*
 * Returns the number of records lost before the start.  Nothing tells on which side of it the
 * lost records of its batch were: those count that fit behind it.
 */
static uint64_t lost_before_start(const struct chario_losses *losses)
{
	uint64_t lost = losses->batch.lost_records, behind = count_behind_start(losses);

	if (!losses->starts_here)
		return losses->lost_before;
	return lost - MIN(lost, MIN(count_lost_here(losses), behind));
}

/* Returns the number of records of the present batch that cannot be read, from the start on. */
static uint64_t count_missing(const struct chario_losses *losses)
{
	const struct chario_disk_batch *batch = &losses->batch;
	uint64_t behind;

	if (!losses->starts_here)
		return batch->nr_records - MIN(losses->given, batch->nr_records);
	behind = count_behind_start(losses);
	return behind - MIN(behind, count_lost_here(losses));
}

/*
 * Find the records of the present batch that cannot be read.  Numbers of lost records behind
 * the last one that was read count as records in the tail.
 */
static void find_gaps_in(const struct chario_losses *losses, struct chario_gap gaps[NR_GAPS])
{
	const struct chario_disk_batch *batch = &losses->batch;
	uint64_t end = batch->records + batch->nr_records;
	uint64_t missing = MIN(count_missing(losses), batch->nr_records);
	uint64_t first = missing && begins_in_middle(batch) && !losses->is_middle_given;
	uint64_t tail = missing - first;

	if (losses->given)
		tail = MIN(tail, count_behind_last(losses));
	gaps[GAP_MIDDLE] = make_gap(losses->first_segment, batch->records + first, first);
	gaps[GAP_INNER] = make_gap(batch->segment, end - tail, missing - first - tail);
	gaps[GAP_TAIL] = make_gap(batch->segment, end, tail);
}

/* Find the records between two batches.  Rooms that were given back have numbers as well. */
static struct chario_gap find_gap_before(const struct chario_disk_batch *last,
					 const struct chario_disk_batch *batch)
{
	struct chario_gap gap = {
		.segment = batch->segment ? batch->segment - 1 : 0,
		.from = last->records + last->nr_records,
		.to = batch->records,
	};

	if (gap.to <= gap.from)
		return gap;
	gap.numbers = gap.to - gap.from;
	if (last->lost_records == batch->lost_records && batch->sequence > last->next_sequence)
		gap.numbers = batch->sequence - last->next_sequence;
	gap.undurable = gap.numbers;
	return gap;
}

/*
 * Find the records between the last batch of a part and a batch of a later one.  That may count
 * fewer records than the last one has.
 */
static struct chario_gap find_gap_between(const struct chario_disk_batch *last,
					  const struct chario_disk_batch *batch)
{
	uint64_t begun = batch->sequence - MIN(batch->sequence, last->next_sequence);
	uint64_t reached = last->records + last->nr_records;
	uint64_t lost = chario_losses_before_batch(batch);

	lost -= MIN(lost, last->lost_records);
	begun -= MIN(begun, lost);
	/* The later part may have given again the numbers of lost records. */
	begun = MAX(begun, batch->records - MIN(batch->records, reached));
	return make_gap(batch->segment ? batch->segment - 1 : 0, batch->records,
			MIN(begun, batch->records));
}

/* Find the segment in which the first record of a batch began. */
static uint64_t find_first_segment(const struct chario_losses *losses,
				   const struct chario_disk_batch *batch)
{
	const struct chario_disk_batch *last = &losses->batch;

	if (!begins_in_middle(batch))
		return batch->segment;
	if (!losses->begun || last->part != batch->part || last->serial + 1 != batch->serial)
		return batch->segment && !batch->offset ? batch->segment - 1 : batch->segment;
	/* The record may take all of the last batch, too. */
	return begins_in_middle(last) && !last->nr_records ? losses->first_segment : last->segment;
}

/*
 * Returns the number of records of the last batch of a part that the next part found, and made
 * durable.
 */
static uint64_t count_found(const struct chario_disk_batch *last,
			    const struct chario_disk_batch *batch)
{
	if (batch->serial != last->serial + 1 || batch->records < last->records)
		return 0;
	return MIN(batch->records - last->records, last->nr_records);
}

/*
 * Returns whether the part of a batch was closed when the next one began.  The mark of the end
 * is written before all is durable, so the next part tells, unless its program or that of the
 * last one is of the first release.
 */
static bool is_closed(const struct chario_disk_batch *last, const struct chario_disk_batch *batch)
{
	if (last->flags & batch->flags & CHARIO_DISK_BATCH_TIMES)
		return batch->flags & CHARIO_DISK_BATCH_AFTER;
	return last->flags & CHARIO_DISK_BATCH_END;
}

/*
 * Returns whether a program was interrupted between two batches.  One that was interrupted
 * early has left no batch, but the next one knows of it.
 */
static bool is_interrupted(const struct chario_disk_batch *last,
			   const struct chario_disk_batch *batch)
{
	return !is_closed(last, batch) ||
	       (last->flags & CHARIO_DISK_BATCH_CLEAN && !(batch->flags & CHARIO_DISK_BATCH_CLEAN));
}

/* Begin the next part.  A part that was closed had become durable before. */
static void end_part(struct chario_losses *losses, const struct chario_disk_batch *batch)
{
	if (is_interrupted(&losses->batch, batch) && batch->segment > losses->lap)
		losses->torn_end = MAX(losses->torn_end, batch->segment - losses->lap);
	if (is_closed(&losses->batch, batch))
		settle(losses, UINT64_MAX);
	losses->nr_past = losses->nr_gaps;
	losses->durable = 0;
}

/* Returns the number of records lost before the last record that has been read, or the end. */
static uint64_t lost_up_to_last(const struct chario_losses *losses)
{
	const struct chario_disk_batch *batch = &losses->batch;
	struct chario_gap gaps[NR_GAPS];
	uint64_t behind;

	if (losses->is_ended)
		return batch->lost_records;
	if (!losses->given)
		return losses->lost_reached;
	find_gaps_in(losses, gaps);
	behind = count_behind_last(losses) - gaps[GAP_TAIL].numbers;
	return batch->lost_records - MIN(batch->lost_records, behind);
}

static uint64_t lost_up_to_end(const struct chario_losses *losses, const struct store_end *end)
{
	const struct chario_disk_batch *last = losses->is_ended_before ? &losses->before :
									 &losses->batch;

	return last->lost_records +
	       lost_before_end(end, last->next_sequence, last->records + last->nr_records);
}

uint64_t chario_losses_count_lost(const struct chario_losses *losses, const struct store_end *end)
{
	bool is_ended = losses->is_ended || losses->is_ended_before;
	uint64_t lost = is_ended ? lost_up_to_end(losses, end) : lost_up_to_last(losses);
	uint64_t before = lost_before_start(losses);

	return lost - MIN(lost, before);
}

/* Returns whether a gap in the present batch lies before a record that has been read. */
static bool is_sure(const struct chario_losses *losses, enum gaps kind)
{
	return losses->is_ended || (losses->given && kind < GAP_TAIL);
}

/* Leave the numbers that come again in the next part, from one on, out of the end of a part. */
static void drop_repeated(const struct chario_losses *losses, uint64_t next_sequence,
			  struct chario_gap gaps[NR_GAPS])
{
	struct chario_gap *middle = &gaps[GAP_MIDDLE], *tail = &gaps[GAP_TAIL];
	uint64_t first = losses->batch.sequence + middle->numbers;
	uint64_t reached = losses->given ? losses->reached : first;
	uint64_t kept = next_sequence > reached ? next_sequence - reached : 0;
	uint64_t repeated = tail->numbers - MIN(tail->numbers, kept);

	if (next_sequence <= losses->batch.sequence)
		*middle = (struct chario_gap){ 0 };
	tail->numbers -= repeated;
	tail->undurable -= MIN(tail->undurable, repeated);
	tail->to -= MIN(tail->to - tail->from, repeated);
}

/*
 * Judge the gaps at the end of a part, of whose last batch the next part counts the whole records.
 * That may count a record that began earlier, whether its beginning was there or not.  If the
 * first batch of the next part is missing, too, the records in the tail may belong to either.
 */
static void judge_end(const struct chario_losses *losses, const struct chario_disk_batch *batch,
		      struct chario_gap gaps[NR_GAPS], struct chario_gap *behind)
{
	const struct chario_disk_batch *last = &losses->batch;
	struct chario_gap *tail = &gaps[GAP_TAIL];
	uint64_t found = last->records + count_found(last, batch);

	settle_gap(&gaps[GAP_INNER], found);
	settle_gap(tail, found);
	drop_repeated(losses, batch->sequence, gaps);
	if (batch->serial == last->serial + 1)
		return;
	behind->numbers += tail->numbers;
	behind->undurable += tail->numbers;
	behind->from -= MIN(behind->from, tail->numbers);
	*tail = (struct chario_gap){ 0 };
}

/* Leave the present batch, whose records that were not read are missing, for another. */
static void leave_batch(struct chario_losses *losses, const struct chario_disk_batch *batch)
{
	bool is_other = losses->batch.part != batch->part;
	struct chario_gap gaps[NR_GAPS] = { 0 };
	struct chario_gap behind;

	find_gaps_in(losses, gaps);
	if (is_other) {
		behind = find_gap_between(&losses->batch, batch);
		judge_end(losses, batch, gaps, &behind);
	} else {
		behind = find_gap_before(&losses->batch, batch);
	}
	for (enum gaps i = 0; i < NR_GAPS; i++) {
		add_gap(losses, &gaps[i]);
		if (is_sure(losses, i))
			losses->nr_sure = losses->nr_gaps;
	}
	if (is_other)
		end_part(losses, batch);
	add_gap(losses, &behind);
}

void chario_losses_pass(struct chario_losses *losses, const struct chario_disk_batch *batch,
			bool is_whole, bool is_joined)
{
	static const struct chario_disk_batch none;
	const struct chario_disk_batch *last = &losses->batch;
	uint64_t first_segment = is_joined ? batch->segment : find_first_segment(losses, batch);

	if (losses->begun && last->segment == batch->segment && last->offset == batch->offset &&
	    last->part == batch->part)
		return;
	if (losses->begun) {
		leave_batch(losses, batch);
	} else if (is_whole) {
		struct chario_gap gap = find_gap_before(&none, batch);

		add_gap(losses, &gap);
	}
	losses->lost_reached = lost_up_to_last(losses);
	losses->lost_before = lost_before_start(losses);
	losses->starts_here = false;
	if (losses->batch.part != batch->part)
		losses->before = losses->batch;
	losses->begun = true;
	losses->batch = *batch;
	losses->first_segment = first_segment;
	losses->given = 0;
	losses->voids = losses->voids_reached = losses->voids_started = 0;
	losses->is_middle_given = false;
	losses->is_ended = losses->is_ended_before = false;
	settle(losses, batch->durable_records);
}

void chario_losses_start(struct chario_losses *losses, uint64_t sequence)
{
	losses->nr_gaps = 0;
	losses->nr_past = 0;
	losses->given = 0;
	losses->is_middle_given = true;
	losses->starts_here = true;
	losses->start = sequence;
	losses->voids_started = losses->voids;
}

void chario_losses_give(struct chario_losses *losses, uint64_t sequence, bool is_middle)
{
	losses->given++;
	losses->is_middle_given |= is_middle;
	losses->reached = sequence + 1;
	losses->voids_reached = losses->voids;
	losses->nr_sure = losses->nr_gaps;
}

void chario_losses_take_back(struct chario_losses *losses)
{
	losses->voids++;
}

/*
 * A part that continued a closed recording, and was interrupted before it had a whole record, lies
 * behind the end.
 */
void chario_losses_end(struct chario_losses *losses, uint64_t end)
{
	losses->is_ended_before = losses->begun && end < losses->batch.next_sequence;
	losses->is_ended = !losses->is_ended_before;
	losses->nr_sure = losses->is_ended ? losses->nr_gaps : losses->nr_past;
}

/* Returns the missing numbers of a gap that were not durable, or were being overwritten. */
static uint64_t count_gap(struct chario_gap gap, uint64_t worn_end, uint64_t durable)
{
	settle_gap(&gap, durable);
	return gap.segment < worn_end ? gap.numbers : gap.undurable;
}

uint64_t chario_losses_count_undurable(const struct chario_losses *losses, bool is_closed)
{
	uint64_t worn_end = losses->worn_end;
	uint64_t durable = is_closed ? UINT64_MAX : losses->durable;
	struct chario_gap last[NR_GAPS];
	uint64_t numbers = 0;

	if (!losses->begun)
		return 0;
	if (is_closed)
		worn_end = MIN(worn_end, losses->torn_end);
	for (size_t i = 0; i < losses->nr_sure; i++)
		numbers += count_gap(losses->gaps[i], worn_end, i < losses->nr_past ? 0 : durable);
	find_gaps_in(losses, last);
	for (enum gaps i = 0; i < NR_GAPS; i++)
		if (is_sure(losses, i))
			numbers += count_gap(last[i], worn_end, durable);
	return numbers;
}
