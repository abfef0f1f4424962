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

TEST(test_behind_an_old_end, "nor over what a killed program wrote behind one")
{
	EQUAL(record_all(0, 0, RECORDS) ?: rig_close(), 0);
	EQUAL(record_all(CHARIO_STREAM_APPEND, RECORDS, RECORDS + 1) ?: rig_stop(false), 0);
	go_on(5, 0, RECORDS + 1, RECORDS + RIG_SEGMENT / 56);
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

/* A second batch begins with a record, of the newest segment, that cannot be read. */
static void go_on_behind_a_cut(uint64_t second, uint64_t records, uint64_t block, uint64_t next)
{
	EQUAL(record_all(0, 0, second), 0);
	EQUAL(rig_wait(), 0);
	EQUAL(rig_record(second, records, RECORD_BYTES), 0);
	EQUAL(rig_stop(false), 0);
	go_on(3, block, records, next);
	rig_begin_again();
}

/* Where nobody knows the numbers, as many are left out as fit: header and 8 bytes each. */
TEST(test_behind_a_cut, "nor over what was cut off, and gives no number twice")
{
	const uint64_t fit = RIG_SEGMENT / 56, begun = RECORDS - IN_SEGMENT;

	go_on_behind_a_cut(begun, RECORDS, 0, begun + fit);
	go_on_behind_a_cut(begun, RECORDS, 1, RECORDS);
	go_on_behind_a_cut(begun + 2, begun + 4, 1, begun + 2 + fit);
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
	EQUAL(RIG_OPEN(.flags = flags, .durability = CHARIO_DURABILITY_FUA), 0);
	EQUAL(rig_record(0, 2 * IN_SEGMENT, RECORD_BYTES), 0);
	EQUAL(rig_stop(false), 0);
	rig_spoil(2 * RIG_SEGMENT, 20 * RIG_SEGMENT);
	EQUAL(RIG_OPEN(.flags = CHARIO_STREAM_APPEND, .durability = CHARIO_DURABILITY_FUA), 0);
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
	const struct store_end good = { RECORDS + 5, RECORDS + 5, 5000, 5, 1 };
	struct chario_area *area;

	EQUAL(record_all(0, 0, RECORDS) ?: rig_close(), 0);
	for (size_t i = 0; i < 4; i++) {
		struct store_end end = good;

		((uint64_t *)&end)[i] = CHARIO_DISK_COUNT_MAX;
		EQUAL(chario_area_open(rig.store, LAB_AREA, O_RDWR, &area), 0);
		EQUAL(chario_area_end_stream(area, &end), 0);
		chario_area_close(area);
		EQUAL(record_all(CHARIO_STREAM_APPEND, 0, 0), 0);
		EQUAL(rig_look(), 0);
		EQUAL(rig.status.records, RECORDS);
		EQUAL(rig_close(), 0);
	}
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
