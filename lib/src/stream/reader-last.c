// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The time of the last record.
 *
 * The last batch may have no record, such as one that only tells the end, and then its time is
 * no time of a record.  The header of a batch tells how many records were committed before it,
 * so the last record is in the last batch with fewer of them before it than in all.  The search
 * goes back to a segment that begins so, and from there on from batch to batch, past bad ones and
 * into segments whose first header is bad.
 */
#include "stream/reader-inner.h"

/**
 * struct bounds - the segments of a search for the last batch with one of so many records
 * @records: number of records
 * @oldest: oldest segment
 * @end: segment behind the newest
 */
struct bounds {
	uint64_t records;
	uint64_t oldest;
	uint64_t end;
};

/* Find the batch behind @last; only if records of its segment are missing can bad ones hide it. */
static int find_behind(struct chario_tape *tape, const struct chario_disk_batch *last,
		       const struct bounds *bounds, struct chario_disk_batch *batch)
{
	int ret = chario_tape_next(tape, last, batch);

	if (ret || last->records + last->nr_records >= bounds->records)
		return ret;
	ret = chario_tape_rest(tape, last, batch);
	return ret ? ret : chario_tape_inside(tape, last->segment + 1, last, batch);
}

/*
 * Go back to a segment whose first header is good and not behind the last batch, or to the start of
 * the recording.
 */
static int find_start(struct chario_tape *tape, const struct bounds *bounds,
		      struct chario_disk_batch *batch)
{
	for (uint64_t segment = bounds->end; segment > bounds->oldest; segment--) {
		int ret = chario_tape_look(tape, segment - 1, 0, batch);

		if (ret < 0 || (ret && batch->records < bounds->records))
			return ret;
	}
	return bounds->oldest ? 0 : chario_tape_inside(tape, 0, NULL, batch);
}

/* Find the last batch within the bounds.  Returns 1, 0 if there is none, or a negative errno. */
static int find_batch(struct chario_tape *tape, const struct bounds *bounds,
		      struct chario_disk_batch *batch)
{
	struct chario_disk_batch found;
	bool is_found = false;
	int ret = find_start(tape, bounds, &found);

	while (ret > 0 && found.records < bounds->records) {
		*batch = found;
		is_found = true;
		ret = find_behind(tape, batch, bounds, &found);
	}
	return ret < 0 ? ret : is_found;
}

/* Read the time of the last whole record of a batch; it stays if there is none. */
static int read_time(struct chario_tape *tape, const struct chario_disk_batch *batch,
		     struct chario_pile *pile, uint64_t *time_ns)
{
	struct chario_piece piece;
	int ret = chario_tape_load(tape, batch, pile);

	if (ret <= 0)
		return ret;
	while ((ret = chario_pile_next(pile, tape->segment_bytes, &piece))) {
		const uint32_t flags = piece.record.flags;

		if (ret < 0)
			chario_pile_skip(pile);
		else if (flags & CHARIO_DISK_RECORD_LAST && !(flags & CHARIO_DISK_RECORD_VOID))
			*time_ns = piece.record.time_ns;
	}
	return 0;
}

/* Go back from the head; where a record is damaged, to the one before it. */
static int search(struct chario_tape *tape, const struct chario_head *head,
		  struct chario_pile *pile, uint64_t *time_ns)
{
	uint64_t newest = head->last.segment;
	struct bounds bounds = {
		.records = head->records,
		.oldest = newest < tape->slots ? 0 : newest - tape->slots + 1,
		.end = newest + 1,
	};

	while (!*time_ns && bounds.records) {
		struct chario_disk_batch batch;
		int ret = find_batch(tape, &bounds, &batch);

		if (ret > 0)
			ret = read_time(tape, &batch, pile, time_ns);
		else if (!ret)
			return 0;
		if (ret < 0)
			return ret;
		bounds.records = batch.records;
		bounds.end = batch.segment + 1;
	}
	return 0;
}

int chario_reader_find_last_time(struct chario_reader *reader, const struct chario_head *head,
				 uint64_t *time_ns)
{
	struct chario_tape *tape = &reader->tape;
	struct chario_pile pile = { 0 };
	int err;

	*time_ns = head->time_ns;
	if (*time_ns)
		return 0;
	err = chario_pool_create_fitting(&pile.pool, tape->area->store->device,
					 tape->segment_bytes);
	if (err)
		return err;
	err = search(tape, head, &pile, time_ns);
	chario_pool_destroy(&pile.pool);
	return err;
}
