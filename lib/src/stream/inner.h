/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A stream from the inside.
 *
 *	stream/open.c	memory, where to begin; and the end
 *	stream/fit.c	options: how a recording lies in its area
 *	stream/stream.c	rooms: get, commit
 *	stream/record.c	copies, buffers of others, losses
 *	stream/segment.c	which segment and batch is being filled
 *	stream/flight.c	which batches go to the disk, and when it is flushed
 *	stream/transfer.c	transfers: their beginning, end, and retries
 *	stream/external.c	when the drive is done with buffers of others
 *	stream/wait.c	time, waiting, descriptors
 *	stream/status.c	numbers
 *
 * Segment N is filled in place N % nr_buffers of the pool, and written to slot
 * N % slots of the area.  Batches pass through a ring in the order of the recording:
 *
 *	head ........ next ........ tail
 *	in flight      closed        open
 *
 * They are written in any order once they have left @next; @completed goes over
 * those that have been written, in order, and @durable follows it.
 *
 * One mutex protects all of it.  What belongs to the producer alone is the memory
 * of rooms, so that checksums are computed without the mutex; while there is a
 * room in the open batch, nobody else closes it.
 */
#ifndef CHARIO_STREAM_INNER_H
#define CHARIO_STREAM_INNER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <chario/queue.h>
#include <chario/stream.h>

#include "store/area-inner.h"
#include "timeline/histogram.h"
#include "device/pool.h"
#include "stream/format.h"
#include "stream/tape.h"
#include "system/sys.h"

/* Records of others' buffers that can be on their way at once. */
#define CHARIO_STREAM_EXTERNALS 64U

/* How often a write is made again. */
#define CHARIO_STREAM_RETRIES 3U

/**
 * enum chario_batch_state - where a batch is
 * @CHARIO_BATCH_OPEN: being filled
 * @CHARIO_BATCH_CLOSED: complete, or some of its rooms are out
 * @CHARIO_BATCH_REST_READY: sealed: all but its first block is to be written
 * @CHARIO_BATCH_REST: sealed: is being written
 * @CHARIO_BATCH_EXTERNAL: sealed: waits for data in buffers of others
 * @CHARIO_BATCH_READY: is to be written; of a sealed one the first block
 * @CHARIO_BATCH_LAST: is being written
 * @CHARIO_BATCH_DONE: has been written
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
 * @segment: the first that is not all before it
 * @batches: before it
 * @records: before it
 * @position: bytes of their data
 * @disk_bytes: that were written for them, by this program
 */
struct chario_mark {
	uint64_t segment;
	uint64_t batches;
	uint64_t records;
	uint64_t position;
	uint64_t disk_bytes;
};

/**
 * struct chario_batch - a batch that is not on the disk yet
 * @state: where it is
 * @segment: that it is in
 * @offset: of it in the segment
 * @end: of its last record in the segment
 * @rooms: that are out
 * @externals: transfers from buffers of others that have not ended
 * @flags: CHARIO_DISK_BATCH_*
 * @nr_records: that have been committed, fragments but the last left out
 * @retries: that it has had
 * @last: of its segment
 * @bytes: of the data of these records
 * @sequence: as on the disk
 * @next_sequence: as on the disk
 * @begun_ns: when it was begun, CLOCK_MONOTONIC_COARSE
 * @submitted_ns: when it was submitted first, CLOCK_MONOTONIC
 * @before: where it begins
 * @after: where it ends
 */
struct chario_batch {
	enum chario_batch_state state;
	uint64_t segment;
	uint32_t offset;
	uint32_t end;
	uint32_t rooms;
	uint32_t externals;
	uint32_t flags;
	uint32_t nr_records;
	uint32_t retries;
	bool last;
	uint64_t bytes;
	uint64_t sequence;
	uint64_t next_sequence;
	uint64_t begun_ns;
	uint64_t submitted_ns;
	struct chario_mark before;
	struct chario_mark after;
};

/**
 * struct chario_external - data that come from a buffer of somebody else
 * @transfer: how
 * @batch: place of the batch in the ring
 * @retries: that it has had
 * @used: it is on its way
 * @ready: it is to be submitted
 * @late: it did not do all that it should, and the drive may still be at it
 * @released: is told when the memory is free, or NULL
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
 * struct chario_patience - how long somebody waits
 * @timeout_ns: as given
 * @begun_ns: when it began, CLOCK_MONOTONIC; 0 where it has not
 */
struct chario_patience {
	int64_t timeout_ns;
	uint64_t begun_ns;
};

