// SPDX-License-Identifier: MIT
/* A recording with bad batches, which hide those behind them in the segment, or a whole segment. */
#include <stdlib.h>

#include "store/area-inner.h"
#include "stream/inner.h"
#include "tap.h"
#include "tape-rig.h"

/* Three of them are in a block, and each that is waited for is a batch of one. */
#define RECORD_BYTES 952U

#define LONG_SEGMENT 32768U
#define LONG_SLOTS   (RIG_BYTES / LONG_SEGMENT)
#define IN_LONG      (LONG_SEGMENT / 4096U)
#define LAST_BATCHES 6U

/* Answers to the question for a producer: so many that there is none, and then others. */
static struct {
	uint64_t nr_no;
	bool then_yes;
} answers;

bool __real_chario_area_has_writer(const struct chario_area *area);
bool __wrap_chario_area_has_writer(const struct chario_area *area);

bool __wrap_chario_area_has_writer(const struct chario_area *area)
{
	if (!answers.nr_no)
		return answers.then_yes || __real_chario_area_has_writer(area);
	answers.nr_no--;
	return false;
}

static void begin(void)
{
	answers.nr_no = 0;
	answers.then_yes = false;
	rig_begin_usual();
}

static void begin_again(void)
{
	rig_end();
	begin();
}

static int open_long(unsigned int flags)
{
	struct chario_stream_options options = rig_small;

	options.segment_bytes = LONG_SEGMENT;
	options.flags = flags;
	return rig_open(&options);
}

/* Record batches of one record. */
static int record_each(uint64_t from, uint64_t to)
{
	int err = 0;

	for (uint64_t i = from; i < to && !err; i++)
		err = rig_record(i, i + 1, RECORD_BYTES) ?: rig_wait();
	return err;
}

/* Leave the recording as if its program had been killed when all was durable. */
static void stop_without_end(void)
{
	EQUAL(rig_wait(), 0);
	EQUAL(rig_cut(), 0);
}

/* Record batches of one record, and leave them so. */
static void record_and_stop(unsigned int flags, uint64_t from, uint64_t to)
{
	EQUAL(open_long(flags) ?: record_each(from, to), 0);
	stop_without_end();
}

/* A block of the long segment in a slot. */
static unsigned char *block(uint64_t slot, uint64_t index)
{
	return rig_place(slot * LONG_SEGMENT + index * 4096);
}

static void wipe(uint64_t slot, uint64_t index, uint64_t blocks)
{
	memset(block(slot, index), 0, blocks * 4096);
}

/* Let a header tell that so many records were durable. */
static void say_durable(unsigned char *place, uint64_t records)
{
	struct chario_disk_batch *batch = (void *)place;

	batch->durable_records = records;
	chario_disk_batch_sign(batch);
}

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
#define HOWS	    16U

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

/* All that is missing was durable, but so many. */
static void check_losses(uint64_t undurable)
{
	uint64_t lost, found;

	EQUAL(chario_reader_count_missing(rig.reader, &lost, &found), 0);
	EQUAL(lost, 0);
	EQUAL(found, undurable);
}

/* Read each record once, from a number to the end, and see how many are missing. */
static void read_on(uint64_t from, uint64_t next, uint64_t missing)
{
	uint64_t are_missing = 0;
	int err;

	while (!(err = rig_next())) {
		CHECK(lab_is(rig.record.memory, rig.record.bytes, rig.record.sequence));
		EQUAL(rig.record.sequence, from + rig.record.missing);
		are_missing += rig.record.missing;
		from = rig.record.sequence + 1;
	}
	if (err == -ENODATA)
		from += rig.record.missing;
	EQUAL(from, next);
	EQUAL(are_missing + (err == -ENODATA ? rig.record.missing : 0), missing);
}

/* Open a reader; what is left of an earlier lap of a ring is passed over. */
static void open_reader(uint64_t from)
{
	EQUAL(rig_open_reader(), 0);
	EQUAL(rig_get_recording(), 0);
	if (from)
		EQUAL(chario_reader_seek(rig.reader, from), 0);
}

static void expect(uint64_t from, uint64_t next, uint64_t missing, uint64_t undurable)
{
	open_reader(from);
	EQUAL(rig.recording.next_record, next);
	read_on(from, next, missing);
	check_losses(undurable);
	rig_close_reader();
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
	if (is_closed)
		EQUAL(rig_close(), 0);
	else
		stop_without_end();
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
	stop_without_end();
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
		begin_again();
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
	stop_without_end();
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
		begin_again();
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
			stop_without_end();
		wipe(1, IN_LONG - 2 - i, 1);
		wipe(1, IN_LONG - 1, i);
		wipe(2, 0, i);
		expect(0, 2 * IN_LONG + 3 * i, i ? 3 : 1, 0);
		check_ends(0, 2 * i);
		begin_again();
	}
}

