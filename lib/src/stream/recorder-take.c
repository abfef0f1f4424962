// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The records of a recorder.
 *
 * The recorder asks for room only when the source has data: room that is held without a
 * record delays the segment that it lies in.  If there is no room and the source does not
 * wait, the record is read into scratch memory and counts as lost.
 *
 * Packets and events are read into scratch memory first, because their length is not known; so
 * are datagrams where the segment has less room left than the longest of them needs, or all that
 * room would stay empty.
 */
#include "stream/recorder-inner.h"

#include <errno.h>
#include <string.h>

#include "stream/count.h"
#include "system/sys.h"

/* With a drain, the end of the source is not the reason of the end. */
void chario_recorder_stop(struct recorder_loop *loop, enum chario_recorder_end end, int result)
{
	bool has_reason = loop->ended || (loop->draining && end == CHARIO_RECORDER_SOURCE);

	loop->ended = true;
	if (has_reason)
		return;
	loop->recorder->end = end;
	loop->result = result;
}

static bool is_well(struct recorder_loop *loop, int err)
{
	if (err)
		chario_recorder_stop(loop, CHARIO_RECORDER_WRITE, err);
	return !err;
}

/*
 * Returns whether the area is full.  -ENOSPC may also come from a write that has failed below
 * the area; chario_stream_service() then returns the error of that write.
 */
static bool is_full(struct recorder_loop *loop, int err)
{
	if (err != -ENOSPC || chario_stream_service(loop->stream))
		return false;
	chario_recorder_stop(loop, CHARIO_RECORDER_FULL, err);
	return true;
}

/* waits and gaps */

/* Begin to measure a time, unless it is being measured, and count it. */
static void begin_span(uint64_t *since_ns, uint64_t *count)
{
	*count += !*since_ns;
	if (!*since_ns)
		*since_ns = chario_sys_now();
}

/* Add the time, if it is being measured, to @total_ns.  Returns it. */
static uint64_t end_span(uint64_t *since_ns, uint64_t *total_ns)
{
	uint64_t span_ns = *since_ns ? chario_sys_now() - *since_ns : 0;

	*total_ns += span_ns;
	*since_ns = 0;
	return span_ns;
}

static void end_wait(struct recorder_loop *loop)
{
	uint64_t waited_ns = end_span(&loop->wait_since_ns, &loop->recorder->wait_ns);

	loop->recorder->longest_wait_ns = MAX(loop->recorder->longest_wait_ns, waited_ns);
}

void chario_recorder_lose(struct recorder_loop *loop, uint64_t records, uint64_t bytes)
{
	if (!records)
		return;
	loop->recorder->gaps++;
	chario_stream_lose(loop->stream, records, bytes);
}

/* records */

static size_t wanted_bytes(const struct recorder_loop *loop)
{
	const struct chario_recorder *recorder = loop->recorder;
	uint64_t left = recorder->limit_bytes - recorder->taken_bytes;

	if (loop->whole)
		return loop->whole;
	if (loop->source.kind == STREAM_SOURCE_DATAGRAMS)
		return (size_t)recorder->record_bytes;
	return recorder->limit_bytes && left < loop->frame_left ? (size_t)left : loop->frame_left;
}

/* Have memory for the next record: room, or scratch memory.  Returns whether there is any. */
static bool have_place(struct recorder_loop *loop)
{
	const bool drops = loop->recorder->flags & CHARIO_RECORDER_DROP;
	int err;

	if (loop->place)
		return true;
	err = chario_stream_get(loop->stream, wanted_bytes(loop), 0, &loop->room);
	if (err == -EAGAIN && !drops) {
		begin_span(&loop->wait_since_ns, &loop->recorder->waits);
		return false;
	}
	end_wait(loop);
	if (err == -EAGAIN) {
		begin_span(&loop->gap_since_ns, &loop->recorder->gaps);
		loop->place = loop->scratch;
	} else if (!is_full(loop, err) && is_well(loop, err)) {
		end_span(&loop->gap_since_ns, &loop->recorder->gap_ns);
		loop->place = loop->room.memory;
	}
	loop->filled = 0;
	return loop->place;
}

static void check_limit(struct recorder_loop *loop)
{
	const struct chario_recorder *recorder = loop->recorder;

	if (recorder->limit_bytes && recorder->taken_bytes >= recorder->limit_bytes)
		chario_recorder_stop(loop, CHARIO_RECORDER_LIMIT, 0);
}

void chario_recorder_end_record(struct recorder_loop *loop, size_t bytes, uint64_t time_ns)
{
	if (!loop->place)
		return;
	if (loop->place != loop->scratch)
		is_well(loop, chario_stream_commit(loop->stream, &loop->room, bytes, time_ns, 0));
	else if (bytes)
		chario_stream_lose(loop->stream, 1, bytes);
	loop->place = NULL;
	loop->filled = 0;
	check_limit(loop);
}

/*
 * Count a record that a recording cannot hold: one that is too long, which nobody can use in
 * part, or that is empty.  Returns whether it is one.
 */
static bool lose_if_unfit(struct recorder_loop *loop, const struct stream_taken *taken)
{
	size_t most = loop->source.kind == STREAM_SOURCE_EVENTS ?
			      chario_stream_room_bytes(loop->stream) :
			      (size_t)loop->recorder->record_bytes;

	if (taken->bytes && !taken->cut && taken->bytes <= most)
		return false;
	/* Room whose number is not the newest cannot be taken back, and would stay empty. */
	chario_recorder_end_record(loop, 0, 0);
	chario_recorder_lose(loop, 1, taken->bytes);
	check_limit(loop);
	return true;
}

