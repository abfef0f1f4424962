// SPDX-License-Identifier: MIT
/*
 * What a ring keeps whose records have no checksum: all that nobody can have torn.
 */
#include "stream/inner.h"
#include "tape-rig.h"

/* One fills a segment, and the word that a recording has ended needs one of its own. */
#define RECORD_BYTES (RIG_SEGMENT - 200)

/* Segments that may be written and not durable. */
#define WINDOW (RIG_SLOTS / 8)

static int open_ring(unsigned int flags)
{
	return RIG_OPEN(.flags = CHARIO_STREAM_RING | CHARIO_STREAM_NO_CRC | flags,
			.durability = CHARIO_DURABILITY_FLUSH);
}

/* Record a part, and end it. */
static int record(unsigned int flags, uint64_t from, uint64_t to)
{
	return open_ring(flags) ?: rig_record(from, to, RECORD_BYTES) ?: rig_close();
}

/* Go on with the recording, and end it. */
static int append(uint64_t from, uint64_t to)
{
	return record(CHARIO_STREAM_APPEND, from, to);
}

/* The same, but the power is cut when all is durable. */
static int append_and_cut(unsigned int flags, uint64_t from, uint64_t to)
{
	int err = open_ring(flags) ?: rig_record(from, to, RECORD_BYTES) ?: rig_wait();

	return rig_cut() ?: err;
}

/* The oldest record that is there, where all behind it up to @end are; or UINT64_MAX. */
static uint64_t oldest(uint64_t end)
{
	uint64_t first;

	if (rig_open_reader() || rig_next())
		return UINT64_MAX;
	first = rig.record.sequence;
	for (uint64_t next = first + 1; next < end; next++)
		if (!rig_is_next(next))
			return UINT64_MAX;
	first = rig_next() ? first : UINT64_MAX;
	rig_close_reader();
	return first;
}

/* Where all parts were closed, what has not been overwritten is there. */
TEST(test_clean_append, "a ring that was closed each time is whole")
{
	EQUAL(record(0, 0, 30), 0);
	EQUAL(oldest(30), 0);
	EQUAL(append(30, 40), 0);
	EQUAL(oldest(40), 42 - RIG_SLOTS);
	EQUAL(append(40, 41), 0);
	EQUAL(oldest(41), 44 - RIG_SLOTS);
}

TEST(test_no_ring, "a recording that is no ring does not become one")
{
	EQUAL(rig_open_as(0) ?: rig_close(), 0);
	EQUAL(rig_open_as(CHARIO_STREAM_RING | CHARIO_STREAM_APPEND), -EINVAL);
	EQUAL(rig_open_as(CHARIO_STREAM_APPEND) ?: rig_close(), 0);
	EQUAL(rig_open_as(CHARIO_STREAM_RING) ?: rig_close(), 0);
	EQUAL(rig_open_as(CHARIO_STREAM_RING | CHARIO_STREAM_APPEND), 0);
}

/* A cut takes what was being overwritten, an eighth at most. */
TEST(test_cut, "a power cut takes an eighth of a ring")
{
	EQUAL(append_and_cut(0, 0, 40), 0);
	EQUAL(oldest(40), 40 - RIG_SLOTS + WINDOW);
}

/*
 * Nobody knows what was being overwritten when the newest headers were there.  In the first lap,
 * more wiped ones than a window are like places that were never written.
 */
TEST(test_cut_and_damage, "it takes no less where the newest segments are damaged")
{
	static const struct cut {
		uint64_t records, damaged, oldest[2];
	} cuts[] = {
		{ 42, 1, { 14, 14 } }, { 42, 4, { 14, 14 } }, { 42, 7, { 14, 14 } },
		{ 31, 1, { 4, 4 } },   { 20, 1, { 0, 0 } },   { 31, 7, { 0, 3 } },
	};

	for (size_t i = 0; i < 2 * sizeof(cuts) / sizeof(cuts[0]); i++) {
		const struct cut *cut = &cuts[i / 2];
		uint64_t left = cut->records - cut->damaged;
		uint64_t at = left % RIG_SLOTS * RIG_SEGMENT, bytes = cut->damaged * RIG_SEGMENT;

		EQUAL(append_and_cut(0, 0, cut->records), 0);
		if (i & 1)
			rig_spoil(at, bytes);
		else
			memset(rig_place(at), 0, bytes);
		EQUAL(oldest(left), cut->oldest[i & 1]);
		log_disk_heal(rig.disk);
	}
	/* Segment 31 is whole, and 32 may have been, which is a window before what overwrites 4. */
	EQUAL(append_and_cut(0, 0, 33), 0);
	memset(rig_place(24 * RIG_SEGMENT), 0, 7 * RIG_SEGMENT);
	memset(rig_place(0), 0, RIG_SEGMENT);
	EQUAL(rig_open_reader() ?: chario_reader_seek(rig.reader, 4) ?: rig_next(), 0);
	EQUAL(rig.record.sequence, 5);
}