/**
 * struct left - a batch that an interrupted part has left, of which a later one, which continued in
 * segment 1, does not know
 * @segment: segment of the batch
 * @in_segment: records of each segment of the earlier part before
 * @durable: number of records that the batch tells to be durable, if it is not as it was
 * @batches: number of batches of the later part
 * @in_batch: number of records in each of these
 */
static const struct left {
	uint64_t segment;
	uint64_t in_segment;
	uint64_t durable;
	uint64_t batches;
	uint64_t in_batch;
} lefts[] = {
	/* It did not know of the records in the last segment of the later part. */
	{ 1, IN_LONG, IN_LONG, 1, 4 },
	{ 2, IN_LONG, IN_LONG, 1, 4 },
	/* It knew of more, but its number is that of an earlier batch. */
	{ 2, 32, 0, 6, 1 },
};

TEST(test_left, "what an earlier part has left is not taken for a hidden batch")
{
	for (size_t i = 0; i < sizeof(lefts) / sizeof(lefts[0]); i++) {
		const struct left *left = &lefts[i];
		const uint64_t from = left->in_segment;
		unsigned char saved[4096];

		EQUAL(open_long(0), 0);
		if (left->durable)
			EQUAL(record_each(0, 2 * from), 0);
		else
			EQUAL(rig_record(0, 2 * from, RECORD_BYTES), 0);
		EQUAL(record_each(2 * from, 2 * from + LAST_BATCHES), 0);
		stop_without_end();
		if (left->durable)
			say_durable(block(left->segment, 3), left->durable);
		memcpy(saved, block(left->segment, 3), sizeof(saved));
		wipe(1, 0, 2 * IN_LONG);
		EQUAL(open_long(CHARIO_STREAM_APPEND), 0);
		for (uint64_t j = 0; j < left->batches; j++) {
			uint64_t at = from + j * left->in_batch;

			EQUAL(rig_record(at, at + left->in_batch, RECORD_BYTES) ?: rig_wait(), 0);
		}
		stop_without_end();
		memcpy(block(left->segment, 3), saved, sizeof(saved));
		expect(0, from + left->batches * left->in_batch, 0, 0);
		begin_again();
	}
}

/* Bad batches may come back, whether a program that went on knew of them, or not. */
TEST(test_back, "batches that come back count if no number was given twice")
{
	const uint64_t left_out = LONG_SEGMENT / 56;
	unsigned char saved[4096];

	record_and_stop(0, 0, LAST_BATCHES);
	memcpy(saved, block(0, 4), sizeof(saved));
	wipe(0, 3, 3);
	record_and_stop(CHARIO_STREAM_APPEND, 3, 5);
	wipe(0, 2, 1);
	memcpy(block(0, 4), saved, sizeof(saved));
	expect(0, 5, 1, 0);
	begin_again();
	record_and_stop(0, 0, LAST_BATCHES);
	wipe(0, 3, 1);
	rig_spoil(4UL * 4096, 8192);
	record_and_stop(CHARIO_STREAM_APPEND, 3 + left_out, 4 + left_out);
	log_disk_heal(rig.disk);
	expect(0, 4 + left_out, left_out - 2, 0);
}

TEST(test_overtaken, "a reader that a ring has overtaken leaves the segment at a bad batch")
{
	EQUAL(open_long(CHARIO_STREAM_RING), 0);
	EQUAL(record_each(0, RIG_BYTES / 4096), 0);
	EQUAL(rig_open_reader(), 0);
	for (uint64_t i = 0; i < 3; i++)
		CHECK(rig_is_next(i));
	wipe(0, 3, 1);
	EQUAL(record_each(RIG_BYTES / 4096, RIG_BYTES / 4096 + 1), 0);
	EQUAL(rig_next(), 0);
	EQUAL(rig.record.sequence, IN_LONG);
	EQUAL(rig.record.missing, IN_LONG - 3);
}

