// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Moving from one batch of a recording to the next. */
#include "stream/reader-inner.h"

#include <errno.h>

#include "stream/count.h"

/* A record continues in the very next batch only: its number may come again in a later one. */
static bool goes_on(const struct chario_disk_batch *last, const struct chario_disk_batch *batch)
{
	return batch->part == last->part && batch->serial - last->serial <= 1;
}

/* Go from the last batch to another, whole or not. */
static void go_to(struct chario_reader *reader, const struct chario_disk_batch *batch)
{
	if (!goes_on(&reader->last, batch))
		reader->done_bytes = 0;
	chario_losses_go_to(&reader->losses, batch, reader->has_expected && !reader->expected,
			    reader->done_bytes, chario_tape_kept_slots(&reader->tape));
	reader->last = *batch;
	reader->is_cut = false;
	reader->fresh = false;
	reader->looks = 0;
}

int chario_reader_enter(struct chario_reader *reader, const struct chario_disk_batch *batch)
{
	int ret = chario_tape_load(&reader->tape, batch, &reader->pile);

	if (ret == 1 && reader->pile.sealed) {
		ret = chario_reader_is_safe(reader, batch);
		reader->pile.sealed = ret == 1;
		ret = ret < 0 ? ret : 1;
	}
	if (ret != 1)
		return ret;
	go_to(reader, batch);
	reader->loaded = true;
	reader->settled = false;
	return 1;
}

void chario_reader_reset(struct chario_reader *reader)
{
	reader->loaded = false;
	reader->fresh = true;
	reader->done_bytes = 0;
	reader->has_expected = false;
	reader->is_cut = false;
	reader->skipped = 0;
	reader->from_sequence = 0;
	reader->from_time_ns = 0;
	reader->looks = 0;
	reader->has_left = false;
	chario_losses_reset(&reader->losses);
}

int chario_reader_reload(struct chario_reader *reader)
{
	uint32_t at = reader->pile.at;
	int ret = chario_reader_enter(reader, &reader->last);

	reader->pile.at = at;
	/* A failed read leaves memory of unknown content. */
	if (ret < 0)
		reader->settled = reader->pile.sealed = false;
	if (!ret)
		reader->loaded = false;
	return ret;
}

void chario_reader_note_newest(struct chario_reader *reader, uint64_t newest)
{
	const struct chario_tape *tape = &reader->tape;

	if (tape->ring)
		chario_losses_set_newest(&reader->losses, newest, chario_tape_kept_slots(tape),
					 tape->window);
}

/*
 * Take note of the newest segment, once for a segment that is passed over: a producer may be
 * overwriting that one.  Returns 1 or a negative errno.
 */
static int note_progress(struct chario_reader *reader, uint64_t segment)
{
	struct chario_disk_batch batch;
	int ret;

	if (!reader->tape.ring || reader->noted == segment + 1)
		return 1;
	ret = chario_tape_newest(&reader->tape, &batch);
	if (ret < 0)
		return ret;
	reader->noted = segment + 1;
	if (ret)
		chario_reader_note_newest(reader, batch.segment);
	return 1;
}

/*
 * Returns whether a segment belongs to a part that has ended, because the table knows of one behind
 * it, or the present producer has begun another part behind it; or a negative errno.
 */
static int is_past(struct chario_reader *reader, uint64_t segment)
{
	struct chario_tape *tape = &reader->tape;
	struct chario_disk_batch batch;
	int ret;

	if (segment < tape->reached)
		return 1;
	if (segment != reader->last.segment || (!tape->ring && segment + 1 >= tape->slots))
		return 0;
	ret = chario_tape_look(tape, segment + 1, 0, &batch);
	if (ret > 0)
		ret = chario_tape_newest(tape, &batch);
	return ret > 0 ? batch.part != reader->last.part : ret;
}

/*
 * A segment is written only when all segments up to a window before it are durable.  So
 * this segment is final if one that far ahead exists.  The two behind that tell the same, as it may
 * be damaged, or be written after them.
 */
