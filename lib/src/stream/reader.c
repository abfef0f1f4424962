// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Reading the records of a recording, one after the other. */
#include "stream/reader-inner.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "stream/count.h"
#include "system/sys.h"

int chario_reader_open(struct chario_store *store, const char *name, struct chario_reader **reader)
{
	struct chario_reader *made = calloc(1, sizeof(*made));
	struct chario_area_stream entry;
	int err;

	if (!made)
		return -ENOMEM;
	err = chario_area_open(store, name, O_RDONLY, &made->area);
	if (!err)
		err = chario_area_get_stream(made->area, &entry);
	if (!err)
		err = chario_tape_init(&made->tape, made->area, &entry);
	if (!err)
		err = chario_pool_create_fitting(&made->pile.pool, made->area->store->device,
						 made->tape.segment_bytes);
	if (err) {
		chario_reader_close(made);
		return err;
	}
	made->losses.left_out = chario_tape_most_records(&made->tape);
	chario_reader_reset(made);
	*reader = made;
	return 0;
}

void chario_reader_close(struct chario_reader *reader)
{
	if (!reader)
		return;
	free(reader->joined);
	chario_losses_reset(&reader->losses);
	chario_pool_destroy(&reader->external);
	chario_pool_destroy(&reader->pile.pool);
	chario_pool_destroy(&reader->tape.block);
	chario_area_close(reader->area);
	free(reader);
}

/*
 * Read data that lie apart from their batch.  Only the seal protects them, so they must be
 * safe.
 */
static int fetch(struct chario_reader *reader, struct chario_piece *piece)
{
	struct chario_tape *tape = &reader->tape;
	uint32_t bytes = chario_disk_round(piece->record.bytes, CHARIO_DISK_BLOCK);
	int ret = 0;

	if (!reader->external.buffer)
		ret = chario_pool_create_fitting(&reader->external, reader->area->store->device,
						 tape->segment_bytes);
	if (!ret)
		ret = chario_tape_read(tape, reader->last.segment, piece->offset, bytes,
				       &reader->external);
	if (ret == 1) {
		ret = chario_reader_is_safe(reader, &reader->last);
		/* The other data of this batch are not safe either. */
		if (!ret)
			reader->pile.sealed = false;
	}
	piece->memory = reader->external.memory;
	return ret;
}

static int next_of_pile(struct chario_reader *reader, struct chario_piece *piece)
{
	reader->piece_at = reader->pile.at;
	return chario_pile_next(&reader->pile, reader->tape.segment_bytes, piece);
}

/* Read a piece again that was not whole.  Returns 1, 0, or a negative errno. */
static int try_again(struct chario_reader *reader, struct chario_piece *piece)
{
	int ret = chario_reader_reload(reader);

	if (ret == 1)
		ret = next_of_pile(reader, piece);
	return ret == -EBADMSG ? 0 : ret;
}

/*
 * Pass over a piece that is not whole.  First reload the batch, as the piece may have
 * become whole after it was read and before the segment was final.  Returns 1 or a negative
 * errno.
 */
static int skip_piece(struct chario_reader *reader)
{
	int ret;

	if (reader->settled) {
		reader->done_bytes = 0;
		chario_pile_skip(&reader->pile);
		return 1;
	}
	ret = chario_reader_reload(reader);
	reader->settled = ret == 1;
	return ret < 0 ? ret : 1;
}

/* Find the next whole piece.  Returns 1, 0 if there is none yet, or a negative errno. */
static int next_piece(struct chario_reader *reader, struct chario_piece *piece)
{
	int ret = 1;

	while (ret == 1) {
		ret = reader->loaded ? next_of_pile(reader, piece) : 0;
		if (ret == 1)
			return 1;
		if (!ret) {
			ret = chario_reader_go_on(reader);
			continue;
		}
		ret = chario_reader_is_final(reader, reader->last.segment);
		if (!ret)
			return try_again(reader, piece);
		if (ret == 1)
			ret = skip_piece(reader);
	}
	return ret;
}

static int join(struct chario_reader *reader, const struct chario_piece *piece)
{
	size_t bytes = (size_t)(reader->done_bytes + piece->record.bytes);
	size_t room = reader->joined_room ? reader->joined_room : 4096;

	while (room < bytes)
		room *= 2;
	if (room > reader->joined_room) {
		unsigned char *more = realloc(reader->joined, room);

		if (!more)
			return -ENOMEM;
		reader->joined = more;
		reader->joined_room = room;
	}
	memcpy(reader->joined + reader->done_bytes, piece->memory, piece->record.bytes);
	reader->joining = piece->record.sequence;
	reader->done_bytes = bytes;
	return 0;
}

/* Returns whether a piece continues the record that is being joined. */
static bool continues(const struct chario_reader *reader, const struct chario_piece *piece)
{
	return reader->done_bytes && piece->record.sequence == reader->joining &&
	       piece->record.done_bytes == reader->done_bytes;
}

static bool is_wanted(const struct chario_reader *reader, const struct chario_piece *piece)
{
	return piece->record.sequence >= reader->from_sequence &&
	       piece->record.time_ns >= reader->from_time_ns;
}