/* Segments of a ring of two batches each; a quarter of a window of four may be hidden, or all. */
TEST(test_worn, "what a ring may overwrite is known, whatever hides the newest segments")
{
	const uint64_t newest = 39, end = 2 * (newest + 1), window = RIG_SLOTS / 8;
	const uint64_t first = 2 * (newest + 1 - RIG_SLOTS);

	for (uint64_t i = 0; i < 4 * (window + 1) && !tap_failed; i++) {
		uint64_t hidden = i / 4;
		/* The last segment that may be being overwritten, or the next one. */
		uint64_t bad = newest + window - RIG_SLOTS + i % 2;

		EQUAL(rig_open_as(CHARIO_STREAM_RING), 0);
		EQUAL(record_each(0, end), 0);
		stop_without_end();
		memset(rig_place(bad * RIG_SEGMENT + 4096), 0, 4096);
		for (uint64_t j = newest + 1 - hidden; j <= newest; j++)
			memset(rig_place(j % RIG_SLOTS * RIG_SEGMENT), 0, 4096);
		open_reader(i / 2 % 2 ? first : 0);
		EQUAL(rig.recording.torn_segments, hidden);
		read_on(first, end, 1 + hidden);
		check_losses(i % 2 ? 0 : 1);
		begin_again();
	}
}

/* A reader waits behind record 2, where nothing is hidden yet. */
static void wait_behind(void)
{
	record_and_stop(0, 0, 3);
	EQUAL(rig_open_reader(), 0);
	for (uint64_t i = 0; i < 3; i++)
		CHECK(rig_is_next(i));
	EQUAL(rig_next(), -EAGAIN);
}

/* A producer has ended between two looks, or was killed behind one. */
TEST(test_later, "a reader that waits finds what a later producer leaves behind a bad header")
{
	for (unsigned int i = 0; i < 6; i++) {
		wait_behind();
		EQUAL(open_long(CHARIO_STREAM_APPEND), 0);
		if (i & 1)
			EQUAL(rig_next(), -EAGAIN);
		EQUAL(record_each(3, 6), 0);
		if (i & 1)
			answers.nr_no = UINT64_MAX;
		else
			EQUAL(rig_close(), 0);
		wipe(1, 0, 1);
		/* Without memory the blocks are read one by one. */
		if (i & 2)
			rig.disk->most_locked = rig.disk->locked;
		if (i & 4)
			EQUAL(rig_get_recording(), 0);
		if (i & 4)
			EQUAL(rig.recording.next_record, 6);
		EQUAL(rig_next(), 0);
		EQUAL(rig.record.sequence, 4);
		EQUAL(rig.record.missing, 1);
		begin_again();
	}
}

/* A producer begins while somebody searches: what is not there may be under way. */
TEST(test_meanwhile, "bad batches are not passed if a producer comes meanwhile")
{
	record_and_stop(0, 0, LAST_BATCHES);
	wipe(0, 3, 1);
	EQUAL(rig_open_reader(), 0);
	answers.nr_no = 1;
	answers.then_yes = true;
	EQUAL(rig_get_recording(), 0);
	EQUAL(rig.recording.next_record, 3);
	EQUAL(rig.recording.live, 1);
	answers.nr_no = 1;
	EQUAL(chario_reader_seek(rig.reader, UINT64_MAX), 0);
	answers.nr_no = UINT64_MAX;
	CHECK(!rig_next());
	EQUAL(rig.record.sequence, 4);
	EQUAL(chario_reader_seek(rig.reader, 0), 0);
	for (uint64_t i = 0; i < 3; i++)
		CHECK(rig_is_next(i));
	answers.nr_no = 1;
	EQUAL(rig_next(), -EAGAIN);
}

/* Without checksums, a batch of the oldest segment counts only if nobody overwrites it. */
TEST(test_meanwhile_oldest, "nor is the oldest segment of a ring trusted then")
{
	for (uint64_t i = 0; i < 2; i++) {
		EQUAL(open_long(CHARIO_STREAM_RING | CHARIO_STREAM_NO_CRC), 0);
		EQUAL(record_each(0, RIG_BYTES / 4096 + 2), 0);
		EQUAL(rig_close(), 0);
		EQUAL(rig_open_reader(), 0);
		answers.nr_no = 2 + i;
		answers.then_yes = true;
		EQUAL(rig_next(), 0);
		EQUAL(rig.record.sequence, i ? IN_LONG : 2 * IN_LONG);
		begin_again();
	}
}

/* A segment takes 16 reads.  Behind an end only the next one may have more. */
TEST(test_cost, "a search for what is hidden reads many blocks at a time")
{
	for (uint32_t i = 0; i < 2; i++) {
		struct chario_stream_options options = rig_small;

		rig_end();
		rig_begin(16UL << 20, true);
		options.segment_bytes = 4U << 20;
		EQUAL(rig_open(&options) ?: record_each(0, 1), 0);
		EQUAL(i ? rig_close() : rig_cut(), 0);
		EQUAL(rig_open_reader(), 0);
		EQUAL(rig_get_recording(), 0);
		CHECK(rig.recording.reads < (i ? 16 : 32) + 12);
	}
}

TEST_MAIN(begin, rig_end)