static void take_bytes(struct recorder_loop *loop, size_t bytes, size_t wanted)
{
	if (!loop->filled)
		loop->record_ns = chario_sys_now();
	loop->filled += bytes;
	loop->frame_left -= bytes;
	if (!loop->frame_left)
		loop->frame_left = (size_t)loop->recorder->record_bytes;
	if (bytes == wanted)
		chario_recorder_end_record(loop, loop->filled, 0);
}

/* Record the packet or the event in the scratch memory as soon as there is room. */
static void store_whole(struct recorder_loop *loop)
{
	size_t bytes = loop->whole;

	if (!have_place(loop))
		return;
	if (loop->place != loop->scratch)
		memcpy(loop->place, loop->scratch, bytes);
	loop->whole = 0;
	chario_recorder_end_record(loop, bytes, loop->whole_ns);
}

static void take_whole(struct recorder_loop *loop, const struct stream_taken *taken)
{
	if (lose_if_unfit(loop, taken))
		return;
	loop->whole = taken->bytes;
	loop->whole_ns = taken->time_ns;
	store_whole(loop);
}

static void take_datagram(struct recorder_loop *loop, const struct stream_taken *taken)
{
	if (!loop->place)
		take_whole(loop, taken);
	else if (!lose_if_unfit(loop, taken))
		chario_recorder_end_record(loop, taken->bytes, taken->time_ns);
}

/*
 * Count the losses that a datagram tells of, which lie before it.  Its room has a number already,
 * so it moves to scratch memory, and gets one behind them.
 */
static void lose_before(struct recorder_loop *loop, const struct stream_taken *taken)
{
	if (taken->lost && loop->place && loop->place != loop->scratch) {
		memcpy(loop->scratch, loop->place, (size_t)loop->recorder->record_bytes);
		chario_recorder_end_record(loop, 0, 0);
	}
	chario_recorder_lose(loop, taken->lost, 0);
}

/* Read once.  Returns as chario_source_read(), and has stopped the recorder at an end. */
static int read_source(struct recorder_loop *loop, void *memory, size_t bytes,
		       struct stream_taken *taken)
{
	int ret = chario_source_read(&loop->source, memory, bytes, taken);

	lose_before(loop, taken);
	loop->recorder->taken_bytes += taken->bytes;
	loop->drain_left = chario_saturating_sub(loop->drain_left, taken->charge);
	if (!ret)
		chario_recorder_stop(loop, CHARIO_RECORDER_SOURCE, 0);
	return ret;
}

static void check_read(struct recorder_loop *loop, int ret)
{
	if (ret < 0 && ret != -EAGAIN)
		chario_recorder_stop(loop, CHARIO_RECORDER_READ, ret);
}

/*
 * Read as many events as a record has room for.  A descriptor such as that of inotify(7)
 * refuses a read that has no room for one whole event, which is read after that to be counted
 * as lost.  A device may drop the event with the refusal, as /dev/kmsg does, or give a part of
 * it, as /dev/net/tun does, so it is always read with all room.
 */
static int read_events(struct recorder_loop *loop, struct stream_taken *taken)
{
	size_t most = MIN(loop->scratch_bytes, chario_stream_room_bytes(loop->stream));
	int ret = loop->source.is_device ? -EINVAL : read_source(loop, loop->scratch, most, taken);

	if (ret != -EINVAL)
		return ret;
	return read_source(loop, loop->scratch, loop->scratch_bytes, taken);
}

/*
 * Read a packet, events or a datagram into scratch memory; the bytes before them are a record of
 * their own.
 */
static void read_whole(struct recorder_loop *loop)
{
	struct stream_taken taken;
	int ret;

	chario_recorder_end_record(loop, loop->filled, 0);
	if (loop->ended)
		return;
	ret = loop->source.kind == STREAM_SOURCE_EVENTS ?
		      read_events(loop, &taken) :
		      read_source(loop, loop->scratch, loop->scratch_bytes, &taken);
	check_read(loop, ret);
	if (ret == 1)
		take_whole(loop, &taken);
}

/* Read bytes or a datagram straight into the room of a record. */
static void read_in_place(struct recorder_loop *loop)
{
	const bool datagrams = loop->source.kind == STREAM_SOURCE_DATAGRAMS;
	struct stream_taken taken;
	size_t wanted;
	int ret;

	if (!have_place(loop))
		return;
	wanted = wanted_bytes(loop);
	ret = read_source(loop, loop->place + loop->filled, wanted, &taken);
	check_read(loop, ret);
	if (ret == 1 && datagrams)
		take_datagram(loop, &taken);
	else if (ret == 1)
		take_bytes(loop, taken.bytes, wanted);
	else if (!loop->filled)
		/* Room without a record would delay the segment. */
		chario_recorder_end_record(loop, 0, 0);
}

/* Returns whether the segment has room, but not for the longest datagram. */
static bool is_nearly_full(struct recorder_loop *loop)
{
	uint32_t space;

	if (loop->place)
		return false;
	CHARIO_LOCK(&loop->stream->lock);
	space = chario_stream_space(loop->stream);
	return space && space < loop->recorder->record_bytes;
}

void chario_recorder_take(struct recorder_loop *loop)
{
	int is_whole = loop->source.kind == STREAM_SOURCE_DATAGRAMS ?
			       is_nearly_full(loop) :
			       chario_source_is_whole(&loop->source);

	check_read(loop, is_whole);
	if (is_whole > 0)
		read_whole(loop);
	else if (!is_whole)
		read_in_place(loop);
}

void chario_recorder_try_again(struct recorder_loop *loop)
{
	if (loop->whole)
		store_whole(loop);
	else
		have_place(loop);
}

void chario_recorder_end_spans(struct recorder_loop *loop)
{
	end_wait(loop);
	end_span(&loop->gap_since_ns, &loop->recorder->gap_ns);
}
