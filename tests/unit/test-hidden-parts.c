// SPDX-License-Identifier: MIT
/*
 * A recording of several parts with bad batches: what counts of each, and what a reader finds that
 * was there before a later part.
 */
#include "hidden-rig.h"

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

/* Done once, before the next batch is loaded. */
static void (*before_load)(void);

int __real_chario_tape_load(struct chario_tape *tape, const struct chario_disk_batch *batch,
			    struct chario_pile *pile);
int __wrap_chario_tape_load(struct chario_tape *tape, const struct chario_disk_batch *batch,
			    struct chario_pile *pile);

int __wrap_chario_tape_load(struct chario_tape *tape, const struct chario_disk_batch *batch,
			    struct chario_pile *pile)
{
	if (before_load)
		before_load();
	before_load = NULL;
	return __real_chario_tape_load(tape, batch, pile);
}

static void begin(void)
{
	answers.nr_no = 0;
	answers.then_yes = false;
	before_load = NULL;
	rig_begin_usual();
}

static void begin_again(void)
{
	rig_end();
	begin();
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
		EQUAL(rig_stop(false), 0);
		if (left->durable)
			say_durable(block(left->segment, 3), left->durable);
		memcpy(saved, block(left->segment, 3), sizeof(saved));
		wipe(1, 0, 2 * IN_LONG);
		EQUAL(open_long(CHARIO_STREAM_APPEND), 0);
		for (uint64_t j = 0; j < left->batches; j++) {
			uint64_t at = from + j * left->in_batch;

			EQUAL(rig_record(at, at + left->in_batch, RECORD_BYTES) ?: rig_wait(), 0);
		}
		EQUAL(rig_stop(false), 0);
		memcpy(block(left->segment, 3), saved, sizeof(saved));
		expect(0, from + left->batches * left->in_batch, 0, 0);
		begin_again();
	}
}

