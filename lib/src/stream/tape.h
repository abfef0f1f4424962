/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* A tape: the segments of a recording as a reader sees them, and the search for its head. */
#ifndef CHARIO_TAPE_H
#define CHARIO_TAPE_H

#include <stdbool.h>
#include <stdint.h>

#include "store/area-inner.h"
#include "device/pool.h"
#include "stream/format.h"

/**
 * struct chario_tape_place - a place in a recording
 * @is_known: true if there is one
 * @is_start: true if it is the start
 * @serial: else, serial number of the batch that it is behind
 */
struct chario_tape_place {
	bool is_known;
	bool is_start;
	uint64_t serial;
};

/**
 * struct chario_tape - the segments of an area
 * @area: area of the recording
 * @session: session of the recording
 * @slots: number of segments that the area has room for
 * @segment_bytes: length of a segment in bytes
 * @window: number of segments that may be missing before the newest
 * @ring: true if the newest segments overwrite the oldest
 * @reads: number of reads of headers; some read those of many blocks
 * @reached: number behind the last segment that had been written or, in a ring, skipped, as far as
 *	the table knew when the tape was made; 0 if it knew of none
 * @seen: number behind the newest segment that any search has found
 * @gap: number of places right behind the newest segment, up to a window, that have no valid
 *	header and may have been written all the same
 * @doubtful: true if damage may hide segments from the usual search
 * @surveyed: true if all headers behind the head have been read, because of that or because a
 *	segment behind the head is known
 * @survey_reads: number of reads of headers that this took
 * @reads_then: number of reads of headers before it and in it
 * @searched: the last place behind which a search met no batch that a bad one hides
 * @unread_rest: true if that search, or a later one of chario_tape_rest(), met a block that cannot
 *	be read in the rest of the segment
 * @has_times: true if the header that was found last has times
 * @times: these times
 * @block: memory for one block
 */
struct chario_tape {
	struct chario_area *area;
	uint64_t session;
	uint64_t slots;
	uint32_t segment_bytes;
	uint32_t window;
	bool ring;
	uint32_t reads;
	uint64_t reached;
	uint64_t seen;
	uint64_t gap;
	bool doubtful;
	bool surveyed;
	uint32_t survey_reads;
	uint32_t reads_then;
	struct chario_tape_place searched;
	bool unread_rest;
	bool has_times;
	struct chario_disk_times times;
	struct chario_pool block;
};

/*
 * Returns the number of segments of a ring, up to the one being written, that are not being
 * overwritten; UINT64_MAX without a ring.
 */
static inline uint64_t chario_tape_kept_slots(const struct chario_tape *tape)
{
	return tape->ring ? tape->slots - tape->window : UINT64_MAX;
}

/* Returns the largest number of records that a segment can have. */
static inline uint64_t chario_tape_most_records(const struct chario_tape *tape)
{
	return tape->segment_bytes / (sizeof(struct chario_disk_record) + CHARIO_DISK_HEADER_ALIGN);
}

/**
 * struct chario_pile - a batch in memory, and a place in it
 * @batch: header of the batch
 * @pool: memory for a segment, which holds the batch
 * @seed: seed of the checksums of its records
 * @at: offset of the next record header from the start of the batch, in bytes
 * @unread: offset in the batch of the first block that cannot be read, in bytes; its end if all can
 * @unread_end: offset behind the last one
 * @sealed: true if the batch's records without checksum are whole where it can be read
 * @has_times: true if the batch has times
 * @times: these times
 */
struct chario_pile {
	struct chario_disk_batch batch;
	struct chario_pool pool;
	uint32_t seed;
	uint32_t at;
	uint32_t unread;
	uint32_t unread_end;
	bool sealed;
	bool has_times;
	struct chario_disk_times times;
};

/**
 * struct chario_piece - a record, or a fragment of one
 * @record: header of the piece
 * @memory: data, or NULL if they lie elsewhere in the segment
 * @offset: offset of the data in the segment in bytes
 */
