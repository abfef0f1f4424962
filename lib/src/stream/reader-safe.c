// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* The judgement whether a ring has overwritten what was read. */
#include "stream/reader-inner.h"

#include <errno.h>

/* The table may meanwhile say that the area holds another recording. */
int chario_reader_check_session(struct chario_reader *reader)
{
	struct chario_area_stream entry;
	int err = chario_area_get_stream(reader->area, &entry);

	if (err)
		return err == -ENODATA ? -ESTALE : err;
	return entry.session == reader->tape.session ? 0 : -ESTALE;
}

/*
 * Returns whether the recording was ended before the ring overwrote a segment, and not
 * continued since.  If the segment belongs to an earlier part, that part may have been
 * interrupted, and its writes under way may have torn older segments; only the last
 * recorder knows.
 */
static int is_last_lap(struct chario_reader *reader, const struct chario_disk_batch *batch)
{
	struct chario_area_stream entry;
	struct chario_head head;
	int err;

	if (chario_area_has_writer(reader->area))
		return 0;
	err = chario_tape_head(&reader->tape, true, &head);
	if (!err)
		err = chario_area_get_stream(reader->area, &entry);
	/* A producer that has come meanwhile may be overwriting what the search has found. */
	if (err || chario_area_has_writer(reader->area))
		return err;
	return chario_head_is_left(&head, &entry) &&
	       head.last.segment < batch->segment + reader->tape.slots &&
	       (head.last.part == batch->part || head.last.flags & CHARIO_DISK_BATCH_CLEAN);
}

/* Records without a checksum that are left out are not damaged, even if the recording was closed. */
static int trust(struct chario_reader *reader, const struct chario_disk_batch *batch)
{
	int ret = is_last_lap(reader, batch);

	if (!ret)
		reader->losses.gaps.distrusted_end = batch->segment + 1;
	return ret;
}

/*
 * Returns whether a place may have been written: its segment is there, damaged, or cannot be read.
 * Places that the first lap has not come to have no header, either.
 */
static int may_be_written(struct chario_tape *tape, uint64_t segment)
{
	struct chario_disk_batch batch;
	int ret = chario_tape_peek(tape, segment, 0, &batch);

	if (ret)
		return ret < 0 ? ret : batch.segment >= segment;
	return segment >= tape->slots ? 1 : chario_tape_is_unreadable(tape, segment, 0);
}

/*
 * Returns whether segment @next, which overwrites the one just read, may have been begun; or a
 * negative errno.  The newest segments may be damaged or skipped: starting from the newest one
 * found, each place that may have been written extends the search by a window.
 */
static int may_be_torn(struct chario_reader *reader, uint64_t next)
{
	struct chario_tape *tape = &reader->tape;
	struct chario_disk_batch batch;
	int ret = chario_tape_newest(tape, &batch);
	uint64_t latest;

	if (ret <= 0)
		return ret;
	latest = MAX(batch.segment + tape->gap + 1, tape->reached) - 1;
	for (uint64_t at = latest + 1; at <= MIN(latest + tape->window, next); at++) {
		ret = may_be_written(tape, at);
		if (ret < 0)
			return ret;
		latest = ret ? at : latest;
	}
	if (next > latest + tape->window)
		return 0;
	/* Records that are left out because of that are not damaged. */
	chario_reader_note_newest(reader, latest);
	return 1;
}

/*
 * The newest segment on the disk is at most a window behind one that is being written.
 * Single segments may be missing since an earlier power cut, so the whole window is read.
 * A new recording in the area is entered in the table before it writes anything, which
 * chario_reader_check_session() finds.
 */
int chario_reader_is_safe(struct chario_reader *reader, const struct chario_disk_batch *batch)
{
	struct chario_tape *tape = &reader->tape;
	uint64_t next = batch->segment + tape->slots;
	struct chario_disk_batch newer;
	bool is_known = true;
	int err = chario_reader_check_session(reader);

	if (err || !tape->ring)
		return err ? err : 1;
	for (uint64_t ahead = next - tape->window; ahead <= next; ahead++) {
		int ret = chario_tape_peek(tape, ahead, 0, &newer);

		if (ret < 0)
			return ret;
		if (ret && newer.segment >= ahead) {
			/* The usual search may not come to it behind places that were skipped. */
			tape->seen = MAX(tape->seen, newer.segment + 1);
			return trust(reader, batch);
		}
		is_known &= ret > 0;
	}
	/* Places may have been readable or whole before, and a program behind them been cut off. */
	is_known &= next >= tape->reached + tape->window;
	err = is_known ? 0 : may_be_torn(reader, next);
	return err > 0 ? trust(reader, batch) : err ? err : 1;
}
