// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The batches of a segment, from one to the next.
 *
 * A batch ends where the next one begins, so damage to a header hides the batches behind it in the
 * segment.  Where no more writes to a segment are under way, each of its other blocks may begin
 * one of them.  A header tells its part, segment and place, so no data are mistaken for one.  In a
 * segment whose first header is damaged, chario_tape_inside() finds the first batch that is left.
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

/* Bytes of a segment that are read at a time. */
#define AHEAD_BYTES ((uint32_t)256 << 10)

/**
 * struct block_ahead - blocks of a segment that are read before their headers are looked at
 * @tape: segments
 * @segment: number of the segment
 * @pool: memory for the blocks, if there is any
 * @from: offset of the blocks in the segment, in bytes
 * @to: offset behind them
 * @is_read: true if all of them could be read
 */
struct block_ahead {
	struct chario_tape *tape;
	uint64_t segment;
	struct chario_pool pool;
	uint32_t from;
	uint32_t to;
	bool is_read;
};

/* Without memory each block is read alone, to that of the tape. */
static void begin_ahead(struct block_ahead *ahead)
{
	struct chario_tape *tape = ahead->tape;

	if (chario_pool_create_fitting(&ahead->pool, tape->area->store->device,
				       MIN(AHEAD_BYTES, tape->segment_bytes)))
		ahead->pool = (struct chario_pool){ 0 };
}

static int read_blocks_ahead(struct block_ahead *ahead, uint32_t offset)
{
	struct chario_tape *tape = ahead->tape;
	uint32_t bytes = MIN(AHEAD_BYTES, tape->segment_bytes - offset);
	int ret = 0;

	if (ahead->pool.buffer) {
		ret = chario_tape_read(tape, ahead->segment, offset, bytes, &ahead->pool);
		tape->reads++;
	}
	if (ret < 0)
		return ret;
	ahead->from = offset;
	ahead->to = offset + bytes;
	ahead->is_read = ret;
	return 0;
}

/* Read a header like chario_tape_look(), at a place behind those that were read before. */
static int look_ahead(struct block_ahead *ahead, uint32_t offset, struct chario_disk_batch *batch)
{
	int err = offset < ahead->to ? 0 : read_blocks_ahead(ahead, offset);

	if (err)
		return err;
	if (!ahead->is_read)
		return chario_tape_look(ahead->tape, ahead->segment, offset, batch);
	return chario_tape_parse(ahead->tape, ahead->segment, offset,
				 ahead->pool.memory + (offset - ahead->from), batch) &&
	       batch->segment == ahead->segment;
}

/*
 * Returns whether @batch may follow @last.  In the same segment it must be of the same part.  In
 * another one, a batch of another part must know of more durable records than lie before @last;
 * else an earlier part has left it.
 */
static bool may_follow(const struct chario_disk_batch *last, const struct chario_disk_batch *batch)
{
	if (!last)
		return true;
	if (batch->segment == last->segment)
		return batch->part == last->part;
	return batch->serial > last->serial &&
	       (batch->part == last->part || batch->durable_records > last->records);
}

/* Set @unread_rest if the drive cannot read this block.  Returns 0 or a negative errno. */
static int note_unread(struct chario_tape *tape, uint64_t segment, uint32_t offset)
{
	int ret = chario_tape_is_unreadable(tape, segment, offset);

	tape->unread_rest |= ret > 0;
	return MIN(ret, 0);
}

/* Find the first batch at a block of a segment, from one on, that may follow another. */
static int search_blocks(struct chario_tape *tape, uint64_t segment, uint32_t offset,
			 const struct chario_disk_batch *last, struct chario_disk_batch *batch)
{
	struct block_ahead ahead = { .tape = tape, .segment = segment };
	int ret = 0;

	if (offset < tape->segment_bytes)
		begin_ahead(&ahead);
	for (; !ret && offset < tape->segment_bytes; offset += CHARIO_DISK_BLOCK) {
		ret = look_ahead(&ahead, offset, batch);
		if (!ret && !ahead.is_read && last && segment == last->segment)
			ret = note_unread(tape, segment, offset);
		if (ret > 0)
			ret = may_follow(last, batch);
	}
	chario_pool_destroy(&ahead.pool);
	return ret;
}

int chario_tape_rest(struct chario_tape *tape, const struct chario_disk_batch *last,
		     struct chario_disk_batch *batch)
{
	chario_tape_forget_searched(tape);
	return search_blocks(tape, last->segment, end_of(last), last, batch);
}

/* In a ring, its first header may be one of an earlier lap, which a power cut has left. */
int chario_tape_inside(struct chario_tape *tape, uint64_t segment,
		       const struct chario_disk_batch *last, struct chario_disk_batch *batch)
{
	int ret = chario_tape_peek(tape, segment, 0, batch);

	if (ret < 0 || (ret && batch->segment >= segment))
		return MIN(ret, 0);
	return search_blocks(tape, segment, CHARIO_DISK_BLOCK, last, batch);
}

/* Returns whether the slot of a batch now holds a later segment; or a negative errno. */
static int is_overwritten(struct chario_tape *tape, const struct chario_disk_batch *batch)
{
	struct chario_disk_batch first;
	int ret = tape->ring ? chario_tape_peek(tape, batch->segment, 0, &first) : 0;

	return ret > 0 ? first.segment > batch->segment : ret;
}

void chario_tape_forget_searched(struct chario_tape *tape)
{
	tape->searched = (struct chario_tape_place){ 0 };
	tape->unread_rest = false;
}

static bool is_searched(const struct chario_tape *tape, const struct chario_disk_batch *last)
{
	const struct chario_tape_place *place = &tape->searched;

	return place->is_known && place->is_start == !last &&
	       (!last || place->serial == last->serial);
}

int chario_tape_find_hidden(struct chario_tape *tape, const struct chario_disk_batch *last,
			    struct chario_disk_batch *batch)
{
	uint64_t next = last ? last->segment + 1 : 0;
	int ret = 0;

	if (is_searched(tape, last))
		return 0;
	chario_tape_forget_searched(tape);
	if (last)
		ret = is_overwritten(tape, last);
	if (ret)
		return MIN(ret, 0);
	/* A part that continues behind an end does so in the next segment. */
	if (last && !(last->flags & CHARIO_DISK_BATCH_END))
		ret = chario_tape_rest(tape, last, batch);
	if (!ret && (tape->ring || next < tape->slots))
		ret = chario_tape_inside(tape, next, last, batch);
	if (!ret)
		tape->searched = (struct chario_tape_place){ true, !last, last ? last->serial : 0 };
	return ret;
}
