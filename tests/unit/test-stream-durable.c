// SPDX-License-Identifier: MIT
/*
 * What is durable, and which writes and flushes make it so.
 */
#include <poll.h>

#include "stream/inner.h"
#include "tape-rig.h"

/* Nothing is durable that is only in the cache, or behind what is not written. */
TEST(test_durable, "durable is what a flush has covered, in order")
{
	EQUAL(rig_open(&rig_small), 0);
	log_disk_record(rig.disk);
	rig_hold(RIG_SEGMENT);
	EQUAL(rig_record(0, 3, chario_stream_room_bytes(rig.stream)), 0);
	while (log_disk_nr_entries(rig.disk) < 2)
		usleep(100);
	/* The last buffer has room for more than one record, although no other is free. */
	for (unsigned int i = 0; i < 2; i++)
		EQUAL(chario_stream_write(rig.stream, "", 1, 0, 0, 0), 0);
	EQUAL(chario_stream_wait(rig.stream, 100, 0), -EAGAIN);
	EQUAL(chario_stream_wait(rig.stream, 100, 2000000), -EAGAIN);
	EQUAL(chario_stream_wait(rig.stream, 25000, 0), -EINVAL);
	EQUAL(rig_look(), 0);
	EQUAL(rig.status.durable_bytes, 0);
	EQUAL(rig.status.flushes, 0);
	rig_hold(0);
	EQUAL(chario_stream_wait(rig.stream, 100, -1), 0);
	EQUAL(rig_look(), 0);
	CHECK(rig.status.durable_bytes >= 8000);
	EQUAL(rig_wait(), 0);
	EQUAL(rig.status.durable_bytes, 24002);
	EQUAL(rig.status.durable_records, 5);
	CHECK(rig.status.flushes >= 1);
}

/* All of a recording is noted. */
static int record_all(void)
{
	log_disk_record(rig.disk);
	return rig_record(0, 10, 5000) ?: rig_wait() ?: rig_close();
}

TEST(test_no_cache, "without a cache there is no flush")
{
	rig_end();
	rig_begin(RIG_BYTES, false);
	EQUAL(rig_open(&rig_small), 0);
	EQUAL(rig_look(), 0);
	EQUAL(rig.status.durability, CHARIO_DURABILITY_NONE);
	EQUAL(record_all(), 0);
	for (size_t i = 0; i < rig.disk->nr_entries; i++)
		CHECK(rig.disk->entries[i].bytes);
}

TEST(test_fua, "FUA flushes nothing")
{
	const uint64_t from = lab_area_offset(rig.store);

	EQUAL(RIG_OPEN(.durability = CHARIO_DURABILITY_FUA), 0);
	EQUAL(record_all(), 0);
	for (size_t i = 0; i < rig.disk->nr_entries; i++) {
		const struct log_entry *entry = &rig.disk->entries[i];

		/* What the table says of the end is for the store to make durable. */
		CHECK(entry->bytes);
		CHECK(entry->durable || entry->offset < from || entry->offset >= from + RIG_BYTES);
	}
}

/* A program that was killed may have left in the cache what is counted as durable from here on. */
TEST(test_append, "who goes on flushes what was there before")
{
	EQUAL(rig_open(&rig_small), 0);
	EQUAL(rig_record(0, 3, 5000), 0);
	EQUAL(rig_close(), 0);
	log_disk_record(rig.disk);
	EQUAL(RIG_OPEN(.flags = CHARIO_STREAM_APPEND, .flush_bytes = RIG_SEGMENT), 0);
	EQUAL(rig.stream->window, 4 + 2 * 2);
	EQUAL(rig_look(), 0);
	EQUAL(rig.status.durable_records, 3);
	/* Then the table tells that there is another part. */
	EQUAL(rig.disk->nr_entries, 5);
	EQUAL(rig.disk->entries[0].bytes, 0);
	EQUAL(rig_close(), 0);
	rig.disk->faults.flush = (struct log_fault){ 0, 1 };
	EQUAL(rig_open_as(CHARIO_STREAM_APPEND), -EIO);
}

