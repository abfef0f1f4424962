// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The loop of a recorder.
 *
 * The loop asks for room only when the source has data: room that is held without a record
 * delays the segment that it lies in.  If there is no room and the source does not wait, the
 * record is read into scratch memory and counts as lost.
 */
#include <chario/recorder.h>

#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#include "stream/inner.h"
#include "stream/source.h"
#include "system/sys.h"

#define NS_PER_MS 1000000ULL
#define TICK_NS   1000000000ULL

/**
 * struct loop - a recorder under way
 * @recorder: the caller's options and result
 * @stream: stream that is written
 * @source: source that is read
 * @ended: true if the recorder has ended, for the reason in @end of @recorder
 * @result: result of the recorder
 * @part_ns: time after which a record that has begun ends
 * @begin_ns: time when the recorder began
 * @room: room for the present record
 * @place: memory that the record is read into: that of @room or @scratch; NULL if none
 * @scratch: memory for records that are lost
 * @filled: number of bytes of the record that have been read
 * @frame_left: number of bytes until the record is full
 * @record_ns: time when the record began
 * @wait_since_ns: time since which the source waits; 0 if it does not
 * @gap_since_ns: time since which records are lost; 0 if none are
 *
 * Times are nanoseconds of CLOCK_MONOTONIC.
 */
struct loop {
	struct chario_recorder *recorder;
	struct chario_stream *stream;
	struct stream_source source;
	bool ended;
	int result;
	uint64_t part_ns;
	uint64_t begin_ns;
	struct chario_stream_room room;
	unsigned char *place;
	unsigned char *scratch;
	size_t filled;
	size_t frame_left;
	uint64_t record_ns;
	uint64_t wait_since_ns;
	uint64_t gap_since_ns;
};

static void stop(struct loop *loop, enum chario_recorder_end end, int result)
{
	if (loop->ended)
		return;
	loop->ended = true;
	loop->recorder->end = end;
	loop->result = result;
}

static bool is_well(struct loop *loop, int err)
{
	if (err)
		stop(loop, CHARIO_RECORDER_WRITE, err);
	return !err;
}

/*
 * Returns whether the area is full.  -ENOSPC may also come from a write that has failed below
 * the area; chario_stream_service() then returns the error of that write.
 */