/**
 * struct chario_stream - a recording that is being made
 * @lock: held around all access
 * @error: with which the recording ended, or 0
 * @area: that it is in
 * @device: of the area
 * @queue: to the disk
 * @pool: memory of segments
 * @cached: the disk has a volatile write cache
 * @no_crc: records have no checksum
 * @durability: in force
 * @alignment: of DMA
 * @block_bytes: logical block of the disk
 * @disk_offset: of the area on the disk
 * @tape: the segments, for whoever looks for the head
 * @window: segments that are written and not durable, at most
 * @options: as given, with what 0 stood for
 * @part: random number of this stream
 * @clean_from: the segment by which a ring has overwritten what a part that was cut off
 *	may have torn; UINT64_MAX where there is no ring
 * @cursor: where the next header of a record goes in it
 * @ceiling: where the data of others' buffers begin in it
 * @filling: there is such a segment
 * @next_segment: number of the one that is begun next
 * @seeds: of the checksums of records, for the segment in each buffer
 * @sequence: of the next record
 * @records: that have been committed
 * @bytes: of their data
 * @lost_records: that have been lost
 * @lost_bytes: of their data
 * @partial: bytes that have been written of a record that takes several segments
 * @batches: ring of batches
 * @nr_batches: that it has room for
 * @head: the oldest batch that is not complete
 * @next: the first that has not been submitted
 * @tail: behind the newest
 * @open: the newest is open
 * @nr_ready: transfers that are to be submitted, or to be made again
 * @externals: data of others' buffers
 * @nr_externals: of them that are used
 * @final: behind the newest batch that has been submitted
 * @completed: behind the newest batch before which all are complete
 * @flushing: where @completed was when the flush was submitted
 * @durable: what a power cut leaves intact
 * @flushed_bytes: @disk_bytes when the last flush was submitted
 * @flush_ready: a flush is to be submitted
 * @flush_flying: a flush is under way
 * @flush_retries: that it has had
 * @flush_ns: when it was submitted
 * @forced: position that somebody wants durable
 * @close_soon: the open batch is to be closed when that is possible
 * @ending: all is to be durable
 * @in_flight: transfers that have been added to the queue and not ended
 * @nr_added: not 0 where the queue has some that it could not submit yet
 * @timed_out: a write did not do all that it should, and the drive may still be at it
 * @submit_ns: time of the last submission, CLOCK_MONOTONIC
 * @reap_ns: time when the last results were taken
 * @now_ns: CLOCK_MONOTONIC, as far as known
 * @dirty_ns: when the oldest batch that is complete and not durable was begun
 * @timer_ns: when the timer is due, or UINT64_MAX
 * @timer: timerfd
 * @epoll: of the timer and the queue
 * @wake: eventfd that wakes those who wait
 * @nr_waiters: those who wait
 * @wakes: how often they have been woken
 * @least_free: the fewest free buffers
 * @late: as in &struct chario_stream_status, as all that follow
 */
struct chario_stream {
	pthread_mutex_t lock;
	int error;
	struct chario_area *area;
	struct chario_device *device;
	struct chario_queue *queue;
	struct chario_pool pool;
	bool cached;
	bool no_crc;
	uint32_t durability;
	uint32_t alignment;
	uint32_t block_bytes;
	uint64_t disk_offset;
	struct chario_tape tape;
	uint32_t window;
	struct chario_stream_options options;
	uint64_t part;
	uint64_t clean_from;

	uint32_t cursor;
	uint32_t ceiling;
	bool filling;
	uint64_t next_segment;
	uint32_t *seeds;
	uint64_t sequence;
	uint64_t records;
	uint64_t bytes;
	uint64_t lost_records;
	uint64_t lost_bytes;
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
	int nr_added;
	bool timed_out;
	uint64_t submit_ns;
	uint64_t reap_ns;

	uint64_t now_ns;
	uint64_t dirty_ns;
	uint64_t timer_ns;
	int timer;
	int epoll;
	int wake;
	uint32_t nr_waiters;
	uint64_t wakes;

	uint32_t least_free;
	uint64_t late;
	uint64_t late_ns;
	uint64_t longest_ns;
	uint64_t waits;
	uint64_t wait_ns;
	uint64_t retries;
	uint64_t flushes;
	struct chario_histogram histogram;
};

static inline struct chario_batch *chario_stream_batch(struct chario_stream *stream, uint64_t i)
{
	return &stream->batches[i % stream->nr_batches];
}

/* Where a segment is in the pool. */
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

/* Whether writes have to be flushed to be durable. */
static inline bool chario_stream_needs_flush(const struct chario_stream *stream)
{
	return stream->cached && stream->durability != CHARIO_DURABILITY_FUA;
}

/* stream/fit.c */

/* 0 or -EINVAL. */
int chario_stream_check_options(const struct chario_stream_options *options);

/* Fill in the segments and the buffers of a new recording; 0 or -ENOSPC. */
int chario_stream_choose_segments(struct chario_stream_options *options, uint64_t area_bytes,
				  uint64_t *slots);

/* Fill in how many buffers, where nobody says; the bytes of a segment are known. */
void chario_stream_choose_buffers(struct chario_stream_options *options, uint64_t slots);

