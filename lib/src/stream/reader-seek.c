// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* The extent of a recording, and going to a record. */
#include "stream/reader-inner.h"

#include <stddef.h>

#include "stream/lost.h"
#include "system/sys.h"

/* Size in bytes of the first version of the struct. */
#define RECORDING_MIN offsetof(struct chario_recording, records)

/* A record that began in an overwritten segment does not count. */
uint64_t chario_reader_first_record(const struct chario_disk_batch *oldest)
{
	return oldest->sequence + (oldest->flags & CHARIO_DISK_BATCH_MIDDLE ? 1 : 0);
}

int chario_reader_oldest(struct chario_reader *reader, uint64_t newest,
			 struct chario_disk_batch *batch)
{
	struct chario_tape *tape = &reader->tape;
	int found = chario_tape_oldest(tape, newest, batch), ret;
	struct chario_disk_batch hidden;

	if (found < 0 || newest >= tape->slots || (found && !batch->segment))
		return found;
	ret = chario_reader_is_final(reader, 0);
	if (ret > 0)
		ret = chario_tape_inside(tape, 0, NULL, &hidden);
	if (ret <= 0 || (found && !chario_reader_is_before(&hidden, batch)))
		return ret < 0 ? ret : found;
	*batch = hidden;
	return 1;
}

static void fill(const struct chario_tape *tape, const struct chario_head *head,
		 const struct chario_disk_batch *oldest, struct chario_recording *recording)
{
	const struct chario_disk_batch *last = &head->last;

	recording->first_record = chario_reader_first_record(oldest);
	recording->next_record = head->next_sequence;
	recording->first_time_ns = oldest->time_ns;
	recording->bytes = head->position;
	recording->records = head->records;
	recording->durable_records = last->durable_records;
	recording->lost_bytes = last->lost_bytes;
	recording->lost_before = last->segment < tape->slots ? 0 : chario_lost_before_batch(oldest);
	recording->torn_segments = head->missing + head->torn;
}

/* Read the end from the table; the recording may have been continued since. */
static int fill_end(struct chario_reader *reader, const struct chario_head *head,
		    struct chario_recording *recording)
{
	struct chario_area_stream entry;
	int err = chario_area_get_stream(reader->area, &entry);

	if (err || entry.session != reader->tape.session)
		return err;
	recording->ended_ns = entry.end.time_ns;
	recording->lost_records = chario_lost_before_head(head, &entry.end);
	if (entry.end.records > recording->records) {
		recording->missing_records = entry.end.records - recording->records;
		recording->missing_bytes = entry.end.bytes - recording->bytes;
	}
	if (chario_head_is_closed(head, &entry)) {
		recording->durable_records = recording->records;
		recording->ended = !recording->live && !entry.continued;
	}
	return 0;
}

/*
 * Find the head.  Bad batches are passed only if there is no producer, nor has one come meanwhile:
 * *@live tells which.
 */
static int find_head(struct chario_reader *reader, bool *live, struct chario_head *head)
{
	int err = 0;

	*live = chario_area_has_writer(reader->area);
	if (!*live) {
		chario_tape_forget_searched(&reader->tape);
		err = chario_reader_note_end(reader);
		if (!err)
			err = chario_tape_head(&reader->tape, true, head);
		*live = chario_area_has_writer(reader->area);
		if (err || !*live)
			return err;
	}
	return chario_tape_head(&reader->tape, false, head);
}

int chario_reader_get_recording(struct chario_reader *reader, struct chario_recording *recording,
				size_t size)
{
	struct chario_tape *tape = &reader->tape;
	struct chario_recording all = {
		.size = sizeof(all),
		.ring = tape->ring,
		.segment_bytes = tape->segment_bytes,
		.session = tape->session,
	};
	uint32_t reads = tape->reads;
	struct chario_disk_batch oldest;
	uint64_t next = 0;
	struct chario_head head;
	bool live;
	int ret = find_head(reader, &live, &head);

	if (ret)
		return ret;
	all.live = live;
	all.reads = tape->reads - reads;
	if (head.found) {
		ret = chario_reader_oldest(reader, head.last.segment, &oldest);
		if (ret < 0)
			return ret;
		fill(tape, &head, ret ? &oldest : &head.last, &all);
		ret = chario_reader_find_last_time(reader, &head, &all.last_time_ns);
		if (ret)
			return ret;
		if (!all.last_time_ns)
			all.first_time_ns = 0;
		next = head.last.segment + 1;
	}
	all.unreadable_segments = head.damaged || head.unread_rest;
	ret = chario_tape_skip_unreadable(tape, &next, &all.unreadable_segments);
	if (ret)
		return ret;
	ret = fill_end(reader, &head, &all);
	if (ret)
		return ret;
	return chario_sys_give(recording, size, &all, sizeof(all), RECORDING_MIN);
}

