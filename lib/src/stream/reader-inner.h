/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A reader of a recording from the inside.
 *
 *	stream/reader.c	open, close, records
 *	stream/reader-move.c	from one batch to the next, past what is missing
 *	stream/reader-seek.c	going to a record or a time; what there is
 *
 * The reader is behind a batch, or in one that is loaded.  While the recording is
 * being made, what is not whole may become so: the reader waits.  What is not whole
 * for good it passes over: when nobody writes any more, or when a segment is there
 * that would not have been written before this one was complete.
 */
#ifndef CHARIO_READER_INNER_H
#define CHARIO_READER_INNER_H

#include <stdbool.h>
#include <stdint.h>

#include <chario/reader.h>

#include "store/area-inner.h"
#include "device/pool.h"
#include "stream/tape.h"

/* How long a reader sleeps before it looks again. */
#define CHARIO_READER_SLEEP_NS 10000000L

/* How many looks at the next place come before one at all of the window. */
#define CHARIO_READER_LOOKS 16U

/**
 * struct chario_reader - a place in a recording
 * @area: that it is in
 * @tape: its segments
 * @pile: the batch that the reader is in
 * @loaded: there is one
 * @settled: it was read when what is not whole in it stayed so
 * @piece_at: where in it the piece begins that was taken last
 * @fresh: nothing has been read: the place is before the oldest segment
 * @last: header of the batch in @pile, or of the one before the place
 * @external: room for data that lie apart from their batch; made when needed
 * @joined: room for records of several fragments
 * @joined_room: its bytes
 * @done_bytes: of the record whose fragments are being put together; 0 without one
 * @joining: its number
 * @expected: number that the next record should have
 * @has_expected: it is known
 * @from_sequence: records before this are passed over
 * @from_time_ns: records before this are too
 * @looks: since the window was looked at
 * @end: number behind the last record, at the end of a recording that was ended
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
	uint64_t from_sequence;
	uint64_t from_time_ns;
	uint32_t looks;
	uint64_t end;
};

/*
 * Go to the batch behind the place.  1: it is loaded; 0: there is none yet;
 * -ENODATA at the end of a recording that was ended; -ESTALE where the area holds
 * another recording by now; or another negative errno.
 */
int chario_reader_go_on(struct chario_reader *reader);

/*
 * Read the batch once more that the reader is in; its place stays, also when that fails.
 * As above.
 */
int chario_reader_reload(struct chario_reader *reader);

/*
 * Whether what is not whole in a segment stays so.  1, 0, or a negative errno.
 */
int chario_reader_is_final(struct chario_reader *reader, uint64_t segment);

/*
 * Whether nobody can have overwritten the segment of a batch while it was read; for
 * what has no checksum to tell.  1, 0, or a negative errno.
 */
int chario_reader_is_safe(struct chario_reader *reader, const struct chario_disk_batch *batch);

/* Stand before a segment whose first header this is; 1, or as chario_tape_load(). */
int chario_reader_enter(struct chario_reader *reader, const struct chario_disk_batch *batch);

/* Find the head; 0 or a negative errno. */
int chario_reader_find_head(struct chario_reader *reader, struct chario_head *head);

/* Forget the place. */
void chario_reader_reset(struct chario_reader *reader);

#endif /* CHARIO_READER_INNER_H */