static bool is_full(struct loop *loop, int err)
{
	if (err != -ENOSPC || chario_stream_service(loop->stream))
		return false;
	stop(loop, CHARIO_RECORDER_FULL, err);
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

static void end_wait(struct loop *loop)
{
	uint64_t waited_ns = end_span(&loop->wait_since_ns, &loop->recorder->wait_ns);

	loop->recorder->longest_wait_ns = MAX(loop->recorder->longest_wait_ns, waited_ns);
}

/* records */

static size_t wanted_bytes(const struct loop *loop)
{
	const struct chario_recorder *recorder = loop->recorder;
	uint64_t left = recorder->limit_bytes - recorder->taken_bytes;

	if (loop->source.datagrams)
		return (size_t)recorder->record_bytes;
	return recorder->limit_bytes && left < loop->frame_left ? (size_t)left : loop->frame_left;
}

/* Have memory for the next record: room, or scratch memory.  Returns whether there is any. */
static bool have_place(struct loop *loop)
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

/* End the present record with the bytes that it has. */
static void end_record(struct loop *loop, size_t bytes, uint64_t time_ns)
{
	const struct chario_recorder *recorder = loop->recorder;

	if (!loop->place)
		return;
	if (loop->place != loop->scratch)
		is_well(loop, chario_stream_commit(loop->stream, &loop->room, bytes, time_ns, 0));
	else if (bytes)
		chario_stream_lose(loop->stream, 1, bytes);
	loop->place = NULL;
	loop->filled = 0;
	if (recorder->limit_bytes && recorder->taken_bytes >= recorder->limit_bytes)
		stop(loop, CHARIO_RECORDER_LIMIT, 0);
}

static void take_datagram(struct loop *loop, const struct stream_taken *taken)
{
	bool fits = taken->bytes <= loop->recorder->record_bytes;

	loop->recorder->taken_bytes += taken->bytes;
	/* A datagram that was cut off is worthless. */
	if (!fits) {
		loop->recorder->gaps++;
		chario_stream_lose(loop->stream, 1, taken->bytes);
	}
	end_record(loop, fits ? taken->bytes : 0, taken->time_ns);
}

static void take_bytes(struct loop *loop, size_t bytes)
{
	bool full = bytes == wanted_bytes(loop);

	if (!loop->filled)
		loop->record_ns = chario_sys_now();
	loop->filled += bytes;
	loop->recorder->taken_bytes += bytes;
	loop->frame_left -= bytes;
	if (!loop->frame_left)
		loop->frame_left = (size_t)loop->recorder->record_bytes;
	if (full)
		end_record(loop, loop->filled, 0);
}

static void take(struct loop *loop)
{
	struct stream_taken taken;
	int ret;

	if (!have_place(loop))
		return;
	ret = chario_source_read(&loop->source, loop->place + loop->filled, wanted_bytes(loop),
				 &taken);
	/* An empty datagram is no record, but it may tell of losses. */
	if (taken.lost) {
		loop->recorder->gaps++;
		chario_stream_lose(loop->stream, taken.lost, 0);
	}
	/* Room without a record would delay the segment. */
	if (ret == -EAGAIN && !loop->filled)
		end_record(loop, 0, 0);
	if (ret == -EAGAIN)
		return;
	if (ret < 0)
		stop(loop, CHARIO_RECORDER_READ, ret);
	else if (!ret)
		stop(loop, CHARIO_RECORDER_SOURCE, 0);
	else if (loop->source.datagrams)
		take_datagram(loop, &taken);
	else
		take_bytes(loop, taken.bytes);
}

/* time */

/* Returns the rest of a period; 0 if it is over. */
static uint64_t left_of(uint64_t begin_ns, uint64_t period_ns)
{
	uint64_t passed_ns = chario_sys_now() - begin_ns;

	return passed_ns < period_ns ? period_ns - passed_ns : 0;
}

static bool is_open(const struct loop *loop)
{
	return loop->place && loop->filled;
}

static int timeout_ms(const struct loop *loop)
{
	uint64_t limit_ns = loop->recorder->limit_ns, wait_ns = TICK_NS, left_ns;

	if (limit_ns && (left_ns = left_of(loop->begin_ns, limit_ns)) < wait_ns)
		wait_ns = left_ns;
	if (is_open(loop) && (left_ns = left_of(loop->record_ns, loop->part_ns)) < wait_ns)
		wait_ns = left_ns;
	return (int)((wait_ns + NS_PER_MS - 1) / NS_PER_MS);
}

static void do_timely(struct loop *loop)
{
	uint64_t limit_ns = loop->recorder->limit_ns;

	if (is_open(loop) && !left_of(loop->record_ns, loop->part_ns))
		end_record(loop, loop->filled, 0);
	if (limit_ns && !left_of(loop->begin_ns, limit_ns))
		stop(loop, CHARIO_RECORDER_LIMIT, 0);
}

static void tell(struct loop *loop)
{
	const struct chario_recorder *recorder = loop->recorder;
	int result = recorder->progress ? recorder->progress(recorder, recorder->data) : 0;

	if (result)
		stop(loop, CHARIO_RECORDER_STOPPED, result);
}

static void turn(struct loop *loop)
{
	struct pollfd polled[] = {
		{ .fd = loop->source.fd, .events = POLLIN },
		{ .fd = chario_stream_fd(loop->stream), .events = POLLIN },
	};

	/* Without room nothing can be read: wait only for a free buffer of the stream. */
	if (loop->wait_since_ns)
		polled[0].fd = -1;
	if (poll(polled, 2, timeout_ms(loop)) < 0 && errno != EINTR)
		stop(loop, CHARIO_RECORDER_READ, -errno);
	if (polled[1].revents && !is_well(loop, chario_stream_service(loop->stream)))
		return;
	if (loop->wait_since_ns)
		have_place(loop);
	if (!loop->ended && polled[0].revents)
		take(loop);
	if (!loop->ended)
		do_timely(loop);
	if (!loop->ended)
		tell(loop);
}

static void run(struct loop *loop)
{
	loop->frame_left = (size_t)loop->recorder->record_bytes;
	loop->begin_ns = chario_sys_now();
	while (!loop->ended)
		turn(loop);
	end_record(loop, loop->filled, 0);
	end_wait(loop);
	end_span(&loop->gap_since_ns, &loop->recorder->gap_ns);
}

static int begin(struct loop *loop)
{
	struct chario_recorder *recorder = loop->recorder;

	recorder->end = CHARIO_RECORDER_START;
	recorder->reserved = 0;
	recorder->taken_bytes = recorder->waits = recorder->wait_ns = 0;
	recorder->longest_wait_ns = recorder->gaps = recorder->gap_ns = 0;
	if (recorder->flags & ~(CHARIO_RECORDER_DATAGRAMS | CHARIO_RECORDER_DROP) ||
	    !recorder->record_bytes ||
	    recorder->record_bytes > chario_stream_room_bytes(loop->stream))
		return -EINVAL;
	/* poll(2) would ignore a negative descriptor. */
	if (loop->source.fd < 0) {
		recorder->end = CHARIO_RECORDER_READ;
		return -EBADF;
	}
	loop->scratch = malloc((size_t)recorder->record_bytes);
	return loop->scratch ? 0 : -ENOMEM;
}

int chario_recorder_run(struct chario_stream *stream, int fd, struct chario_recorder *recorder)
{
	struct loop loop = { .recorder = recorder, .stream = stream, .source.fd = fd };
	int err;

	if (recorder->size < sizeof(*recorder))
		return -EINVAL;
	err = begin(&loop);
	if (err)
		return err;
	loop.source.datagrams = recorder->flags & CHARIO_RECORDER_DATAGRAMS;
	loop.part_ns = recorder->part_ns ? recorder->part_ns : TICK_NS;
	run(&loop);
	free(loop.scratch);
	return loop.result;
}
