// SPDX-License-Identifier: MIT
/* A recording with bad batches, which hide those behind them in the segment, or a whole segment. */
#include "hidden-rig.h"

/**
 * struct bad - bad batches of one record each in the newest segment, which has six
 * @mask: a bit for each that is bad
 * @next: number of the next record behind the last whole one, in the segment
 * @missing: number of missing records before that one
 */
struct bad {
	unsigned int mask;
	uint64_t next;
	uint64_t missing;
};

/* What nothing whole follows may never have been written. */
static const struct bad bads[] = {
	{ 0x04, 6, 1 }, { 0x1c, 6, 3 }, { 0x01, 6, 1 }, { 0x15, 6, 3 }, { 0x05, 6, 2 },
	{ 0x20, 5, 0 }, { 0x24, 5, 1 }, { 0x30, 4, 0 }, { 0x1f, 6, 5 }, { 0x3f, 0, 0 },
};

/* How batches are bad, if they are not zero, and what the recording is. */
#define BY_A_BIT    1U
#define CLOSED      2U
#define NOT_FLUSHED 4U
#define BY_A_LAP    8U
#define HOWS        16U

/*
 * Spoil batches of a segment whose slot had @before; where none was flushed, no header tells that
 * any is durable.
 */
static void spoil_batches(const struct bad *bad, uint64_t slot, const unsigned char *before,
			  unsigned int how)
{
	const uint64_t records = ((struct chario_disk_batch *)(void *)block(slot, 0))->records;

	for (unsigned int i = 0; i < IN_LONG; i++) {
		unsigned char *place = block(slot, i);

		if (how & NOT_FLUSHED && i < LAST_BATCHES)
			say_durable(place, records);
		if (!(bad->mask & 1U << i))
			continue;
		if (how & BY_A_BIT)
			place[40] ^= 1;
		else if (how & BY_A_LAP)
			memcpy(place, before + i * 4096, 4096);
		else
			memset(place, 0, 4096);
	}
}

/* The first and the last record that are read are those whose numbers and times are told. */
static void check_ends(uint64_t from, uint64_t torn)
{
	uint64_t first, last = 0;
	int err;

	open_reader(from);
	EQUAL(rig.recording.torn_segments, torn);
	err = rig_next();
	first = err ? rig.recording.next_record : rig.record.sequence;
	EQUAL(rig.recording.first_record, first);
	EQUAL(rig.recording.first_time_ns, err ? 0 : first + 1);
	for (; !err; err = rig_next())
		last = rig.record.sequence + 1;
	EQUAL(rig.recording.last_time_ns, last);
	rig_close_reader();
}

/* Record @segments and six batches of one record, and spoil some of these. */
static void lose_batches(const struct bad *bad, uint64_t segments, unsigned int flags,
			 unsigned int how)
{
	const uint64_t begun = segments * IN_LONG, slot = segments % LONG_SLOTS;
	const uint64_t first = segments < LONG_SLOTS ? 0 : begun - (LONG_SLOTS - 1) * IN_LONG;
	const bool is_closed = how & CLOSED;
	uint64_t next = is_closed ? begun + LAST_BATCHES : begun + bad->next;
	uint64_t missing = is_closed ? (uint64_t)__builtin_popcount(bad->mask) : bad->missing;
	uint64_t undurable = how & NOT_FLUSHED && !is_closed ? missing : 0;
	unsigned char before[LONG_SEGMENT];

	EQUAL(open_long(flags), 0);
	EQUAL(record_each(0, begun), 0);
	memcpy(before, block(slot, 0), LONG_SEGMENT);
	EQUAL(record_each(begun, begun + LAST_BATCHES), 0);
	EQUAL(rig_stop(is_closed), 0);
	spoil_batches(bad, slot, before, how);
	expect(first, next, missing, undurable);
	if (missing)
		check_ends(first, 1);
	EQUAL(open_long(CHARIO_STREAM_EXCL), next ? -EEXIST : 0);
	if (!next)
		return;
	EQUAL(open_long(CHARIO_STREAM_APPEND), 0);
	EQUAL(rig.stream->sequence, next);
	EQUAL(record_each(next, next + 1), 0);
	EQUAL(rig_stop(false), 0);
	/* A ring loses its oldest segment to a new one. */
	expect(first && (bad->next || is_closed) ? first + IN_LONG : first, next + 1, missing,
	       undurable);
}

