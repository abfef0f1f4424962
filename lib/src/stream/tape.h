/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A tape: the segments of a recording as whoever reads them sees them, and the
 * search for its head.
 */
#ifndef CHARIO_TAPE_H
#define CHARIO_TAPE_H

#include <stdbool.h>
#include <stdint.h>

#include "store/area-inner.h"
#include "device/pool.h"
#include "stream/format.h"

/**
 * struct chario_tape - segments in an area
 * @area: where they are
 * @session: of the recording
 * @slots: segments that there is room for
 * @segment_bytes: of each
 * @window: segments that may be missing before the newest
 * @ring: the newest overwrite the oldest
 * @reads: headers that have been read
 * @block: room for one block
 */
struct chario_tape {
	struct chario_area *area;
	uint64_t session;
	uint64_t slots;
	uint32_t segment_bytes;
	uint32_t window;
	bool ring;
	uint32_t reads;
	struct chario_pool block;
};

/**
 * struct chario_pile - a batch in memory, and a place in it
 * @batch: its header
 * @pool: all of it; room for a segment
 * @seed: of the checksums of its records
 * @at: of the next header of a record, from the start of the batch
 * @sealed: records without checksum in it are whole
 */
struct chario_pile {
	struct chario_disk_batch batch;
	struct chario_pool pool;
	uint32_t seed;
	uint32_t at;
	bool sealed;
};

/**
 * struct chario_piece - a record, or a fragment of one
 * @sequence: number of the record
 * @time_ns: when it was taken
 * @done_bytes: of the record before this
 * @memory: its data, NULL where they lie elsewhere in the segment
 * @bytes: of its data
 * @offset: of its data in the segment
 * @flags: as on the disk
 */
struct chario_piece {
	uint64_t sequence;
	uint64_t time_ns;
	uint64_t done_bytes;
	const unsigned char *memory;
	uint32_t bytes;
	uint32_t offset;
	uint32_t flags;
};

/**
 * struct chario_head - where a recording ends
 * @found: there is a segment
 * @whole: the last batch is whole
 * @ended: and the recording was closed behind it
 * @last: the header of the last batch of the newest segment
 * @next_sequence: number after the last record that is whole
 * @records: that were committed up to there
 * @position: bytes of their data
 * @missing: segments before the newest that are not there
 */
struct chario_head {
	bool found;
	bool whole;
	bool ended;
	struct chario_disk_batch last;
	uint64_t next_sequence;
	uint64_t records;
	uint64_t position;
	uint32_t missing;
};

/* A tape of what @stream says; -EUCLEAN where it cannot be.  Takes memory. */
int chario_tape_init(struct chario_tape *tape, struct chario_area *area,
		     const struct chario_area_stream *stream);
void chario_tape_deinit(struct chario_tape *tape);

/*
 * Read the header of the batch at a place of a segment.  1: there is one, of this
 * segment or another of the same slot; 0: there is none, or it cannot be read; or
 * a negative errno.
 */
int chario_tape_peek(struct chario_tape *tape, uint64_t segment, uint32_t offset,
		     struct chario_disk_batch *batch);

/* The same, of this segment only. */
int chario_tape_look(struct chario_tape *tape, uint64_t segment, uint32_t offset,
		     struct chario_disk_batch *batch);

/*
 * Read the batch of a header into @pile, which has a pool.  1, 0 where it is
 * no longer the same, or a negative errno.
 */
int chario_tape_load(struct chario_tape *tape, const struct chario_disk_batch *batch,
		     struct chario_pile *pile);

/* Read data of a segment.  1, 0 where they cannot be read, or a negative errno. */
int chario_tape_read(struct chario_tape *tape, uint64_t segment, uint32_t offset, uint32_t bytes,
		     const struct chario_pool *pool);

/*
 * The piece at the place of a pile, which goes behind it.  1; 0 at the end;
 * -EBADMSG where what stands there is not whole: the place stays.
 */
int chario_pile_next(struct chario_pile *pile, uint32_t segment_bytes, struct chario_piece *piece);

/* Go behind what is not whole: to the next header that there may be, or the end. */
void chario_pile_skip(struct chario_pile *pile);

/* Find the newest segment: its first header.  1, 0 where there is none, or an errno. */
int chario_tape_newest(struct chario_tape *tape, struct chario_disk_batch *batch);

/* The oldest segment that is there, up to the newest; as chario_tape_newest(). */
int chario_tape_oldest(struct chario_tape *tape, uint64_t newest, struct chario_disk_batch *batch);

/* The first segment from @from to @to that is there; as chario_tape_newest(). */
int chario_tape_first(struct chario_tape *tape, uint64_t from, uint64_t to,
		      struct chario_disk_batch *batch);

/*
 * Whether nobody has written to a ring since it was ended.  The segments that somebody has
 * begun to overwrite may look as they did before; the table then has no end any more.
 */
bool chario_head_is_left(const struct chario_head *head, const struct chario_area_stream *entry);

/* Whether the drive cannot read the first block of a segment, so that anything may be there. */
bool chario_tape_is_unreadable(struct chario_tape *tape, uint64_t segment);

/* Find the head; @pile is room for it.  0 or a negative errno. */
int chario_tape_head(struct chario_tape *tape, struct chario_pile *pile, struct chario_head *head);

#endif /* CHARIO_TAPE_H */
