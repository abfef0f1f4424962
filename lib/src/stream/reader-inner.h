/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The internals of a reader of a recording.
 *
 *	stream/reader.c	open, close, records
 *	stream/reader-move.c	from one batch to the next, past missing batches
 *	stream/reader-safe.c	what a ring may have overwritten meanwhile
 *	stream/reader-seek.c	going to a record; the extent
 *	stream/reader-time.c	going to a time
 *	stream/reader-last.c	the time of the last record
 *
 * The reader is behind a batch, or in one that is loaded.  While the recording is being
 * made, a piece that is not whole may become whole, so the reader waits.  The piece is
 * final when there is no writer any more, or when a segment exists that is only written
 * after this one is complete.  The reader passes over pieces that are not whole for good.
 */
#ifndef CHARIO_READER_INNER_H
#define CHARIO_READER_INNER_H

#include <stdbool.h>
#include <stdint.h>

#include <chario/reader.h>

#include "store/area-inner.h"
#include "device/pool.h"
#include "stream/losses.h"
#include "stream/tape.h"

/* Time that a reader sleeps between two looks, in nanoseconds. */
#define CHARIO_READER_SLEEP_NS 10000000L

/* The first look of so many is thorough: it searches the whole recording. */
#define CHARIO_READER_LOOKS 16U

/**
 * struct chario_reader_clock - the clock of a record
 * @boottime_ns: time of the record that was given last, on CLOCK_BOOTTIME, or 0
 * @is_steady: true if its time is one of the system's clock
 * @offset_ns: then, CLOCK_REALTIME - CLOCK_BOOTTIME in nanoseconds
 * @part: part of the recording
 */
struct chario_reader_clock {
	uint64_t boottime_ns;
	bool is_steady;
	int64_t offset_ns;
	uint64_t part;
};

/**
 * struct chario_reader - a place in a recording
 * @area: area of the recording
 * @tape: segments of the recording
 * @pile: batch that the reader is in
 * @loaded: true if @pile holds a batch
 * @settled: true if pieces of the batch that are not whole will never be
 * @piece_at: offset in the batch of the piece that was taken last, in bytes
 * @fresh: true if nothing has been read and the place is before the oldest segment
 * @last: header of the batch in @pile, or of the one before the place
 * @external: memory for data that lie apart from their batch; made when needed
 * @joined: memory for records of several fragments
 * @joined_room: size of @joined in bytes
 * @done_bytes: bytes joined so far of a fragmented record; 0 if there is none
 * @joining: number of that record
 * @expected: number that the next record should have
 * @has_expected: true if @expected is known
 * @skipped: number of missing records between the last one that was given and @expected
 * @from_sequence: number below which records are passed over
 * @from_time_ns: time before which records are passed over
 * @looks: number of looks since the last batch, or the begin of the call
 * @noted: number behind the segment for which the newest one was looked up last
 * @end: number behind the last record, at the end of a recording that was ended, or in front of
 *	which it was cut off
 * @is_cut: true if the recording was cut off and lacks durable records behind the place
 * @ended_ns: time of the end in the table at the last look there; 0 if the recording was continued
 *	behind it
 * @had_writer: true if there was a producer at the last look
 * @clock: clock of the record that began last
 * @losses: records that are missing and were not durable
 * @has_left: true if @left is known
 * @left: segment to be read to its end, see chario_reader_leave_run()
 */
struct chario_reader {
	struct chario_area *area;
	struct chario_tape tape;
	struct chario_pile pile;
	bool loaded;
	bool settled;
	uint32_t piece_at;
	bool fresh;
	struct chario_disk_batch last;
	struct chario_pool external;
	unsigned char *joined;
	size_t joined_room;
	uint64_t done_bytes;
	uint64_t joining;
	uint64_t expected;
	bool has_expected;
	uint64_t skipped;
	uint64_t from_sequence;
	uint64_t from_time_ns;
	uint32_t looks;
	uint64_t noted;
	uint64_t end;
	bool is_cut;
	uint64_t ended_ns;
	bool had_writer;
	struct chario_reader_clock clock;
	struct chario_losses losses;
	bool has_left;
	uint64_t left;
};

/* Find the next record, without waiting.  Returns 1, 0, or a negative errno. */
int chario_reader_try(struct chario_reader *reader, struct chario_record *record);

/*
 * Leave out records that cannot be in a range of times, behind one whose time is too early,
 * @is_early, for a range from @time_ns on, or too late.  Returns 0 or a negative errno.
 */
int chario_reader_leave_run(struct chario_reader *reader, bool is_early, uint64_t time_ns);

/*
 * Go to the batch behind the place.  Returns 1 if it is loaded; 0 if there is none yet;
 * -ENODATA at the end of a recording that was ended; -ESTALE if the area now holds another
 * recording; or another negative errno.
 */
int chario_reader_go_on(struct chario_reader *reader);

/*
 * Read the reader's batch again.  The place stays, even after an error.  Returns the same
 * as chario_reader_go_on().
 */
int chario_reader_reload(struct chario_reader *reader);

/*
 * Find out if pieces of a segment that are not whole stay so.  Returns 1, 0, or a negative
 * errno.
 */
int chario_reader_is_final(struct chario_reader *reader, uint64_t segment);

/* Returns 0, -ESTALE if the area now holds another recording, or another negative errno. */
int chario_reader_check_session(struct chario_reader *reader);

/*
 * Find out if the segment of a batch cannot have been overwritten while it was read, for
 * data without a checksum.  Returns 1, 0, or a negative errno.
 */
int chario_reader_is_safe(struct chario_reader *reader, const struct chario_disk_batch *batch);

/* Go to the beginning of a batch.  Returns 1 or the results of chario_tape_load(). */
int chario_reader_enter(struct chario_reader *reader, const struct chario_disk_batch *batch);

/*
 * A producer that came and went between two looks may have written behind damage.  If the table
 * tells of one, what was searched is searched again.  Returns 0, or an error of
 * chario_area_get_stream().
 */
int chario_reader_note_end(struct chario_reader *reader);

/*
 * Returns whether a batch that bad ones hide comes before @batch, the next one that was found
 * without looking for it.  If that belongs to a part that did not know of the hidden batch, it gives
 * the same numbers again, and counts; one that knew of it goes on in the next segment.
 */
bool chario_reader_is_before(const struct chario_disk_batch *hidden,
			     const struct chario_disk_batch *batch);

/*
 * Find the oldest batch of a recording up to the newest segment, which a bad one may hide at the
 * start.  Returns 1, 0 if there is none, or a negative errno.
 */
int chario_reader_oldest(struct chario_reader *reader, uint64_t newest,
			 struct chario_disk_batch *batch);

/* Returns the number of the first record that begins in a batch. */
uint64_t chario_reader_first_record(const struct chario_disk_batch *batch);

/* Take note of the newest segment: near it, the oldest ones of a ring may be torn. */
void chario_reader_note_newest(struct chario_reader *reader, uint64_t newest);

/*
 * Find the time of the last whole record, up to a head; 0 if there is none.  The place stays.
 * Returns 0 or a negative errno.
 */
int chario_reader_find_last_time(struct chario_reader *reader, const struct chario_head *head,
				 uint64_t *time_ns);

/* Forget the place. */
void chario_reader_reset(struct chario_reader *reader);

#endif /* CHARIO_READER_INNER_H */
