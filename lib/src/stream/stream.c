// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Rooms of a stream: getting, filling and committing them. */
#include "stream/inner.h"

#include <errno.h>

#define ROOM_FLAGS (CHARIO_RECORD_META | CHARIO_RECORD_NO_CRC)

/* A token holds the place of the header and the number of its record. */
#define TOKEN_SHIFT 30
#define TOKEN_UNIT  CHARIO_DISK_HEADER_ALIGN

_Static_assert(64ULL * CHARIO_DISK_SEGMENT_MAX / TOKEN_UNIT <= 1ULL << TOKEN_SHIFT,
	       "a pool fits a token");

static uint64_t offset_of(const struct chario_stream *stream,
			  const struct chario_disk_record *record)
{
	return (uint64_t)((const unsigned char *)record - stream->pool.memory);
}

static uint64_t make_token(const struct chario_stream *stream,
			   const struct chario_disk_record *record)
{
	return record->sequence << TOKEN_SHIFT | offset_of(stream, record) / TOKEN_UNIT;
}

/* A header that has been signed is no longer a room. */
static struct chario_disk_record *find_room(const struct chario_stream *stream,
					    const struct chario_stream_room *room)
{
	uint64_t at = (room->token & ((1ULL << TOKEN_SHIFT) - 1)) * TOKEN_UNIT;
	struct chario_disk_record *record;

	if (at + sizeof(*record) > chario_buffer_bytes(stream->pool.buffer))
		return NULL;
	record = (void *)(stream->pool.memory + at);
	if (record->magic || make_token(stream, record) != room->token ||
	    room->memory != (unsigned char *)record + record->data)
		return NULL;
	return record;
}

static void wait_began(struct chario_stream *stream, const struct chario_patience *patience,
		       uint64_t *begun_ns)
{
	if (*begun_ns || !patience->timeout_ns)
		return;
	*begun_ns = chario_sys_now();
	stream->status.waits++;
}

static int wait_for_room(struct chario_stream *stream, const struct chario_room_request *request,
			 struct chario_patience *patience)
{
	uint64_t begun_ns = 0;
	int err;

	for (;;) {
		chario_stream_pump(stream);
		err = stream->error;
		if (!err)
			err = chario_stream_make_room(stream, request);
		if (err != -EAGAIN)
			break;
		/* Submit full batches before going to sleep. */
		if (chario_stream_pump(stream))
			continue;
		wait_began(stream, patience, &begun_ns);
		err = chario_stream_sleep(stream, patience);
		if (err)
			break;
	}
	if (begun_ns)
		stream->status.wait_ns += chario_sys_now() - begun_ns;
	return err;
}

int chario_stream_reserve(struct chario_stream *stream, const struct chario_room_request *request,
			  struct chario_patience *patience, struct chario_disk_record **record)
{
	int err;

	chario_stream_tick(stream);
	err = stream->error;
	if (!err)
		err = chario_stream_make_room(stream, request);
	if (err == -EAGAIN)
		err = wait_for_room(stream, request, patience);
	if (err)
		return err;
	*record = chario_stream_take_room(stream, request);
	if (stream->tail - stream->next > 1)
		chario_stream_pump(stream);
	return 0;
}

int chario_stream_get(struct chario_stream *stream, size_t bytes, int64_t timeout_ns,
		      struct chario_stream_room *room)
{
	struct chario_patience patience = { .timeout_ns = timeout_ns };
	const struct chario_room_request request = {
		.bytes = (uint32_t)bytes,
		.dense = stream->options.flags & CHARIO_STREAM_DENSE,
	};
	struct chario_disk_record *record;
	int err;

	if (!chario_pool_is_ours(&stream->pool))
		return -EPERM;
	if (!bytes)
		return -EINVAL;
	if (bytes > chario_stream_room_bytes(stream))
		return -EMSGSIZE;
	CHARIO_LOCK(&stream->lock);
	err = chario_stream_reserve(stream, &request, &patience, &record);
	if (err)
		return err;
	stream->sequence++;
	room->memory = (unsigned char *)record + record->data;
	room->bytes = bytes;
	room->buffer = stream->pool.buffer;
	room->buffer_offset = offset_of(stream, record) + record->data;
	room->token = make_token(stream, record);
	return 0;
}

/* Returns whether the room is the newest; sets @at to its offset in the segment. */
static bool is_newest(struct chario_stream *stream, const struct chario_disk_record *record,
		      uint32_t *at)
{
	const struct chario_batch *batch = chario_stream_batch_of(stream, record);
	uint64_t segment = chario_stream_pool_offset(stream, batch->header.segment);

	*at = (uint32_t)(offset_of(stream, record) - segment);
	return batch->state == CHARIO_BATCH_OPEN && *at + record->next == stream->cursor;
}

/* Give the unused end of a room to the next one, unless there is one already. */
static void shrink(struct chario_stream *stream, struct chario_disk_record *record, uint32_t bytes)
{
	uint32_t at;

	CHARIO_LOCK(&stream->lock);
	if (!is_newest(stream, record, &at))
		return;
	stream->cursor = chario_disk_round(at + record->data + bytes, CHARIO_DISK_HEADER_ALIGN);
	record->next = stream->cursor - at;
}

