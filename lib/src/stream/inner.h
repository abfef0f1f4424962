/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The internals of a stream.
 *
 *	stream/open.c	opening and closing a recording
 *	stream/append.c	the place at which a recording is continued
 *	stream/again.c	batches before it that are written again
 *	stream/end.c	the end of a recording
 *	stream/fit.c	options: the fit of a recording in its area
 *	stream/unused.c	areas that have nothing to lose
 *	stream/stream.c	rooms: get, commit
 *	stream/record.c	records in memory of the caller, lost records
 *	stream/segment.c	the segment and the batch being filled
 *	stream/flight.c	batches on their way to the disk, flushes
 *	stream/transfer.c	transfers: submission, completion, retries
 *	stream/external.c	waiting for the drive to leave callers' buffers
 *	stream/wait.c	time, waiting, descriptors
 *	stream/clock.c	the system's clock, and times of records that go back
 *	stream/status.c	statistics
 *
 * Segment N is filled in place N % nr_buffers of the pool, and written to slot
 * N % slots of the area.  Batches pass through a ring in the order of the recording:
 *
 *	head ........ next ........ tail
 *	in flight      closed        open
 *
 * Batches are written in any order once they have left @next.  @completed passes over
 * written batches in order, and @durable follows it.
 *
 * One mutex protects everything except the memory of rooms, which belongs to the
 * producer, so that checksums are computed without the mutex.  While a room of a batch
 * is out, the batch is not written.
 */
#ifndef CHARIO_STREAM_INNER_H
#define CHARIO_STREAM_INNER_H

#include <stdbool.h>
#include <stdint.h>

#include <chario/queue.h>
#include <chario/stream.h>

#include "store/area-inner.h"
#include "timeline/histogram.h"
#include "device/pool.h"
#include "stream/format.h"
#include "stream/tape.h"
#include "system/scope.h"
#include "system/sys.h"

/* Largest number of records in callers' buffers that can be under way at once. */
#define CHARIO_STREAM_EXTERNALS 64U

/* Number of times that a write is repeated. */
#define CHARIO_STREAM_RETRIES 3U

/**
 * enum chario_batch_state - the state of a batch
 * @CHARIO_BATCH_OPEN: the batch is being filled
 * @CHARIO_BATCH_CLOSED: no records are added, but some rooms may still be out
 * @CHARIO_BATCH_REST_READY: the batch is sealed; all but its first block is to be
 *	written
 * @CHARIO_BATCH_REST: the batch is sealed; all but its first block is being written
 * @CHARIO_BATCH_EXTERNAL: the batch is sealed and waits for data in callers' buffers
 * @CHARIO_BATCH_READY: the batch is to be written, or the first block of a sealed one
 * @CHARIO_BATCH_LAST: the batch, or the first block of a sealed one, is being written
 * @CHARIO_BATCH_DONE: the batch has been written
 */
enum chario_batch_state {
	CHARIO_BATCH_OPEN,
	CHARIO_BATCH_CLOSED,
	CHARIO_BATCH_REST_READY,
	CHARIO_BATCH_REST,
	CHARIO_BATCH_EXTERNAL,
	CHARIO_BATCH_READY,
	CHARIO_BATCH_LAST,
	CHARIO_BATCH_DONE,
};

/**
 * struct chario_mark - a place in the recording, behind a batch
 * @segment: number of the first segment that does not lie entirely before the place; only of
 *	@completed, @flushing and @durable of a stream
 * @batches: number of batches before it
 * @records: number of records before it
 * @position: bytes of data in these records
 * @disk_bytes: bytes that this program has written for them
 * @run: see &struct chario_disk_times, for the next batch
 */
struct chario_mark {
	uint64_t segment;
	uint64_t batches;
	uint64_t records;
	uint64_t position;
	uint64_t disk_bytes;
	uint64_t run;
};

