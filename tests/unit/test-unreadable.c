// SPDX-License-Identifier: MIT
/*
 * A recording of which a block cannot be read: the other records are read, and what may be
 * there is not written over.
 */
#include "store/area-inner.h"
#include "stream/inner.h"
#include "tap.h"
#include "tape-rig.h"

/* Eight of them fill a segment: three are in its first block. */
#define RECORD_BYTES 952U
#define IN_SEGMENT   8U
#define IN_BLOCK     3U

#define RECORDS (4 * IN_SEGMENT)
#define BEGUN   (3 * IN_SEGMENT)

/* The numbers that are left out for a segment whose records nobody knows: header and 8 bytes each. */
#define FIT (RIG_SEGMENT / 56)

static int record_all(unsigned int flags, uint64_t from, uint64_t to)
{
	return rig_open_as(flags) ?: rig_record(from, to, RECORD_BYTES);
}

/* The drive cannot read a block, until that is healed. */
static void spoil(uint64_t segment, uint64_t block)
{
	rig_spoil(segment * RIG_SEGMENT + block * 4096, 4096);
}

static void wipe(uint64_t from, uint64_t segments)
{
	memset(rig_place(from * RIG_SEGMENT), 0, segments * RIG_SEGMENT);
}

/* Records that are read, and those that are missing between and behind them. */
static uint64_t nr_there, nr_missing;

static void count(void)
{
	uint64_t next = 0;

	nr_there = nr_missing = 0;
	EQUAL(rig_open_reader(), 0);
	while (!rig_next()) {
		CHECK(lab_is(rig.record.memory, rig.record.bytes, rig.record.sequence));
		nr_missing += rig.record.missing;
		next = rig.record.sequence + 1;
		nr_there++;
	}
	EQUAL(rig_get_recording(), 0);
	EQUAL(rig.recording.next_record, next);
	nr_missing += rig.record.missing;
	rig_close_reader();
}

static void check_others(unsigned int flags)
{
	EQUAL(record_all(flags, 0, RECORDS) ?: rig_close(), 0);
	spoil(1, 1);
	count();
	EQUAL(nr_missing, IN_SEGMENT - IN_BLOCK);
	EQUAL(nr_there + nr_missing, RECORDS);
	/* Without its first block nobody knows what a segment has. */
	spoil(1, 0);
	count();
	EQUAL(nr_missing, IN_SEGMENT);
	EQUAL(nr_there + nr_missing, RECORDS);
}

TEST(test_others_are_read, "one block costs its records only, with checksums and without")
{
	check_others(0);
	log_disk_heal(rig.disk);
	check_others(CHARIO_STREAM_NO_CRC);
	/* Two blocks of a batch. */
	EQUAL(RIG_OPEN(.flags = CHARIO_STREAM_NO_CRC, .segment_bytes = 4 * RIG_SEGMENT), 0);
	EQUAL(rig_record(0, RECORDS, RECORD_BYTES) ?: rig_close(), 0);
	rig_spoil(4096, 8192);
	count();
	EQUAL(nr_missing, RECORDS - IN_BLOCK);
}

static void check_unreadable(uint64_t segments)
{
	EQUAL(rig_survey(), 0);
	EQUAL(rig.recording.unreadable_segments, segments);
	rig_close_reader();
}

/* Go on with a number while a block cannot be read, and read when it can be. */
static void go_on(uint64_t segment, uint64_t block, uint64_t records, uint64_t next)
{
	spoil(segment, block);
	check_unreadable(next > records || block || segment > 3);
	EQUAL(record_all(CHARIO_STREAM_APPEND, next, next + 1) ?: rig_close(), 0);
	log_disk_heal(rig.disk);
	count();
	EQUAL(nr_there, records + 1);
	EQUAL(nr_missing, next - records);
	check_unreadable(0);
}

/* The table knows how many there are, and that there are none behind the end, which segment 4 has. */
TEST(test_behind_an_end, "who goes on does not write over an end")
{
	for (unsigned int how = 0; how < 6; how++) {
		EQUAL(record_all(how & 1 ? CHARIO_STREAM_RING : 0, 0, RECORDS) ?: rig_close(), 0);
		go_on(3 + how / 2, 0, RECORDS, RECORDS);
		rig_begin_again();
	}
}

static int set_end(struct store_end end)
{
	struct chario_area *area;
	int err = chario_area_open(rig.store, LAB_AREA, O_RDWR, &area) ?:
			  chario_area_end_stream(area, &end);

	chario_area_close(area);
	return err;
}