TEST(test_bad_batches, "a bad batch hides none behind it, from readers or who goes on")
{
	const unsigned int nr = sizeof(bads) / sizeof(bads[0]);

	for (unsigned int i = 0; i < nr * 4 * HOWS && !tap_failed; i++) {
		const uint64_t segments = (const uint64_t[]){ 0, 2, 2, 11 }[i / nr % 4];
		unsigned int flags = i / nr % 4 < 2 ? 0 : CHARIO_STREAM_RING;
		unsigned int how = i / nr / 4;

		lose_batches(&bads[i % nr], segments, flags, how);
		if (tap_failed)
			printf("# batches %#x, %llu segments, how %u\n", bads[i % nr].mask,
			       (unsigned long long)segments, how);
		rig_begin_again();
	}
}

/* A record that was cut off began behind lost ones: the next part gives their numbers again. */
TEST(test_numbers_again, "missing records are judged whose numbers were those of lost ones")
{
	const struct bad bad = { 0x03, 6, 2 };

	EQUAL(open_long(0), 0);
	EQUAL(rig_record(0, 3, RECORD_BYTES), 0);
	EQUAL(chario_stream_lose(rig.stream, 2, 2), 0);
	EQUAL(rig_record(5, 6, LONG_SEGMENT), 0);
	EQUAL(rig_stop(false), 0);
	wipe(0, 1, 2 * IN_LONG - 1);
	record_and_stop(CHARIO_STREAM_APPEND, 3, bad.next);
	spoil_batches(&bad, 1, NULL, NOT_FLUSHED);
	expect(0, bad.next, bad.missing, bad.missing);
}

/* The first header of the part behind the end is bad; that of a part behind it, or not. */
TEST(test_behind_an_end, "a bad batch behind an end hides none either")
{
	for (uint64_t i = 0; i < 4; i++) {
		unsigned int ring = i & 1 ? CHARIO_STREAM_RING : 0;

		EQUAL(open_long(ring) ?: record_each(0, 3), 0);
		EQUAL(rig_close(), 0);
		record_and_stop(CHARIO_STREAM_APPEND, 3, 6);
		if (i & 2)
			record_and_stop(CHARIO_STREAM_APPEND, 6, 7);
		wipe(1, 0, 1);
		expect(0, i & 2 ? 7 : 6, 1, 0);
		record_and_stop(CHARIO_STREAM_APPEND, i & 2 ? 7 : 6, 8);
		expect(0, 8, 1, 0);
		rig_begin_again();
	}
}

/* The last full segment is bad at its end, and the next one at its beginning or not. */
TEST(test_two_segments, "bad batches at the end of a segment are known from the next one")
{
	for (uint64_t i = 0; i < 2; i++) {
		EQUAL(open_long(0), 0);
		EQUAL(record_each(0, 2 * IN_LONG), 0);
		if (!i)
			EQUAL(rig_close(), 0);
		else
			EQUAL(record_each(2 * IN_LONG, 2 * IN_LONG + 3), 0);
		if (i)
			EQUAL(rig_stop(false), 0);
		wipe(1, IN_LONG - 2 - i, 1);
		wipe(1, IN_LONG - 1, i);
		wipe(2, 0, i);
		expect(0, 2 * IN_LONG + 3 * i, i ? 3 : 1, 0);
		check_ends(0, 2 * i);
		rig_begin_again();
	}
}

/* A segment takes 16 reads.  Behind an end, and what follows a cut, only the next one may have more. */
TEST(test_cost, "a search for what is hidden reads many blocks at a time")
{
	const uint32_t bytes = 4U << 20, append = CHARIO_STREAM_APPEND;
	uint64_t reads;

	for (uint32_t i = 0; i < 3; i++) {
		rig_end();
		rig_begin(4UL * bytes, true);
		EQUAL(RIG_OPEN(.segment_bytes = bytes) ?: record_each(0, 1), 0);
		EQUAL(i == 1 ? rig_close() : rig_cut(), 0);
		if (i > 1)
			EQUAL(RIG_OPEN(.flags = append, .segment_bytes = bytes) ?: rig_close(), 0);
		reads = rig.disk->nr_reads;
		EQUAL(rig_survey(), 0);
		CHECK(rig.disk->nr_reads - reads < (i ? 16 : 32) + 24);
	}
}

TEST_MAIN(rig_begin_usual, rig_end)