/* Record, and wait until what is full is written, and nothing is on its way any more. */
static int record_full(uint64_t from, uint64_t to, size_t bytes)
{
	const struct chario_stream *stream = rig.stream;
	int err = rig_record(from, to, bytes);

	do
		err = err ?: chario_stream_service(rig.stream) ?: rig_look();
	while (!err && (stream->in_flight || stream->next + stream->open < stream->tail));
	return err;
}

static int record_segments(uint64_t from, uint64_t to)
{
	return record_full(from, to, chario_stream_room_bytes(rig.stream));
}

/* By themselves flushes come for so many bytes only, before a wait for them and after one. */
TEST(test_flush_bytes, "flushes come for so many bytes")
{
	EQUAL(rig_open(&rig_small), 0);
	for (uint64_t i = 0; i < 8; i += 2)
		EQUAL(record_segments(i, i + 2), 0);
	EQUAL(rig.status.flushes, 0);
	EQUAL(rig_wait(), 0);
	EQUAL(record_segments(8, 10), 0);
	EQUAL(rig.status.flushes, 1);
	EQUAL(rig_close(), 0);
	EQUAL(RIG_OPEN(.flush_bytes = 2 * RIG_SEGMENT), 0);
	EQUAL(record_segments(0, 1), 0);
	EQUAL(rig.status.flushes, 0);
	/* Nor does a wait for a segment that is being written flush the one before. */
	rig_hold(2 * RIG_SEGMENT);
	EQUAL(rig_record(1, 2, chario_stream_room_bytes(rig.stream)), 0);
	EQUAL(chario_stream_wait(rig.stream, RIG_SEGMENT, 0), -EAGAIN);
	rig_hold(0);
	EQUAL(record_segments(2, 2), 0);
	EQUAL(rig.status.flushes, 1);
	EQUAL(rig.status.durable_records, 2);
}

/* A full segment is one write; what was not full goes on behind it. */
TEST(test_writes, "a segment is one write")
{
	EQUAL(rig_open(&rig_small), 0);
	log_disk_record(rig.disk);
	EQUAL(rig_record(0, 4, chario_stream_room_bytes(rig.stream)), 0);
	while (log_disk_nr_entries(rig.disk) < 4)
		usleep(100);
	for (size_t i = 0; i < 4; i++)
		EQUAL(rig.disk->entries[i].bytes, RIG_SEGMENT);
	EQUAL(rig_record(4, 5, 10), 0);
	EQUAL(rig_wait(), 0);
	EQUAL(rig_record(5, 6, 10), 0);
	EQUAL(rig_wait(), 0);
	EQUAL(rig.status.segments, 5);
	EQUAL(rig.disk->entries[rig.disk->nr_entries - 2].bytes, 4096);
}

TEST(test_time, "what waits is written by time, and poll tells")
{
	struct pollfd polled = { .events = POLLIN };

	for (unsigned int i = 0; i < 2; i++) {
		EQUAL(RIG_OPEN(.flush_ns = 20000000), 0);
		EQUAL(rig_record(0, 1, i ? chario_stream_room_bytes(rig.stream) : 10), 0);
		polled.fd = chario_stream_fd(rig.stream);
		do {
			EQUAL(poll(&polled, 1, -1), 1);
			EQUAL(chario_stream_service(rig.stream), 0);
			EQUAL(rig_look(), 0);
		} while (!rig.status.durable_records);
		/* With nothing to do nobody is woken. */
		EQUAL(chario_stream_service(rig.stream), 0);
		EQUAL(poll(&polled, 1, 0), 0);
		EQUAL(rig_close(), 0);
	}
}

/*
 * Erase a place of the area, and count the missing records that the producer has not lost, and
 * those that were not durable.
 */
static void count_erased(uint64_t at, size_t bytes, uint64_t *missing, uint64_t *undurable)
{
	unsigned char *place = rig_place(at);
	static unsigned char kept[RIG_SEGMENT];
	uint64_t lost = 0;
	int err;

	*missing = 0;
	memcpy(kept, place, bytes);
	memset(place, 0, bytes);
	EQUAL(rig_open_reader(), 0);
	while (!(err = rig_next()))
		*missing += rig.record.missing;
	*missing += err == -ENODATA ? rig.record.missing : 0;
	EQUAL(chario_reader_count_missing(rig.reader, &lost, undurable), 0);
	*missing -= lost;
	rig_close_reader();
	memcpy(place, kept, bytes);
}