/*
 * Find the last segment that begins before a record, or the oldest.  Returns 1, 0 if there
 * is none, or a negative errno.
 */
static int search(struct chario_reader *reader, uint64_t sequence, struct chario_disk_batch *batch)
{
	struct chario_tape *tape = &reader->tape;
	struct chario_disk_batch found;
	uint64_t newest;
	int ret = chario_tape_newest(tape, batch);

	if (ret <= 0)
		return ret;
	newest = batch->segment;
	chario_reader_note_newest(reader, newest);
	ret = chario_reader_oldest(reader, newest, batch);
	while (ret > 0 && batch->segment < newest) {
		uint64_t middle = batch->segment + (newest - batch->segment + 1) / 2;

		ret = chario_tape_first(tape, middle, newest, &found);
		if (ret < 0)
			return ret;
		if (ret && chario_reader_first_record(&found) <= sequence)
			*batch = found;
		else
			newest = middle - 1;
		ret = 1;
	}
	return ret;
}

static int seek(struct chario_reader *reader, uint64_t sequence)
{
	struct chario_disk_batch batch;
	int ret = search(reader, sequence, &batch);

	if (ret < 0)
		return ret;
	chario_reader_reset(reader);
	/* If the segment has been overwritten meanwhile, the next call starts at the oldest. */
	if (ret)
		ret = chario_reader_enter(reader, &batch);
	reader->from_sequence = sequence;
	return ret < 0 ? ret : chario_reader_check_session(reader);
}

int chario_reader_seek(struct chario_reader *reader, uint64_t sequence)
{
	struct chario_head head;
	bool live;
	int err;

	if (sequence < UINT64_MAX)
		return seek(reader, sequence);
	err = find_head(reader, &live, &head);
	return err ? err : seek(reader, head.next_sequence);
}

int chario_reader_seek_newest(struct chario_reader *reader, uint64_t records)
{
	struct chario_recording recording;
	int err = chario_reader_get_recording(reader, &recording, sizeof(recording));

	if (err)
		return err;
	records = MIN(records, recording.next_record - recording.first_record);
	return chario_reader_seek(reader, recording.next_record - records);
}

/* Returns the number of rooms that were given back, from the place to the end of its batch. */
static uint64_t count_voids_ahead(const struct chario_reader *reader)
{
	struct chario_pile pile = reader->pile;
	struct chario_piece piece;
	uint64_t voids = 0;
	int ret;

	while (reader->loaded &&
	       (ret = chario_pile_next(&pile, reader->tape.segment_bytes, &piece))) {
		if (ret < 0)
			chario_pile_skip(&pile);
		else
			voids += !!(piece.record.flags & CHARIO_DISK_RECORD_VOID);
	}
	return voids;
}

int chario_reader_count_missing(struct chario_reader *reader, uint64_t *lost, uint64_t *undurable)
{
	struct chario_losses losses = reader->losses;
	const struct chario_disk_batch *last = &losses.batch.header;
	struct chario_area_stream entry;
	int err = chario_area_get_stream(reader->area, &entry);
	bool is_closed;

	if (err)
		return err;
	*lost = *undurable = 0;
	/* Behind the newest record no number is expected, so none is missing. */
	if (!reader->has_expected)
		return 0;
	if (entry.session != reader->tape.session)
		entry.end = (struct store_end){ 0 };
	is_closed = entry.end.time_ns && entry.end.sequence >= last->next_sequence;
	is_closed |= last->flags & CHARIO_DISK_BATCH_END &&
		     chario_disk_batch_is_of_first_release(last);
	losses.batch.voids += count_voids_ahead(reader);
	*lost = chario_losses_count_lost(&losses, &entry.end);
	*undurable = chario_losses_count_undurable(&losses, is_closed);
	return 0;
}
