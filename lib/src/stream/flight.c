// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Batches on their way to the disk: writing, completion, and flushes. */
#include "stream/inner.h"

bool chario_stream_in_window(const struct chario_stream *stream, uint64_t segment)
{
	return segment - stream->durable.segment < stream->window;
}

/* Complete the header of a batch: nothing in the batch changes from now on. */
static void finalise(struct chario_stream *stream, struct chario_batch *batch)
{
	struct chario_mark *final = &stream->final;
	uint32_t bytes = chario_disk_round(batch->end - batch->header.offset, CHARIO_DISK_BLOCK);

	if (batch->begins_run)
		final->run = final->batches;
	batch->before = *final;
	final->batches++;
	final->records += batch->header.nr_records;
	final->position += batch->bytes;
	final->disk_bytes += bytes;
	if (batch->turns)
		final->run = final->batches;
	batch->after = *final;
	if (!(batch->header.flags & CHARIO_DISK_BATCH_SEALED))
		batch->state = CHARIO_BATCH_READY;
	else if (bytes > CHARIO_DISK_BLOCK)
		batch->state = CHARIO_BATCH_REST_READY;
	else
		batch->state = batch->externals ? CHARIO_BATCH_EXTERNAL : CHARIO_BATCH_READY;
	stream->nr_ready += batch->state != CHARIO_BATCH_EXTERNAL;
}

static void finalise_closed(struct chario_stream *stream)
{
	while (stream->next < stream->tail) {
		struct chario_batch *batch = chario_stream_batch(stream, stream->next);

		if (batch->state != CHARIO_BATCH_CLOSED || batch->rooms ||
		    !chario_stream_in_window(stream, batch->header.segment))
			return;
		finalise(stream, batch);
		stream->next++;
	}
}

void chario_stream_settle(struct chario_stream *stream)
{
	bool needs_flush = stream->cached && stream->status.durability != CHARIO_DURABILITY_FUA;

	if (needs_flush && stream->durable.batches != stream->completed.batches)
		return;
	stream->durable = stream->completed;
	stream->dirty_ns = 0;
}

/* Buffers become free in the order in which they were filled. */
static void advance(struct chario_stream *stream)
{
	while (stream->head < stream->next) {
		struct chario_batch *batch = chario_stream_batch(stream, stream->head);

		if (batch->state != CHARIO_BATCH_DONE)
			break;
		if (stream->durable.batches == stream->completed.batches)
			stream->dirty_ns = batch->begun_ns;
		stream->completed = batch->after;
		stream->completed.segment = batch->header.segment + batch->last;
		stream->head++;
	}
	chario_stream_settle(stream);
}

/*
 * Returns whether the undurable part of the window is half full or more, which may hold up
 * writes.
 */
static bool is_window_short(const struct chario_stream *stream)
{
	uint64_t segments = stream->completed.segment - stream->durable.segment;

	return segments && segments >= stream->window / 2;
}

static bool is_flush_due(const struct chario_stream *stream)
{
	uint64_t bytes = stream->completed.disk_bytes - stream->flushed_bytes;

	if (stream->durable.batches == stream->completed.batches)
		return false;
	if (is_window_short(stream) || (stream->ending && stream->head == stream->tail))
		return true;
	if (stream->forced > stream->durable.position &&
	    stream->completed.position >= stream->forced)
		return true;
	if (stream->status.durability != CHARIO_DURABILITY_FLUSH)
		return false;
	return bytes >= stream->options.flush_bytes ||
	       stream->now_ns - stream->dirty_ns >= stream->options.flush_ns;
}

/* The flush covers the writes that have completed before it is submitted. */
static void flush_if_due(struct chario_stream *stream)
{
	if (stream->flush_flying || stream->flush_ready || !is_flush_due(stream))
		return;
	stream->flushing = stream->completed;
	stream->flushed_bytes = stream->completed.disk_bytes;
	stream->flush_ns = stream->now_ns;
	stream->flush_retries = 0;
	stream->flush_ready = true;
	stream->nr_ready++;
}

bool chario_stream_pump(struct chario_stream *stream)
{
	bool moved = chario_stream_reap(stream);

	advance(stream);
	if (!stream->error) {
		chario_stream_do_timely(stream);
		finalise_closed(stream);
		flush_if_due(stream);
		chario_stream_add_ready(stream);
	}
	if (stream->error && stream->timed_out)
		chario_stream_let_go(stream);
	if (moved)
		chario_stream_wake(stream);
	return moved;
}