/* The same for the segment of one record, or the rest of it behind its first block. */
static void check_undurable(uint64_t segment, size_t left, uint64_t missing, uint64_t undurable)
{
	uint64_t are_missing, were_not;

	count_erased(segment * RIG_SEGMENT + left, RIG_SEGMENT - left, &are_missing, &were_not);
	EQUAL(are_missing, missing);
	EQUAL(were_not, undurable);
}

/* Which records a power cut may take, the batches tell that are left; the end says: none. */
TEST(test_undurable, "missing records that were not durable are told apart")
{
	unsigned char *image = malloc(rig.disk->bytes);
	size_t room;

	EQUAL(rig_open(&rig_small), 0);
	log_disk_record(rig.disk);
	room = chario_stream_room_bytes(rig.stream);
	EQUAL(rig_record(0, 4, room), 0);
	EQUAL(rig_wait(), 0);
	EQUAL(rig_record(4, 7, room), 0);
	while (log_disk_nr_entries(rig.disk) < 8)
		usleep(100);
	memcpy(image, rig.disk->image, rig.disk->bytes);
	EQUAL(rig_close(), 0);
	check_undurable(1, 0, 1, 0);
	check_undurable(5, 0, 1, 0);
	memcpy(rig.disk->image, image, rig.disk->bytes);
	check_undurable(1, 0, 1, 0);
	check_undurable(5, 0, 1, 1);
	/* A program that goes on does not make durable what is gone. */
	memset(rig_place(5 * RIG_SEGMENT), 0, RIG_SEGMENT);
	EQUAL(rig_open_as(CHARIO_STREAM_APPEND), 0);
	EQUAL(rig_record(7, 9, room), 0);
	EQUAL(rig_close(), 0);
	check_undurable(5, 0, 1, 1);
	check_undurable(7, 0, 2, 1);
	/* It has made durable what it found, and went on behind that. */
	check_undurable(6, 4096, 2, 1);
	free(image);
}

/**
 * struct parts - a recording of several parts, one segment of which a power cut takes
 * @parts: a letter for each part: 'c' if it was closed, 'k' if the power was cut before anything
 *	in it was durable, 'e' if that was when the end had been written, 'f' if the area was full
 * @bytes: bytes of a record; 0 for a segment
 * @gone: segment that is not there
 * @missing: number of missing records
 * @undurable: number of these that were not durable
 */
struct parts {
	const char *parts;
	size_t bytes;
	uint64_t gone;
	uint64_t missing;
	uint64_t undurable;
};

/* Add a part of four records, or of as many as there is room for. */
static void add_part(const struct parts *is, char how, bool is_first)
{
	EQUAL(rig_open_as(is_first ? 0 : CHARIO_STREAM_APPEND), 0);
	EQUAL(record_full(0, how == 'f' ? RIG_SLOTS : 4,
			  is->bytes ?: chario_stream_room_bytes(rig.stream)),
	      is_first || is->parts[0] != 'f' ? 0 : -ENOSPC);
	if (strchr("kf", how))
		rig_cut();
	if (how == 'e')
		rig.disk->faults.flush = (struct log_fault){ 0, LOG_FOR_EVER };
	EQUAL(rig_close(), how == 'e' ? -EIO : 0);
	log_disk_heal(rig.disk);
}

static void check_parts(const struct parts *is)
{
	uint64_t missing, undurable;

	rig_begin_again();
	for (size_t i = 0; is->parts[i]; i++)
		add_part(is, is->parts[i], !i);
	EQUAL(rig_survey(), 0);
	rig_close_reader();
	EQUAL(rig.recording.ended, is->parts[strlen(is->parts) - 1] == 'c');
	for (size_t i = 0; i < 3 && !tap_failed; i++) {
		count_erased(is->gone * RIG_SEGMENT, RIG_SEGMENT, &missing, &undurable);
		if (missing != is->missing || undurable != is->undurable)
			TAP_FAIL("%s, %zu more: %llu missing, %llu not durable", is->parts, i,
				 (unsigned long long)missing, (unsigned long long)undurable);
		memset(rig_place(is->gone * RIG_SEGMENT), 0, RIG_SEGMENT);
		add_part(is, 'c', false);
	}
}

