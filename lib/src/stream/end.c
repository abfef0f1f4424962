// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* The end of a recording: its last batch, and what the table tells of it. */
#include "stream/inner.h"

#include <errno.h>

/* Rooms that are still out at the end get no record. */
static void take_rooms_back(struct chario_stream *stream)
{
	for (uint64_t i = stream->next; i < stream->tail; i++) {
		struct chario_batch *batch = chario_stream_batch(stream, i);
		uint64_t at = chario_stream_pool_offset(stream, batch->header.segment) +
			      batch->header.offset + sizeof(struct chario_disk_batch);

		while (batch->rooms) {
			struct chario_disk_record *record = (void *)(stream->pool.memory + at);

			at += record->next;
			if (record->magic)
				continue;
			chario_stream_void(stream, record);
		}
	}
}

static int mark_end(struct chario_stream *stream)
{
	struct chario_patience patience = { .timeout_ns = -1 };
	int err;

	while ((err = chario_stream_mark_end(stream)) == -EAGAIN) {
		if (chario_stream_pump(stream))
			continue;
		err = chario_stream_sleep(stream, &patience);
		if (err)
			break;
	}
	/* An area that is full to its last block needs no mark of the end. */
	return err == -ENOSPC ? 0 : err;
}

static bool is_at_rest(const struct chario_stream *stream)
{
	return stream->head == stream->tail && !stream->flush_flying &&
	       stream->durable.batches == stream->completed.batches;
}

struct store_end chario_stream_end_now(const struct chario_stream *stream)
{
	return (struct store_end){
		.sequence = stream->sequence,
		.records = stream->status.records,
		.bytes = stream->status.bytes,
		.segment = stream->next_segment - 1,
		.time_ns = chario_sys_clock(CLOCK_REALTIME),
	};
}

/*
 * The table records the end, so that a later reader that finds fewer records knows of the
 * damage.
 */
static int note_end(struct chario_stream *stream)
{
	/* Without a batch of its own it would end the part before, which was interrupted. */
	bool ends_nothing = !stream->tail && !stream->after_end;
	const struct store_end end = chario_stream_end_now(stream);

	return ends_nothing ? 0 : chario_area_end_stream(stream->area, &end);
}

int chario_stream_end(struct chario_stream *stream)
{
	struct chario_patience patience = { .timeout_ns = -1 };
	int err;

	CHARIO_LOCK(&stream->lock);
	chario_stream_look_at_clock(stream, CLOCK_MONOTONIC);
	err = stream->error;
	take_rooms_back(stream);
	if (!err)
		err = mark_end(stream);
	stream->ending = true;
	chario_stream_pump(stream);
	if (!err)
		err = stream->error;
	while (!err && !is_at_rest(stream))
		err = chario_stream_sleep(stream, &patience);
	/*
	 * After an error, also wait for transfers in flight, so that callers' buffers are
	 * released.
	 */
	chario_stream_drain(stream);
	return err ? err : note_end(stream);
}
