// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The head of a recording, found by search.
 *
 * The slots written in the same lap as the first slot are those up to the head: a binary
 * search finds the last of them.  A power cut may leave holes: writes that were not durable
 * yet may be there or not, in any order.  The recorder keeps them in a window: it writes
 * segment N only when all segments up to N - window are durable.  So behind the first hole
 * the newest segment is at most a window away, and the search reads all segments of that
 * window.  If it finds one there, the search goes on from it.
 *
 * Damage may be longer than a window and hide what is behind it.  So the headers of all places
 * behind the head are read, once, if something shows that there is or may be damage: a place
 * that cannot be read; in a ring, a place without a segment that the first lap has written and
 * no power cut can have torn; a table that knows of a later segment; or, for who continues
 * a recording or is at its end, that nobody has closed it, or somebody has continued it since.
 * A producer may come later and write behind the damage, so they are read again when other
 * searches have read as many headers.
 */
#include "stream/tape.h"

/*
 * Look for a segment from @least on, at each place of a window and at growing distances behind it:
 * not all segments of a window can be missing because they were in flight, but they may be
 * damaged.
 */
static int scan(struct chario_tape *tape, uint64_t from, uint64_t end, uint64_t least,
		struct chario_disk_batch *batch)
{
	uint64_t step = 1;

	tape->gap = 0;
	for (uint64_t segment = from; segment < end; segment += step) {
		struct chario_disk_batch found;
		int ret = chario_tape_peek(tape, segment, 0, &found);
		bool is_behind = segment - from >= tape->window;

		if (ret > 0 && found.segment >= least)
			*batch = found;
		if (ret < 0 || (ret && found.segment >= least))
			return ret;
		tape->gap += !ret && !is_behind && segment - from == tape->gap;
		tape->doubtful |= !ret && is_behind && segment >= tape->slots;
		if (is_behind)
			step *= 2;
	}
	return 0;
}

/* Go to the last slot in the lap of @batch that comes before a hole. */
static int last_of_lap(struct chario_tape *tape, struct chario_disk_batch *batch)
{
	uint64_t lap = batch->segment / tape->slots * tape->slots;
	uint64_t there = batch->segment - lap, not_there = tape->slots;
	struct chario_disk_batch found;

	while (not_there - there > 1) {
		uint64_t middle = there + (not_there - there) / 2;
		int ret = chario_tape_look(tape, lap + middle, 0, &found);

		if (ret < 0)
			return ret;
		if (ret) {
			there = middle;
			*batch = found;
		} else {
			not_there = middle;
		}
	}
	return 0;
}

/* Returns the number behind the last place that can hold a segment newer than @from - 1. */
static uint64_t end_of_search(const struct chario_tape *tape, uint64_t from)
{
	return tape->ring && from ? from + tape->slots - 1 : tape->slots;
}

/* Go on from a segment to the newest.  Returns 1 or a negative errno. */
static int go_on(struct chario_tape *tape, struct chario_disk_batch *batch)
{
	int ret = 1;

	while (ret > 0) {
		uint64_t from;

		ret = last_of_lap(tape, batch);
		from = batch->segment + 1;
		if (!ret)
			ret = scan(tape, from, end_of_search(tape, from), from, batch);
	}
	return ret < 0 ? ret : 1;
}

/* Find a segment behind damage, which an earlier search may know. */
static int find_behind_damage(struct chario_tape *tape, uint64_t from,
			      struct chario_disk_batch *batch)
{
	struct chario_disk_batch found;
	int ret;

	if (!tape->surveyed || tape->reads - tape->reads_then >= tape->survey_reads)
		return chario_tape_survey(tape, from, end_of_search(tape, from), batch);
	if (tape->seen <= from)
		return 0;
	ret = chario_tape_peek(tape, tape->seen - 1, 0, &found);
	if (ret <= 0 || found.segment < from)
		return MIN(ret, 0);
	*batch = found;
	return 1;
}

int chario_tape_newest(struct chario_tape *tape, struct chario_disk_batch *batch)
{
	int ret = scan(tape, 0, tape->slots, 0, batch), hidden = 0;
	uint64_t from;

	if (ret > 0)
		ret = go_on(tape, batch);
	if (ret < 0)
		return ret;
	from = ret ? batch->segment + 1 : 0;
	if (tape->doubtful || from < MAX(tape->reached, tape->seen))
		hidden = find_behind_damage(tape, from, batch);
	if (hidden)
		ret = hidden > 0 ? go_on(tape, batch) : hidden;
	if (ret > 0)
		tape->seen = MAX(tape->seen, batch->segment + 1);
	return ret;
}

int chario_tape_first(struct chario_tape *tape, uint64_t from, uint64_t to,
		      struct chario_disk_batch *batch)
{
	for (uint64_t segment = from; segment <= to; segment++) {
		int ret = chario_tape_look(tape, segment, 0, batch);

		if (ret)
			return ret;
	}
	return 0;
}

int chario_tape_oldest(struct chario_tape *tape, uint64_t newest, struct chario_disk_batch *batch)
{
	uint64_t from = newest < tape->slots ? 0 : newest - tape->slots + 1;

	return chario_tape_first(tape, from, newest, batch);
}

/* Count a segment once that has a bad batch before the last one. */
static void note_torn(struct chario_head *head, uint64_t segment)
{
	head->torn += segment >= head->torn_end;
	head->torn_end = MAX(head->torn_end, segment + 1);
}