/**
 * struct chario_batch - a batch that is not yet on the disk
 * @state: state
 * @header: header of the batch; members that change later are set at each write
 * @end: offset of the end of its last record in the segment in bytes
 * @rooms: number of rooms that are out
 * @externals: number of transfers from callers' buffers that have not ended
 * @retries: number of retries so far
 * @last: true if the batch is the last of its segment
 * @is_steady: true if the times of its records are those of the system's clock
 * @begins_run: true if the time of its first record goes back
 * @turns: true if the time of another record in it goes back
 * @offset_ns: CLOCK_REALTIME - CLOCK_BOOTTIME in nanoseconds
 * @bytes: bytes of data in its committed records
 * @begun_ns: time at which the batch was opened, CLOCK_MONOTONIC_COARSE
 * @submitted_ns: time of its first submission, CLOCK_MONOTONIC
 * @before: mark of its beginning
 * @after: mark of its end
 */
struct chario_batch {
	enum chario_batch_state state;
	struct chario_disk_batch header;
	uint32_t end;
	uint32_t rooms;
	uint32_t externals;
	uint32_t retries;
	bool last;
	bool is_steady;
	bool begins_run;
	bool turns;
	int64_t offset_ns;
	uint64_t bytes;
	uint64_t begun_ns;
	uint64_t submitted_ns;
	struct chario_mark before;
	struct chario_mark after;
};

/**
 * struct chario_external - a transfer from a caller's buffer
 * @transfer: transfer
 * @batch: place of the batch in the ring
 * @retries: number of retries so far
 * @used: true while the transfer is under way
 * @ready: true if the transfer is to be submitted
 * @late: true if the transfer moved fewer bytes than asked, so that the drive may
 *	still use the buffer
 * @released: flag that is set when the memory is free, or NULL
 */
struct chario_external {
	struct chario_transfer transfer;
	uint32_t batch;
	uint32_t retries;
	bool used;
	bool ready;
	bool late;
	uint32_t *released;
};

/**
 * struct chario_stream_clock - the clocks of a recording
 * @offset_ns: CLOCK_REALTIME - CLOCK_BOOTTIME in nanoseconds
 * @coarse_ns: CLOCK_REALTIME_COARSE - CLOCK_MONOTONIC_COARSE when that was measured
 * @time_ns: CLOCK_REALTIME_COARSE when the clock was looked at last
 * @latest_ns: latest time of a record since times last went back
 * @earliest_ns: earliest time of a record since no room was out
 * @next: number behind the largest of a record that has been committed
 */
struct chario_stream_clock {
	int64_t offset_ns;
	int64_t coarse_ns;
	uint64_t time_ns;
	uint64_t latest_ns;
	uint64_t earliest_ns;
	uint64_t next;
};

/**
 * struct chario_patience - the timeout of one call
 * @timeout_ns: timeout as given by the caller, in nanoseconds
 * @deadline_ns: time at which it ends, see chario_sys_deadline(); 0 before the wait begins
 */
struct chario_patience {
	int64_t timeout_ns;
	int64_t deadline_ns;
};

