// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* The loop of a recorder, and its end. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#include "stream/count.h"
#include "stream/recorder-inner.h"
#include "system/sys.h"

#define NS_PER_MS 1000000ULL
#define TICK_NS   1000000000ULL
#define ALL_FLAGS (CHARIO_RECORDER_DATAGRAMS | CHARIO_RECORDER_DROP | CHARIO_RECORDER_DRAIN)

/* the end */

/* End because the caller has asked for it, at once or after a drain. */
static void end_as_asked(struct recorder_loop *loop, enum chario_recorder_end end, int result)
{
	loop->recorder->end = end;
	loop->result = result;
	if (!(loop->recorder->flags & CHARIO_RECORDER_DRAIN)) {
		loop->ended = true;
	} else if (!loop->draining) {
		loop->draining = true;
		loop->drain_left = chario_source_waiting(&loop->source);
	}
}

static bool is_readable(const struct recorder_loop *loop)
{
	struct pollfd polled = { .fd = loop->source.fd, .events = POLLIN };

	return poll(&polled, 1, 0) > 0 && polled.revents & POLLIN;
}

/*
 * Count what waits in the kernel: datagrams, packets and events are read and dropped; of a
 * stream of bytes the kernel tells the length.
 */
static void lose_waiting(struct recorder_loop *loop)
{
	uint64_t record_bytes = loop->recorder->record_bytes, records = 0, bytes = 0;
	uint64_t left = chario_source_waiting(&loop->source);
	struct stream_taken taken;

	while (left && is_readable(loop) && chario_source_is_whole(&loop->source) > 0) {
		int ret = chario_source_read(&loop->source, loop->scratch, loop->scratch_bytes,
					     &taken);

		if (!ret || (ret < 0 && ret != -EAGAIN))
			break;
		records += taken.lost + (ret == 1);
		bytes += taken.bytes;
		left = chario_saturating_sub(left, taken.charge);
	}
	if (left && chario_source_is_whole(&loop->source) <= 0) {
		left = chario_source_unread(&loop->source);
		records += (left + record_bytes - 1) / record_bytes;
		bytes += left;
	}
	chario_recorder_lose(loop, records, bytes);
}

/*
 * Returns whether the recorder has ended before it had taken all that a drain takes.  It has not
 * begun one if the stream has no room for more; the writer of a pipe or a connection learns of
 * that, but the sender of datagrams does not.
 */
static bool is_cut_off(const struct recorder_loop *loop)
{
	enum chario_recorder_end end = loop->recorder->end;
	bool drains = loop->recorder->flags & CHARIO_RECORDER_DRAIN;

	if (end == CHARIO_RECORDER_FULL || end == CHARIO_RECORDER_WRITE)
		return loop->draining || (drains && loop->source.kind == STREAM_SOURCE_DATAGRAMS);
	return loop->abandoned ||
	       (loop->draining && end != CHARIO_RECORDER_STOPPED && end != CHARIO_RECORDER_LIMIT);
}

/* Count what was read and has no room, and what the kernel has dropped or still holds. */
static void count_rest(struct recorder_loop *loop)
{
	bool is_cut = is_cut_off(loop);

	chario_recorder_lose(loop, loop->whole > 0, loop->whole);
	if (is_cut)
		lose_waiting(loop);
	/* This recording does not count drops behind datagrams that still wait. */
	if (is_cut || loop->draining || loop->recorder->end == CHARIO_RECORDER_SOURCE)
		chario_recorder_lose(loop, chario_source_find_dropped(&loop->source), 0);
}

/* time */

/* Returns the rest of a period; 0 if it is over. */
static uint64_t left_of(uint64_t begin_ns, uint64_t period_ns)
{
	return chario_saturating_sub(period_ns, chario_sys_now() - begin_ns);
}

static bool is_open(const struct recorder_loop *loop)
{
	return loop->place && loop->filled;
}

static int timeout_ms(const struct recorder_loop *loop)
{
	uint64_t limit_ns = loop->recorder->limit_ns, wait_ns = TICK_NS, left_ns;

	if (loop->draining && !loop->wait_since_ns)
		return 0;
	if (limit_ns && !loop->draining && (left_ns = left_of(loop->begin_ns, limit_ns)) < wait_ns)
		wait_ns = left_ns;
	if (is_open(loop) && (left_ns = left_of(loop->record_ns, loop->part_ns)) < wait_ns)
		wait_ns = left_ns;
	return (int)((wait_ns + NS_PER_MS - 1) / NS_PER_MS);
}

static void do_timely(struct recorder_loop *loop)
{
	uint64_t limit_ns = loop->recorder->limit_ns;

	if (is_open(loop) && !left_of(loop->record_ns, loop->part_ns))
		chario_recorder_end_record(loop, loop->filled, 0);
	if (limit_ns && !loop->draining && !left_of(loop->begin_ns, limit_ns))
		end_as_asked(loop, CHARIO_RECORDER_LIMIT, 0);
}