/* stream/stream.c */

/* A record that has been committed: its room, and what of it to count. */
struct chario_commit {
	struct chario_disk_record *record;
	size_t bytes;
	uint64_t time_ns;
	uint32_t flags;
};

/**
 * struct chario_claim - room in a segment that is asked for
 * @bytes: of data, behind a header
 * @above: at the end of the segment, for data that the drive fetches from another buffer
 * @dense: short data may begin right behind their header
 * @goes_on: the record goes on in the next segment, for which there has to be a buffer
 */
struct chario_claim {
	uint32_t bytes;
	bool above;
	bool dense;
	bool goes_on;
};

/* Reserve it with the lock held; may wait.  0 or as chario_stream_get(). */
int chario_stream_reserve(struct chario_stream *stream, const struct chario_claim *claim,
			  struct chario_patience *patience, struct chario_disk_record **record);

/* The same of the header without the lock: sign it, and count it. */
int chario_stream_commit_record(struct chario_stream *stream, const struct chario_commit *commit);

/* A room that has no record in the end, with the lock held. */
void chario_stream_void(struct chario_stream *stream, struct chario_disk_record *record);

/* stream/segment.c: all with the lock held. */

/*
 * Have room in the batch that is open; opens a batch and begins a segment where that is
 * needed.  0; -EAGAIN without a free buffer, -ENOSPC.
 */
int chario_stream_make_room(struct chario_stream *stream, const struct chario_claim *claim);

/* Take the room that there is: its header. */
struct chario_disk_record *chario_stream_take_room(struct chario_stream *stream,
						   const struct chario_claim *claim);

/* Whether there is room for a claim in the segment that is being filled. */
bool chario_stream_fits(const struct chario_stream *stream, const struct chario_claim *claim);

/* Bytes of data that one more record in that segment can have, whatever its length. */
uint32_t chario_stream_space(const struct chario_stream *stream);

/* No more records go into the open batch, or into the segment. */
void chario_stream_close_batch(struct chario_stream *stream);
void chario_stream_finish_segment(struct chario_stream *stream);

/* Close a batch that says where the recording ends; -EAGAIN, -ENOSPC as above. */
int chario_stream_mark_end(struct chario_stream *stream);

/* stream/flight.c: all with the lock held. */

/*
 * Take completions, and submit what is due.  Whether there were any: who waits looks
 * once more then, since no descriptor tells of them.
 */
bool chario_stream_pump(struct chario_stream *stream);

/* What has been completed may be durable by itself. */
void chario_stream_settle(struct chario_stream *stream);

/* Whether writes to a segment are allowed already: all up to a window before are durable. */
bool chario_stream_in_window(const struct chario_stream *stream, uint64_t segment);

/* stream/transfer.c: all with the lock held. */

/* Add what is ready to the queue. */
void chario_stream_add_ready(struct chario_stream *stream);

/* Take what has ended; whether anything has. */
bool chario_stream_reap(struct chario_stream *stream);

/* Wait for all that is in flight or late, and let go of buffers of others. */
void chario_stream_drain(struct chario_stream *stream);

/* End the recording with an error. */
void chario_stream_fail(struct chario_stream *stream, int err);

/* stream/external.c: all with the lock held. */

/* Whether the drive is done with all buffers of others that were late. */
bool chario_stream_are_others_idle(struct chario_stream *stream);

/* One that the drive is done with, or has never been told of, is its owner's again. */
void chario_stream_release(struct chario_stream *stream, struct chario_external *external);

/* After an error: release those that were late and are not any more, without waiting. */
void chario_stream_let_go(struct chario_stream *stream);

/* Release all, and wait for the drive before. */
void chario_stream_outlast(struct chario_stream *stream);

/* stream/wait.c: all with the lock held. */

/* Have @now_ns be what a clock says, or stay where it is. */
void chario_stream_look_at_clock(struct chario_stream *stream, clockid_t clock);

/* See whether time-based work is due, at little cost, and do it. */
void chario_stream_tick(struct chario_stream *stream);

/* Close the open batch where its time has come; have the timer tell of the next. */
void chario_stream_do_timely(struct chario_stream *stream);

/* Have the timer tell soon: what could not be submitted may be all that there is. */
void chario_stream_look_again(struct chario_stream *stream);

/* Something has changed that somebody may wait for. */
void chario_stream_wake(struct chario_stream *stream);

/*
 * Let go of the lock until something has happened, and pump.  0; -EAGAIN when the
 * time is over; or the error of the stream.
 */
int chario_stream_sleep(struct chario_stream *stream, struct chario_patience *patience);

/* Have all that has been committed written and durable soon. */
void chario_stream_force(struct chario_stream *stream, uint64_t position);

#endif /* CHARIO_STREAM_INNER_H */