/* What a cut may have torn is not trusted before the ring has come round. */
TEST(test_append_after_cut, "what a cut may have torn is left out")
{
	EQUAL(append_and_cut(0, 0, 40), 0);
	EQUAL(append(40, 42), 0);
	EQUAL(oldest(42), 43 - RIG_SLOTS + WINDOW);
	EQUAL(append_and_cut(CHARIO_STREAM_APPEND, 42, 43), 0);
	EQUAL(append(43, 43 + RIG_SLOTS), 0);
	EQUAL(append(43 + RIG_SLOTS, 44 + RIG_SLOTS), 0);
	/* Segment 44 has record 43, and the newest is 78. */
	EQUAL(oldest(44 + RIG_SLOTS), 79 - RIG_SLOTS - 1);
}

/* Whether all records that a reader gives are what was written. */
static bool is_right(void)
{
	bool right = !rig_open_reader();

	while (right && !rig_next())
		right = lab_is(rig.record.memory, rig.record.bytes, rig.record.sequence);
	rig_close_reader();
	return right;
}

/*
 * The first block of a segment is written last: without it the old one looks as before.  An append
 * skips a place that cannot be read a window behind the newest segment.
 */
static void cut_append(bool closed, bool skips)
{
	uint64_t at = lab_area_offset(rig.store) + ((skips ? 45 : 41) - RIG_SLOTS) * RIG_SEGMENT;
	uint64_t next = closed ? 40 : 41;
	struct chario_stream_room room;

	/* The word that it has ended takes the place of the last record. */
	EQUAL(closed ? record(0, 0, next) : append_and_cut(0, 0, next), 0);
	if (skips)
		rig_spoil((44 - RIG_SLOTS) * RIG_SEGMENT, RIG_SEGMENT);
	EQUAL(open_ring(CHARIO_STREAM_APPEND), 0);
	log_disk_record(rig.disk);
	log_disk_hold(rig.disk, at, at + 4096);
	EQUAL(rig_get(RECORD_BYTES, &room), 0);
	memset(room.memory, 0, RECORD_BYTES);
	EQUAL(chario_stream_commit(rig.stream, &room, RECORD_BYTES, 1, 0), 0);
	while (log_disk_nr_entries(rig.disk) < 1)
		usleep(1000);
	rig_cut();
	CHECK(is_right());
	/* What could not be read may be there another time. */
	log_disk_heal(rig.disk);
	CHECK(is_right());
	/* Nor is it trusted when others have gone on; no number of what was skipped comes again. */
	next += skips ? 4 * (RIG_SEGMENT / 56) : 0;
	for (unsigned int i = 0; i < 2; i++) {
		EQUAL(append(next + i, next + i + 1), 0);
		CHECK(is_right());
	}
}

TEST(test_append_that_is_cut, "what an append has begun to overwrite is left out")
{
	for (unsigned int i = 0; i < 4; i++) {
		cut_append(i & 1, i & 2);
		rig_begin_again();
	}
}

/* What cannot be read now may be there another time, when others have gone on. */
TEST(test_skipped, "what an append skips stays as it is, and its numbers do not come again")
{
	for (unsigned int i = 0; i < 2; i++) {
		uint64_t next = 0;

		EQUAL(append_and_cut(0, 0, RIG_SLOTS), 0);
		rig_spoil(i ? 0 : RIG_BYTES - RIG_SEGMENT, i ? RIG_BYTES : RIG_SEGMENT);
		EQUAL(open_ring(CHARIO_STREAM_APPEND), 0);
		EQUAL(rig.stream->next_segment, RIG_SLOTS);
		rig_cut();
		EQUAL(open_ring(CHARIO_STREAM_APPEND), 0);
		EQUAL(rig_record(rig.stream->sequence, rig.stream->sequence + 1, RECORD_BYTES), 0);
		EQUAL(rig_close(), 0);
		log_disk_heal(rig.disk);
		EQUAL(rig_open_reader(), 0);
		for (unsigned int last = 0; last < 2;) {
			EQUAL(rig_next(), 0);
			CHECK(rig.record.sequence >= next);
			next = rig.record.sequence + 1;
			last += next >= RIG_SLOTS;
		}
		/* The place of all is good again when it has been written to. */
		CHECK(next > RIG_SLOTS + (i ? 0 : RIG_SEGMENT / 56 - 1));
		EQUAL(rig_next(), -ENODATA);
		rig_close_reader();
	}
}

