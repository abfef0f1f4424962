// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Batches that are written again, because they may not be durable.
 *
 * A flush that fails may have dropped from the caches of the kernel or the drive what it was for:
 * that can be read as before, but no later flush makes it durable, and nothing on the disk tells of
 * the failure.  So a program that continues a recording does not rely on its own flush for batches
 * behind the records that the last header tells to be durable.  It writes them again, as they are,
 * where they are, before that flush.  A power cut meanwhile leaves what one before could have left.
 *
 * They lie in the window that ends with the newest segment.  A batch that is not whole stays as
 * it is.
 */
#include "stream/inner.h"

#include <string.h>

#include "stream/count.h"

static bool is_whole(struct chario_pile *pile, uint32_t segment_bytes)
{
	struct chario_piece piece;
	int ret;

	do
		ret = chario_pile_next(pile, segment_bytes, &piece);
	while (ret > 0);
	return !ret;
}

/*
 * Write a batch again.  All of a sealed one but its first block, and data apart from it, were
 * durable before that was written.  Returns 0 or a negative errno.
 */
static int write_batch(struct chario_stream *stream, const struct chario_disk_batch *batch,
		       struct chario_pile *pile)
{
	uint64_t slot = batch->segment % stream->tape.slots;
	uint32_t bytes = chario_disk_round(batch->bytes, CHARIO_DISK_BLOCK);
	int ret = chario_tape_load(&stream->tape, batch, pile);

	if (ret <= 0 || !is_whole(pile, stream->tape.segment_bytes))
		return MIN(ret, 0);
	if (batch->flags & CHARIO_DISK_BATCH_SEALED)
		bytes = CHARIO_DISK_BLOCK;
	memcpy(stream->pool.memory, pile->pool.memory, bytes);
	return chario_pool_write(
		&stream->pool, 0, bytes,
		stream->disk_offset + slot * stream->tape.segment_bytes + batch->offset, 0);
}

/* Find the first batch of a segment.  Returns 1, 0, or a negative errno. */
static int find_first(struct chario_tape *tape, uint64_t segment, struct chario_disk_batch *batch)
{
	int ret = chario_tape_look(tape, segment, 0, batch);

	return ret ? ret : chario_tape_inside(tape, segment, NULL, batch);
}

static int find_next(struct chario_tape *tape, struct chario_disk_batch *batch)
{
	const struct chario_disk_batch last = *batch;
	int ret = chario_tape_next(tape, &last, batch);

	return ret ? ret : chario_tape_rest(tape, &last, batch);
}

/*
 * Write the batches of a segment again that are not before the record @durable.  Returns 1 if there
 * may be others in segments before it, 0 if not, or a negative errno.
 */
static int write_segment(struct chario_stream *stream, uint64_t segment, uint64_t durable,
			 struct chario_pile *pile)
{
	struct chario_disk_batch batch;
	int ret = find_first(&stream->tape, segment, &batch);
	bool more = ret <= 0 || batch.records >= durable;

	while (ret > 0) {
		int err = batch.records >= durable ? write_batch(stream, &batch, pile) : 0;

		ret = err ? err : find_next(&stream->tape, &batch);
	}
	return ret < 0 ? ret : more;
}

int chario_stream_write_again(struct chario_stream *stream, const struct chario_disk_batch *last)
{
	uint64_t segment = last->segment + 1;
	uint64_t least = chario_saturating_sub(segment, stream->tape.window);
	struct chario_pile pile = { 0 };
	int ret =
		chario_pool_create_fitting(&pile.pool, stream->device, stream->tape.segment_bytes);

	if (ret)
		return ret;
	ret = 1;
	while (ret > 0 && segment-- > least)
		ret = write_segment(stream, segment, last->durable_records, &pile);
	chario_pool_destroy(&pile.pool);
	return MIN(ret, 0);
}
