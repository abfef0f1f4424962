// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The time of the last record.
 *
 * The last batch may have no record, such as one that only tells the end, and then its time is
 * no time of a record.  The header of a batch tells how many records were committed before it,
 * so the last record is in the last batch with fewer of them before it than in all.
 */
#include "stream/reader-inner.h"

/*
 * Find the last batch of a segment that begins before so many records are committed; @is_torn says
 * that batches of the segment are bad.  Returns 1, 0 if there is none, or a negative errno.
 */
static int find_batch(struct chario_tape *tape, uint64_t segment, uint64_t records, bool is_torn,
		      struct chario_disk_batch *batch)
{
	struct chario_disk_batch found;
	bool is_found = false;
	int ret = chario_tape_look(tape, segment, 0, &found);

	while (ret > 0 && found.records < records) {
		*batch = found;
		is_found = true;
		ret = chario_tape_next(tape, batch, &found);
		if (!ret && is_torn)
			ret = chario_tape_rest(tape, batch, &found);
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
	uint64_t segment = head->last.segment, records = head->records;
	uint64_t oldest = segment < tape->slots ? 0 : segment - tape->slots + 1;

	while (!*time_ns && records) {
		struct chario_disk_batch batch;
		bool is_torn = head->torn && segment == head->last.segment;
		int ret = find_batch(tape, segment, records, is_torn, &batch);

		if (!ret && segment == oldest)
			return 0;
		if (!ret) {
			segment--;
			continue;
		}
		if (ret > 0)
			ret = read_time(tape, &batch, pile, time_ns);
		if (ret < 0)
			return ret;
		records = batch.records;
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