static const struct parts parts[] = {
	{ "c", 0, 0, 1, 0 },  { "ck", 0, 5, 1, 1 },   { "e", 0, 0, 1, 1 },  { "ce", 0, 5, 1, 1 },
	{ "ec", 0, 5, 1, 0 }, { "k", 4500, 0, 2, 2 }, { "f", 0, 30, 1, 1 },
};

/* That does not change when the recording is continued. */
TEST(test_parts, "each part tells what was durable of it")
{
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		check_parts(&parts[i]);
}

/*
 * What a producer does: r a record, l a lost one, v a room given back, w a wait, which ends a
 * batch, f records until the area is full.
 */
static const char *const producers[] = { "fll",    "rlvrwlfl",         "rlvr",
					 "vlr",    "rlvlvrwrvrrlwlvr", "lwvwrrvlrvwl",
					 "rrvllrv" };

/* A room that is given back leaves its number if there is another behind it. */
static int give_back(void)
{
	struct chario_stream_room rooms[2];
	int err = 0;

	for (int i = 0; i < 2 && !err; i++)
		err = chario_stream_get(rig.stream, 10, -1, &rooms[i]);
	for (int i = 0; i < 2 && !err; i++)
		err = chario_stream_commit(rig.stream, &rooms[i], 0, 0, 0);
	return err;
}

static int produce(char what, size_t bytes)
{
	if (what == 'l')
		return chario_stream_lose(rig.stream, 1, 1);
	if (what == 'w')
		return rig_wait();
	if (what == 'v')
		return give_back();
	return rig_record(0, what == 'f' ? UINT64_MAX : 1, bytes);
}

/* Read from a record on: all that is missing was lost, behind each record and at the end. */
static void check_lost(uint64_t from, uint64_t all)
{
	uint64_t missing = 0, lost, undurable;
	int err = rig_open_reader();

	if (from)
		err = chario_reader_seek(rig.reader, from);
	while (!err && !tap_failed) {
		err = rig_next();
		missing += err == -EAGAIN ? 0 : rig.record.missing;
		EQUAL(chario_reader_count_missing(rig.reader, &lost, &undurable), 0);
		if (lost != missing || undurable)
			TAP_FAIL("from %llu: %llu missing, %llu lost, %llu not durable",
				 (unsigned long long)from, (unsigned long long)missing,
				 (unsigned long long)lost, (unsigned long long)undurable);
	}
	CHECK(err == -ENODATA || err == -EAGAIN);
	CHECK(from || all == UINT64_MAX || missing == all);
	rig_close_reader();
}

/* Two parts, each of which a power cut or a close ends. */
static void check_producer(const char *what, size_t bytes, unsigned int cuts)
{
	uint64_t all = 0, next = 0;
	int err;

	rig_begin_again();
	for (unsigned int i = 0; i < 2 && !tap_failed; i++) {
		EQUAL(rig_open_as(i ? CHARIO_STREAM_APPEND : 0), 0);
		for (const char *at = what; *at; at++) {
			err = produce(*at, bytes);
			CHECK(!err || (err == -ENOSPC && strchr(what, 'f')));
			all += *at == 'l';
		}
		EQUAL(rig_wait(), 0);
		next = rig.stream->sequence;
		if (cuts & 1U << i)
			rig_cut();
		EQUAL(rig_close(), 0);
	}
	EQUAL(rig_survey(), 0);
	rig_close_reader();
	CHECK(cuts || rig.recording.lost_records == all);
	for (uint64_t from = 0; from < next + 2 && !tap_failed; from += 1 + next / 64)
		check_lost(from, cuts ? UINT64_MAX : all);
	if (tap_failed)
		printf("# %s, records of %zu bytes, cuts %u\n", what, bytes, cuts);
}