/* All fragments of a record have the time, and so the clock, of the first. */
static void begin_record(struct chario_reader *reader)
{
	const struct chario_pile *pile = &reader->pile;

	reader->done_bytes = 0;
	reader->clock = (struct chario_reader_clock){
		.boottime_ns = reader->clock.boottime_ns,
		.is_steady = pile->has_times && pile->batch.flags & CHARIO_DISK_BATCH_STEADY,
		.offset_ns = pile->times.offset_ns,
		.part = pile->batch.part,
	};
}

/* Returns the number of missing records before one, or before the end. */
static uint64_t count_missing(const struct chario_reader *reader, uint64_t sequence)
{
	if (!reader->has_expected)
		return 0;
	return reader->skipped + chario_saturating_sub(sequence, reader->expected);
}

static void give(struct chario_reader *reader, const struct chario_piece *piece,
		 struct chario_record *record)
{
	*record = (struct chario_record){
		.memory = piece->memory,
		.bytes = piece->record.bytes,
		.sequence = piece->record.sequence,
		.time_ns = piece->record.time_ns,
		.flags = piece->record.flags & (CHARIO_RECORD_META | CHARIO_RECORD_NO_CRC),
		.missing = count_missing(reader, piece->record.sequence),
	};
	reader->clock.boottime_ns =
		reader->clock.is_steady ? record->time_ns - (uint64_t)reader->clock.offset_ns : 0;
}

/* Missing records count from the first record on, unless the number of that is known. */
static void note_given(struct chario_reader *reader, const struct chario_piece *piece)
{
	if (!reader->has_expected)
		chario_losses_start(&reader->losses, piece->record.sequence);
	chario_losses_give(&reader->losses, piece->record.sequence,
			   !(piece->record.flags & CHARIO_DISK_RECORD_FIRST));
	reader->expected = piece->record.sequence + 1;
	reader->has_expected = true;
	reader->skipped = 0;
	/* Later records may have earlier times, and must not be passed over. */
	reader->from_time_ns = 0;
}

/* A record that was taken back has a number, which does not count as missing. */
static void note_void(struct chario_reader *reader, const struct chario_piece *piece)
{
	uint64_t sequence = piece->record.sequence;

	chario_losses_take_back(&reader->losses);
	reader->skipped = count_missing(reader, sequence);
	reader->expected = MAX(reader->expected, sequence + 1);
}

/*
 * Add a piece.  Returns 1 if @record is complete, 0 if more pieces are needed, or a
 * negative errno.
 */
static int take_piece(struct chario_reader *reader, struct chario_piece *piece,
		      struct chario_record *record)
{
	bool first = piece->record.flags & CHARIO_DISK_RECORD_FIRST;
	bool last = piece->record.flags & CHARIO_DISK_RECORD_LAST;
	int ret;

	if (piece->record.flags & CHARIO_DISK_RECORD_VOID) {
		note_void(reader, piece);
		return 0;
	}
	if (first)
		begin_record(reader);
	else if (!continues(reader, piece))
		return 0;
	if (!is_wanted(reader, piece))
		return 0;
	ret = piece->memory ? 1 : fetch(reader, piece);
	if (ret != 1)
		return ret;
	if (!first || !last) {
		ret = join(reader, piece);
		if (ret || !last)
			return ret;
		piece->memory = reader->joined;
	}
	give(reader, piece, record);
	if (!first)
		record->bytes = (size_t)reader->done_bytes;
	reader->done_bytes = 0;
	note_given(reader, piece);
	return 1;
}

/* After an error the next call tries the same piece again. */
int chario_reader_try(struct chario_reader *reader, struct chario_record *record)
{
	struct chario_piece piece;
	int ret;

	do {
		ret = next_piece(reader, &piece);
		if (ret != 1)
			return ret;
		ret = take_piece(reader, &piece, record);
	} while (!ret);
	if (ret < 0)
		reader->pile.at = reader->piece_at;
	return ret;
}

uint64_t chario_reader_boottime_ns(const struct chario_reader *reader)
{
	return reader->clock.boottime_ns;
}

/* Report once the records missing at the end, whether the recording was ended or cut off there. */
static void give_end(struct chario_reader *reader, struct chario_record *record)
{
	uint64_t missing = count_missing(reader, reader->end);

	*record = (struct chario_record){ .sequence = reader->end, .missing = missing };
	if (reader->is_cut)
		chario_losses_pass_durable(&reader->losses, missing - reader->skipped);
	else
		chario_losses_end(&reader->losses, reader->end);
	reader->skipped = 0;
	reader->expected = MAX(reader->expected, reader->end);
}

int chario_reader_next(struct chario_reader *reader, int64_t timeout_ns,
		       struct chario_record *record)
{
	int64_t deadline_ns = chario_sys_deadline(timeout_ns);
	int ret;

	/* The first look of each call is thorough. */
	reader->looks = 0;
	do {
		ret = chario_reader_try(reader, record);
		if (ret == -ENODATA)
			give_end(reader, record);
		if (ret)
			return ret == 1 ? 0 : ret;
	} while (timeout_ns && chario_sys_nap(deadline_ns, CHARIO_READER_SLEEP_NS));
	*record = (struct chario_record){ 0 };
	if (reader->is_cut)
		give_end(reader, record);
	return -EAGAIN;
}
