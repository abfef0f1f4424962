// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Time and waiting.
 *
 * A waiting thread polls the queue, the timer and an eventfd.  The eventfd is needed
 * because a completion that another thread takes makes no descriptor readable.  The eventfd
 * is a semaphore with one unit for each waiting thread.
 */
#include "stream/inner.h"

#include <errno.h>
#include <poll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define NS 1000000000

/* Interval after which a submission is tried again when the kernel had no memory. */
#define AGAIN_NS 1000000

/* The coarse clock is behind the other; time does not go back for all that. */
uint64_t chario_stream_look_at_clock(struct chario_stream *stream, clockid_t clock)
{
	uint64_t now_ns = chario_sys_clock(clock);

	stream->now_ns = MAX(stream->now_ns, now_ns);
	return now_ns;
}

void chario_stream_tick(struct chario_stream *stream)
{
	chario_stream_check_clock(stream,
				  chario_stream_look_at_clock(stream, CLOCK_MONOTONIC_COARSE));
	if (stream->now_ns >= stream->timer_ns)
		chario_stream_pump(stream);
}

/* While one batch of a segment is being written, the next batch is filled further. */
static bool may_close(struct chario_stream *stream)
{
	const struct chario_batch *batch = chario_stream_batch(stream, stream->tail - 1);

	if (!stream->open || batch->rooms ||
	    stream->cursor == batch->header.offset + sizeof(struct chario_disk_batch))
		return false;
	return stream->tail - stream->head == 1 ||
	       chario_stream_batch(stream, stream->tail - 2)->header.segment !=
		       batch->header.segment;
}

static void set_timer(struct chario_stream *stream, uint64_t due_ns)
{
	struct itimerspec time = { 0 };
	uint64_t count;

	/* An expired timer stays readable until it is read. */
	if (stream->timer_ns <= stream->now_ns) {
		if (read(stream->timer, &count, sizeof(count)) < 0)
			return;
		stream->timer_ns = UINT64_MAX;
	}
	if (due_ns >= stream->timer_ns)
		return;
	time.it_value.tv_sec = (time_t)(due_ns / NS);
	time.it_value.tv_nsec = (long)(due_ns % NS);
	timerfd_settime(stream->timer, TFD_TIMER_ABSTIME, &time, NULL);
	stream->timer_ns = due_ns;
}

/* Returns the time at which unwritten or unflushed records have waited long enough. */
static uint64_t find_due(struct chario_stream *stream)
{
	uint64_t due = UINT64_MAX;

	if (may_close(stream))
		due = chario_stream_batch(stream, stream->tail - 1)->begun_ns;
	if (stream->status.durability == CHARIO_DURABILITY_FLUSH && stream->cached &&
	    !stream->flush_flying && !stream->flush_ready &&
	    stream->completed.batches != stream->durable.batches && stream->dirty_ns < due)
		due = stream->dirty_ns;
	return due == UINT64_MAX ? due : due + stream->options.flush_ns;
}

/* Have all committed records up to @position written and made durable soon. */
static void force(struct chario_stream *stream, uint64_t position)
{
	stream->forced = MAX(stream->forced, position);
	stream->close_soon = stream->open;
}

void chario_stream_do_timely(struct chario_stream *stream)
{
	if (may_close(stream)) {
		const struct chario_batch *batch = chario_stream_batch(stream, stream->tail - 1);
		bool due = stream->now_ns - batch->begun_ns >= stream->options.flush_ns;

		if (due && stream->status.durability == CHARIO_DURABILITY_FLUSH)
			force(stream, stream->status.bytes);
		if (due || stream->close_soon)
			chario_stream_close_batch(stream);
	}
	set_timer(stream, find_due(stream));
}

void chario_stream_look_again(struct chario_stream *stream)
{
	set_timer(stream, stream->now_ns + AGAIN_NS);
}

void chario_stream_wake(struct chario_stream *stream)
{
	uint64_t count = stream->nr_waiters;

	if (!count)
		return;
	stream->wakes++;
	stream->nr_waiters = 0;
	while (write(stream->wake, &count, sizeof(count)) < 0 && errno == EINTR)
		;
}

static int left_ms(struct chario_patience *patience)
{
	int64_t left;

	if (patience->timeout_ns < 0)
		return -1;
	if (!patience->deadline_ns)
		patience->deadline_ns = chario_sys_deadline(patience->timeout_ns);
	left = (chario_sys_left(patience->deadline_ns) + 999999) / 1000000;
	return (int)MIN(left, INT32_MAX);
}

int chario_stream_sleep(struct chario_stream *stream, struct chario_patience *patience)
{
	struct pollfd polled[] = {
		{ .fd = stream->epoll, .events = POLLIN },
		{ .fd = stream->wake, .events = POLLIN },
	};
	int timeout_ms = 0;
	uint64_t wakes = stream->wakes, unit;

	if (stream->error)
		return stream->error;
	if (patience->timeout_ns)
		timeout_ms = left_ms(patience);
	if (!timeout_ms)
		return -EAGAIN;
	stream->nr_waiters++;
	pthread_mutex_unlock(&stream->lock);
	poll(polled, 2, timeout_ms);
	pthread_mutex_lock(&stream->lock);
	if (stream->wakes == wakes)
		stream->nr_waiters--;
	else
		while (read(stream->wake, &unit, sizeof(unit)) < 0 && errno == EINTR)
			;
	chario_stream_look_at_clock(stream, CLOCK_MONOTONIC);
	chario_stream_pump(stream);
	return stream->error;
}

int chario_stream_service(struct chario_stream *stream)
{
	if (!chario_pool_is_ours(&stream->pool))
		return -EPERM;
	CHARIO_LOCK(&stream->lock);
	chario_stream_look_at_clock(stream, CLOCK_MONOTONIC);
	chario_stream_pump(stream);
	return stream->error;
}

int chario_stream_fd(const struct chario_stream *stream)
{
	return stream->epoll;
}

int chario_stream_wait(struct chario_stream *stream, uint64_t bytes, int64_t timeout_ns)
{
	struct chario_patience patience = { .timeout_ns = timeout_ns };
	int err;

	if (!chario_pool_is_ours(&stream->pool))
		return -EPERM;
	CHARIO_LOCK(&stream->lock);
	chario_stream_look_at_clock(stream, CLOCK_MONOTONIC);
	if (bytes == UINT64_MAX)
		bytes = stream->status.bytes;
	if (bytes > stream->status.bytes)
		return -EINVAL;
	err = stream->error;
	if (!err && stream->durable.position < bytes) {
		force(stream, bytes);
		chario_stream_pump(stream);
		err = stream->error;
	}
	while (!err && stream->durable.position < bytes)
		err = chario_stream_sleep(stream, &patience);
	return err;
}