struct chario_piece {
	struct chario_disk_record record;
	const unsigned char *memory;
	uint32_t offset;
};

/**
 * struct chario_head - the end of a recording
 * @found: true if there is a segment
 * @whole: true if the last batch is whole
 * @damaged: true if it is not, and blocks of it cannot be read
 * @torn: number of segments, from the newest with a good first header on, in which batches are
 *	bad before the last one, or this is not whole
 * @torn_end: number behind the last of these segments
 * @unread_rest: true if a batch that cannot be read may follow the last one in its segment
 * @ended: true if the last batch is whole and the recording was closed behind it
 * @last: header of the last batch in the newest segment
 * @next_sequence: number after that of the last whole record
 * @records: number of records committed up to there
 * @position: bytes of data in these records
 * @missing: number of missing segments before the newest
 * @run: see &struct chario_disk_times
 * @turns: true if times go back in the last batch, or that is not known
 * @latest_ns: latest time of a record in the last batch
 * @time_ns: time of the last whole record in the last batch; 0 if it has none
 */
struct chario_head {
	bool found;
	bool whole;
	bool damaged;
	bool unread_rest;
	bool ended;
	struct chario_disk_batch last;
	uint64_t next_sequence;
	uint64_t records;
	uint64_t position;
	uint32_t missing;
	uint32_t torn;
	uint64_t torn_end;
	bool turns;
	uint64_t run;
	uint64_t latest_ns;
	uint64_t time_ns;
};

/*
 * Make a tape of an area's recording.  Returns -EUCLEAN if @stream is impossible.
 * The caller destroys @block of the tape.
 */
int chario_tape_init(struct chario_tape *tape, struct chario_area *area,
		     const struct chario_area_stream *stream);

/*
 * Read the batch header at a place of a segment.  Returns 1 if there is one, of this
 * segment or of another segment in the same slot; 0 if there is none or it cannot be read;
 * or a negative errno.
 */
typedef int chario_tape_header(struct chario_tape *tape, uint64_t segment, uint32_t offset,
			       struct chario_disk_batch *batch);
chario_tape_header chario_tape_peek;

/* Returns whether a block in memory has such a header, and copies it. */
bool chario_tape_parse(struct chario_tape *tape, uint64_t segment, uint32_t offset,
		       const void *block, struct chario_disk_batch *batch);

/* Read a batch header like chario_tape_peek(), but only one of this segment. */
chario_tape_header chario_tape_look;

/*
 * Read the batch of a header into @pile, which has a pool.  Returns 1, 0 if the batch has
 * changed, or a negative errno.
 */
int chario_tape_load(struct chario_tape *tape, const struct chario_disk_batch *batch,
		     struct chario_pile *pile);

/* Read data of a segment.  Returns 1, 0 if they cannot be read, or a negative errno. */
int chario_tape_read(struct chario_tape *tape, uint64_t segment, uint32_t offset, uint32_t bytes,
		     const struct chario_pool *pool);

/*
 * Take the piece at the place of a pile and go behind it.  Returns 1, or 0 at the end.
 * Returns -EBADMSG if the piece is not whole, and keeps the place.
 */
int chario_pile_next(struct chario_pile *pile, uint32_t segment_bytes, struct chario_piece *piece);

/* Skip a piece that is not whole: go to the next place that may have a header, or to the end. */
void chario_pile_skip(struct chario_pile *pile);

/*
 * Read the headers of all places from @from to before @end, and find the newest segment there.
 * Returns 1, 0 if there is none, or a negative errno.
 */
int chario_tape_survey(struct chario_tape *tape, uint64_t from, uint64_t end,
		       struct chario_disk_batch *batch);

