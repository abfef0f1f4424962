// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* The place behind a recording at which it is continued. */
#include "stream/inner.h"

#include <errno.h>

#include "stream/lost.h"

/* A table may come from any program. */
static bool is_sane(const struct store_end *end)
{
	return end->time_ns && end->sequence < CHARIO_DISK_COUNT_MAX &&
	       end->records < CHARIO_DISK_COUNT_MAX && end->bytes < CHARIO_DISK_COUNT_MAX &&
	       end->segment < CHARIO_DISK_COUNT_MAX;
}

/*
 * Place the head behind segments that hold nothing readable, and behind batches that may be there:
 * reserve a serial number for each block that is skipped.  Without a batch before, the first is 0.
 */
static void skip_to(struct chario_stream *stream, struct chario_head *head, uint64_t next)
{
	uint64_t from = head->found ? head->last.segment + 1 : 0;

	if (next == from)
		return;
	head->last.serial += (next - from) * (stream->tape.segment_bytes / CHARIO_DISK_BLOCK);
	head->last.serial -= !head->found;
	head->last.segment = next - 1;
	head->ended = false;
	head->turns = true;
	head->found = true;
}

/*
 * Returns whether the table shows that nothing was recorded behind the segments that it knows of: a
 * program that continues the recording says so there before it writes anything.  Unlike in
 * chario_tape_reaches_end(), the end may lie behind the head: skip_damage() goes there.
 */
static bool is_nothing_behind(const struct chario_area_stream *entry,
			      const struct chario_head *head)
{
	const struct store_end *end = &entry->end;

	return is_sane(end) && !entry->continued && end->segment >= head->last.segment;
}

/*
 * Check that a place holds no newer segment than was found.  Returns -EIO if it does: the drive
 * could not read it before, but can now, and maybe others.
 */
static int check_place(struct chario_tape *tape, uint64_t segment)
{
	struct chario_disk_batch batch;
	int ret = tape->doubtful ? chario_tape_look(tape, segment, 0, &batch) : 0;

	return ret > 0 ? -EIO : ret;
}

/*
 * Place the head behind damage.  The head is the end of what can be read now.  Records that
 * the table knows of behind it, and segments that cannot be read, are damaged but may be
 * readable another time, so they are not overwritten, and their numbers are not given again.
 * If the table does not tell how many numbers were used, as many are skipped as the segments can
 * hold.  Nothing tells their times, either, so a new run begins.  Returns 0 or a negative errno.
 */
static int skip_damage(struct chario_stream *stream, const struct chario_area_stream *entry,
		       struct chario_head *head)
{
	const struct store_end *end = &entry->end;
	struct chario_tape *tape = &stream->tape;
	uint64_t next = head->found ? head->last.segment + 1 : 0;
	uint64_t unreadable = head->unread_rest;
	int err;

	if (head->damaged) {
		head->next_sequence = head->last.next_sequence;
		head->records = head->last.records + head->last.nr_records;
	}
	/* A program that was killed may have skipped these, and begun to write the next one. */
	if (tape->ring && tape->reached > next && tape->reached < CHARIO_DISK_COUNT_MAX) {
		unreadable += tape->reached - next;
		next = tape->reached;
	}
	if (is_sane(end)) {
		unreadable = end->segment + 1 < next ? unreadable : 0;
		next = MAX(next, end->segment + 1);
		if (end->sequence > head->next_sequence) {
			head->ended = false;
			head->turns = true;
			head->next_sequence = end->sequence;
			head->records = end->records;
			head->position = end->bytes;
		}
	}
	err = chario_tape_skip_unreadable(tape, &next, &unreadable);
	if (!err)
		err = check_place(tape, next);
	if (err)
		return err;
	if (is_nothing_behind(entry, head))
		unreadable = 0;
	head->turns |= head->damaged || unreadable;
	if (unreadable)
		head->next_sequence = MAX(head->next_sequence, head->last.next_sequence) +
				      unreadable * chario_tape_most_records(tape);
	/* Readers see from the serial numbers that batches are left out. */
	if (head->unread_rest)
		head->last.serial += tape->segment_bytes / CHARIO_DISK_BLOCK;
	skip_to(stream, head, next);
	return 0;
}

/*
 * Find the head.  If the recording was not closed, or was continued since, damage may hide segments
 * behind it that nothing tells of: then search again, with a survey.
 */
static int find_head(struct chario_stream *stream, const struct chario_area_stream *entry,
		     struct chario_head *head)
{
	int err = chario_tape_head(&stream->tape, true, head);

	if (err || stream->tape.surveyed || chario_tape_reaches_end(&head->last, entry))
		return err;
	stream->tape.doubtful = true;
	return chario_tape_head(&stream->tape, true, head);
}

/*
 * Make all durable that is before the new part.  A flush alone is enough for what a program that
 * was killed has left in the cache, but not for what a failed flush has.
 */
static int make_durable(struct chario_stream *stream, const struct chario_head *head)
{
	bool is_durable = !stream->cached || stream->after_end;
	int err = is_durable ? 0 : chario_stream_write_again(stream, &head->last);

	return err ? err : chario_area_sync(stream->area);
}

int chario_stream_find_end(struct chario_stream *stream, const struct chario_area_stream *entry)
{
	struct chario_head head, found;
	int err = find_head(stream, entry, &head);
	bool turns;

	if (err)
		return err;
	stream->after_end = chario_head_is_closed(&head, entry);
	stream->status.lost_records = chario_lost_before_head(&head, &entry->end);
	found = head;
	err = skip_damage(stream, entry, &head);
	if (err || !head.found)
		return err;
	/* The last batch of a closed recording is often empty and tells no time: a new run begins. */
	turns = head.turns || !head.latest_ns;
	stream->next_segment = head.last.segment + 1;
	if (stream->tape.ring &&
	    !(chario_head_is_left(&head, entry) && head.last.flags & CHARIO_DISK_BATCH_CLEAN))
		stream->clean_from = stream->next_segment + stream->tape.slots;
	stream->sequence = head.next_sequence;
	stream->status.records = head.records;
	stream->status.bytes = head.position;
	stream->status.lost_bytes = head.last.lost_bytes;
	stream->final = (struct chario_mark){
		.segment = stream->next_segment,
		.batches = head.last.serial + 1,
		.records = head.records,
		.position = head.position,
		.run = turns ? head.last.serial + 1 : head.run,
	};
	/* A batch before the last one may have a later time, by so much at most. */
	stream->clock.latest_ns = turns ? 0 : head.latest_ns + CHARIO_DISK_TURN_NS;
	stream->completed = stream->final;
	stream->durable = stream->final;
	return make_durable(stream, &found);
}