/* Records that were lost and that are missing, as a check adds them up. */
static void losses(uint64_t *lost, uint64_t *missing)
{
	*missing = 0;
	EQUAL(rig_open_reader(), 0);
	while (!rig_next())
		*missing += rig.record.missing;
	EQUAL(rig_get_recording(), 0);
	*lost = rig.recording.lost_records - rig.recording.lost_before;
	rig_close_reader();
}

/* What was lost in earlier laps does not stand for what is damaged in this one. */
TEST(test_losses, "what was lost in earlier laps is known")
{
	uint64_t lost, missing;

	EQUAL(open_ring(0), 0);
	EQUAL(chario_stream_lose(rig.stream, 500, 1), 0);
	EQUAL(rig_record(500, 505, RECORD_BYTES), 0);
	EQUAL(chario_stream_lose(rig.stream, 500, 1), 0);
	EQUAL(rig_record(1005, 1025, RECORD_BYTES), 0);
	EQUAL(rig_close(), 0);
	losses(&lost, &missing);
	EQUAL(lost, 1000);
	EQUAL(missing, 1000);
	EQUAL(append(1025, 1065), 0);
	losses(&lost, &missing);
	EQUAL(lost, 0);
	EQUAL(missing, 0);
}

/* Read to the end: the missing records that are damaged. */
static uint64_t damaged(void)
{
	uint64_t missing = 0, lost = 0, undurable = 0;

	while (!rig_next())
		missing += rig.record.missing;
	chario_reader_count_missing(rig.reader, &lost, &undurable);
	rig_close_reader();
	return missing - lost - undurable;
}

/* Go on up to a record, and damage a byte of the segment of another. */
static void damage_one(uint64_t from, uint64_t to, uint64_t segment, uint64_t at)
{
	EQUAL(rig_record(from, to, RECORD_BYTES), 0);
	EQUAL(rig_wait(), 0);
	*rig_place(segment % RIG_SLOTS * RIG_SEGMENT + at) ^= 1;
}

/* What the ring overwrites while it is read is not damaged. */
TEST(test_live, "damage of a ring is known while it is recorded to")
{
	for (unsigned int i = 0; i < 2; i++) {
		EQUAL(rig_close(), 0);
		EQUAL(RIG_OPEN(.flags = i ? CHARIO_STREAM_RING : 0,
			       .durability = i ? CHARIO_DURABILITY_FLUSH : CHARIO_DURABILITY_FUA),
		      0);
		damage_one(0, 20, 5, i ? 0 : 1000);
		EQUAL(rig_open_reader(), 0);
		EQUAL(damaged(), 1);
	}
	EQUAL(rig_open_reader(), 0);
	CHECK(rig_are_next(0, 3));
	damage_one(20, 60, 45, 0);
	EQUAL(damaged(), 1);
}

/* Records that are left out because they may be torn are no damage. */
TEST(test_left_out, "what is left out of a ring that was cut off once is not damaged")
{
	EQUAL(append_and_cut(0, 0, 29), 0);
	EQUAL(append(29, 30), 0);
	EQUAL(oldest(30), 4);
	EQUAL(rig_open_reader(), 0);
	EQUAL(damaged(), 0);
}

/* Nobody writes to the parts before, whether they were closed or cut off. */
TEST(test_live_part, "damage of an earlier part is passed over at once")
{
	for (uint64_t i = 0; i < 3; i++) {
		uint64_t next = i ? 21 : 20, bad = i < 2 ? 18 : 20;

		EQUAL(append_and_cut(0, 0, 20), 0);
		EQUAL(i ? append(20, 21) : 0, 0);
		EQUAL(open_ring(CHARIO_STREAM_APPEND), 0);
		damage_one(next, next + 1, bad, 0);
		EQUAL(rig_open_reader(), 0);
		CHECK(rig_are_next(0, bad));
		EQUAL(rig_next(), 0);
		EQUAL(rig.record.missing, 1);
		rig_close_reader();
		EQUAL(rig_close(), 0);
	}
}

TEST_MAIN(rig_begin_usual, rig_end)