int chario_reader_is_final(struct chario_reader *reader, uint64_t segment)
{
	struct chario_tape *tape = &reader->tape;
	struct chario_disk_batch batch;
	int ret;

	if (!chario_area_has_writer(reader->area))
		return 1;
	for (uint64_t i = 0; i < 3; i++) {
		if (!tape->ring && segment + tape->window + i >= tape->slots)
			break;
		ret = chario_tape_peek(tape, segment + tape->window + i, 0, &batch);
		if (ret < 0)
			return ret;
		if (ret && batch.segment >= segment + tape->window)
			return note_progress(reader, segment);
	}
	ret = is_past(reader, segment);
	return ret > 0 ? note_progress(reader, segment) : ret;
}

/* Look at the place of the next batch, in this segment or the next. */
static int look_behind(struct chario_reader *reader, struct chario_disk_batch *batch)
{
	const struct chario_disk_batch *last = &reader->last;
	struct chario_tape *tape = &reader->tape;
	int ret = chario_tape_next(tape, last, batch);

	if (ret)
		return ret;
	if (!tape->ring && last->segment + 1 >= tape->slots)
		return 0;
	ret = chario_tape_look(tape, last->segment + 1, 0, batch);
	if (ret != 1 || batch->serial == last->serial + 1)
		return ret;
	/* A batch between the two is missing, or not yet written. */
	return chario_reader_is_final(reader, last->segment);
}

/*
 * Returns whether nothing follows: the recording was ended and not continued, or the area
 * is full.
 */
static bool is_at_end(const struct chario_reader *reader, bool live)
{
	const struct chario_tape *tape = &reader->tape;
	const struct chario_disk_batch *last = &reader->last;
	uint32_t offset = chario_disk_round(last->offset + last->bytes, CHARIO_DISK_BLOCK);

	if (reader->fresh)
		return false;
	if (last->flags & CHARIO_DISK_BATCH_END && !live)
		return true;
	return !tape->ring && last->segment + 1 >= tape->slots && offset >= tape->segment_bytes;
}

/* Before the ring has wrapped around, the next record is the first of all. */
static void expect_first(struct chario_reader *reader)
{
	reader->has_expected = !reader->from_sequence && !reader->from_time_ns;
	reader->expected = 0;
}

/*
 * Returns whether segments that are missing before a batch may still come, from a producer whose
 * newest segment is @newest.
 */
static bool may_come(const struct chario_reader *reader, const struct chario_disk_batch *batch,
		     const struct chario_disk_batch *newest)
{
	const struct chario_disk_batch *last = &reader->last;
	uint64_t last_missing = chario_saturating_sub(batch->segment, 1);

	if (batch->segment <= reader->tape.reached ||
	    newest->segment >= last_missing + reader->tape.window)
		return false;
	/* Segments between two batches of one part are of this part, which may have ended. */
	return reader->fresh ? batch->segment :
			       batch->part != last->part || newest->part == last->part;
}

/*
 * Search the whole recording for the next batch.  @live says that there was a writer before
 * the search began, so a missing batch may still come.
 */
static int search(struct chario_reader *reader, bool live, struct chario_disk_batch *batch)
{
	struct chario_tape *tape = &reader->tape;
	uint64_t next = reader->fresh ? 0 : reader->last.segment + 1;
	struct chario_disk_batch newest;
	int ret = chario_tape_newest(tape, &newest);

	if (ret <= 0)
		return ret;
	if (reader->fresh || live)
		chario_reader_note_newest(reader, newest.segment);
	if (newest.segment >= tape->slots && next <= newest.segment - tape->slots)
		return chario_tape_oldest(tape, newest.segment, batch);
	if (reader->fresh)
		expect_first(reader);
	ret = chario_tape_first(tape, next, newest.segment, batch);
	return ret == 1 && live ? !may_come(reader, batch, &newest) : ret;
}

