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

#include <sys/param.h>

#include "stream/count.h"
#include "stream/lost.h"

/**
 * enum gap_kind - the gaps that a batch can have
 * @GAP_MIDDLE: the record that began before the batch
 * @GAP_INNER: records before the last one that was read
 * @GAP_TAIL: records behind that, or all others if none was read
 * @NR_GAPS: number of these
 */
enum gap_kind {
	GAP_MIDDLE,
	GAP_INNER,
	GAP_TAIL,
	NR_GAPS,
};

void chario_losses_reset(struct chario_losses *losses)
{
	chario_gaps_reset(&losses->gaps);
	*losses = (struct chario_losses){
		.batch.start = UINT64_MAX,
		.gaps = losses->gaps,
		.left_out = losses->left_out,
	};
}

void chario_losses_set_newest(struct chario_losses *losses, uint64_t newest, uint64_t kept,
			      uint64_t window)
{
	losses->gaps.overwritten_end = chario_saturating_sub(newest + 1, kept);
	losses->gaps.nr_hidden = window;
}

static bool begins_in_middle(const struct chario_disk_batch *batch)
{
	return batch->flags & CHARIO_DISK_BATCH_MIDDLE;
}

bool chario_losses_have_begun(const struct chario_losses *losses)
{
	return losses->batch.header.bytes;
}

static bool has_start(const struct chario_losses_batch *batch)
{
	return batch->start != UINT64_MAX;
}

/* Returns the number of records lost in a batch, as far as it has been read. */
static uint64_t count_lost_here(const struct chario_losses_batch *batch)
{
	uint64_t lost = chario_lost_in_batch(&batch->header);

	return chario_saturating_sub(lost, batch->voids);
}

/* Returns the number of numbers that are missing behind the start, in its batch. */
static uint64_t count_behind_start(const struct chario_losses_batch *batch)
{
	uint64_t numbers = batch->header.next_sequence - batch->start;
	uint64_t known = batch->given + batch->voids - batch->voids_started;

	return chario_saturating_sub(numbers, known);
}

/* Returns the number of numbers behind the last record that was read, in its batch. */
static uint64_t count_behind_last(const struct chario_losses_batch *batch)
{
	uint64_t numbers = batch->header.next_sequence - batch->reached;

	return chario_saturating_sub(numbers, batch->voids - batch->voids_reached);
}

/* Returns the number of records of a batch that cannot be read, from the start on. */
static uint64_t count_missing(const struct chario_losses_batch *batch)
{
	uint64_t records = batch->header.nr_records, behind;

	if (!has_start(batch))
		return chario_saturating_sub(records, batch->given);
	behind = count_behind_start(batch);
	return chario_saturating_sub(behind, count_lost_here(batch));
}

/*
 * Find the records of a batch that cannot be read.  Numbers of lost records behind the last one
 * that was read count as records in the tail.
 */
static void find_gaps_in(const struct chario_losses_batch *batch, struct chario_gap gaps[NR_GAPS])
{
	const struct chario_disk_batch *header = &batch->header;
	uint64_t end = header->records + header->nr_records;
	uint64_t missing = MIN(count_missing(batch), header->nr_records);
	uint64_t first = missing && begins_in_middle(header) && !batch->skips_middle;
	uint64_t tail = missing - first;

	if (batch->given)
		tail = MIN(tail, count_behind_last(batch));
	gaps[GAP_MIDDLE] = chario_gap_of(batch->first_segment, header->records + first, first);
	gaps[GAP_INNER] = chario_gap_of(header->segment, end - tail, missing - first - tail);
	gaps[GAP_TAIL] = chario_gap_of(header->segment, end, tail);
}

/* Returns the number of records committed up to the last one of a batch that has been read. */
static uint64_t count_before_tail(const struct chario_losses_batch *batch)
{
	struct chario_gap gaps[NR_GAPS];

	find_gaps_in(batch, gaps);
	return batch->header.records + batch->header.nr_records - gaps[GAP_TAIL].numbers;
}

/* Returns the number of records committed up to the last one that has been read, or the end. */
static uint64_t count_reached(const struct chario_losses *losses)
{
	uint64_t here = losses->batch.given ? count_before_tail(&losses->batch) : 0;

	return MAX(losses->reached_records, here);
}