/*
 * Find the first header of the newest segment.  If the tape is doubtful, or the table or an
 * earlier search knows of a segment behind the one that the usual search finds, a survey reads all
 * headers behind that one.  It is made again when other reads have been as many, or @surveyed was
 * reset: a producer may have gone on behind damage.  Returns 1, 0 if there is none, or a negative
 * errno.
 */
int chario_tape_newest(struct chario_tape *tape, struct chario_disk_batch *batch);

/* Find the oldest segment, up to the newest.  Returns the same as chario_tape_newest(). */
int chario_tape_oldest(struct chario_tape *tape, uint64_t newest, struct chario_disk_batch *batch);

/* Find the first segment from @from to @to.  Returns the same as chario_tape_newest(). */
int chario_tape_first(struct chario_tape *tape, uint64_t from, uint64_t to,
		      struct chario_disk_batch *batch);

/*
 * Returns whether a ring has not been written since it was ended.  Segments that a writer
 * has begun to overwrite may look unchanged, but the table has no end then.
 */
bool chario_head_is_left(const struct chario_head *head, const struct chario_area_stream *entry);

/*
 * Returns whether what was found reaches the end in the table, so that nothing was written behind
 * the segment of @last, the last batch that was found: this is not before the segment of the end,
 * and has no numbers behind the end.
 */
bool chario_tape_reaches_end(const struct chario_disk_batch *last,
			     const struct chario_area_stream *entry);

/*
 * Returns 1 if the drive cannot read a block of a segment, whose content is then unknown, 0 if it
 * can, or the negative errno of another failure.
 */
int chario_tape_is_unreadable(struct chario_tape *tape, uint64_t segment, uint32_t offset);

/*
 * Returns whether the part of the last batch was closed, so that all of it was durable.  Another
 * part may have been begun behind it and left nothing: see @continued.  The last batch alone does
 * not tell: it is written before the flush that makes it, and those before it, durable.
 */
bool chario_head_is_closed(const struct chario_head *head, const struct chario_area_stream *entry);

/*
 * Go from the place behind the newest segment, *@next, behind those that cannot be read and
 * may hold newer ones, and add their number to @unreadable.  Returns 0 or a negative errno.
 */
int chario_tape_skip_unreadable(struct chario_tape *tape, uint64_t *next, uint64_t *unreadable);

/*
 * Read the header of the batch behind @last in its segment, of the same part.  Returns 1; 0 if
 * there is none, it is bad or cannot be read; or a negative errno.
 */
int chario_tape_next(struct chario_tape *tape, const struct chario_disk_batch *last,
		     struct chario_disk_batch *batch);

/*
 * Find the batch behind @last at any block of the rest of its segment, past bad ones.  The place
 * that chario_tape_find_hidden() has searched is forgotten.  Returns the same.
 */
int chario_tape_rest(struct chario_tape *tape, const struct chario_disk_batch *last,
		     struct chario_disk_batch *batch);

/*
 * Find the first batch that may follow @last, or any if that is NULL, in a segment whose first
 * header is bad.  Returns the same; 0 if the first header is good.
 */
int chario_tape_inside(struct chario_tape *tape, uint64_t segment,
		       const struct chario_disk_batch *last, struct chario_disk_batch *batch);

/*
 * Find the first batch that a bad one hides, behind @last, or at the start of the recording if that
 * is NULL: in the rest of the segment, or in the next one, if its first header is bad.  No write
 * to these may be under way.  A place where there was none is not searched again, unless
 * chario_tape_forget_searched() says that a producer may have written behind it.  Returns the same
 * as chario_tape_next().
 */
int chario_tape_find_hidden(struct chario_tape *tape, const struct chario_disk_batch *last,
			    struct chario_disk_batch *batch);
void chario_tape_forget_searched(struct chario_tape *tape);

/*
 * Find the head; @is_still says that there is no producer, so that what is not there will not
 * come.  Returns 0 or a negative errno.
 */
int chario_tape_head(struct chario_tape *tape, bool is_still, struct chario_head *head);

#endif /* CHARIO_TAPE_H */