TEST(test_lost, "records that the producer lost, and rooms given back, are no damage")
{
	for (size_t i = 0; i < 8 * sizeof(producers) / sizeof(producers[0]) && !tap_failed; i++)
		check_producer(producers[i / 8], i & 1 ? 100 : 5000, (unsigned int)i / 2 % 4);
}

/**
 * struct ring - a ring that several programs recorded to
 * @parts: a letter for each: 'c' if it closed the recording, 'k' if it was killed, 's' if that
 *	happened as soon as it had started
 * @bytes: bytes of a record
 * @torn: the program, from 1, that was interrupted in front of what it had begun to overwrite;
 *	0 if there is none
 */
struct ring {
	const char *parts;
	size_t bytes;
	unsigned int torn;
};

/* Record the records of a part; the producer loses one in seven. */
static int record_some(size_t bytes, uint64_t total)
{
	int err = 0;

	for (uint64_t i = 0; i < total / bytes && !err; i++) {
		err = rig_record(i, i + 1, bytes);
		if (!err && i % 7 == 1)
			err = chario_stream_lose(rig.stream, 1, bytes);
	}
	return err;
}

/* Add a part to a ring.  Returns the number of the next segment. */
static uint64_t record_part(const struct ring *ring, char how, bool is_first)
{
	uint64_t total = is_first ? 2 * RIG_BYTES : 20000, next;

	if (RIG_OPEN(.flags = is_first ? CHARIO_STREAM_RING : CHARIO_STREAM_APPEND,
		     .durability = CHARIO_DURABILITY_FLUSH))
		TAP_FAIL("no part %c", how);
	/* The batches at the end tell that all before them is durable. */
	if (how != 's' && (record_some(ring->bytes, total) || rig_wait() ||
			   record_some(ring->bytes, 20000) || rig_wait()))
		TAP_FAIL("nothing in part %c", how);
	next = rig.stream->next_segment;
	if (how == 'c')
		rig_close();
	else
		rig_cut();
	return next;
}

static void check_place(uint64_t segment, size_t left, bool was_worn)
{
	uint64_t missing, undurable, at = segment % RIG_SLOTS * RIG_SEGMENT;

	count_erased(at + left, RIG_SEGMENT - left, &missing, &undurable);
	if (undurable != (was_worn ? missing : 0))
		TAP_FAIL("segment %llu: %llu of %llu missing records were not durable",
			 (unsigned long long)segment, (unsigned long long)undurable,
			 (unsigned long long)missing);
}

/* What is damaged is a loss, unless a program that was interrupted had begun to overwrite it. */
static void check_ring(const struct ring *ring)
{
	const uint64_t window = RIG_SLOTS / 8, lap = RIG_SLOTS - window;
	uint64_t next = 0, first = 0, torn_end = 0;

	rig_begin_again();
	for (size_t i = 0; ring->parts[i]; i++) {
		next = record_part(ring, ring->parts[i], !i);
		first = first ?: next;
		torn_end = i + 1 == ring->torn ? next - lap : torn_end;
	}
	for (uint64_t i = next - RIG_SLOTS; i < first - window && !tap_failed; i++) {
		check_place(i, 0, i < torn_end);
		check_place(i, RIG_SEGMENT / 2, i < torn_end);
	}
	if (tap_failed)
		printf("# parts %s, records of %zu bytes\n", ring->parts, ring->bytes);
}

static const struct ring rings[] = {
	{ "k", 100, 1 },    { "k", 5200, 1 },   { "k", 20000, 1 }, { "c", 5200, 0 },
	{ "kc", 5200, 1 },  { "kk", 5200, 2 },  { "cc", 5200, 0 }, { "csc", 5200, 1 },
	{ "kcc", 5200, 1 }, { "ck", 20000, 2 },
};

TEST(test_rings, "of a ring only what was being overwritten is not lost")
{
	for (size_t i = 0; i < sizeof(rings) / sizeof(rings[0]) && !tap_failed; i++)
		check_ring(&rings[i]);
}

TEST_MAIN(rig_begin_usual, rig_end)
