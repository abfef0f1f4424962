// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * From one batch of a recording to the next.
 */
#include "stream/reader-inner.h"

#include <errno.h>

/* A record goes on in the very next batch: its number may come again in a later one. */
static bool goes_on(const struct chario_disk_batch *last, const struct chario_disk_batch *batch)
{
	return batch->part == last->part && batch->serial - last->serial <= 1;
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
	if (!goes_on(&reader->last, batch))
		reader->done_bytes = 0;
	reader->last = *batch;
	reader->loaded = true;
	reader->settled = false;
	reader->fresh = false;
	reader->looks = 0;
	return 1;
}

void chario_reader_reset(struct chario_reader *reader)
{
	reader->loaded = false;
	reader->fresh = true;
	reader->done_bytes = 0;
	reader->has_expected = false;
	reader->from_sequence = 0;
	reader->from_time_ns = 0;
	reader->looks = 0;
}

int chario_reader_reload(struct chario_reader *reader)
{
	uint32_t at = reader->pile.at;
	int ret = chario_reader_enter(reader, &reader->last);

	reader->pile.at = at;
	/* What a read that failed has left may be of any time. */
	if (ret < 0)
		reader->settled = reader->pile.sealed = false;
	if (!ret)
		reader->loaded = false;
	return ret;
}

/*
 * A segment is written when all up to a window before it are durable: a segment
 * that far ahead says that this one is as it stays.
 */
int chario_reader_is_final(struct chario_reader *reader, uint64_t segment)
{
	struct chario_tape *tape = &reader->tape;
	struct chario_disk_batch batch;

	if (!chario_area_has_writer(reader->area))
		return 1;
	for (uint64_t i = 0; i < 3; i++) {
		int ret;

		if (!tape->ring && segment + tape->window + i >= tape->slots)
			break;
		ret = chario_tape_peek(tape, segment + tape->window + i, 0, &batch);
		if (ret < 0)
			return ret;
		if (ret && batch.segment >= segment + tape->window)
			return 1;
	}
	return 0;
}

int chario_reader_find_head(struct chario_reader *reader, struct chario_head *head)
{
	struct chario_pile pile = { 0 };
	int err = chario_pool_create(&pile.pool, chario_area_device(reader->area),
				     reader->tape.segment_bytes, 0);

	if (err)
		return err;
	err = chario_tape_head(&reader->tape, &pile, head);
	chario_pool_destroy(&pile.pool);
	return err;
}

/* The table may say by now that the area holds another recording. */
static int check_session(struct chario_reader *reader)
{
	struct chario_area_stream entry;
	int err = chario_area_get_stream(reader->area, &entry);

	if (err)
		return err == -ENODATA ? -ESTALE : err;
	return entry.session == reader->tape.session ? 0 : -ESTALE;
}

/*
 * Whether the recording was ended before the ring came round to a segment, and nobody has
 * begun to go on with it since.  Where it is not of the last part, an earlier one may have
 * been cut off, and what was on its way then can have torn what is older: only who recorded
 * last knows.
 */
static int is_last_lap(struct chario_reader *reader, const struct chario_disk_batch *batch)
{
	struct chario_area_stream entry;
	struct chario_head head;
	int err;

	if (chario_area_has_writer(reader->area))
		return 0;
	err = chario_reader_find_head(reader, &head);
	if (!err)
		err = chario_area_get_stream(reader->area, &entry);
	if (err)
		return err;
	return chario_head_is_left(&head, &entry) &&
	       head.last.segment < batch->segment + reader->tape.slots &&
	       (head.last.part == batch->part || head.last.flags & CHARIO_DISK_BATCH_CLEAN);
}

/*
 * The newest segment is at most a window behind one that is being written.  A single
 * one may be missing since an earlier power cut, so all of the window is looked at.
 * Another recording in the area, ring or not, is in the table before it writes anything.
 */
int chario_reader_is_safe(struct chario_reader *reader, const struct chario_disk_batch *batch)
{
	struct chario_tape *tape = &reader->tape;
	uint64_t next = batch->segment + tape->slots;
	struct chario_disk_batch newer;
	int err = check_session(reader);

	if (err || !tape->ring)
		return err ? err : 1;
	for (uint64_t ahead = next - tape->window; ahead <= next; ahead++) {
		int ret = chario_tape_peek(tape, ahead, 0, &newer);

		if (ret < 0)
			return ret;
		if (ret && newer.segment >= ahead)
			return is_last_lap(reader, batch);
	}
	return 1;
}