/**
 * struct chario_stream - a recording that is being made
 * @lock: lock of all members
 * @error: error that ended the recording, or 0
 * @area: area of the recording
 * @device: device of the area
 * @queue: queue of transfers to the disk
 * @pool: memory of the segments
 * @cached: true if the disk has a volatile write cache
 * @alignment: alignment of DMA in bytes
 * @block_bytes: logical block of the disk in bytes
 * @disk_offset: offset of the area on the disk in bytes
 * @tape: segments of the area, for the search of the head
 * @window: largest number of segments that are written and not durable
 * @options: options, with the values chosen for zeros
 * @part: random number of this stream
 * @clean_from: number of the segment by which a ring has overwritten all that an
 *	interrupted part may have torn; UINT64_MAX if the area holds no ring
 * @after_end: true if this stream continues a closed recording, all of which was durable
 * @cursor: offset of the next record header in the segment being filled
 * @first: offset of the first record header of the open batch
 * @ceiling: offset in that segment at which data of callers' buffers begin
 * @filling: true if a segment is being filled
 * @next_segment: number of the next segment to be begun
 * @seeds: seeds of the checksums of records, for the segment in each buffer
 * @sequence: number of the next record
 * @partial: bytes written so far of a record that takes several segments
 * @batches: ring of batches
 * @nr_batches: number of batches that the ring has room for
 * @head: number of the oldest batch that is not complete
 * @next: number of the first batch that has not been submitted
 * @tail: number behind that of the newest batch
 * @open: true if the newest batch is open
 * @nr_ready: number of transfers to be submitted or repeated
 * @externals: transfers from callers' buffers
 * @nr_externals: number of those in use
 * @final: mark behind the newest batch that has been submitted
 * @completed: mark up to which all batches are complete
 * @flushing: value of @completed when the flush was submitted
 * @durable: mark up to which a power cut leaves the recording intact
 * @flushed_bytes: disk_bytes of @completed when the last flush was submitted
 * @flush_ready: true if a flush is to be submitted
 * @flush_flying: true if a flush is under way
 * @flush_retries: number of retries of the flush
 * @flush_ns: time at which the flush was submitted
 * @forced: position up to which a caller wants the data durable
 * @close_soon: true if the open batch is to be closed as soon as possible
 * @ending: true if all records are to be made durable
 * @in_flight: number of transfers added to the queue and not ended
 * @submit_err: result of the last submission; if it is not 0, transfers wait in the queue
 * @timed_out: true if a write moved fewer bytes than asked, so that the drive may
 *	still use its memory
 * @submit_ns: time of the last submission, CLOCK_MONOTONIC
 * @reap_ns: time at which results were last taken
 * @clock: the system's clock, and times of records
 * @now_ns: latest known value of CLOCK_MONOTONIC
 * @dirty_ns: start of the interval of flushes: the opening of the first batch completed
 *	since all was durable, or the submission of the last flush; 0 if all is durable
 * @timer_ns: time at which the timer expires, or UINT64_MAX
 * @timer: timerfd descriptor
 * @epoll: epoll descriptor of the timer and the queue
 * @wake: eventfd descriptor that wakes waiting threads
 * @nr_waiters: number of waiting threads
 * @wakes: number of times that they have been woken
 * @status: statistics, and the durability that is in force; the members that can be
 *	computed are set when the status is asked for
 * @histogram: times from the submission of a batch to its completion, in nanoseconds
 */
struct chario_stream {
	pthread_mutex_t lock;
	int error;
	struct chario_area *area;
	struct chario_device *device;
	struct chario_queue *queue;
	struct chario_pool pool;
	bool cached;
	uint32_t alignment;
	uint32_t block_bytes;
	uint64_t disk_offset;
	struct chario_tape tape;
	uint32_t window;
	struct chario_stream_options options;
	uint64_t part;
	uint64_t clean_from;
	bool after_end;

	uint32_t cursor;
	uint32_t first;
	uint32_t ceiling;
	bool filling;
	uint64_t next_segment;
	uint32_t *seeds;
	uint64_t sequence;
	uint64_t partial;

	struct chario_batch *batches;
	uint32_t nr_batches;
	uint64_t head;
	uint64_t next;
	uint64_t tail;
	bool open;
	uint32_t nr_ready;
	struct chario_external externals[CHARIO_STREAM_EXTERNALS];
	uint32_t nr_externals;

	struct chario_mark final;
	struct chario_mark completed;
	struct chario_mark flushing;
	struct chario_mark durable;
	uint64_t flushed_bytes;
	bool flush_ready;
	bool flush_flying;
	uint32_t flush_retries;
	uint64_t flush_ns;
	uint64_t forced;
	bool close_soon;
	bool ending;
	uint32_t in_flight;
	int submit_err;
	bool timed_out;
	uint64_t submit_ns;
	uint64_t reap_ns;

	struct chario_stream_clock clock;
	uint64_t now_ns;
	uint64_t dirty_ns;
	uint64_t timer_ns;
	int timer;
	int epoll;
	int wake;
	uint32_t nr_waiters;
	uint64_t wakes;

	struct chario_stream_status status;
	struct chario_histogram histogram;
};

