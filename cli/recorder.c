// SPDX-License-Identifier: MIT
/*
 * The loop of a recording.
 *
 * What comes is read straight into the memory of the stream, which the drive fetches.
 * Room is asked for when something is there, and not before: room that is held back
 * holds back the segment that it lies in.  Where there is no room, the source waits, or,
 * with --drop, the record is read into memory that nobody looks at, and counts as lost.
 */
#include "recorder.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#include "interrupt.h"
#include "progress.h"

#define NS_PER_S  1000000000ULL
#define NS_PER_MS 1000000ULL
#define TICK_NS   NS_PER_S

static void stop(struct cli_recorder *recorder, enum cli_recorder_end end, int err)
{
	if (recorder->end)
		return;
	recorder->end = end;
	recorder->err = err;
}

static bool is_well(struct cli_recorder *recorder, int err)
{
	if (err)
		stop(recorder, CLI_RECORDER_WRITE_FAILED, err);
	return !err;
}

/* No room is left in the area, or below it, where a write has failed. */
static bool is_full(struct cli_recorder *recorder, int err)
{
	if (err != -ENOSPC || chario_stream_service(recorder->stream))
		return false;
	stop(recorder, CLI_RECORDER_FULL, err);
	return true;
}

/* waits and gaps */

static void end_wait(struct cli_recorder *recorder)
{
	uint64_t waited_ns;

	if (!recorder->wait_since_ns)
		return;
	waited_ns = cli_now_ns() - recorder->wait_since_ns;
	recorder->wait_ns += waited_ns;
	if (waited_ns > recorder->longest_wait_ns)
		recorder->longest_wait_ns = waited_ns;
	recorder->wait_since_ns = 0;
}

static void begin_wait(struct cli_recorder *recorder)
{
	if (recorder->wait_since_ns)
		return;
	recorder->wait_since_ns = cli_now_ns();
	recorder->waits++;
}

static void end_gap(struct cli_recorder *recorder)
{
	if (recorder->gap_since_ns)
		recorder->gap_ns += cli_now_ns() - recorder->gap_since_ns;
	recorder->gap_since_ns = 0;
}

static void lose(struct cli_recorder *recorder, uint64_t records, uint64_t bytes)
{
	chario_stream_lose(recorder->stream, records, bytes);
}

static void begin_gap(struct cli_recorder *recorder)
{
	if (recorder->gap_since_ns)
		return;
	recorder->gap_since_ns = cli_now_ns();
	recorder->gaps++;
}

/* records */

static size_t wanted_bytes(const struct cli_recorder *recorder)
{
	size_t bytes = recorder->intake->datagrams ? recorder->record_bytes : recorder->frame_left;
	uint64_t left = recorder->limit_bytes - recorder->taken_bytes;

	if (recorder->limit_bytes && !recorder->intake->datagrams && left < bytes)
		return (size_t)left;
	return bytes;
}

/* Somewhere to read to: room, or with --drop memory that nobody looks at. */
static bool have_place(struct cli_recorder *recorder)
{
	int err;

	if (recorder->place)
		return true;
	err = chario_stream_get(recorder->stream, wanted_bytes(recorder), 0, &recorder->room);
	if (err == -EAGAIN && !recorder->drop) {
		begin_wait(recorder);
		return false;
	}
	end_wait(recorder);
	if (err == -EAGAIN) {
		begin_gap(recorder);
		recorder->place = recorder->scratch;
	} else if (!is_full(recorder, err) && is_well(recorder, err)) {
		end_gap(recorder);
		recorder->place = recorder->room.memory;
	}
	recorder->filled = 0;
	return recorder->place;
}

/* What there is of it is a record. */
static void end_record(struct cli_recorder *recorder, size_t bytes, uint64_t time_ns)
{
	if (!recorder->place)
		return;
	if (recorder->place != recorder->scratch)
		is_well(recorder,
			chario_stream_commit(recorder->stream, &recorder->room, bytes, time_ns, 0));
	else if (bytes)
		lose(recorder, 1, bytes);
	recorder->place = NULL;
	recorder->filled = 0;
	if (recorder->limit_bytes && recorder->taken_bytes >= recorder->limit_bytes)
		stop(recorder, CLI_RECORDER_LIMIT, 0);
}

static void take_datagram(struct cli_recorder *recorder, const struct cli_taken *taken)
{
	bool fits = taken->bytes <= recorder->record_bytes;

	if (taken->lost) {
		recorder->gaps++;
		lose(recorder, taken->lost, 0);
	}
	recorder->taken_bytes += taken->bytes;
	/* Half of a datagram is none. */
	if (!fits) {
		recorder->gaps++;
		lose(recorder, 1, taken->bytes);
	}
	end_record(recorder, fits ? taken->bytes : 0, taken->time_ns);
}