/*
 * Count the segments with bad batches before one that these have hidden.  If more batches are
 * missing than blocks lie before it in its segment, some are missing from the segment before.
 */
static void count_torn(struct chario_head *head, const struct chario_disk_batch *found)
{
	const struct chario_disk_batch *last = &head->last;

	if (head->found && last->segment < found->segment &&
	    found->serial - last->serial - 1 > found->offset / CHARIO_DISK_BLOCK)
		note_torn(head, last->segment);
	note_torn(head, found->segment);
}

/* Find the batch behind the last one of the head.  Returns 1, 0, or a negative errno. */
static int next_batch(struct chario_tape *tape, bool is_still, struct chario_head *head)
{
	const struct chario_disk_batch *last = &head->last;
	struct chario_disk_batch found;
	int ret = head->found ? chario_tape_next(tape, last, &found) : 0;

	if (!ret && is_still) {
		ret = chario_tape_find_hidden(tape, head->found ? last : NULL, &found);
		if (ret > 0)
			count_torn(head, &found);
		head->unread_rest = !ret && head->found && tape->unread_rest;
	}
	if (ret > 0) {
		head->last = found;
		head->found = true;
	}
	return ret;
}

/* Go from the first batch of the newest segment to the last. */
static int last_batch(struct chario_tape *tape, bool is_still, struct chario_head *head)
{
	int ret = 1;

	while (ret > 0)
		ret = next_batch(tape, is_still, head);
	return ret;
}

/* Take note of the time of a whole record. */
static void note_time(struct chario_head *head, uint64_t time_ns)
{
	if (chario_disk_turns(head->latest_ns, time_ns))
		head->turns = true;
	head->latest_ns = MAX(head->latest_ns, time_ns);
	head->time_ns = time_ns;
}

/* Find the last whole record; without one the head is at the beginning of the batch. */
static void walk(struct chario_pile *pile, uint32_t segment_bytes, struct chario_head *head)
{
	struct chario_piece piece;
	int ret;

	head->whole = true;
	head->run = pile->times.run;
	head->turns = !pile->has_times;
	while ((ret = chario_pile_next(pile, segment_bytes, &piece))) {
		if (ret < 0) {
			head->whole = false;
			chario_pile_skip(pile);
			continue;
		}
		if (!(piece.record.flags & CHARIO_DISK_RECORD_LAST))
			continue;
		head->next_sequence = piece.record.sequence + 1;
		if (piece.record.flags & CHARIO_DISK_RECORD_VOID)
			continue;
		note_time(head, piece.record.time_ns);
		head->records++;
		head->position += piece.record.done_bytes + piece.record.bytes;
	}
	head->damaged = !head->whole && pile->unread < pile->unread_end;
	if (!head->whole)
		return;
	head->next_sequence = pile->batch.next_sequence;
	head->ended = pile->batch.flags & CHARIO_DISK_BATCH_END;
}

/* Count the segments of the window that have no first header, up to the newest that has one. */
static int count_missing(struct chario_tape *tape, uint64_t end, struct chario_head *head)
{
	uint64_t newest = head->last.segment;
	uint64_t from = newest < tape->window ? 0 : newest - tape->window;
	struct chario_disk_batch batch;

	for (uint64_t segment = from; segment < end; segment++) {
		int ret = chario_tape_look(tape, segment, 0, &batch);

		if (ret < 0)
			return ret;
		head->missing += !ret;
	}
	return 0;
}

/* A ring whose batches lack TOLD is of the first release, and the table has no end of it. */
bool chario_head_is_left(const struct chario_head *head, const struct chario_area_stream *entry)
{
	return head->ended && (entry->end.time_ns || !(head->last.flags & CHARIO_DISK_BATCH_TOLD));
}

static int find_head(struct chario_tape *tape, bool is_still, struct chario_pile *pile,
		     struct chario_head *head)
{
	int ret = chario_tape_newest(tape, &head->last);
	uint64_t newest = head->last.segment;

	if (ret < 0)
		return ret;
	head->found = ret;
	ret = last_batch(tape, is_still, head);
	if (ret < 0 || !head->found)
		return ret;
	head->turns = true;
	head->next_sequence = head->last.sequence;
	head->records = head->last.records;
	head->position = head->last.position;
	ret = chario_tape_load(tape, &head->last, pile);
	if (ret < 0)
		return ret;
	if (ret)
		walk(pile, tape->segment_bytes, head);
	if (!head->whole)
		note_torn(head, head->last.segment);
	return count_missing(tape, newest, head);
}

int chario_tape_skip_unreadable(struct chario_tape *tape, uint64_t *next, uint64_t *unreadable)
{
	uint64_t from = *next, end = end_of_search(tape, from);

	for (uint64_t at = from; tape->doubtful && at < MIN(end, *next + tape->window); at++) {
		int ret = chario_tape_is_unreadable(tape, at, 0);

		if (ret < 0)
			return ret;
		if (!ret)
			continue;
		++*unreadable;
		*next = at + 1;
	}
	return 0;
}

int chario_tape_head(struct chario_tape *tape, bool is_still, struct chario_head *head)
{
	struct chario_pile pile = { 0 };
	int err = chario_pool_create_fitting(&pile.pool, tape->area->store->device,
					     tape->segment_bytes);

	if (err)
		return err;
	*head = (struct chario_head){ 0 };
	err = find_head(tape, is_still, &pile, head);
	chario_pool_destroy(&pile.pool);
	return err;
}
