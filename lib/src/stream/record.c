// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Records in memory of the caller, and lost records. */
#include "stream/inner.h"

#include <errno.h>
#include <string.h>

#include "device/ops.h"

/* The record being written, and how much of it is done. */
struct copy {
	const struct iovec *pieces;
	size_t piece_done;
	size_t bytes;
	uint64_t done;
	uint64_t sequence;
	uint64_t time_ns;
	uint32_t flags;
};

/* A shorter fragment is not worth its header: the record waits for the next segment. */
static bool is_worth_a_fragment(const struct chario_stream *stream, uint32_t space)
{
	return space >= stream->options.segment_bytes / 64;
}

/* Returns the number of segments that a record needs beyond the one being filled. */
static uint64_t count_segments(const struct chario_stream *stream, size_t bytes)
{
	uint32_t space = chario_stream_space(stream);
	size_t room = chario_stream_room_bytes(stream);

	if (bytes <= space)
		return 0;
	if (is_worth_a_fragment(stream, space))
		bytes -= space;
	return (bytes + room - 1) / room;
}

/* A record is not begun if it is known that it cannot be completed. */
static int check_length(struct chario_stream *stream, size_t bytes, int64_t timeout_ns)
{
	uint64_t segments = count_segments(stream, bytes);

	if (!stream->tape.ring && segments > stream->tape.slots - stream->next_segment)
		return -ENOSPC;
	chario_stream_pump(stream);
	if (stream->error)
		return stream->error;
	return !timeout_ns && segments > chario_stream_free_buffers(stream) ? -EAGAIN : 0;
}

/* Choose the next fragment: the rest of the record, or as much as the segment has room for. */
static uint32_t choose_bytes(const struct chario_stream *stream, const struct copy *copy)
{
	size_t left = copy->bytes - copy->done;
	size_t room = chario_stream_room_bytes(stream);
	uint32_t space = chario_stream_space(stream);

	if (left <= space)
		return (uint32_t)left;
	if (is_worth_a_fragment(stream, space))
		return space;
	return (uint32_t)(left < room ? left : room);
}

static int reserve(struct chario_stream *stream, struct copy *copy,
		   struct chario_patience *patience, struct chario_disk_record **record,
		   uint32_t *bytes)
{
	struct chario_room_request request = { .dense = true };
	int err;

	CHARIO_LOCK(&stream->lock);
	/*
	 * All fragments have the time of the record.  Read the time before
	 * chario_stream_reserve() checks whether the clock was set.
	 */
	if (!copy->time_ns)
		copy->time_ns = chario_sys_clock(CLOCK_REALTIME);
	err = copy->done ? 0 : check_length(stream, copy->bytes, patience->timeout_ns);
	if (!err) {
		*bytes = choose_bytes(stream, copy);
		request.bytes = *bytes;
		/*
		 * A longer record starts without this wait: so many buffers may never be
		 * free at once.
		 */
		request.goes_on = !copy->done && *bytes < copy->bytes &&
				  copy->bytes <= chario_stream_room_bytes(stream);
		err = chario_stream_reserve(stream, &request, patience, record);
	}
	if (!err && !copy->done)
		copy->sequence = stream->sequence;
	if (!err && copy->done + *bytes == copy->bytes)
		stream->sequence++;
	if (err || copy->done + *bytes == copy->bytes)
		stream->partial = 0;
	else
		stream->partial = copy->done + *bytes;
	return err;
}

/* Copy the next bytes of the record from all pieces that they lie in. */
static void gather(struct copy *copy, unsigned char *to, size_t bytes)
{
	while (bytes) {
		size_t left = copy->pieces->iov_len - copy->piece_done;
		size_t now = bytes < left ? bytes : left;

		if (now)
			memcpy(to, (unsigned char *)copy->pieces->iov_base + copy->piece_done, now);
		to += now;
		bytes -= now;
		copy->piece_done += now;
		if (now < left)
			return;
		copy->pieces++;
		copy->piece_done = 0;
	}
}