/*
 * Returns the number of records lost before the start.  Nothing tells on which side of it the
 * lost records of its batch were: those count that fit behind it.
 */
static uint64_t lost_before_start(const struct chario_losses *losses)
{
	const struct chario_losses_batch *batch = &losses->batch;
	uint64_t lost = batch->header.lost_records;

	if (!has_start(batch))
		return losses->lost.before;
	return chario_saturating_sub(lost, MIN(count_lost_here(batch), count_behind_start(batch)));
}

/* Find the records between two batches.  Rooms that were given back have numbers as well. */
static struct chario_gap find_gap_before(const struct chario_disk_batch *last,
					 const struct chario_disk_batch *batch)
{
	struct chario_gap gap = {
		.segment = chario_saturating_sub(batch->segment, 1),
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
	uint64_t begun = chario_saturating_sub(batch->sequence, last->next_sequence);
	uint64_t reached = last->records + last->nr_records;
	uint64_t lost = chario_lost_before_batch(batch);

	lost = chario_saturating_sub(lost, last->lost_records);
	begun = chario_saturating_sub(begun, lost);
	/* The later part may have given again the numbers of lost records. */
	begun = MAX(begun, chario_saturating_sub(batch->records, reached));
	return chario_gap_of(chario_saturating_sub(batch->segment, 1), batch->records,
			     MIN(begun, batch->records));
}

/* Find the segment in which the first record of a batch began. */
static uint64_t find_first_segment(const struct chario_losses *losses,
				   const struct chario_disk_batch *batch)
{
	const struct chario_disk_batch *last = &losses->batch.header;

	if (!begins_in_middle(batch))
		return batch->segment;
	if (!chario_losses_have_begun(losses) || last->part != batch->part ||
	    last->serial + 1 != batch->serial)
		return batch->segment && !batch->offset ? batch->segment - 1 : batch->segment;
	/* The record may take all of the last batch, too. */
	return begins_in_middle(last) && !last->nr_records ? losses->batch.first_segment :
							     last->segment;
}

/*
 * Returns whether the part of a batch was closed when the next one began.  The mark of the end
 * is written before all is durable, so the next part tells, unless its program or that of the
 * last one is of the first release.
 */
static bool is_closed(const struct chario_disk_batch *last, const struct chario_disk_batch *batch)
{
	if (chario_disk_batch_is_of_first_release(last) ||
	    chario_disk_batch_is_of_first_release(batch))
		return last->flags & CHARIO_DISK_BATCH_END;
	return batch->flags & CHARIO_DISK_BATCH_AFTER;
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

/* Begin the next part. */
static void end_part(struct chario_losses *losses, const struct chario_disk_batch *batch,
		     uint64_t kept)
{
	const struct chario_disk_batch *last = &losses->batch.header;
	struct chario_gaps *gaps = &losses->gaps;
	bool closed = is_closed(last, batch);

	if (is_interrupted(last, batch))
		gaps->distrusted_end =
			MAX(gaps->distrusted_end, chario_saturating_sub(batch->segment, kept));
	if (closed)
		losses->closed = *last;
	chario_gaps_end_part(gaps, closed);
}

/* Returns the number of records lost before the last record that has been read, or the end. */
static uint64_t lost_up_to_last(const struct chario_losses *losses)
{
	const struct chario_losses_batch *batch = &losses->batch;
	uint64_t lost = batch->header.lost_records, behind;
	struct chario_gap gaps[NR_GAPS];

	if (losses->end == CHARIO_LOSSES_ENDED)
		return lost;
	if (!batch->given)
		return losses->lost.reached + losses->lost.behind;
	find_gaps_in(batch, gaps);
	behind = count_behind_last(batch) - gaps[GAP_TAIL].numbers;
	return chario_saturating_sub(lost, behind) + losses->lost.behind;
}

static uint64_t lost_up_to_end(const struct chario_losses *losses, const struct store_end *end)
{
	bool is_before = losses->end == CHARIO_LOSSES_ENDED_BEFORE;
	const struct chario_disk_batch *last = is_before ? &losses->closed : &losses->batch.header;

	return last->lost_records +
	       chario_lost_before_end(end, last->next_sequence, last->records + last->nr_records);
}

uint64_t chario_losses_count_lost(const struct chario_losses *losses, const struct store_end *end)
{
	uint64_t lost = losses->end ? lost_up_to_end(losses, end) : lost_up_to_last(losses);
	uint64_t before = lost_before_start(losses);

	return chario_saturating_sub(lost, before);
}

/* Returns whether a gap in the present batch lies before a record that has been read. */
static bool is_sure(const struct chario_losses *losses, enum gap_kind kind)
{
	return losses->end == CHARIO_LOSSES_ENDED || (losses->batch.given && kind < GAP_TAIL);
}

/* Leave the numbers that come again in the next part, from one on, out of the end of a part. */
static void drop_repeated(const struct chario_losses_batch *batch, uint64_t next_sequence,
			  struct chario_gap gaps[NR_GAPS])
{
	struct chario_gap *middle = &gaps[GAP_MIDDLE], *tail = &gaps[GAP_TAIL];
	uint64_t first = batch->header.sequence + middle->numbers;
	uint64_t reached = batch->given ? batch->reached : first;
	uint64_t kept = chario_saturating_sub(next_sequence, reached);
	uint64_t repeated = chario_saturating_sub(tail->numbers, kept);
	uint64_t undurable = MIN(tail->undurable, repeated);

	if (next_sequence <= batch->header.sequence)
		*middle = (struct chario_gap){ 0 };
	tail->numbers -= repeated;
	tail->undurable -= undurable;
	tail->to -= undurable;
}

/*
 * Judge the gaps at the end of a part, of whose last batch the next part counts the whole records,
 * and has made them durable.  It may count the record in the middle, whose end it found, although
 * the beginning was missing, so its count does not settle GAP_MIDDLE.  If the first batch of the
 * next part is missing, too, that record and those in the tail may belong to either part.
 */
static void judge_end(const struct chario_losses_batch *last, const struct chario_disk_batch *batch,
		      struct chario_gap gaps[NR_GAPS], struct chario_gap *behind)
{
	struct chario_gap *middle = &gaps[GAP_MIDDLE], *tail = &gaps[GAP_TAIL];
	bool is_next = batch->serial == last->header.serial + 1;
	uint64_t found = is_next ? batch->records : 0;

	chario_gap_settle(&gaps[GAP_INNER], found);
	chario_gap_settle(tail, found);
	drop_repeated(last, batch->sequence, gaps);
	if (is_next)
		return;
	tail->numbers += middle->numbers;
	behind->numbers += tail->numbers;
	behind->undurable += tail->numbers;
	behind->from = chario_saturating_sub(behind->from, tail->numbers);
	*middle = *tail = (struct chario_gap){ 0 };
}

/* Leave the present batch, whose records that were not read are missing, for another. */
static void leave_batch(struct chario_losses *losses, const struct chario_disk_batch *batch,
			uint64_t kept)
{
	const struct chario_losses_batch *last = &losses->batch;
	bool is_other = last->header.part != batch->part;
	struct chario_gap gaps[NR_GAPS] = { 0 };
	struct chario_gap behind;

	find_gaps_in(last, gaps);
	losses->reached_records = count_reached(losses);
	if (is_other) {
		/* The later part may not have found all that has been read. */
		losses->reached_records = MIN(losses->reached_records, batch->records);
		behind = find_gap_between(&last->header, batch);
		judge_end(last, batch, gaps, &behind);
	} else {
		behind = find_gap_before(&last->header, batch);
	}
	for (enum gap_kind i = 0; i < NR_GAPS; i++) {
		chario_gaps_add(&losses->gaps, &gaps[i]);
		if (is_sure(losses, i))
			losses->gaps.nr_sure = losses->gaps.nr;
	}
	if (is_other)
		end_part(losses, batch, kept);
	chario_gaps_add(&losses->gaps, &behind);
}

/*
 * Begin with the first batch, and a gap before it if the recording begins there.  Numbers skipped
 * for damage do not count as undurable records.
 */
static void begin_with(struct chario_losses *losses, const struct chario_disk_batch *batch,
		       bool from_start)
{
	static const struct chario_disk_batch none;
	struct chario_gap gap;

	losses->first_sequence = batch->sequence;
	if (from_start) {
		gap = find_gap_before(&none, batch);
		if (gap.numbers >= gap.to - gap.from + losses->left_out)
			gap.undurable = gap.to - gap.from;
		chario_gaps_add(&losses->gaps, &gap);
	} else {
		losses->reached_records = batch->records;
		losses->lost.before = chario_lost_before_batch(batch);
	}
}

static bool is_same(const struct chario_disk_batch *last, const struct chario_disk_batch *batch)
{
	return last->bytes && last->segment == batch->segment && last->offset == batch->offset &&
	       last->part == batch->part;
}

void chario_losses_go_to(struct chario_losses *losses, const struct chario_disk_batch *batch,
			 bool from_start, bool is_joined, uint64_t kept)
{
	const struct chario_disk_batch *last = &losses->batch.header;
	uint64_t first_segment = is_joined ? batch->segment : find_first_segment(losses, batch);

	if (is_same(last, batch))
		return;
	if (chario_losses_have_begun(losses))
		leave_batch(losses, batch, kept);
	else
		begin_with(losses, batch, from_start);
	losses->lost = (struct chario_losses_lost){
		.before = lost_before_start(losses),
		.reached = lost_up_to_last(losses),
	};
	losses->batch = (struct chario_losses_batch){
		.header = *batch,
		.first_segment = first_segment,
		.start = UINT64_MAX,
	};
	losses->end = CHARIO_LOSSES_OPEN;
	chario_gaps_settle(&losses->gaps, batch->durable_records);
}

void chario_losses_start(struct chario_losses *losses, uint64_t sequence)
{
	struct chario_losses_batch *batch = &losses->batch;

	losses->gaps.nr = 0;
	losses->gaps.nr_closed = 0;
	losses->gaps.nr_past = 0;
	losses->gaps.nr_sure = 0;
	batch->given = 0;
	batch->skips_middle = true;
	batch->start = sequence;
	batch->voids_started = batch->voids;
	losses->reached_records = count_before_tail(batch);
}

void chario_losses_give(struct chario_losses *losses, uint64_t sequence, bool is_middle)
{
	struct chario_losses_batch *batch = &losses->batch;

	batch->given++;
	batch->skips_middle |= is_middle;
	batch->reached = sequence + 1;
	batch->voids_reached = batch->voids;
	losses->gaps.nr_sure = losses->gaps.nr;
}

void chario_losses_take_back(struct chario_losses *losses)
{
	losses->batch.voids++;
}

uint64_t chario_losses_count_durable_behind(const struct chario_losses *losses)
{
	uint64_t durable = losses->batch.header.durable_records;
	uint64_t behind = chario_saturating_sub(durable, count_reached(losses));

	return chario_saturating_sub(behind, chario_gaps_count_behind(&losses->gaps, durable));
}

void chario_losses_pass_durable(struct chario_losses *losses, uint64_t numbers)
{
	losses->lost.behind += numbers - chario_losses_count_durable_behind(losses);
	losses->reached_records = losses->batch.header.durable_records;
}

/*
 * Parts that continued a closed recording, and were interrupted before they had a whole record, lie
 * behind the end.
 */
void chario_losses_end(struct chario_losses *losses, uint64_t end)
{
	const struct chario_disk_batch *last = &losses->batch.header;
	struct chario_gaps *gaps = &losses->gaps;

	if (chario_losses_have_begun(losses) && end < losses->batch.header.next_sequence) {
		last = &losses->closed;
		losses->end = CHARIO_LOSSES_ENDED_BEFORE;
		gaps->nr_sure = gaps->nr_closed;
	} else {
		losses->end = CHARIO_LOSSES_ENDED;
		gaps->nr_sure = gaps->nr;
	}
	losses->reached_records = MAX(count_reached(losses), last->records + last->nr_records);
}

uint64_t chario_losses_count_undurable(const struct chario_losses *losses, bool is_closed)
{
	uint64_t numbers = chario_gaps_count(&losses->gaps, is_closed);
	struct chario_gap last[NR_GAPS];

	if (!chario_losses_have_begun(losses))
		return 0;
	find_gaps_in(&losses->batch, last);
	for (enum gap_kind i = 0; i < NR_GAPS; i++)
		if (is_sure(losses, i))
			numbers += chario_gaps_judge(&losses->gaps, &last[i], is_closed);
	return numbers;
}