/* What is left behind a bad header is of the lap before the last. */
TEST(test_left_of_lap, "what a ring has left of earlier laps is not taken for one either")
{
	const uint64_t lap = RIG_BYTES / 4096;

	EQUAL(open_long(CHARIO_STREAM_RING) ?: record_each(0, lap) ?: rig_close(), 0);
	record_and_stop(CHARIO_STREAM_APPEND, lap, 2 * lap - IN_LONG);
	wipe(0, 0, 1);
	EQUAL(rig_survey(), 0);
	EQUAL(rig.recording.first_record, lap);
	CHECK(!rig_next() && rig.record.sequence == lap);
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
	CHECK(rig_are_next(0, 3));
	wipe(0, 3, 1);
	EQUAL(record_each(RIG_BYTES / 4096, RIG_BYTES / 4096 + 1), 0);
	CHECK(rig_is_behind(IN_LONG, IN_LONG - 3, 0));
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
		EQUAL(rig_stop(false), 0);
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

/* A producer has ended between two looks, or was killed behind one. */
TEST(test_later, "a reader that waits finds what a later producer leaves behind a bad header")
{
	for (unsigned int i = 0; i < 6; i++) {
		record_and_stop(0, 0, 3);
		CHECK(!rig_open_reader() && rig_are_next(0, 3) && rig_next() == -EAGAIN);
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
		CHECK(!(i & 4) || (!rig_get_recording() && rig.recording.next_record == 6));
		CHECK(rig_is_behind(4, 1, 0));
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
	CHECK(rig_are_next(0, 3));
	answers.nr_no = 1;
	EQUAL(rig_next(), -EAGAIN);
}

/* Without checksums, a batch of the oldest segment counts only if nobody overwrites it. */
TEST(test_meanwhile_oldest, "nor is the oldest segment of a ring trusted then")
{
	for (uint64_t i = 0; i < 2; i++) {
		EQUAL(open_long(CHARIO_STREAM_RING | CHARIO_STREAM_NO_CRC), 0);
		EQUAL(record_each(0, RIG_BYTES / 4096 + 2), 0);
		EQUAL(rig_read_back(), 0);
		answers.nr_no = 2 + i;
		answers.then_yes = true;
		EQUAL(rig_next(), 0);
		EQUAL(rig.record.sequence, i ? IN_LONG : 2 * IN_LONG);
		begin_again();
	}
}

/* Have all records of the batches in some blocks of a segment be damaged. */
static void damage(uint64_t segment, uint64_t from, uint64_t to)
{
	for (uint64_t i = from; i < to; i++)
		for (size_t at = 600; at < 4096; at += RECORD_BYTES)
			block(segment, i)[at] ^= 1;
}

/* All that is missing was durable. */
static void read_whole(uint64_t next, uint64_t missing)
{
	open_reader(0);
	read_on(0, next, missing);
	check_losses(0);
	rig_close_reader();
}

/* Add a part of one batch of three records, whose data a power cut takes. */
static void add_cut_part(uint64_t segment, uint64_t from)
{
	EQUAL(open_long(CHARIO_STREAM_APPEND), 0);
	EQUAL(rig_record(from, from + 3, RECORD_BYTES), 0);
	EQUAL(rig_stop(false), 0);
	damage(segment, 0, 1);
}

/* A header tells of durable records before it, although nothing whole is behind them. */
TEST(test_cut_end, "durable records that are damaged at the end of a cut recording are told")
{
	struct chario_stream_room room;

	record_and_stop(0, 0, 4);
	damage(0, 2, 4);
	open_reader(0);
	read_on(0, 3, 1);
	check_losses(0);
	EQUAL(rig_next(), -EAGAIN);
	EQUAL(rig.record.missing, 0);
	rig_close_reader();
	/* A program that goes on makes them known. */
	EQUAL(open_long(CHARIO_STREAM_APPEND) ?: rig_close(), 0);
	expect(0, 3, 1, 0);
	begin_again();
	/* When their headers are gone, it gives their numbers again, to a room, a loss and a record. */
	record_and_stop(0, 0, 7);
	damage(0, 3, 7);
	open_reader(0);
	read_on(0, 6, 3);
	wipe(0, 3, 4);
	EQUAL(open_long(CHARIO_STREAM_APPEND) ?: rig_close() ?: rig_next(), -ENODATA);
	EQUAL(open_long(CHARIO_STREAM_APPEND) ?: rig_get(1, &room), 0);
	EQUAL(chario_stream_lose(rig.stream, 1, 1), 0);
	EQUAL(chario_stream_commit(rig.stream, &room, 0, 0, 0), 0);
	EQUAL(rig_record(5, 6, RECORD_BYTES) ?: rig_wait(), 0);
	CHECK(rig_is_next(5));
	begin_again();
	/* The table has the end of an earlier part. */
	EQUAL(open_long(0) ?: record_each(0, 4) ?: rig_close(), 0);
	record_and_stop(CHARIO_STREAM_APPEND, 4, 7);
	record_and_stop(CHARIO_STREAM_APPEND, 7, 8);
	damage(1, 0, 3);
	damage(2, 0, 1);
	read_whole(7, 3);
}

/* Searches look at places whose distance doubles; bodies of records 8 and 9 are bad, too. */
TEST(test_cut_end_hides, "a cut end does not keep what damage hides behind it from being found")
{
	EQUAL(RIG_OPEN(.durability = CHARIO_DURABILITY_FUA), 0);
	for (uint64_t i = 0; i < 18; i++)
		EQUAL(rig_record(i, i + 1, 5000) ?: rig_wait(), 0);
	EQUAL(rig_stop(false), 0);
	memset(rig_place(8 * RIG_SEGMENT + 4096), 0, 4096);
	memset(rig_place(9 * RIG_SEGMENT + 4096), 0, 4096);
	for (uint64_t at = 10, step = 1; at < RIG_SLOTS; at += step) {
		memset(rig_place(at * RIG_SEGMENT), 0, 4096);
		step <<= at >= 14;
	}
	read_whole(18, 8);
}

TEST(test_end_once, "what is missing at an end is told once")
{
	EQUAL(open_long(0) ?: record_each(0, 4) ?: rig_close(), 0);
	damage(0, 2, 4);
	open_reader(0);
	read_on(0, 4, 2);
	EQUAL(rig_next(), -ENODATA);
	EQUAL(rig.record.missing, 0);
	EQUAL(rig.record.sequence, 4);
}

/* Of the numbers that a program has left out one is that of its record, which is gone. */
TEST(test_left_out, "numbers left out for damage are not those of records that were not durable")
{
	const uint64_t left_out = LONG_SEGMENT / 56;

	record_and_stop(0, 0, 3);
	rig_spoil(0, LONG_SEGMENT);
	record_and_stop(CHARIO_STREAM_APPEND, left_out, left_out + 1);
	record_and_stop(CHARIO_STREAM_APPEND, left_out + 1, left_out + 2);
	say_durable(block(2, 0), 0);
	wipe(1, 0, 1);
	open_reader(0);
	EQUAL(rig_next(), 0);
	check_losses(1);
}

/* A write is slow, and all others of the window are done. */
TEST(test_slow_write, "a follower waits for a segment whose write is slow")
{
	const uint64_t from = lab_area_offset(rig.store), window = rig_small.nr_buffers;

	EQUAL(RIG_OPEN(.durability = CHARIO_DURABILITY_FUA), 0);
	EQUAL(rig_record(0, 3, chario_stream_room_bytes(rig.stream)) ?: rig_wait(), 0);
	EQUAL(rig_open_reader(), 0);
	CHECK(rig_are_next(0, 3));
	log_disk_hold(rig.disk, from + 3UL * RIG_SEGMENT, from + 4UL * RIG_SEGMENT);
	EQUAL(rig_record(3, 3 + window, chario_stream_room_bytes(rig.stream)), 0);
	while (rig.stream->in_flight > 1 || rig.stream->next + rig.stream->open < rig.stream->tail)
		EQUAL(chario_stream_service(rig.stream), 0);
	EQUAL(rig_next(), -EAGAIN);
	log_disk_hold(rig.disk, 0, 0);
	EQUAL(rig_wait(), 0);
	CHECK(rig_are_next(3, 3 + window));
}

/* The last batch of the first part is torn, too; the second part knows of it, and counts record 3. */
TEST(test_cut_before, "a record that a power cut took in front of a torn batch was not durable")
{
	record_and_stop(0, 0, 5);
	wipe(0, 3, 1);
	damage(0, 4, 5);
	say_durable(block(0, 4), 3);
	record_and_stop(CHARIO_STREAM_APPEND, 4, 5);
	expect(0, 5, 1, 1);
}

TEST(test_behind_end, "parts behind an end hide no damage before it")
{
	for (uint64_t i = 0; i < 3; i++) {
		EQUAL(open_long(0) ?: record_each(0, 4) ?: rig_close(), 0);
		for (uint64_t j = 0; j < i; j++)
			add_cut_part(1 + j, 4);
		damage(0, 1, 2);
		read_whole(4, 1);
		begin_again();
	}
}

/* The record that began before the last batch comes again, in a batch that is damaged later. */
TEST(test_middle, "a durable record behind a record that a power cut took is told")
{
	EQUAL(open_long(0), 0);
	EQUAL(record_each(0, 1) ?: rig_record(1, 2, LONG_SEGMENT) ?: rig_wait(), 0);
	EQUAL(rig_stop(false), 0);
	wipe(1, 1, 1);
	record_and_stop(CHARIO_STREAM_APPEND, 1, 3);
	wipe(2, 0, 1);
	expect(0, 3, 1, 0);
}

/* Segments of two batches of one record, in a window of two. */
static int open_short(unsigned int flags)
{
	return RIG_OPEN(.flags = flags, .nr_buffers = 2, .durability = CHARIO_DURABILITY_FUA);
}

/* A closed part has records, or none; of the next one, which was killed, the last segment is left. */
TEST(test_behind_closed, "a part behind a closed one is found although damage hides its beginning")
{
	for (uint64_t i = 0; i < 4; i++) {
		const uint64_t first = i & 2 ? 6 : 0, next = first + 8;

		EQUAL(open_short(i & 1 ? CHARIO_STREAM_RING : 0) ?: record_each(0, first), 0);
		EQUAL(rig_close() ?: open_short(CHARIO_STREAM_APPEND), 0);
		EQUAL(record_each(first, next), 0);
		EQUAL(rig_stop(false), 0);
		memset(rig_place((first / 2 + 1) * RIG_SEGMENT), 0, 3UL * RIG_SEGMENT);
		read_whole(next, 6);
		EQUAL(rig.recording.ended, 0);
		EQUAL(open_short(CHARIO_STREAM_EXCL), -EEXIST);
		EQUAL(open_short(CHARIO_STREAM_APPEND), 0);
		CHECK(rig.stream->next_segment == first / 2 + 5 && rig.stream->sequence == next);
		begin_again();
	}
}

/* The later part goes on, was closed, with a look before or a survey, or was killed. */
TEST(test_deaf, "a reader that has searched behind damage finds a part that comes later")
{
	for (uint64_t i = 0, next; i < 5; i++) {
		int err = -EAGAIN;

		EQUAL(open_short(0) ?: record_each(0, 24), 0);
		EQUAL(rig_stop(false), 0);
		rig_spoil(2UL * RIG_SEGMENT, 10UL * RIG_SEGMENT);
		CHECK(!rig_open_reader() && rig_are_next(0, 4) && rig_next() == -EAGAIN);
		EQUAL(open_short(CHARIO_STREAM_APPEND), 0);
		next = rig.stream->sequence;
		CHECK(i != 1 || rig_next() == -EAGAIN);
		EQUAL(record_each(next, next + 6) ?: i && i < 4 ? rig_close() : 0, 0);
		answers.nr_no = i == 4 ? UINT64_MAX : 0;
		CHECK(i != 3 || (!rig_get_recording() && rig.recording.next_record == next + 6));
		for (unsigned int n = 0; n < 100 && err == -EAGAIN; n++)
			err = rig_next();
		EQUAL(err ?: (int)(rig.record.sequence - next), 0);
		begin_again();
	}
}

/* Have one read fail, behind so many. */
static void fail_read(uint64_t after)
{
	rig.disk->faults.error = -EINVAL;
	rig.disk->faults.read = (struct log_fault){ .after = after, .times = 1 };
}

/* While the first record is waited for, and where bad batches end the part before the producer's. */
TEST(test_errors, "an error of reading is not taken for records that are still to come")
{
	EQUAL(open_long(0) ?: rig_open_reader(), 0);
	for (uint64_t after = 0; after < 40; after += 3) {
		fail_read(after);
		EQUAL(chario_reader_next(rig.reader, 60000000000, &rig.record), -EINVAL);
	}
	for (uint64_t after = 0; !rig.disk->faults.read.times; after++) {
		begin_again();
		record_and_stop(0, 0, 6);
		EQUAL(open_long(CHARIO_STREAM_APPEND) ?: record_each(6, 7), 0);
		wipe(0, 4, 2);
		EQUAL(rig_open_reader(), 0);
		CHECK(rig_are_next(0, 4));
		fail_read(after);
		EQUAL(rig_next(), rig.disk->faults.read.times ? 0 : -EINVAL);
	}
	CHECK(rig.record.sequence == 6 && rig.record.missing == 2);
}

/* The usual search does not come to the newest segment, which is looked at where it was found. */
TEST(test_errors_behind_damage, "nor for the end of a recording behind damage")
{
	EQUAL(open_short(0) ?: record_each(0, 40) ?: rig_stop(false), 0);
	memset(rig_place(2UL * RIG_SEGMENT), 0, 10UL * RIG_SEGMENT);
	memset(rig_place(13UL * RIG_SEGMENT), 0, 19UL * RIG_SEGMENT);
	EQUAL(rig_open_reader(), 0);
	for (unsigned int i = 0; i < 6; i++)
		EQUAL(rig_next(), 0);
	EQUAL(rig.record.sequence, 25);
	for (uint64_t after = 0; !rig.disk->faults.read.times; after++) {
		EQUAL(rig_next(), -EAGAIN);
		fail_read(after);
		EQUAL(rig_next(), rig.disk->faults.read.times ? -EAGAIN : -EINVAL);
	}
}

static unsigned char *fourth;

static void wipe_fourth(void)
{
	memset(fourth, 0, 4096);
}

/* With a producer it may be on its way. */
TEST(test_changed, "a batch that changes while it is read is passed over when it is final")
{
	EQUAL(open_long(0) ?: record_each(0, 6) ?: rig_read_back(), 0);
	CHECK(rig_are_next(0, 3));
	fourth = block(0, 3);
	before_load = wipe_fourth;
	EQUAL(rig_next(), 0);
	CHECK(rig.record.sequence == 4 && rig.record.missing == 1);
	for (uint64_t after = 0; !rig.disk->faults.read.times; after++) {
		begin_again();
		EQUAL(open_long(0) ?: record_each(0, 6) ?: rig_open_reader(), 0);
		CHECK(rig_are_next(0, 3));
		fourth = block(0, 3);
		before_load = wipe_fourth;
		fail_read(after);
		EQUAL(rig_next(), rig.disk->faults.read.times ? -EAGAIN : -EINVAL);
	}
}

TEST_MAIN(begin, rig_end)
