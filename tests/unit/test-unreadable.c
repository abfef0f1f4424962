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

/* Leave the recording as if its program had been killed when all was durable. */
static void stop_without_end(void)
{
	EQUAL(rig_wait(), 0);
	EQUAL(rig_cut(), 0);
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

TEST(test_others_are_read, "one block costs its records only")
{
	EQUAL(record_all(0, 0, RECORDS), 0);
	EQUAL(rig_close(), 0);
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

/* Without checksums nobody knows which of the others are whole. */
TEST(test_without_checksums, "without checksums it costs its batch")
{
	EQUAL(record_all(CHARIO_STREAM_NO_CRC, 0, RECORDS), 0);
	EQUAL(rig_close(), 0);
	spoil(1, 1);
	count();
	EQUAL(nr_missing, IN_SEGMENT);
	EQUAL(nr_there + nr_missing, RECORDS);
}

static void check_unreadable(uint64_t segments)
{
	EQUAL(rig_open_reader(), 0);
	EQUAL(rig_get_recording(), 0);
	EQUAL(rig.recording.unreadable_segments, segments);
	rig_close_reader();
}

/* Go on with a number while a block cannot be read, and read when it can be. */
static void go_on(uint64_t segment, uint64_t block, uint64_t records, uint64_t next)
{
	spoil(segment, block);
	check_unreadable(next > records || block);
	EQUAL(record_all(CHARIO_STREAM_APPEND, next, next + 1), 0);
	EQUAL(rig_close(), 0);
	log_disk_heal(rig.disk);
	count();
	EQUAL(nr_there, records + 1);
	EQUAL(nr_missing, next - records);
	check_unreadable(0);
}

/* The table knows how many there are. */
TEST(test_behind_an_end, "who goes on does not write over an end")
{
	EQUAL(record_all(0, 0, RECORDS), 0);
	EQUAL(rig_close(), 0);
	go_on(3, 0, RECORDS, RECORDS);
}

TEST(test_behind_an_end_without_any, "nor where nothing can be read")
{
	EQUAL(record_all(0, 0, RECORDS), 0);
	EQUAL(rig_close(), 0);
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
	stop_without_end();
	go_on(3, block, records, next);
	rig_end();
	rig_begin_usual();
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
	stop_without_end();
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
	struct chario_stream_options options = rig_small;

	options.flags = flags;
	options.durability = CHARIO_DURABILITY_FUA;
	EQUAL(rig_open(&options), 0);
	EQUAL(rig_record(0, 2 * IN_SEGMENT, RECORD_BYTES), 0);
	stop_without_end();
	rig_spoil(2 * RIG_SEGMENT, 20 * RIG_SEGMENT);
	options.flags = CHARIO_STREAM_APPEND;
	EQUAL(rig_open(&options), 0);
	log_disk_record(rig.disk);
	EQUAL(rig_record(0, IN_SEGMENT, RECORD_BYTES), 0);
	EQUAL(rig_wait(), 0);
	EQUAL(rig.disk->entries[0].offset, lab_area_offset(rig.store) + 22 * RIG_SEGMENT);
}

TEST(test_many, "nor over more places than a window, and no further")
{
	pass_unreadable(CHARIO_STREAM_RING);
	rig_end();
	rig_begin_usual();
	pass_unreadable(0);
}

static void go_on_and_stop(uint64_t *sequence)
{
	EQUAL(record_all(CHARIO_STREAM_APPEND, *sequence, *sequence + IN_SEGMENT), 0);
	stop_without_end();
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
	if (is_closed)
		EQUAL(rig_close(), 0);
	else
		stop_without_end();
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
	EQUAL(record_all(CHARIO_STREAM_APPEND, 0, 0), 0);
	EQUAL(rig_close(), 0);
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

		hide(flags, how < 8 ? 0 : RIG_SLOTS, how & 1, how & 2);
		rig_end();
		rig_begin_usual();
	}
}

#define LONG_SEGMENT 32768U
#define IN_LONG      (LONG_SEGMENT / 4096U)
#define LAST_BATCHES 6U

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
	{ 0x04, 6, 1 }, { 0x1c, 6, 3 }, { 0x01, 6, 1 }, { 0x15, 6, 3 }, { 0x20, 5, 0 },
	{ 0x24, 5, 1 }, { 0x30, 4, 0 }, { 0x1f, 6, 5 }, { 0x3f, 0, 0 },
};

