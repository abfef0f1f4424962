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
 */
#include "stream/tape.h"

/*
 * Look for a segment, at each place of a window and at growing distances behind it: not all
 * segments of a window can be missing because they were in flight, but they may be damaged.
 */
static int scan(struct chario_tape *tape, chario_tape_header *look, uint64_t from, uint64_t end,
		struct chario_disk_batch *batch)
{
	uint64_t step = 1;

	for (uint64_t segment = from; segment < end; segment += step) {
		struct chario_disk_batch found;
		int ret = look(tape, segment, 0, &found);

		if (ret > 0)
			*batch = found;
		if (ret)
			return ret;
		if (segment - from >= tape->window)
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

/* Look for a segment that is newer than @batch. */
static int newer(struct chario_tape *tape, struct chario_disk_batch *batch)
{
	uint64_t from = batch->segment + 1;
	uint64_t end = tape->ring ? from + tape->slots - 1 : tape->slots;

	return scan(tape, chario_tape_look, from, end, batch);
}

int chario_tape_newest(struct chario_tape *tape, struct chario_disk_batch *batch)
{
	int ret = scan(tape, chario_tape_peek, 0, tape->slots, batch);

	while (ret > 0) {
		ret = last_of_lap(tape, batch);
		if (!ret)
			ret = newer(tape, batch);
		if (!ret)
			return 1;
	}
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

/* Go from the first batch of a segment to its last. */
static int last_batch(struct chario_tape *tape, struct chario_disk_batch *batch)
{
	struct chario_disk_batch found;
	int ret = 1;

	while (ret > 0) {
		uint32_t offset =
			chario_disk_round(batch->offset + batch->bytes, CHARIO_DISK_BLOCK);

		if (offset >= tape->segment_bytes)
			return 0;
		ret = chario_tape_look(tape, batch->segment, offset, &found);
		if (ret > 0 && found.part != batch->part)
			return 0;
		if (ret > 0)
			*batch = found;
	}
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
	if (!head->whole)
		return;
	head->next_sequence = pile->batch.next_sequence;
	head->ended = pile->batch.flags & CHARIO_DISK_BATCH_END;
}

static int count_missing(struct chario_tape *tape, struct chario_head *head)
{
	uint64_t newest = head->last.segment;
	uint64_t from = newest < tape->window ? 0 : newest - tape->window;
	struct chario_disk_batch batch;

	for (uint64_t segment = from; segment < newest; segment++) {
		int ret = chario_tape_look(tape, segment, 0, &batch);

		if (ret < 0)
			return ret;
		head->missing += !ret;
	}
	return 0;
}

/* Programs of the first release did not record the end in the table. */
bool chario_head_is_left(const struct chario_head *head, const struct chario_area_stream *entry)
{
	return head->ended && (entry->end.time_ns || !(head->last.flags & CHARIO_DISK_BATCH_TOLD));
}

static int find_head(struct chario_tape *tape, struct chario_pile *pile, struct chario_head *head)
{
	int ret = chario_tape_newest(tape, &head->last);

	if (ret <= 0)
		return ret;
	head->found = true;
	head->turns = true;
	ret = last_batch(tape, &head->last);
	if (ret < 0)
		return ret;
	head->next_sequence = head->last.sequence;
	head->records = head->last.records;
	head->position = head->last.position;
	ret = chario_tape_load(tape, &head->last, pile);
	if (ret < 0)
		return ret;
	if (ret)
		walk(pile, tape->segment_bytes, head);
	return count_missing(tape, head);
}

int chario_tape_head(struct chario_tape *tape, struct chario_head *head)
{
	struct chario_pile pile = { 0 };
	int err = chario_pool_create_fitting(&pile.pool, tape->area->store->device,
					     tape->segment_bytes);

	if (err)
		return err;
	*head = (struct chario_head){ 0 };
	err = find_head(tape, &pile, head);
	chario_pool_destroy(&pile.pool);
	return err;
}