static void take_bytes(struct cli_recorder *recorder, size_t bytes)
{
	bool full = bytes == wanted_bytes(recorder);

	if (!recorder->filled)
		recorder->record_ns = cli_now_ns();
	recorder->filled += bytes;
	recorder->taken_bytes += bytes;
	recorder->frame_left -= bytes;
	if (!recorder->frame_left)
		recorder->frame_left = recorder->record_bytes;
	if (full)
		end_record(recorder, recorder->filled, 0);
}

static void take(struct cli_recorder *recorder)
{
	struct cli_taken taken;
	int ret;

	if (!have_place(recorder))
		return;
	ret = cli_intake_read(recorder->intake, recorder->place + recorder->filled,
			      wanted_bytes(recorder), &taken);
	if (ret == -EAGAIN)
		return;
	if (ret < 0)
		stop(recorder, CLI_RECORDER_READ_FAILED, ret);
	else if (!ret)
		stop(recorder, CLI_RECORDER_SOURCE, 0);
	else if (recorder->intake->datagrams)
		take_datagram(recorder, &taken);
	else
		take_bytes(recorder, taken.bytes);
}

/* time */

static uint64_t due_ns(const struct cli_recorder *recorder)
{
	uint64_t due = recorder->shown_ns + TICK_NS;

	if (recorder->limit_ns && recorder->begin_ns + recorder->limit_ns < due)
		due = recorder->begin_ns + recorder->limit_ns;
	if (recorder->place && recorder->filled && recorder->record_ns + recorder->part_ns < due)
		due = recorder->record_ns + recorder->part_ns;
	return due;
}

static void show(struct cli_recorder *recorder)
{
	struct chario_stream_status status;
	char bytes[32], durable[32], rate[32];
	double seconds = (double)(recorder->shown_ns - recorder->begin_ns) / (double)NS_PER_S;

	if (recorder->quiet || chario_stream_get_status(recorder->stream, &status, sizeof(status)))
		return;
	cli_progress_line("%.0f s  %s  %s/s  durable %s  buffers %u of %u free  late %llu  "
			  "lost %llu",
			  seconds, cli_round_size(bytes, status.bytes),
			  cli_round_size(rate, (uint64_t)((double)recorder->taken_bytes / seconds)),
			  cli_round_size(durable, status.durable_bytes), status.free_buffers,
			  status.nr_buffers, (unsigned long long)status.late,
			  (unsigned long long)status.lost_records);
}

static void do_timely(struct cli_recorder *recorder)
{
	uint64_t now_ns = cli_now_ns();

	if (recorder->place && recorder->filled &&
	    now_ns >= recorder->record_ns + recorder->part_ns)
		end_record(recorder, recorder->filled, 0);
	if (recorder->limit_ns && now_ns >= recorder->begin_ns + recorder->limit_ns)
		stop(recorder, CLI_RECORDER_LIMIT, 0);
	if (now_ns < recorder->shown_ns + TICK_NS)
		return;
	recorder->shown_ns = now_ns;
	show(recorder);
}

static int timeout_ms(const struct cli_recorder *recorder)
{
	uint64_t now_ns = cli_now_ns(), due = due_ns(recorder);

	return due <= now_ns ? 0 : (int)((due - now_ns + NS_PER_MS - 1) / NS_PER_MS);
}

static void turn(struct cli_recorder *recorder)
{
	struct pollfd polled[] = {
		{ .fd = recorder->intake->fd, .events = POLLIN },
		{ .fd = chario_stream_fd(recorder->stream), .events = POLLIN },
	};

	/* Nothing can be read while there is no room: only a buffer that is free helps. */
	if (recorder->wait_since_ns)
		polled[0].fd = -1;
	if (poll(polled, 2, timeout_ms(recorder)) < 0 && errno != EINTR)
		stop(recorder, CLI_RECORDER_READ_FAILED, -errno);
	if (polled[1].revents && !is_well(recorder, chario_stream_service(recorder->stream)))
		return;
	if (recorder->wait_since_ns)
		have_place(recorder);
	if (!recorder->end && polled[0].revents)
		take(recorder);
	if (!recorder->end)
		do_timely(recorder);
	if (cli_interrupted())
		stop(recorder, CLI_RECORDER_INTERRUPT, 0);
}

void cli_recorder_run(struct cli_recorder *recorder)
{
	recorder->scratch = cli_must(malloc(recorder->record_bytes));
	recorder->frame_left = recorder->record_bytes;
	recorder->begin_ns = recorder->shown_ns = cli_now_ns();
	while (!recorder->end)
		turn(recorder);
	end_record(recorder, recorder->filled, 0);
	end_wait(recorder);
	end_gap(recorder);
	cli_progress_clear();
	free(recorder->scratch);
	recorder->scratch = NULL;
}