static void sign(struct chario_stream *stream, const struct chario_commit *commit)
{
	struct chario_disk_record *record = commit->record;
	uint64_t buffer = offset_of(stream, record) / stream->options.segment_bytes;

	record->magic = CHARIO_DISK_RECORD_MAGIC;
	record->flags = commit->flags;
	record->bytes = (uint32_t)commit->bytes;
	record->time_ns = commit->time_ns ?: chario_sys_clock(CLOCK_REALTIME);
	record->crc = chario_disk_record_crc(stream->seeds[buffer], record,
					     (unsigned char *)record + record->data, commit->bytes);
}

static void count(struct chario_stream *stream, struct chario_batch *batch,
		  const struct chario_commit *commit)
{
	uint64_t bytes = commit->bytes + commit->record->done_bytes;

	batch->rooms--;
	if (commit->flags & CHARIO_DISK_RECORD_FIRST && !(commit->flags & CHARIO_DISK_RECORD_VOID))
		chario_stream_note_time(stream, batch, commit->record);
	if (commit->flags & CHARIO_RECORD_NO_CRC)
		batch->header.flags |= CHARIO_DISK_BATCH_SEALED;
	if (!(commit->flags & CHARIO_DISK_RECORD_LAST) || commit->flags & CHARIO_DISK_RECORD_VOID)
		return;
	batch->header.nr_records++;
	batch->bytes += bytes;
	stream->status.records++;
	stream->status.bytes += bytes;
}

/* Returns whether no record fits any more, so that waiting for the next one is useless. */
static bool is_full(const struct chario_stream *stream)
{
	const struct chario_room_request least = {
		.bytes = 1, .dense = stream->options.flags & CHARIO_STREAM_DENSE
	};

	return !chario_stream_fits(stream, &least);
}

/* Start the work that a returned room was in the way of.  Returns the error of the stream. */
static int go_on(struct chario_stream *stream, const struct chario_batch *batch)
{
	if (stream->error || batch->rooms)
		return stream->error;
	if (batch->state == CHARIO_BATCH_OPEN && is_full(stream))
		chario_stream_finish_segment(stream);
	/*
	 * The timer may have expired while the room was out, and then nothing else starts
	 * the work.
	 */
	if (batch->state == CHARIO_BATCH_CLOSED || stream->close_soon ||
	    stream->timer_ns == UINT64_MAX)
		chario_stream_pump(stream);
	return stream->error;
}

int chario_stream_commit_record(struct chario_stream *stream, const struct chario_commit *commit)
{
	struct chario_batch *batch = chario_stream_batch_of(stream, commit->record);

	sign(stream, commit);
	CHARIO_LOCK(&stream->lock);
	count(stream, batch, commit);
	return go_on(stream, batch);
}

void chario_stream_void(struct chario_stream *stream, struct chario_disk_record *record)
{
	const struct chario_commit commit = {
		.record = record,
		.flags = CHARIO_DISK_RECORD_FIRST | CHARIO_DISK_RECORD_LAST |
			 CHARIO_DISK_RECORD_VOID,
	};
	struct chario_batch *batch = chario_stream_batch_of(stream, record);

	sign(stream, &commit);
	count(stream, batch, &commit);
}

/* Give a room back; the newest room leaves no trace. */
static int take_back(struct chario_stream *stream, struct chario_disk_record *record)
{
	struct chario_batch *batch = chario_stream_batch_of(stream, record);
	bool newest;
	uint32_t at;

	CHARIO_LOCK(&stream->lock);
	newest = is_newest(stream, record, &at) && record->sequence + 1 == stream->sequence;
	/* Mark the room, so that giving it back a second time is refused. */
	chario_stream_void(stream, record);
	if (newest) {
		stream->cursor = at;
		stream->sequence--;
	}
	return go_on(stream, batch);
}

int chario_stream_commit(struct chario_stream *stream, const struct chario_stream_room *room,
			 size_t bytes, uint64_t time_ns, unsigned int flags)
{
	struct chario_disk_record *record = find_room(stream, room);
	struct chario_commit commit = {
		.record = record,
		.bytes = bytes,
		.time_ns = time_ns,
		.flags = flags | CHARIO_DISK_RECORD_FIRST | CHARIO_DISK_RECORD_LAST,
	};

	if (!chario_pool_is_ours(&stream->pool))
		return -EPERM;
	if (!record || bytes > record->bytes || flags & ~ROOM_FLAGS)
		return -EINVAL;
	if (!bytes)
		return take_back(stream, record);
	if (stream->options.flags & CHARIO_STREAM_NO_CRC)
		commit.flags |= CHARIO_RECORD_NO_CRC;
	if (bytes != record->bytes)
		shrink(stream, record, (uint32_t)bytes);
	return chario_stream_commit_record(stream, &commit);
}

size_t chario_stream_room_bytes(const struct chario_stream *stream)
{
	return stream->options.segment_bytes - CHARIO_DISK_FIRST_DATA;
}