/* A program of the first release does not say that it has gone on behind an end. */
TEST(test_behind_an_old_end, "nor over what a killed program wrote behind one")
{
	for (uint64_t how = 0; how < 3; how++) {
		uint64_t old = how == 2 ? IN_SEGMENT : 0, gone = how == 1 ? IN_SEGMENT : 0;
		uint64_t records = RECORDS + old + 1;

		EQUAL(record_all(0, 0, RECORDS) ?: rig_close(), 0);
		EQUAL(record_all(CHARIO_STREAM_APPEND, RECORDS, records) ?: rig_stop(false), 0);
		EQUAL(rig_survey(), 0);
		EQUAL(rig.recording.durable_records, RECORDS);
		rig_close_reader();
		if (old)
			EQUAL(set_end((struct store_end){ RECORDS, RECORDS, 5000, 4, 1 }), 0);
		if (gone)
			wipe(3, 2);
		go_on(old ? 6 : 5, 0, records - gone, RECORDS + old + FIT);
		rig_begin_again();
	}
}

TEST(test_behind_an_end_without_any, "nor where nothing can be read")
{
	EQUAL(record_all(0, 0, RECORDS) ?: rig_close(), 0);
	wipe(1, 3);
	spoil(0, 0);
	EQUAL(record_all(CHARIO_STREAM_APPEND, RECORDS, RECORDS + 1), 0);
	EQUAL(rig_look(), 0);
	EQUAL(rig.status.records, RECORDS + 1);
	EQUAL(rig_close(), 0);
}

/**
 * struct cut - a recording that was cut off
 * @second: record with which a second batch begins
 * @records: number of records
 * @block: block of segment 3 that cannot be read
 * @torn: number of records that are torn before that
 * @is_closed: true if it was closed and continued, and the last batch before that is lost
 * @next: number with which another program goes on
 * @is_behind_end: true if the table has an end in segment 1, behind which an old program went on
 */
static const struct cut {
	uint64_t second, records, block, torn;
	bool is_closed;
	uint64_t next;
	bool is_behind_end;
} cuts[] = {
	{ BEGUN, RECORDS, 0, 0, false, BEGUN + FIT, false },
	{ BEGUN, RECORDS, 0, 1, false, BEGUN + FIT, false },
	{ BEGUN, RECORDS, 1, 0, false, RECORDS, false },
	{ BEGUN + 2, BEGUN + 4, 1, 0, false, BEGUN + 2 + FIT, false },
	{ BEGUN + 2, BEGUN + 4, 1, 0, false, BEGUN + 2 + FIT, true },
	{ BEGUN + 2, BEGUN + 4, 1, 0, true, BEGUN + 4, false },
};

TEST(test_behind_a_cut, "nor over what was cut off, and gives no number twice")
{
	for (const struct cut *cut = cuts; cut < cuts + sizeof(cuts) / sizeof(cuts[0]); cut++) {
		EQUAL(record_all(0, 0, cut->second), 0);
		EQUAL(rig_wait(), 0);
		EQUAL(rig_record(cut->second, cut->records, RECORD_BYTES), 0);
		EQUAL(rig_stop(cut->is_closed), 0);
		if (cut->is_closed) {
			EQUAL(record_all(CHARIO_STREAM_APPEND, 0, 0) ?: rig_stop(false), 0);
			wipe(4, 1);
		}
		if (cut->is_behind_end)
			EQUAL(set_end((struct store_end){ 16, 16, 5000, 1, 1 }), 0);
		memset(rig_place(3 * RIG_SEGMENT) - 600 * cut->torn, 0, 600 * cut->torn);
		go_on(3, cut->block, cut->records - cut->torn, cut->next);
		rig_begin_again();
	}
}

/* Fill the area, without a word that this is the end. */
static uint64_t fill_area(void)
{
	uint64_t sequence = 0;

	while (!lab_write(rig.stream, sequence, RECORD_BYTES))
		sequence++;
	return sequence;
}

/* What may be in the last place of an area is not written over either. */
TEST(test_last_place, "nor over the last place of an area")
{
	EQUAL(record_all(0, 0, 0), 0);
	EQUAL(fill_area(), RIG_SLOTS * IN_SEGMENT);
	EQUAL(rig_stop(false), 0);
	spoil(RIG_SLOTS - 1, 0);
	EQUAL(record_all(CHARIO_STREAM_APPEND, 0, 1), -ENOSPC);
	EQUAL(rig_close(), 0);
	log_disk_heal(rig.disk);
	count();
	EQUAL(nr_there, RIG_SLOTS * IN_SEGMENT);
}