static void tell(struct recorder_loop *loop)
{
	const struct chario_recorder *recorder = loop->recorder;
	int result = recorder->progress ? recorder->progress(recorder, recorder->data) : 0;

	if (!result || result == loop->asked)
		return;
	loop->abandoned = loop->asked;
	loop->asked = result;
	end_as_asked(loop, CHARIO_RECORDER_STOPPED, result);
	loop->ended |= loop->abandoned;
}

/* Take an error that comes without data; one that stays would be reported for ever. */
static void take_error(struct recorder_loop *loop)
{
	uint64_t taken_bytes = loop->recorder->taken_bytes;
	int err = chario_source_take_errors(&loop->source);

	if (err == -ENOTSOCK) {
		chario_recorder_take(loop);
		err = loop->recorder->taken_bytes > taken_bytes || loop->wait_since_ns ? 0 : -EIO;
	}
	if (err)
		chario_recorder_stop(loop, CHARIO_RECORDER_READ, err);
}

/*
 * Count the losses that no datagram has reported yet.  Datagrams that came after the poll, such
 * as while a signal ended it, lie before the losses, and are taken first.
 */
static void lose_dropped(struct recorder_loop *loop)
{
	uint32_t counted = loop->source.dropped;
	uint64_t records = chario_source_find_dropped(&loop->source);

	if (records && is_readable(loop))
		loop->source.dropped = counted;
	else
		chario_recorder_lose(loop, records, 0);
}

/* Read the source, or find that it has nothing more to give. */
static void attend(struct recorder_loop *loop, short events)
{
	if (loop->wait_since_ns)
		chario_recorder_try_again(loop);
	else if (loop->draining && (!events || !loop->drain_left))
		chario_recorder_stop(loop, CHARIO_RECORDER_SOURCE, 0);
	else if (events == POLLERR)
		take_error(loop);
	else if (events)
		chario_recorder_take(loop);
	else
		lose_dropped(loop);
}

static void run_once(struct recorder_loop *loop)
{
	struct pollfd polled[] = {
		{ .fd = loop->source.fd, .events = POLLIN },
		{ .fd = chario_stream_fd(loop->stream), .events = POLLIN },
	};
	int err;

	/* Without room nothing can be read: wait only for a free buffer of the stream. */
	if (loop->wait_since_ns)
		polled[0].fd = -1;
	if (poll(polled, 2, timeout_ms(loop)) < 0 && errno != EINTR)
		chario_recorder_stop(loop, CHARIO_RECORDER_READ, -errno);
	if (polled[1].revents && (err = chario_stream_service(loop->stream)))
		chario_recorder_stop(loop, CHARIO_RECORDER_WRITE, err);
	if (loop->ended)
		return;
	attend(loop, polled[0].revents);
	if (!loop->ended)
		do_timely(loop);
	if (!loop->ended)
		tell(loop);
}

static void run(struct recorder_loop *loop)
{
	loop->frame_left = (size_t)loop->recorder->record_bytes;
	loop->begin_ns = chario_sys_now();
	while (!loop->ended)
		run_once(loop);
	chario_recorder_end_record(loop, loop->filled, 0);
	count_rest(loop);
	chario_recorder_end_spans(loop);
}

static int begin(struct recorder_loop *loop)
{
	struct chario_recorder *recorder = loop->recorder;

	recorder->end = CHARIO_RECORDER_START;
	recorder->reserved = 0;
	recorder->taken_bytes = recorder->waits = recorder->wait_ns = 0;
	recorder->longest_wait_ns = recorder->gaps = recorder->gap_ns = 0;
	if (recorder->flags & ~(ALL_FLAGS) || !recorder->record_bytes ||
	    recorder->record_bytes > chario_stream_room_bytes(loop->stream))
		return -EINVAL;
	loop->scratch_bytes = MAX((size_t)recorder->record_bytes, STREAM_SOURCE_UNIT);
	loop->scratch = malloc(loop->scratch_bytes);
	return loop->scratch ? 0 : -ENOMEM;
}

/* The descriptor decides what it gives; the flag only makes sure of it. */
static int open_source(struct recorder_loop *loop, int fd)
{
	int err = chario_source_open(&loop->source, fd);

	if (!err && loop->recorder->flags & CHARIO_RECORDER_DATAGRAMS &&
	    loop->source.kind != STREAM_SOURCE_DATAGRAMS)
		err = loop->source.is_socket ? -EPROTOTYPE : -ENOTSOCK;
	if (err)
		loop->recorder->end = CHARIO_RECORDER_READ;
	return err;
}

int chario_recorder_run(struct chario_stream *stream, int fd, struct chario_recorder *recorder)
{
	struct recorder_loop loop = { .recorder = recorder, .stream = stream };
	int err;

	if (recorder->size < sizeof(*recorder))
		return -EINVAL;
	err = begin(&loop);
	if (err)
		return err;
	loop.part_ns = recorder->part_ns ? recorder->part_ns : TICK_NS;
	err = open_source(&loop, fd);
	if (!err)
		run(&loop);
	chario_source_close(&loop.source);
	free(loop.scratch);
	return err ? err : loop.result;
}
