// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The segment being filled, and its open batch.
 *
 * Headers and data of records grow upwards from the start of the segment.  Data from
 * callers' buffers are placed downwards from its end, so that one transfer writes all data
 * from the pool.
 */
#include "stream/inner.h"

#include <errno.h>

#define HEADER ((uint32_t)sizeof(struct chario_disk_record))

/* Returns the offset of the next header, in the open batch or in one to be opened. */
static uint32_t next_header(const struct chario_stream *stream)
{
	if (stream->open)
		return stream->cursor;
	return chario_disk_round(stream->cursor, CHARIO_DISK_BLOCK) +
	       (uint32_t)sizeof(struct chario_disk_batch);
}

/* Returns whether the next record is the first of its batch, whose times follow its header. */
static bool is_first(const struct chario_stream *stream)
{
	return !stream->open || stream->cursor == stream->first;
}

/* Returns the end of the next header. */
static uint32_t end_of_header(const struct chario_stream *stream)
{
	return next_header(stream) + HEADER +
	       (is_first(stream) ? (uint32_t)sizeof(struct chario_disk_times) : 0);
}

/* Returns the offset of the data of the next record. */
static uint32_t next_data(const struct chario_stream *stream,
			  const struct chario_room_request *request)
{
	uint32_t end = end_of_header(stream);

	if (request->dense && request->bytes < CHARIO_DISK_DENSE_END)
		return end;
	return chario_disk_round(end, CHARIO_DISK_DATA_ALIGN);
}

uint32_t chario_stream_space(const struct chario_stream *stream)
{
	uint32_t data = chario_disk_round(end_of_header(stream), CHARIO_DISK_DATA_ALIGN);

	return stream->filling && data < stream->ceiling ? stream->ceiling - data : 0;
}

static bool fits_below(const struct chario_stream *stream,
		       const struct chario_room_request *request)
{
	uint32_t data = next_data(stream, request);

	return stream->filling && data < stream->ceiling &&
	       request->bytes <= stream->ceiling - data;
}

/*
 * The pool is written in whole blocks, so the data at the end must begin behind the last of
 * them.
 */
static bool fits_above(const struct chario_stream *stream, uint32_t bytes)
{
	uint32_t blocks = chario_disk_round(end_of_header(stream), CHARIO_DISK_BLOCK);

	return stream->filling && blocks <= stream->ceiling &&
	       chario_disk_round(bytes, CHARIO_DISK_BLOCK) <= stream->ceiling - blocks;
}

bool chario_stream_fits(const struct chario_stream *stream,
			const struct chario_room_request *request)
{
	return request->above ? fits_above(stream, request->bytes) : fits_below(stream, request);
}

static int check_segment(const struct chario_stream *stream)
{
	if (!stream->tape.ring && stream->next_segment >= stream->tape.slots)
		return -ENOSPC;
	return chario_stream_free_buffers(stream) ? 0 : -EAGAIN;
}

static void begin_segment(struct chario_stream *stream)
{
	uint64_t segment = stream->next_segment++;
	uint32_t free;

	stream->seeds[segment % stream->options.nr_buffers] =
		chario_disk_record_seed(stream->tape.session, stream->part, segment);
	stream->cursor = 0;
	stream->ceiling = stream->options.segment_bytes;
	stream->filling = true;
	free = chario_stream_free_buffers(stream);
	stream->status.least_free_buffers = MIN(stream->status.least_free_buffers, free);
}

static int open_batch(struct chario_stream *stream)
{
	uint64_t segment = stream->next_segment - 1;

	if (stream->tail - stream->head == stream->nr_batches)
		return -EAGAIN;
	stream->cursor = chario_disk_round(stream->cursor, CHARIO_DISK_BLOCK);
	*chario_stream_batch(stream, stream->tail++) = (struct chario_batch){
		.state = CHARIO_BATCH_OPEN,
		.header = {
			.magic = CHARIO_DISK_BATCH_MAGIC,
			.version = CHARIO_DISK_VERSION,
			.header_bytes = sizeof(struct chario_disk_batch),
			.flags = (stream->partial ? CHARIO_DISK_BATCH_MIDDLE : 0) |
				 (stream->tape.ring ? CHARIO_DISK_BATCH_TOLD : 0) |
				 (segment >= stream->clean_from ? CHARIO_DISK_BATCH_CLEAN : 0) |
				 (stream->after_end ? CHARIO_DISK_BATCH_AFTER : 0),
			.session = stream->tape.session,
			.part = stream->part,
			.segment = segment,
			.offset = stream->cursor,
			.sequence = stream->sequence,
		},
		.begun_ns = stream->now_ns,
		.offset_ns = stream->clock.offset_ns,
		.is_steady = true,
	};
	stream->cursor += (uint32_t)sizeof(struct chario_disk_batch);
	stream->first = stream->cursor;
	stream->open = true;
	return 0;
}

