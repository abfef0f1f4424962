/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A recorder under way: the state that its parts share.
 *
 * recorder.c		the loop, time, the end
 * recorder-take.c	the records
 */
#ifndef CHARIO_STREAM_RECORDER_INNER_H
#define CHARIO_STREAM_RECORDER_INNER_H

#include <chario/recorder.h>

#include "stream/inner.h"
#include "stream/source.h"

/**
 * struct recorder_loop - a recorder under way
 * @recorder: the caller's options and result
 * @stream: stream that is written
 * @source: source that is read
 * @ended: true if the recorder has ended, for the reason in @end of @recorder
 * @result: result of the recorder
 * @part_ns: time after which a record that has begun ends
 * @begin_ns: time when the recorder began
 * @room: room for the present record
 * @place: memory that the record is read into: that of @room or @scratch; NULL if none
 * @scratch: memory for records that are lost, and for those of which the length is not known
 * @scratch_bytes: length of @scratch
 * @whole: number of bytes of a datagram, a packet or events in @scratch that have no room yet; 0 if
 *	none
 * @whole_ns: time of arrival of a datagram in @scratch, nanoseconds since 1970; 0 if unknown
 * @filled: number of bytes of the record that have been read
 * @frame_left: number of bytes to the next multiple of @record_bytes of @recorder in the source; a
 *	record that ends early, after @part_ns, leaves the rest of them to the next one
 * @record_ns: time when the record began
 * @wait_since_ns: time since which the source waits; 0 if it does not
 * @gap_since_ns: time since which records are lost; 0 if none are
 * @draining: true if the recorder ends when it has taken what waits in the kernel
 * @drain_left: upper bound of the bytes that still wait
 * @asked: first result of the callback other than 0
 * @abandoned: true if the callback has ended the drain
 *
 * Other times are nanoseconds of CLOCK_MONOTONIC.
 */
struct recorder_loop {
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
	size_t scratch_bytes;
	size_t whole;
	uint64_t whole_ns;
	size_t filled;
	size_t frame_left;
	uint64_t record_ns;
	uint64_t wait_since_ns;
	uint64_t gap_since_ns;
	bool draining;
	uint64_t drain_left;
	int asked;
	bool abandoned;
};

/* End for a reason, unless there is one already. */
void chario_recorder_stop(struct recorder_loop *loop, enum chario_recorder_end end, int result);

/* Count lost records as a gap of the recording. */
void chario_recorder_lose(struct recorder_loop *loop, uint64_t records, uint64_t bytes);

/* End the present record, if there is one, with the bytes that it has. */
void chario_recorder_end_record(struct recorder_loop *loop, size_t bytes, uint64_t time_ns);

/* Read the source once, unless there is no room. */
void chario_recorder_take(struct recorder_loop *loop);

/* Try to get the room for which the source waits. */
void chario_recorder_try_again(struct recorder_loop *loop);

/* Add the waits and gaps under way to the result. */
void chario_recorder_end_spans(struct recorder_loop *loop);

#endif /* CHARIO_STREAM_RECORDER_INNER_H */
