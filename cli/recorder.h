/* SPDX-License-Identifier: MIT */
/*
 * The loop of a recording: from an intake into a stream, until one of them ends.
 */
#ifndef CHARIO_CLI_RECORDER_H
#define CHARIO_CLI_RECORDER_H

#include <chario/stream.h>

#include "intake.h"

/* Why a recording has ended. */
enum cli_recorder_end {
	CLI_RECORDER_GOES_ON,
	CLI_RECORDER_SOURCE, /* the source has ended */
	CLI_RECORDER_LIMIT, /* --seconds or --bytes */
	CLI_RECORDER_INTERRUPT,
	CLI_RECORDER_FULL, /* the area is */
	CLI_RECORDER_READ_FAILED,
	CLI_RECORDER_WRITE_FAILED,
};

/**
 * struct cli_recorder - a recording under way
 * @stream: where to
 * @intake: where from
 * @record_bytes: of a record from a stream of bytes, of a datagram at most
 * @part_ns: a record that has begun is ended after this, full or not
 * @limit_bytes: to be recorded; 0 for no limit
 * @limit_ns: time to record; 0 for no limit
 * @drop: where there is no room the source does not wait
 * @quiet: no line that tells how it goes
 * @end: why it has ended
 * @err: negative errno, with the last two ends
 * @begin_ns: CLOCK_MONOTONIC
 * @taken_bytes: that came, recorded or not
 * @waits: times that the source had to wait
 * @wait_ns: how long, together
 * @longest_wait_ns: of them
 * @gaps: times that something was lost
 * @gap_ns: how long, together
 */
struct cli_recorder {
	struct chario_stream *stream;
	struct cli_intake *intake;
	size_t record_bytes;
	uint64_t part_ns;
	uint64_t limit_bytes;
	uint64_t limit_ns;
	bool drop;
	bool quiet;
	enum cli_recorder_end end;
	int err;
	uint64_t begin_ns;
	uint64_t taken_bytes;
	uint64_t waits;
	uint64_t wait_ns;
	uint64_t longest_wait_ns;
	uint64_t gaps;
	uint64_t gap_ns;
	/* private */
	struct chario_stream_room room;
	char *place;
	char *scratch;
	size_t filled;
	size_t frame_left;
	uint64_t record_ns;
	uint64_t wait_since_ns;
	uint64_t gap_since_ns;
	uint64_t shown_ns;
};

/* Until @end says why it has ended; what was committed need not be durable yet. */
void cli_recorder_run(struct cli_recorder *recorder);

#endif /* CHARIO_CLI_RECORDER_H */