/* What is in the place of the next batch, in this segment or the next. */
static int look_behind(struct chario_reader *reader, struct chario_disk_batch *batch)
{
	const struct chario_disk_batch *last = &reader->last;
	struct chario_tape *tape = &reader->tape;
	uint32_t offset = chario_disk_round(last->offset + last->bytes, CHARIO_DISK_BLOCK);
	int ret;

	if (offset < tape->segment_bytes) {
		ret = chario_tape_look(tape, last->segment, offset, batch);
		if (ret && (ret < 0 || batch->part == last->part))
			return ret;
	}
	if (!tape->ring && last->segment + 1 >= tape->slots)
		return 0;
	ret = chario_tape_look(tape, last->segment + 1, 0, batch);
	if (ret != 1 || batch->serial == last->serial + 1)
		return ret;
	/* A batch between them is missing, or not there yet. */
	return chario_reader_is_final(reader, last->segment);
}

/* Nothing follows: it was ended and nobody goes on with it, or the area is full. */
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

/* Where the ring has not come round yet, the first record of all is the next one. */
static void expect_first(struct chario_reader *reader)
{
	reader->has_expected = !reader->from_sequence && !reader->from_time_ns;
	reader->expected = 0;
}

/*
 * Search all of the recording for what follows.  @live: somebody was writing before
 * anything was looked at, so what is missing may still come.
 */
static int search(struct chario_reader *reader, bool live, struct chario_disk_batch *batch)
{
	struct chario_tape *tape = &reader->tape;
	uint64_t next = reader->fresh ? 0 : reader->last.segment + 1;
	uint64_t newest;
	int ret = chario_tape_newest(tape, batch);

	if (ret <= 0)
		return ret;
	newest = batch->segment;
	if (newest >= tape->slots && next <= newest - tape->slots)
		return chario_tape_oldest(tape, newest, batch);
	if (newest < next)
		return 0;
	if (reader->fresh) {
		expect_first(reader);
		ret = chario_tape_oldest(tape, newest, batch);
		/* The first of all may be on its way still. */
		return ret == 1 && live && newest < tape->window ? !batch->segment : ret;
	}
	if (live && newest < reader->last.segment + tape->window)
		return 0;
	return chario_tape_first(tape, next, newest, batch);
}

/* What follows, as far as it is to be found out now. */
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
	ret = check_session(reader);
	return ret ? ret : search(reader, live, batch);
}

/* The number that the next record should have, behind what has been read or passed over. */
static uint64_t number_reached(const struct chario_reader *reader)
{
	if (reader->has_expected)
		return reader->expected;
	return reader->fresh ? 0 : reader->last.next_sequence;
}

/*
 * Whether nothing follows what has been read: -ENODATA, 0, or another errno.  The table
 * knows of an end that is damaged; one of an earlier part is no end.
 */
static int look_for_end(struct chario_reader *reader, bool live)
{
	bool at_end = is_at_end(reader, live);
	struct chario_area_stream entry;
	int err;

	if (live && !at_end)
		return 0;
	err = chario_area_get_stream(reader->area, &entry);
	if (err)
		return err == -ENODATA ? -ESTALE : err;
	if (reader->fresh && !reader->has_expected)
		expect_first(reader);
	reader->end = at_end ? reader->last.next_sequence : 0;
	if (entry.session == reader->tape.session && entry.end.time_ns &&
	    entry.end.sequence >= number_reached(reader)) {
		at_end = true;
		if (entry.end.sequence > reader->end)
			reader->end = entry.end.sequence;
	}
	return at_end ? -ENODATA : 0;
}

/*
 * The first block of a batch is there, and the batch is not: what follows it may be.  1 when
 * it is left out; 0 where it may still be on its way; or a negative errno.
 */
static int leave_out(struct chario_reader *reader, const struct chario_disk_batch *batch)
{
	int ret = chario_reader_is_final(reader, batch->segment);

	if (ret != 1)
		return ret;
	reader->last = *batch;
	reader->done_bytes = 0;
	reader->fresh = false;
	reader->looks = 0;
	return 1;
}

int chario_reader_go_on(struct chario_reader *reader)
{
	bool live = chario_area_has_writer(reader->area);
	struct chario_disk_batch batch;
	int ret;

	reader->loaded = false;
	while ((ret = find_next(reader, live, &batch)) == 1) {
		ret = chario_reader_enter(reader, &batch);
		if (ret)
			return ret;
		ret = leave_out(reader, &batch);
		if (ret != 1)
			return ret;
	}
	return ret ? ret : look_for_end(reader, live);
}