static int write_fragment(struct chario_stream *stream, struct copy *copy,
			  struct chario_patience *patience)
{
	struct chario_commit commit = { .flags = copy->flags };
	uint32_t bytes;
	int err = reserve(stream, copy, patience, &commit.record, &bytes);

	if (err)
		return err;
	commit.bytes = bytes;
	commit.time_ns = copy->time_ns;
	commit.record->sequence = copy->sequence;
	commit.record->done_bytes = copy->done;
	gather(copy, (unsigned char *)commit.record + commit.record->data, bytes);
	if (!copy->done)
		commit.flags |= CHARIO_DISK_RECORD_FIRST;
	copy->done += bytes;
	if (copy->done == copy->bytes)
		commit.flags |= CHARIO_DISK_RECORD_LAST;
	return chario_stream_commit_record(stream, &commit);
}

/*
 * A record longer than the ring would overwrite itself and everything before it.  It may
 * begin in the middle of a segment, and the end of the recording takes another.
 */
static bool fits_ring(const struct chario_stream *stream, size_t bytes)
{
	size_t room = chario_stream_room_bytes(stream);

	return !stream->tape.ring || bytes <= room || bytes <= (stream->tape.slots - 2) * room;
}

static int count_bytes(const struct iovec *pieces, int nr_pieces, size_t *bytes)
{
	for (int i = 0; i < nr_pieces; i++)
		if (__builtin_add_overflow(*bytes, pieces[i].iov_len, bytes))
			return -EINVAL;
	return *bytes ? 0 : -EINVAL;
}

int chario_stream_writev(struct chario_stream *stream, const struct iovec *pieces, int nr_pieces,
			 uint64_t time_ns, unsigned int flags, int64_t timeout_ns)
{
	struct chario_patience patience = { .timeout_ns = timeout_ns };
	struct copy copy = {
		.pieces = pieces,
		.time_ns = time_ns,
		.flags = flags,
	};
	int err;

	if (!chario_pool_is_ours(&stream->pool))
		return -EPERM;
	err = count_bytes(pieces, nr_pieces, &copy.bytes);
	if (err)
		return err;
	if (flags & ~(CHARIO_RECORD_META | CHARIO_RECORD_NO_CRC))
		return -EINVAL;
	if (!fits_ring(stream, copy.bytes))
		return -EMSGSIZE;
	if (stream->options.flags & CHARIO_STREAM_NO_CRC)
		copy.flags |= CHARIO_RECORD_NO_CRC;
	while (!err && copy.done < copy.bytes)
		err = write_fragment(stream, &copy, &patience);
	return err;
}

int chario_stream_write(struct chario_stream *stream, const void *memory, size_t bytes,
			uint64_t time_ns, unsigned int flags, int64_t timeout_ns)
{
	const struct iovec piece = { .iov_base = (void *)(uintptr_t)memory, .iov_len = bytes };

	return chario_stream_writev(stream, &piece, 1, time_ns, flags, timeout_ns);
}

static int check_buffer(const struct chario_stream *stream, const struct chario_buffer *buffer,
			uint64_t offset, size_t bytes, unsigned int flags)
{
	if (!bytes || bytes % stream->block_bytes || offset % stream->alignment)
		return -EINVAL;
	if (buffer->device != stream->device || bytes > buffer->bytes ||
	    offset > buffer->bytes - bytes)
		return -EINVAL;
	if (flags & ~(CHARIO_RECORD_META | CHARIO_RECORD_NO_CRC))
		return -EINVAL;
	return bytes > stream->options.segment_bytes - CHARIO_DISK_BLOCK ? -EMSGSIZE : 0;
}

static struct chario_external *find_external(struct chario_stream *stream)
{
	for (uint32_t i = 0; i < CHARIO_STREAM_EXTERNALS; i++)
		if (!stream->externals[i].used)
			return &stream->externals[i];
	return NULL;
}

