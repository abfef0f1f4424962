// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The batches of a segment, from one to the next.
 *
 * A batch ends where the next one begins, so damage to a header hides the batches behind it in the
 * segment.  Where no more writes to a segment are under way, each of its other blocks may begin
 * one of them.  A header tells its part, segment and place, so no data are mistaken for one.  A
 * segment whose first header is damaged is hidden altogether, which matters for the newest one
 * only: the segments behind it tell of any other.
 */
#include "stream/tape.h"

#include <sys/param.h>

static uint32_t end_of(const struct chario_disk_batch *batch)
{
	return chario_disk_round(batch->offset + batch->bytes, CHARIO_DISK_BLOCK);
}

int chario_tape_next(struct chario_tape *tape, const struct chario_disk_batch *last,
		     struct chario_disk_batch *batch)
{
	uint32_t offset = end_of(last);
	int ret = 0;

	if (offset < tape->segment_bytes)
		ret = chario_tape_look(tape, last->segment, offset, batch);
	return ret > 0 ? batch->part == last->part : ret;
}

int chario_tape_rest(struct chario_tape *tape, const struct chario_disk_batch *last,
		     struct chario_disk_batch *batch)
{
	tape->passed = 0;
	tape->hidden = false;
	for (uint32_t offset = end_of(last); offset < tape->segment_bytes;
	     offset += CHARIO_DISK_BLOCK) {
		int ret = chario_tape_look(tape, last->segment, offset, batch);

		if (ret < 0)
			return ret;
		if (ret && batch->part == last->part && batch->serial > last->serial)
			return 1;
		if (!ret && tape->doubtful && !tape->hidden)
			tape->hidden = chario_tape_is_unreadable(tape, last->segment, offset);
	}
	return 0;
}

/*
 * Returns whether a batch can be one behind another, and is not left by a part before that: a
 * later part knew the records before the last batch to be durable, an earlier one did not.
 */
static bool may_follow(const struct chario_disk_batch *last, const struct chario_disk_batch *batch)
{
	if (!last)
		return true;
	return batch->serial > last->serial &&
	       (batch->part == last->part || batch->durable_records > last->records);
}

/*
 * Find the first batch in a segment whose first header is damaged; see chario_tape_next().  In a
 * ring that may be one of an earlier lap, which a power cut has left.
 */
static int look_inside(struct chario_tape *tape, uint64_t segment,
		       const struct chario_disk_batch *last, struct chario_disk_batch *batch)
{
	int ret = chario_tape_peek(tape, segment, 0, batch);

	if (ret < 0 || (ret && batch->segment >= segment))
		return MIN(ret, 0);
	for (uint32_t offset = CHARIO_DISK_BLOCK; offset < tape->segment_bytes;
	     offset += CHARIO_DISK_BLOCK) {
		ret = chario_tape_look(tape, segment, offset, batch);
		if (ret < 0 || (ret && may_follow(last, batch)))
			return ret;
	}
	return 0;
}

/* Returns whether the slot of a batch now holds a later segment; or a negative errno. */
static int is_overwritten(struct chario_tape *tape, const struct chario_disk_batch *batch)
{
	struct chario_disk_batch first;
	int ret = tape->ring ? chario_tape_peek(tape, batch->segment, 0, &first) : 0;

	return ret > 0 ? first.segment > batch->segment : ret;
}

int chario_tape_pass_bad(struct chario_tape *tape, const struct chario_disk_batch *last,
			 struct chario_disk_batch *batch)
{
	uint64_t passed = last ? last->serial + 2 : 1;
	uint64_t next = last ? last->segment + 1 : 0;
	int ret = 0;

	if (tape->passed == passed)
		return 0;
	tape->passed = 0;
	tape->hidden = false;
	if (last && last->flags & CHARIO_DISK_BATCH_END)
		return 0;
	if (last)
		ret = is_overwritten(tape, last);
	if (ret)
		return MIN(ret, 0);
	if (last)
		ret = chario_tape_rest(tape, last, batch);
	if (!ret && (tape->ring || next < tape->slots))
		ret = look_inside(tape, next, last, batch);
	if (!ret)
		tape->passed = passed;
	return ret;
}