/* The other places behind the head are free, or hold what is older. */
static void pass_unreadable(unsigned int flags)
{
	uint64_t writes[3];

	EQUAL(RIG_OPEN(.flags = flags, .durability = CHARIO_DURABILITY_FUA), 0);
	EQUAL(rig_record(0, 2 * IN_SEGMENT, RECORD_BYTES), 0);
	EQUAL(rig_stop(false), 0);
	/* The table is told of those that are passed, once. */
	for (unsigned int i = 0; i < 3; i++) {
		writes[i] = rig.disk->nr_writes;
		EQUAL(RIG_OPEN(.flags = CHARIO_STREAM_APPEND, .durability = CHARIO_DURABILITY_FUA),
		      0);
		writes[i] = rig.disk->nr_writes - writes[i];
		EQUAL(i < 2 ? rig_cut() : 0, 0);
		rig_spoil(2 * RIG_SEGMENT, 20 * RIG_SEGMENT);
	}
	CHECK(!flags || (writes[1] > writes[0] && writes[1] > writes[2]));
	log_disk_record(rig.disk);
	EQUAL(rig_record(0, IN_SEGMENT, RECORD_BYTES), 0);
	EQUAL(rig_wait(), 0);
	EQUAL(rig.disk->entries[0].offset, lab_area_offset(rig.store) + 22 * RIG_SEGMENT);
}

TEST(test_many, "nor over more places than a window, and no further")
{
	pass_unreadable(CHARIO_STREAM_RING);
	rig_begin_again();
	pass_unreadable(0);
}

static void go_on_and_stop(uint64_t *sequence)
{
	EQUAL(record_all(CHARIO_STREAM_APPEND, *sequence, *sequence + IN_SEGMENT), 0);
	EQUAL(rig_stop(false), 0);
	*sequence += IN_SEGMENT;
}

/*
 * Twice as many segments as a window are damaged, and the end; the search by distances meets none
 * behind them.
 */
static void hide(unsigned int flags, uint64_t first, bool is_closed, bool is_wiped)
{
	uint64_t sequence = (first + 15) * IN_SEGMENT;

	EQUAL(record_all(flags, 0, sequence), 0);
	EQUAL(rig_stop(is_closed), 0);
	if (is_wiped) {
		wipe(6, 8);
		wipe(15, 1);
		count();
		EQUAL(nr_missing, 8 * IN_SEGMENT);
	} else {
		rig_spoil(6 * RIG_SEGMENT, 8 * RIG_SEGMENT);
	}
	go_on_and_stop(&sequence);
	count();
	EQUAL(nr_missing, 8 * IN_SEGMENT);
	go_on_and_stop(&sequence);
	EQUAL(record_all(CHARIO_STREAM_APPEND, 0, 0) ?: rig_close(), 0);
	log_disk_heal(rig.disk);
	count();
	EQUAL(nr_missing, is_wiped ? 8 * IN_SEGMENT : 0);
	EQUAL(rig.record.sequence, sequence);
	CHECK(first || nr_there + nr_missing == sequence);
}

TEST(test_hidden, "no damage hides what is behind it, from readers or who goes on")
{
	for (unsigned int how = 0; how < 12 && !tap_failed; how++) {
		unsigned int flags = how < 4 ? 0 : CHARIO_STREAM_RING;

		/* Without the memory for many headers they are read one by one. */
		rig.disk->most_locked = how % 3 ? 0 : rig.disk->locked + (255 << 10);
		hide(flags, how < 8 ? 0 : RIG_SLOTS, how & 1, how & 2);
		rig_begin_again();
	}
}

/* More places than are read at once; the first error of a read that is no damage ends the search. */
TEST(test_long, "however long it is")
{
	uint64_t sequence = 240 * IN_SEGMENT;

	rig_end();
	rig_begin(256 * RIG_SEGMENT, false);
	EQUAL(record_all(0, 0, sequence), 0);
	EQUAL(rig_stop(false), 0);
	wipe(6, 200);
	rig.disk->faults = (struct log_faults){ .read = { 150, 1 }, .error = -ENODEV };
	EQUAL(record_all(CHARIO_STREAM_APPEND, 0, 0), -ENODEV);
	/* A reset ends all reads of a time. */
	for (uint64_t n = 0; n < 300; n++) {
		rig.disk->faults = (struct log_faults){ .read = { n, 64 }, .error = -EIO };
		CHECK(record_all(CHARIO_STREAM_APPEND, 0, 0) == -EIO ||
		      (rig.stream->next_segment >= 240 && !rig_stop(false)));
	}
	rig.disk->faults = (struct log_faults){ .error = -EIO };
	rig_spoil(100 * RIG_SEGMENT, 4096);
	go_on_and_stop(&sequence);
	count();
	EQUAL(nr_missing, 200 * IN_SEGMENT);
	EQUAL(nr_there + nr_missing, sequence);
}