/* Find the next batch, as far as it is known now. */
static int find_next(struct chario_reader *reader, bool live, struct chario_disk_batch *batch)
{
	bool thorough = reader->looks++ % CHARIO_READER_LOOKS == 0;
	int ret = 0;

	if (!reader->fresh)
		ret = look_behind(reader, batch);
	else if (!thorough)
		ret = chario_tape_look(&reader->tape, 0, 0, batch);
	if (ret == 1 && reader->fresh)
		expect_first(reader);
	if (ret || !thorough)
		return ret;
	ret = chario_reader_check_session(reader);
	return ret ? ret : search(reader, live, batch);
}

/*
 * Returns whether bad batches may hide others before @batch, the next one that has been found, or
 * at the end if it is NULL.
 */
static bool may_hide(const struct chario_reader *reader, bool live,
		     const struct chario_disk_batch *batch)
{
	if (!batch)
		return !live;
	if (reader->fresh)
		return batch->serial && batch->segment < reader->tape.slots;
	return batch->serial != reader->last.serial + 1;
}

/* Search again what a producer that has gone may have written meanwhile. */
static void forget_searches(struct chario_reader *reader)
{
	chario_tape_forget_searched(&reader->tape);
	reader->tape.surveyed = false;
	reader->had_writer = false;
}

int chario_reader_note_end(struct chario_reader *reader)
{
	struct chario_area_stream entry;
	int err = chario_area_get_stream(reader->area, &entry);
	uint64_t ended_ns;

	if (err)
		return err;
	ended_ns = entry.continued ? 0 : entry.end.time_ns;
	if (ended_ns != reader->ended_ns)
		forget_searches(reader);
	reader->ended_ns = ended_ns;
	return 0;
}

bool chario_reader_is_before(const struct chario_disk_batch *hidden,
			     const struct chario_disk_batch *batch)
{
	bool is_next = hidden->serial + 1 == batch->serial &&
		       hidden->segment + 1 == batch->segment && !batch->offset;

	return is_next || hidden->next_sequence <= batch->sequence;
}

/*
 * Find the next batch, or one before it that bad ones hide.  At the end, where a producer may have
 * come meanwhile, what is not there may still come.
 */
static int find_next_or_hidden(struct chario_reader *reader, bool live,
			       struct chario_disk_batch *batch)
{
	const struct chario_disk_batch *last = reader->fresh ? NULL : &reader->last;
	struct chario_disk_batch hidden;
	int found = find_next(reader, live, batch), ret = 0;

	if (found < 0 || !may_hide(reader, live, found ? batch : NULL))
		return found;
	if (!found)
		ret = chario_reader_note_end(reader);
	if (ret == -ENODATA)
		return -ESTALE;
	if (!ret)
		ret = chario_tape_find_hidden(&reader->tape, last, &hidden);
	if (ret <= 0)
		return ret ? ret : found;
	if (found && !chario_reader_is_before(&hidden, batch))
		return found;
	if (!found && chario_area_has_writer(reader->area))
		return 0;
	if (!found)
		chario_reader_note_newest(reader, hidden.segment);
	if (!last)
		expect_first(reader);
	*batch = hidden;
	return 1;
}

/* Returns the number that the next record should have, after those read or passed over. */
static uint64_t number_reached(const struct chario_reader *reader)
{
	if (reader->has_expected)
		return reader->expected;
	return reader->fresh ? 0 : reader->last.next_sequence;
}

/*
 * At the end, the first record is known whose number counts, although none could be read: that of
 * the first batch, if the ring has wrapped around.
 */
static void expect_any(struct chario_reader *reader)
{
	if (reader->has_expected || reader->from_sequence || reader->from_time_ns)
		return;
	if (reader->fresh) {
		expect_first(reader);
	} else if (chario_losses_have_begun(&reader->losses)) {
		reader->has_expected = true;
		reader->expected = reader->losses.first_sequence;
	}
}