static inline struct chario_batch *chario_stream_batch(struct chario_stream *stream, uint64_t i)
{
	return &stream->batches[i % stream->nr_batches];
}

/* Returns the batch of a header that has not been signed, which keeps its place in @crc. */
static inline struct chario_batch *chario_stream_batch_of(struct chario_stream *stream,
							  const struct chario_disk_record *record)
{
	return &stream->batches[record->crc];
}

/* Returns the offset of a segment in the pool in bytes. */
static inline uint64_t chario_stream_pool_offset(const struct chario_stream *stream,
						 uint64_t segment)
{
	return segment % stream->options.nr_buffers * stream->options.segment_bytes;
}

static inline uint32_t chario_stream_free_buffers(const struct chario_stream *stream)
{
	return stream->options.nr_buffers -
	       (uint32_t)(stream->next_segment - stream->completed.segment);
}

/* stream/fit.c */

/* Returns 0 or -EINVAL. */
int chario_stream_check_options(const struct chario_stream_options *options);

/* Choose the segments and buffers of a new recording.  Returns 0 or -ENOSPC. */
int chario_stream_choose_segments(struct chario_stream_options *options, uint64_t area_bytes,
				  uint64_t *slots);

/*
 * Choose fewer buffers, or shorter segments, because there is no memory for @options; @asked
 * are those of the caller, and @area_bytes is 0 if the segments of the area stay as they are.
 * Returns whether there is such a choice.
 */
bool chario_stream_choose_less(struct chario_stream_options *options,
			       const struct chario_stream_options *asked, uint64_t area_bytes);

/* Choose the number of buffers if the caller did not; the length of a segment is known. */
void chario_stream_choose_buffers(struct chario_stream_options *options, uint64_t slots);

/* stream/append.c */

/* Find the end of a recording that is continued, and begin behind it.  Returns 0 or an error. */
int chario_stream_find_end(struct chario_stream *stream, const struct chario_area_stream *entry);

/* stream/again.c */

/*
 * Write the batches again that may not be durable, as far as @last, the last one of the recording,
 * tells.  A flush has to follow.  Returns 0 or a negative errno.
 */
int chario_stream_write_again(struct chario_stream *stream, const struct chario_disk_batch *last);

/* stream/end.c */

/* Make all records durable, and note the end of the recording.  Returns 0 or the first error. */
int chario_stream_end(struct chario_stream *stream);

/* Returns the end of a recording that ends now. */
struct store_end chario_stream_end_now(const struct chario_stream *stream);

/* stream/unused.c */

/*
 * Check that an open area has nothing to lose.  Returns 0; -EEXIST if it has records, or that
 * is not known; -EALREADY if it has a file, or a part of one; or another negative errno.
 */
int chario_stream_check_unused(struct chario_area *area);

/* stream/stream.c */

/* A committed record: its room, and the numbers to count. */
struct chario_commit {
	struct chario_disk_record *record;
	size_t bytes;
	uint64_t time_ns;
	uint32_t flags;
};

/**
 * struct chario_room_request - a request for room in a segment
 * @bytes: bytes of data behind a header
 * @above: true for room at the end of the segment, for data that the drive reads from
 *	another buffer
 * @dense: true if short data may begin right behind their header
 * @goes_on: true if the record continues in the next segment, which needs a free
 *	buffer
 */
struct chario_room_request {
	uint32_t bytes;
	bool above;
	bool dense;
	bool goes_on;
};

/*
 * Reserve room, with the lock held; the call may wait.  Returns 0 or the errors of
 * chario_stream_get().
 */
int chario_stream_reserve(struct chario_stream *stream, const struct chario_room_request *request,
			  struct chario_patience *patience, struct chario_disk_record **record);

/* Sign and count the header of a record; the caller does not hold the lock. */
int chario_stream_commit_record(struct chario_stream *stream, const struct chario_commit *commit);

/* Mark a room as one without a record; the caller holds the lock. */
void chario_stream_void(struct chario_stream *stream, struct chario_disk_record *record);

/* stream/segment.c: all with the lock held. */

