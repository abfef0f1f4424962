// SPDX-License-Identifier: MIT
/*
 * What is durable, and which writes and flushes make it so.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stream/inner.h"
#include "tap.h"
#include "tape-rig.h"

static void before(void)
{
	rig_begin(RIG_BYTES, true);
}

/* Nothing is durable that is only in the cache, or behind what is not written. */
static void test_durable(void)
{
	uint64_t from = lab_area_offset(rig.store);

	EQUAL(rig_open(&rig_small), 0);
	log_disk_record(rig.disk);
	log_disk_hold(rig.disk, from, from + RIG_SEGMENT);
	EQUAL(rig_record(0, 3, chario_stream_room_bytes(rig.stream)), 0);
	while (log_disk_nr_entries(rig.disk) < 2)
		usleep(100);
	EQUAL(chario_stream_wait(rig.stream, 100, 0), -EAGAIN);
	EQUAL(chario_stream_wait(rig.stream, 100, 2000000), -EAGAIN);
	EQUAL(chario_stream_wait(rig.stream, 25000, 0), -EINVAL);
	EQUAL(rig_look(), 0);
	EQUAL(rig.status.durable_bytes, 0);
	EQUAL(rig.status.flushes, 0);
	log_disk_hold(rig.disk, 0, 0);
	EQUAL(chario_stream_wait(rig.stream, 100, -1), 0);
	EQUAL(rig_look(), 0);
	CHECK(rig.status.durable_bytes >= 8000);
	EQUAL(rig_wait(), 0);
	EQUAL(rig_look(), 0);
	EQUAL(rig.status.durable_bytes, 24000);
	EQUAL(rig.status.durable_records, 3);
	CHECK(rig.status.flushes >= 1);
}

/* All of a recording is noted. */
static int record_all(void)
{
	int err;

	log_disk_record(rig.disk);
	err = rig_record(0, 10, 5000);
	if (!err)
		err = rig_wait();
	return err ? err : rig_close();
}

static void test_no_cache(void)
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

static void test_fua(void)
{
	struct chario_stream_options options = rig_small;
	const uint64_t from = lab_area_offset(rig.store);

	options.durability = CHARIO_DURABILITY_FUA;
	EQUAL(rig_open(&options), 0);
	EQUAL(record_all(), 0);
	for (size_t i = 0; i < rig.disk->nr_entries; i++) {
		const struct log_entry *entry = &rig.disk->entries[i];

		/* What the table says of the end is for the store to make durable. */
		CHECK(entry->bytes);
		CHECK(entry->durable || entry->offset < from || entry->offset >= from + RIG_BYTES);
	}
}

/* A program that was killed may have left in the cache what is counted as durable from here on. */
static void test_append(void)
{
	struct chario_stream_options options = rig_small;

	EQUAL(rig_open(&options), 0);
	EQUAL(rig_record(0, 3, 5000), 0);
	EQUAL(rig_close(), 0);
	options.flags = CHARIO_STREAM_APPEND;
	log_disk_record(rig.disk);
	EQUAL(rig_open(&options), 0);
	EQUAL(rig_look(), 0);
	EQUAL(rig.status.durable_records, 3);
	EQUAL(rig.disk->nr_entries, 1);
	EQUAL(rig.disk->entries[0].bytes, 0);
	EQUAL(rig_close(), 0);
	rig.disk->faults.flush = (struct log_fault){ 0, 1 };
	EQUAL(rig_open(&options), -EIO);
}

/* Record whole segments, and wait until they are written, and nothing is on its way any more. */
static int record_segments(uint64_t from, uint64_t to)
{
	int err = rig_record(from, to, chario_stream_room_bytes(rig.stream));

	do
		err = err ?: chario_stream_service(rig.stream) ?: rig_look();
	while (!err && (rig.stream->in_flight || rig.status.free_buffers < 4));
	return err;
}