/* How batches are bad, and what the recording is. */
#define BY_A_BIT    1U
#define CLOSED      2U
#define NOT_FLUSHED 4U

/* Spoil batches of a segment; where none was flushed, no header tells that any is durable. */
static void spoil_batches(const struct bad *bad, uint64_t slot, unsigned int how)
{
	unsigned char *place = rig.disk->image + lab_area_offset(rig.store) + slot * LONG_SEGMENT;
	const uint64_t before = ((struct chario_disk_batch *)(void *)place)->records;

	for (unsigned int i = 0; i < IN_LONG; i++, place += 4096) {
		struct chario_disk_batch *batch = (void *)place;

		if (how & NOT_FLUSHED && i < LAST_BATCHES) {
			batch->durable_records = before;
			chario_disk_batch_sign(batch);
		}
		if (bad->mask & 1U << i && how & BY_A_BIT)
			place[40] ^= 1;
		else if (bad->mask & 1U << i)
			memset(place, 0, 4096);
	}
}

/* Read all from a record on, each once, and judge what is missing. */
static void expect(uint64_t from, uint64_t next, uint64_t missing, unsigned int how)
{
	uint64_t are_missing = 0, lost, undurable;
	struct chario_recording recording;
	int err;

	EQUAL(rig_open_reader(), 0);
	EQUAL(chario_reader_get_recording(rig.reader, &recording, sizeof(recording)), 0);
	EQUAL(recording.next_record, next);
	while (!(err = rig_next())) {
		CHECK(lab_is(rig.record.memory, rig.record.bytes, rig.record.sequence));
		EQUAL(rig.record.sequence, from + rig.record.missing);
		are_missing += rig.record.missing;
		from = rig.record.sequence + 1;
	}
	are_missing += err == -ENODATA ? rig.record.missing : 0;
	EQUAL(are_missing, missing);
	EQUAL(from + (err == -ENODATA ? rig.record.missing : 0), next);
	EQUAL(chario_reader_count_missing(rig.reader, &lost, &undurable), 0);
	EQUAL(lost, 0);
	EQUAL(undurable, how & NOT_FLUSHED ? missing : 0);
	rig_close_reader();
}

/* Record @segments and six batches of one record, and spoil some of these. */
static void lose_batches(const struct bad *bad, uint64_t segments, unsigned int flags,
			 unsigned int how)
{
	const uint64_t slots = RIG_BYTES / LONG_SEGMENT, begun = segments * IN_LONG;
	const uint64_t first = segments < slots ? 0 : begun - (slots - 1) * IN_LONG;
	struct chario_stream_options options = rig_small;
	uint64_t next = begun + bad->next, missing = bad->missing;

	options.segment_bytes = LONG_SEGMENT;
	options.flags = flags;
	EQUAL(rig_open(&options), 0);
	for (uint64_t i = 0; i < begun + LAST_BATCHES; i++)
		EQUAL(rig_record(i, i + 1, RECORD_BYTES) ?: rig_wait(), 0);
	if (how & CLOSED)
		EQUAL(rig_close(), 0);
	else
		stop_without_end();
	spoil_batches(bad, segments % slots, how);
	if (how & CLOSED) {
		missing = (uint64_t)__builtin_popcount(bad->mask);
		next = begun + LAST_BATCHES;
	} else {
		expect(first, next, missing, how);
	}
	options.flags = CHARIO_STREAM_EXCL;
	EQUAL(rig_open(&options), next ? -EEXIST : 0);
	if (!next)
		return;
	options.flags = CHARIO_STREAM_APPEND;
	EQUAL(rig_open(&options), 0);
	EQUAL(rig.stream->sequence, next);
	EQUAL(rig_record(next, next + 1, RECORD_BYTES), 0);
	stop_without_end();
	/* A ring loses its oldest segment to a new one. */
	expect(first && (bad->next || how & CLOSED) ? first + IN_LONG : first, next + 1, missing,
	       how);
}