/* A full buffer is submitted at once, even if no other is free. */
int chario_stream_make_room(struct chario_stream *stream, const struct chario_room_request *request)
{
	int err;

	if (request->goes_on && !chario_stream_free_buffers(stream))
		return -EAGAIN;
	if (!chario_stream_fits(stream, request)) {
		err = check_segment(stream);
		if (err == -ENOSPC)
			return err;
		chario_stream_finish_segment(stream);
		/* An empty segment is complete at once and frees its buffer. */
		err = check_segment(stream);
		if (err)
			return err;
		begin_segment(stream);
	}
	return stream->open ? 0 : open_batch(stream);
}

struct chario_disk_record *chario_stream_take_room(struct chario_stream *stream,
						   const struct chario_room_request *request)
{
	uint32_t place = (uint32_t)((stream->tail - 1) % stream->nr_batches);
	struct chario_batch *batch = &stream->batches[place];
	uint64_t at = chario_stream_pool_offset(stream, batch->header.segment) + stream->cursor;
	struct chario_disk_record *record = (void *)(stream->pool.memory + at);
	uint32_t header = stream->cursor;
	uint32_t data = next_data(stream, request);

	if (request->above) {
		stream->cursor = end_of_header(stream);
		data = stream->ceiling - chario_disk_round(request->bytes, CHARIO_DISK_BLOCK);
		stream->ceiling = data;
	} else {
		stream->cursor = chario_disk_round(data + request->bytes, CHARIO_DISK_HEADER_ALIGN);
	}
	*record = (struct chario_disk_record){
		.sequence = stream->sequence,
		.bytes = request->bytes,
		.data = data - header,
		.next = stream->cursor - header,
		/* Before a header is signed, this field holds the place of its batch. */
		.crc = place,
	};
	batch->rooms++;
	return record;
}

static void close_open(struct chario_stream *stream)
{
	struct chario_batch *batch = chario_stream_batch(stream, stream->tail - 1);

	batch->state = CHARIO_BATCH_CLOSED;
	batch->end = stream->cursor;
	batch->header.next_sequence = stream->sequence;
	batch->header.lost_records = stream->status.lost_records;
	batch->header.lost_bytes = stream->status.lost_bytes;
	stream->open = false;
	stream->close_soon = false;
}

void chario_stream_close_batch(struct chario_stream *stream)
{
	if (!stream->open)
		return;
	if (!is_first(stream)) {
		close_open(stream);
		return;
	}
	stream->cursor = chario_stream_batch(stream, stream->tail - 1)->header.offset;
	stream->tail--;
	stream->open = false;
}

void chario_stream_finish_segment(struct chario_stream *stream)
{
	uint64_t segment = stream->next_segment - 1;
	struct chario_batch *batch;

	if (!stream->filling)
		return;
	chario_stream_close_batch(stream);
	stream->filling = false;
	batch = chario_stream_batch(stream, stream->tail - 1);
	if (stream->tail > stream->head && batch->header.segment == segment) {
		batch->last = true;
		return;
	}
	/*
	 * The batches of this segment have been written; they complete in order, so all
	 * others have, too.
	 */
	stream->completed.segment = segment + 1;
	chario_stream_settle(stream);
}

int chario_stream_mark_end(struct chario_stream *stream)
{
	int err = 0;

	if (!stream->open) {
		if (chario_disk_round(stream->cursor, CHARIO_DISK_BLOCK) >= stream->ceiling)
			chario_stream_finish_segment(stream);
		if (!stream->filling) {
			err = check_segment(stream);
			if (err)
				return err;
			begin_segment(stream);
		}
		err = open_batch(stream);
		if (err)
			return err;
	}
	chario_stream_batch(stream, stream->tail - 1)->header.flags |= CHARIO_DISK_BATCH_END;
	close_open(stream);
	chario_stream_finish_segment(stream);
	return 0;
}