/*
 * Returns the number behind the last record that was durable, as the last batch tells, if any are
 * missing behind the place, or 0.  Between them may be numbers of records that the producer lost;
 * all these are known if all before the batch was durable.
 */
static uint64_t find_cut(const struct chario_reader *reader)
{
	const struct chario_disk_batch *last = &reader->last;
	uint64_t durable = chario_losses_count_durable_behind(&reader->losses);
	uint64_t end = reader->expected + durable;

	if (!durable || !reader->has_expected)
		return 0;
	return last->durable_records == last->records ? MAX(end, last->sequence) : end;
}

/*
 * Find out if nothing follows the last record.  Returns -ENODATA if so, 0 if not, or
 * another negative errno.  The table has the end even if the end in the area is damaged;
 * the end of an earlier part does not count.  A recording that was not ended may have been cut off
 * in front of durable records.
 */
static int look_for_end(struct chario_reader *reader, bool live)
{
	bool at_end = is_at_end(reader, live);
	struct chario_area_stream entry;
	uint64_t cut;
	int err;

	reader->is_cut = false;
	if (live && !at_end)
		return 0;
	err = chario_area_get_stream(reader->area, &entry);
	if (err)
		return err == -ENODATA ? -ESTALE : err;
	expect_any(reader);
	reader->end = at_end ? reader->last.next_sequence : 0;
	cut = at_end ? 0 : find_cut(reader);
	if (entry.session == reader->tape.session && entry.end.time_ns &&
	    entry.end.sequence >= MAX(number_reached(reader), cut)) {
		at_end = true;
		reader->end = MAX(reader->end, entry.end.sequence);
	}
	reader->is_cut = cut && !at_end;
	if (reader->is_cut)
		reader->end = cut;
	return at_end ? -ENODATA : 0;
}

/*
 * Skip a batch whose first block has changed since it was found; what follows may be there.
 * Returns 1 if it was skipped, 0 if it may still be under way, or a negative errno.
 */
static int leave_out(struct chario_reader *reader, const struct chario_disk_batch *batch)
{
	int ret = chario_reader_is_final(reader, batch->segment);

	if (ret != 1)
		return ret;
	go_to(reader, batch);
	reader->done_bytes = 0;
	return 1;
}

static int go_on(struct chario_reader *reader, bool live)
{
	struct chario_disk_batch batch;
	int ret;

	reader->loaded = false;
	while ((ret = find_next_or_hidden(reader, live, &batch)) == 1) {
		ret = chario_reader_enter(reader, &batch);
		if (ret)
			return ret;
		ret = leave_out(reader, &batch);
		if (ret != 1)
			return ret;
	}
	return ret ? ret : look_for_end(reader, live);
}

/*
 * Returns 1 if damage may hide segments that nothing tells of: behind the end of a recording that
 * was interrupted, or continued behind an end; or 0, or a negative errno.
 */
static int may_hide_more(struct chario_reader *reader)
{
	struct chario_area_stream entry;
	int err;

	if (reader->tape.surveyed)
		return 0;
	err = chario_area_get_stream(reader->area, &entry);
	if (err)
		return err == -ENODATA ? -ESTALE : err;
	return !chario_tape_reaches_end(&reader->last, &entry);
}

int chario_reader_go_on(struct chario_reader *reader)
{
	bool live = chario_area_has_writer(reader->area);
	int ret, more;

	/* A producer may write behind the last batch. */
	if (live)
		chario_tape_forget_searched(&reader->tape);
	else if (reader->had_writer)
		forget_searches(reader);
	reader->had_writer = live;
	ret = go_on(reader, live);
	if ((ret && ret != -ENODATA) || live)
		return ret;
	more = may_hide_more(reader);
	if (more <= 0)
		return more ? more : ret;
	reader->tape.doubtful = true;
	reader->looks = 0;
	return go_on(reader, live);
}