TEST(test_bad_batches, "a bad batch hides none behind it, from readers or who goes on")
{
	const unsigned int nr = sizeof(bads) / sizeof(bads[0]);

	for (unsigned int i = 0; i < nr * 4 * 6 && !tap_failed; i++) {
		const uint64_t segments = (const uint64_t[]){ 0, 2, 2, 11 }[i / nr % 4];
		unsigned int flags = i / nr % 4 < 2 ? 0 : CHARIO_STREAM_RING;
		unsigned int how = i / nr / 4;

		lose_batches(&bads[i % nr], segments, flags, how);
		if (tap_failed)
			printf("# batches %#x, %llu segments, how %u\n", bads[i % nr].mask,
			       (unsigned long long)segments, how);
		rig_end();
		rig_begin_usual();
	}
}

/* A record that was cut off began behind lost ones: the next part gives their numbers again. */
TEST(test_numbers_again, "missing records are judged whose numbers were those of lost ones")
{
	const struct bad bad = { 0x03, 6, 2 };
	struct chario_stream_options options = rig_small;

	options.segment_bytes = LONG_SEGMENT;
	EQUAL(rig_open(&options), 0);
	EQUAL(rig_record(0, 3, RECORD_BYTES), 0);
	EQUAL(chario_stream_lose(rig.stream, 2, 2), 0);
	EQUAL(rig_record(5, 6, LONG_SEGMENT), 0);
	stop_without_end();
	memset(rig.disk->image + lab_area_offset(rig.store) + 4096, 0, 2 * LONG_SEGMENT - 4096);
	options.flags = CHARIO_STREAM_APPEND;
	EQUAL(rig_open(&options), 0);
	for (uint64_t i = 3; i < bad.next; i++)
		EQUAL(rig_record(i, i + 1, RECORD_BYTES) ?: rig_wait(), 0);
	stop_without_end();
	spoil_batches(&bad, 1, NOT_FLUSHED);
	expect(0, bad.next, bad.missing, NOT_FLUSHED);
}

/* The times of what cannot be read are not known, so those of the next part are a run of their own. */
TEST(test_times, "times are found beside those that could not be read")
{
	static const uint64_t seconds[] = { 1, 3600, 10 };
	static const uint64_t counts[] = { IN_BLOCK, IN_SEGMENT, 4 * IN_SEGMENT };
	struct chario_stream_options options = rig_small;
	char memory[RECORD_BYTES];

	lab_fill(memory, sizeof(memory), 0);
	EQUAL(rig_open(&options), 0);
	for (uint64_t i = 0, kind = 0; i < counts[2]; i++) {
		if (i == IN_SEGMENT) {
			stop_without_end();
			spoil(0, 1);
			options.flags = CHARIO_STREAM_APPEND;
			EQUAL(rig_open(&options), 0);
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

/* The table may say anything of the end. */
TEST(test_end_that_cannot_be, "an end that cannot be is not believed")
{
	const struct store_end good = { RECORDS + 5, RECORDS + 5, 5000, 5, 1 };
	struct chario_area *area;

	EQUAL(record_all(0, 0, RECORDS), 0);
	EQUAL(rig_close(), 0);
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
	EQUAL(rig_read_back(), 0);
	EQUAL(rig_get_recording(), 0);
	EQUAL(rig.recording.ended, 1);
}

TEST_MAIN(rig_begin_usual, rig_end)