/*
 * Make room in the open batch; opens a batch and begins a segment if needed.  Returns 0;
 * -EAGAIN without a free buffer; or -ENOSPC.
 */
int chario_stream_make_room(struct chario_stream *stream,
			    const struct chario_room_request *request);

/* Take the room in the open batch.  Returns its header. */
struct chario_disk_record *chario_stream_take_room(struct chario_stream *stream,
						   const struct chario_room_request *request);

/* Returns whether the segment being filled has room for a request. */
bool chario_stream_fits(const struct chario_stream *stream,
			const struct chario_room_request *request);

/* Returns the bytes of data that one more record of any length can have in that segment. */
uint32_t chario_stream_space(const struct chario_stream *stream);

/* Close the open batch, or the segment. */
void chario_stream_close_batch(struct chario_stream *stream);
void chario_stream_finish_segment(struct chario_stream *stream);

/* Close a batch that marks the end of the recording.  Returns 0, -EAGAIN or -ENOSPC as above. */
int chario_stream_mark_end(struct chario_stream *stream);

/* stream/flight.c: all with the lock held. */

/*
 * Take completions, and submit what is due.  Returns whether there were completions: a
 * waiter must look again then, because no descriptor reports them.
 */
bool chario_stream_pump(struct chario_stream *stream);

/* Advance the durable mark where completed writes are durable by themselves. */
void chario_stream_settle(struct chario_stream *stream);

/*
 * Returns whether a segment may be written: all segments up to a window before it must be
 * durable.
 */
bool chario_stream_in_window(const struct chario_stream *stream, uint64_t segment);

/* stream/transfer.c: all with the lock held. */

/* Add ready transfers to the queue and submit them. */
void chario_stream_add_ready(struct chario_stream *stream);

/* Take results.  Returns whether there were any. */
bool chario_stream_reap(struct chario_stream *stream);

/* Wait for all transfers in flight or late, and release callers' buffers. */
void chario_stream_drain(struct chario_stream *stream);

/* stream/external.c: all with the lock held. */

/* Returns whether the drive is done with all late buffers of callers. */
bool chario_stream_are_others_idle(struct chario_stream *stream);

/* Release a buffer that the drive is done with, or has never been told of, to its owner. */
void chario_stream_release(struct chario_stream *stream, struct chario_external *external);

/* Release the late buffers that the drive is done with, after an error; does not wait. */
void chario_stream_let_go(struct chario_stream *stream);

/* Wait for the drive and release all buffers of callers. */
void chario_stream_outlast(struct chario_stream *stream);

/* stream/wait.c: all with the lock held. */

/* Have @now_ns be what a clock says, or stay where it is. */
uint64_t chario_stream_look_at_clock(struct chario_stream *stream, clockid_t clock);

/* Check at low cost if time-based work is due, and do it. */
void chario_stream_tick(struct chario_stream *stream);

/* Close the open batch if it is due; set the timer for the next time. */
void chario_stream_do_timely(struct chario_stream *stream);

/* Set the timer to a short time, in case no other event follows a failed submission. */
void chario_stream_look_again(struct chario_stream *stream);

/* Wake the threads that wait for a change of the stream. */
void chario_stream_wake(struct chario_stream *stream);

/*
 * Release the lock until something happens, and pump.  Returns 0; -EAGAIN after the
 * timeout; or the error of the stream.
 */
int chario_stream_sleep(struct chario_stream *stream, struct chario_patience *patience);

/* stream/clock.c: all with the lock held. */

/* Measure the clock for the first time. */
void chario_stream_begin_clock(struct chario_stream *stream);

/*
 * Check at low cost if the clock has been set, when CLOCK_MONOTONIC_COARSE has just been
 * @monotonic_ns; the next record then begins a batch.
 */
void chario_stream_check_clock(struct chario_stream *stream, uint64_t monotonic_ns);

/* Take note of the time of a record that begins in a batch, to which its room has come back. */
void chario_stream_note_time(struct chario_stream *stream, struct chario_batch *batch,
			     const struct chario_disk_record *record);

#endif /* CHARIO_STREAM_INNER_H */