/* Reserve a room and a place for one more transfer in flight. */
static int reserve_external(struct chario_stream *stream, uint32_t bytes,
			    struct chario_patience *patience, struct chario_disk_record **record)
{
	const struct chario_room_request request = { .bytes = bytes, .above = true };
	int err = 0;

	while (!err && stream->nr_externals == CHARIO_STREAM_EXTERNALS) {
		chario_stream_pump(stream);
		if (stream->nr_externals == CHARIO_STREAM_EXTERNALS)
			err = chario_stream_sleep(stream, patience);
	}
	if (!err)
		err = chario_stream_reserve(stream, &request, patience, record);
	return err;
}

static struct chario_external *add_external(struct chario_stream *stream,
					    const struct chario_disk_record *record,
					    const struct chario_buffer *buffer,
					    uint64_t buffer_offset)
{
	struct chario_external *external = find_external(stream);
	struct chario_batch *batch = chario_stream_batch_of(stream, record);
	uint64_t slot = batch->header.segment % stream->tape.slots;

	*external = (struct chario_external){
		.transfer = {
			.op = CHARIO_TRANSFER_WRITE,
			.flags = stream->cached ? CHARIO_TRANSFER_FUA : 0,
			.buffer = chario_buffer_id(buffer),
			.buffer_offset = buffer_offset,
			.disk_offset = stream->disk_offset + slot * stream->tape.segment_bytes +
				       stream->ceiling,
			.bytes = record->bytes,
		},
		.batch = (uint32_t)(batch - stream->batches),
		.used = true,
		.ready = true,
	};
	stream->nr_externals++;
	stream->nr_ready++;
	batch->externals++;
	return external;
}

/*
 * Reserve room for a caller's data and submit them.  An error means that the memory is the
 * caller's again, so @released is only registered once no error can be returned.
 */
static int submit_external(struct chario_stream *stream, struct chario_commit *commit,
			   const struct chario_buffer *buffer, uint64_t buffer_offset,
			   struct chario_patience *patience, uint32_t *released)
{
	struct chario_external *external;
	int err;

	CHARIO_LOCK(&stream->lock);
	err = reserve_external(stream, (uint32_t)commit->bytes, patience, &commit->record);
	if (err)
		return err;
	stream->sequence++;
	external = add_external(stream, commit->record, buffer, buffer_offset);
	chario_stream_pump(stream);
	if (external->used) {
		external->released = released;
		return 0;
	}
	chario_stream_void(stream, commit->record);
	return stream->error;
}

int chario_stream_write_buffer(struct chario_stream *stream, const struct chario_buffer *buffer,
			       uint64_t buffer_offset, size_t bytes, uint64_t time_ns,
			       unsigned int flags, int64_t timeout_ns, uint32_t *released)
{
	struct chario_patience patience = { .timeout_ns = timeout_ns };
	struct chario_commit commit = {
		.bytes = bytes,
		.time_ns = time_ns,
		.flags = flags | CHARIO_RECORD_NO_CRC | CHARIO_DISK_RECORD_APART |
			 CHARIO_DISK_RECORD_FIRST | CHARIO_DISK_RECORD_LAST,
	};
	int err;

	if (!chario_pool_is_ours(&stream->pool))
		return -EPERM;
	err = check_buffer(stream, buffer, buffer_offset, bytes, flags);
	if (err)
		return err;
	err = submit_external(stream, &commit, buffer, buffer_offset, &patience, released);
	/* The next call reports an error that ends the recording from here on. */
	if (!err)
		chario_stream_commit_record(stream, &commit);
	return err;
}

int chario_stream_lose(struct chario_stream *stream, uint64_t records, uint64_t bytes)
{
	if (!chario_pool_is_ours(&stream->pool))
		return -EPERM;
	CHARIO_LOCK(&stream->lock);
	if (records > CHARIO_DISK_COUNT_MAX - stream->sequence)
		return -EINVAL;
	stream->sequence += records;
	stream->status.lost_records += records;
	stream->status.lost_bytes += bytes;
	return 0;
}