/* By themselves flushes come for so many bytes only, before a wait for them and after one. */
static void test_flush_bytes(void)
{
	struct chario_stream_options options = rig_small;

	EQUAL(rig_open(&options), 0);
	for (uint64_t i = 0; i < 8; i += 2)
		EQUAL(record_segments(i, i + 2), 0);
	EQUAL(rig.status.flushes, 0);
	EQUAL(rig_wait(), 0);
	EQUAL(record_segments(8, 10), 0);
	EQUAL(rig.status.flushes, 1);
	EQUAL(rig_close(), 0);
	options.flush_bytes = 2 * RIG_SEGMENT;
	EQUAL(rig_open(&options), 0);
	EQUAL(record_segments(0, 1), 0);
	EQUAL(rig.status.flushes, 0);
	EQUAL(record_segments(1, 2), 0);
	EQUAL(rig.status.flushes, 1);
	EQUAL(rig.status.durable_records, 2);
}

/* A full segment is one write; what was not full goes on behind it. */
static void test_writes(void)
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
	EQUAL(rig_look(), 0);
	EQUAL(rig.status.segments, 5);
	EQUAL(rig.disk->entries[rig.disk->nr_entries - 2].bytes, 4096);
}

static void test_time(void)
{
	struct chario_stream_options options = rig_small;
	struct pollfd polled;

	options.flush_ns = 20000000;
	EQUAL(rig_open(&options), 0);
	EQUAL(rig_record(0, 1, 10), 0);
	polled = (struct pollfd){ .fd = chario_stream_fd(rig.stream), .events = POLLIN };
	do {
		EQUAL(poll(&polled, 1, -1), 1);
		EQUAL(chario_stream_service(rig.stream), 0);
		EQUAL(rig_look(), 0);
	} while (!rig.status.durable_records);
	/* With nothing to do nobody is woken. */
	EQUAL(chario_stream_service(rig.stream), 0);
	EQUAL(poll(&polled, 1, 0), 0);
}

/* Erase the only record of a segment, and see how many of the missing were not durable. */
static void check_undurable(uint64_t segment, uint64_t missing, uint64_t undurable)
{
	unsigned char *place = rig.disk->image + lab_area_offset(rig.store) + segment * RIG_SEGMENT;
	static unsigned char kept[RIG_SEGMENT];
	uint64_t count = 0, found = 0;

	memcpy(kept, place, RIG_SEGMENT);
	memset(place, 0, RIG_SEGMENT);
	EQUAL(rig_open_reader(), 0);
	while (!rig_next())
		count += rig.record.missing;
	EQUAL(chario_reader_count_undurable(rig.reader, &found), 0);
	EQUAL(count, missing);
	EQUAL(found, undurable);
	rig_close_reader();
	memcpy(place, kept, RIG_SEGMENT);
}

/* Which records a power cut may take, the batches tell that are left; the end says: none. */
static void test_undurable(void)
{
	struct chario_stream_options options = rig_small;
	unsigned char *image = malloc(rig.disk->bytes);
	size_t room;

	EQUAL(rig_open(&options), 0);
	log_disk_record(rig.disk);
	room = chario_stream_room_bytes(rig.stream);
	EQUAL(rig_record(0, 4, room), 0);
	EQUAL(rig_wait(), 0);
	EQUAL(rig_record(4, 7, room), 0);
	while (log_disk_nr_entries(rig.disk) < 8)
		usleep(100);
	memcpy(image, rig.disk->image, rig.disk->bytes);
	EQUAL(rig_close(), 0);
	check_undurable(1, 1, 0);
	check_undurable(5, 1, 0);
	memcpy(rig.disk->image, image, rig.disk->bytes);
	check_undurable(1, 1, 0);
	check_undurable(5, 1, 1);
	/* A program that goes on does not make durable what is gone. */
	memset(rig.disk->image + lab_area_offset(rig.store) + 5 * RIG_SEGMENT, 0, RIG_SEGMENT);
	options.flags = CHARIO_STREAM_APPEND;
	EQUAL(rig_open(&options), 0);
	EQUAL(rig_record(7, 9, room), 0);
	EQUAL(rig_close(), 0);
	check_undurable(5, 1, 1);
	check_undurable(7, 2, 1);
	free(image);
}

static const struct tap_test tests[] = {
	{ "durable is what a flush has covered, in order", test_durable },
	{ "without a cache there is no flush", test_no_cache },
	{ "FUA flushes nothing", test_fua },
	{ "who goes on flushes what was there before", test_append },
	{ "flushes come for so many bytes", test_flush_bytes },
	{ "a segment is one write", test_writes },
	{ "what waits is written by time, and poll tells", test_time },
	{ "missing records that were not durable are told apart", test_undurable },
};

TAP_MAIN(tests, before, rig_end)