/*
 * The times of what cannot be read are not known, so those of the next part are a run of their own,
 * whether blocks of the last batch cannot be read, or all behind it, which the table knows of.
 */
static void find_times(bool is_closed)
{
	static const uint64_t seconds[] = { 1, 3600, 10 };
	const uint64_t counts[] = { IN_BLOCK, IN_SEGMENT, (is_closed ? 24 : 4) * IN_SEGMENT };
	const uint32_t segment_bytes = is_closed ? 4 * RIG_SEGMENT : RIG_SEGMENT;
	char memory[RECORD_BYTES];

	lab_fill(memory, sizeof(memory), 0);
	EQUAL(RIG_OPEN(.segment_bytes = segment_bytes), 0);
	for (uint64_t i = 0, kind = 0; i < counts[2]; i++) {
		if (i == IN_BLOCK && is_closed)
			EQUAL(rig_wait(), 0);
		if (i == IN_SEGMENT) {
			EQUAL(rig_stop(is_closed), 0);
			rig_spoil(4096, segment_bytes - 4096);
			EQUAL(RIG_OPEN(.flags = CHARIO_STREAM_APPEND,
				       .segment_bytes = segment_bytes),
			      0);
		}
		kind += i == counts[kind];
		EQUAL(chario_stream_write(rig.stream, memory, RECORD_BYTES,
					  seconds[kind] * 1000000000 + i, 0, -1),
		      0);
	}
	EQUAL(rig_close(), 0);
	log_disk_heal(rig.disk);
	EQUAL(rig_open_reader(), 0);
	EQUAL(chario_reader_seek_time(rig.reader, seconds[1] * 1000000000), 0);
	EQUAL(rig_next(), 0);
	EQUAL(rig.record.time_ns, seconds[1] * 1000000000 + IN_BLOCK);
}

TEST(test_times, "times are found beside those that could not be read")
{
	find_times(false);
	rig_begin_again();
	find_times(true);
}

/* The table may say anything of the end. */
TEST(test_end_that_cannot_be, "an end that cannot be is not believed")
{
	for (size_t i = 0; i < 8; i++) {
		struct store_end end = { RECORDS + 5, RECORDS + 5, 5000, 5, 1 };

		((uint64_t *)&end)[i / 2] = CHARIO_DISK_COUNT_MAX;
		EQUAL(record_all(i % 2 ? CHARIO_STREAM_RING : 0, 0, RECORDS) ?: rig_close(), 0);
		EQUAL(set_end(end), 0);
		EQUAL(record_all(CHARIO_STREAM_APPEND, 0, 0), 0);
		EQUAL(rig_look(), 0);
		EQUAL(rig.status.records, RECORDS);
		CHECK(rig.status.segments < 10);
		EQUAL(rig_close(), 0);
	}
}

/* Any place behind the newest may have been written, and each is as far behind another. */
TEST(test_ring, "a ring of which one segment can be read has an end")
{
	const unsigned int flags = CHARIO_STREAM_RING | CHARIO_STREAM_NO_CRC;

	EQUAL(record_all(flags, 0, 2 * RIG_SLOTS * IN_SEGMENT), 0);
	EQUAL(rig_stop(false), 0);
	rig_spoil(0, (RIG_SLOTS - 1) * RIG_SEGMENT);
	rig.disk->most_reads = rig.disk->nr_reads + 2000;
	EQUAL(rig_open_reader(), 0);
	EQUAL(rig_next(), -EAGAIN);
	rig.disk->most_reads = 0;
}

/* Nor is one that the last batch knows to be too early. */
TEST(test_early_end, "an end before that of the last batch does not count")
{
	EQUAL(record_all(0, 0, 4) ?: chario_stream_lose(rig.stream, 3, 0) ?: rig_close(), 0);
	EQUAL(set_end((struct store_end){ 4, 4, 5000, 5, 1 }) ?: rig_open_reader(), 0);
	CHECK(rig_are_next(0, 4) && rig_next() == -ENODATA);
	EQUAL(rig.record.missing, 3);
}

/* There is no room for the word that it has ended. */
TEST(test_full, "a recording that fills its area can be closed")
{
	EQUAL(record_all(0, 0, 0), 0);
	fill_area();
	EQUAL(rig_close() ?: rig_survey(), 0);
	EQUAL(rig.recording.ended, 1);
}

TEST_MAIN(rig_begin_usual, rig_end)
