// SPDX-License-Identifier: MIT
/*
 * A stream records what it is given, says what is durable, and tells before it is
 * too late.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "tap.h"
#include "tape-lab.h"

#define SEGMENT 8192U
#define SLOTS   32U
#define SECOND  1000000000LL

static struct ram_disk disk;
static struct chario_store *store;
static struct chario_stream *stream;
static struct chario_reader *reader;
static struct chario_stream_status now_is;

static const struct chario_stream_options small = {
	.size = sizeof(small),
	.segment_bytes = SEGMENT,
	.nr_buffers = 4,
	/* Nothing happens by time that a test does not ask for. */
	.flush_ns = 1000 * SECOND,
	.late_ns = 1000 * SECOND,
};

static void begin(bool cached)
{
	ram_init(&disk, lab_make_file(SLOTS * SEGMENT), cached);
	store = lab_open_store(&disk);
}

static void before(void)
{
	begin(true);
}

static void after(void)
{
	ram_hold(&disk, 0, 0);
	chario_reader_close(reader);
	chario_stream_close(stream);
	reader = NULL;
	stream = NULL;
	chario_store_close(store);
	ram_deinit(&disk);
	lab_remove_file();
}

static int open_stream(const struct chario_stream_options *options)
{
	return chario_stream_open(store, LAB_AREA, options, &stream);
}

static int close_stream(void)
{
	int err = chario_stream_close(stream);

	stream = NULL;
	return err;
}

static int get_status(void)
{
	return chario_stream_get_status(stream, &now_is, sizeof(now_is));
}

static int open_reader(void)
{
	return chario_reader_open(store, LAB_AREA, &reader);
}

static int next(struct chario_record *record)
{
	return chario_reader_next(reader, 0, record);
}

static void test_options(void)
{
	static const struct {
		struct chario_stream_options options;
		int err;
	} cases[] = {
		{ { .size = 8 }, -EINVAL },
		{ { .size = sizeof(small), .flags = 1 << 9 }, -EINVAL },
		{ { .size = sizeof(small), .segment_bytes = 4096 }, -EINVAL },
		{ { .size = sizeof(small), .segment_bytes = 8191 }, -EINVAL },
		{ { .size = sizeof(small), .segment_bytes = 128 << 20 }, -EINVAL },
		{ { .size = sizeof(small), .nr_buffers = 1 }, -EINVAL },
		{ { .size = sizeof(small), .nr_buffers = 65 }, -EINVAL },
		{ { .size = sizeof(small), .durability = 4 }, -EINVAL },
		{ { .size = sizeof(small), .reserved = 1 }, -EINVAL },
		{ { .size = sizeof(small), .flush_ns = UINT64_MAX }, -EINVAL },
		{ { .size = sizeof(small), .segment_bytes = 1 << 20 }, -ENOSPC },
		{ { .size = sizeof(small), .flags = CHARIO_STREAM_APPEND }, -ENODATA },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		EQUAL(open_stream(&cases[i].options), cases[i].err);
	EQUAL(chario_stream_open(store, "nobody", NULL, &stream), -ENOENT);
	EQUAL(open_reader(), -ENODATA);
	EQUAL(open_stream(NULL), 0);
	EQUAL(chario_stream_open(store, LAB_AREA, NULL, &(struct chario_stream *){ NULL }), -EBUSY);
	EQUAL(get_status(), 0);
	EQUAL(now_is.nr_buffers, 8);
	EQUAL(now_is.segment_bytes, 16384);
	EQUAL(now_is.durability, CHARIO_DURABILITY_FLUSH);
	EQUAL(chario_stream_get_status(stream, &now_is, 8), -EINVAL);
	EQUAL(chario_stream_close(NULL), 0);
}

/* Records of every length up to three segments come back as they were. */
static void test_lengths(void)
{
	static const size_t lengths[] = { 1,    2,     7,     8,     15,    16,   17,    63,
					  64,   65,    100,   4000,  4095,  4096, 4097,  7999,
					  8000, 8001,  8191,  8192,  8193,  9000, 16000, 16383,
					  1,    16384, 16385, 20000, 24000, 3,    24576, 5 };
	size_t count = sizeof(lengths) / sizeof(lengths[0]);
	struct chario_record record;

	EQUAL(open_stream(&small), 0);
	for (size_t i = 0; i < count; i++)
		EQUAL(lab_write(stream, i, lengths[i]), 0);
	EQUAL(close_stream(), 0);
	EQUAL(open_reader(), 0);
	for (size_t i = 0; i < count; i++) {
		EQUAL(next(&record), 0);
		EQUAL(record.sequence, i);
		EQUAL(record.bytes, lengths[i]);
		EQUAL(record.time_ns, i + 1);
		EQUAL(record.missing, 0);
		CHECK(lab_is(record.memory, record.bytes, i));
	}
	EQUAL(next(&record), -ENODATA);
	EQUAL(next(&record), -ENODATA);
}

static int get(size_t bytes, struct chario_stream_room *room)
{
	return chario_stream_get(stream, bytes, 0, room);
}

static void test_rooms(void)
{
	struct chario_stream_room a, b, c, forged;
	struct chario_record record;

	EQUAL(open_stream(&small), 0);
	EQUAL(get(0, &a), -EINVAL);
	EQUAL(get(chario_stream_room_bytes(stream) + 1, &a), -EMSGSIZE);
	EQUAL(get(500, &a), 0);
	EQUAL((uintptr_t)a.memory % 64, 0);
	EQUAL(a.bytes, 500);
	CHECK((char *)chario_buffer_memory(a.buffer) + a.buffer_offset == a.memory);
	EQUAL(get(600, &b), 0);
	EQUAL(get(chario_stream_room_bytes(stream), &c), 0);
	lab_fill(c.memory, 8000, 2);
	EQUAL(chario_stream_commit(stream, &c, 8001, 0, 0), -EINVAL);
	EQUAL(chario_stream_commit(stream, &c, 8000, 5, 0x80), -EINVAL);
	EQUAL(chario_stream_commit(stream, &c, 8000, 5, CHARIO_RECORD_META), 0);
	EQUAL(chario_stream_commit(stream, &c, 8000, 5, 0), -EINVAL);
	forged = b;
	forged.token += 8;
	EQUAL(chario_stream_commit(stream, &forged, 1, 5, 0), -EINVAL);
	/* Taken back in the middle: its number is not missing. */
	EQUAL(chario_stream_commit(stream, &a, 0, 0, 0), 0);
	EQUAL(chario_stream_commit(stream, &a, 0, 0, 0), -EINVAL);
	lab_fill(b.memory, 300, 1);
	EQUAL(chario_stream_commit(stream, &b, 300, 4, 0), 0);
	/* Taken back as the newest: without a trace. */
	EQUAL(get(100, &a), 0);
	EQUAL(chario_stream_commit(stream, &a, 0, 0, 0), 0);
	EQUAL(lab_write(stream, 3, 10), 0);
	EQUAL(get(100, &a), 0);
	EQUAL(get_status(), 0);
	EQUAL(now_is.records, 3);
	EQUAL(now_is.bytes, 8310);
	EQUAL(close_stream(), 0);
	EQUAL(open_reader(), 0);
	for (uint64_t i = 1; i < 4; i++) {
		EQUAL(next(&record), 0);
		EQUAL(record.sequence, i);
		EQUAL(record.missing, 0);
		CHECK(lab_is(record.memory, record.bytes, i));
		EQUAL(record.flags, i == 2 ? CHARIO_RECORD_META : 0);
	}
	EQUAL(next(&record), -ENODATA);
}

static void test_losses(void)
{
	struct chario_recording recording;
	struct chario_record record;

	EQUAL(open_stream(&small), 0);
	EQUAL(lab_write(stream, 0, 10), 0);
	EQUAL(chario_stream_lose(stream, 3, 3000), 0);
	EQUAL(lab_write(stream, 4, 10), 0);
	EQUAL(get_status(), 0);
	EQUAL(now_is.lost_records, 3);
	EQUAL(now_is.lost_bytes, 3000);
	EQUAL(now_is.records, 2);
	EQUAL(close_stream(), 0);
	EQUAL(open_reader(), 0);
	EQUAL(next(&record), 0);
	EQUAL(next(&record), 0);
	EQUAL(record.sequence, 4);
	EQUAL(record.missing, 3);
	EQUAL(chario_reader_get_recording(reader, &recording, sizeof(recording)), 0);
	EQUAL(recording.lost_records, 3);
	EQUAL(recording.lost_bytes, 3000);
	EQUAL(recording.next_record, 5);
	EQUAL(recording.bytes, 20);
	EQUAL(recording.durable_records, 2);
}

/* With all buffers on their way nothing is got, and nothing of a long record is left. */
static void test_pressure(void)
{
	uint64_t from = lab_area_offset(store);
	static unsigned char memory[5 * SEGMENT];
	struct chario_record record;
	struct chario_stream_room room;

	EQUAL(open_stream(&small), 0);
	ram_hold(&disk, from, from + SLOTS * SEGMENT);
	for (uint64_t i = 0; i < 4; i++)
		EQUAL(lab_write(stream, i, chario_stream_room_bytes(stream)), 0);
	ram_wait_held(&disk, 4);
	EQUAL(get(1, &room), -EAGAIN);
	EQUAL(chario_stream_get(stream, 1, 2000000, &room), -EAGAIN);
	EQUAL(chario_stream_write(stream, memory, 1, 0, 0, 0), -EAGAIN);
	EQUAL(get_status(), 0);
	EQUAL(now_is.free_buffers, 0);
	EQUAL(now_is.least_free_buffers, 0);
	EQUAL(now_is.in_flight, 4);
	EQUAL(now_is.waits, 1);
	CHECK(now_is.wait_ns >= 2000000);
	EQUAL(now_is.durable_records, 0);
	ram_hold(&disk, 0, 0);
	EQUAL(chario_stream_get(stream, 1, -1, &room), 0);
	EQUAL(chario_stream_commit(stream, &room, 0, 0, 0), 0);
	EQUAL(chario_stream_wait(stream, UINT64_MAX, -1), 0);
	/* Five segments at once are more than there are. */
	EQUAL(chario_stream_write(stream, memory, sizeof(memory), 0, 0, 0), -EAGAIN);
	lab_fill(memory, sizeof(memory), 4);
	EQUAL(chario_stream_write(stream, memory, sizeof(memory), 5, 0, -1), 0);
	EQUAL(close_stream(), 0);
	EQUAL(open_reader(), 0);
	for (uint64_t i = 0; i < 5; i++) {
		EQUAL(next(&record), 0);
		EQUAL(record.sequence, i);
		EQUAL(record.missing, 0);
		CHECK(lab_is(record.memory, record.bytes, i));
	}
}

/* A record that was begun and could not be ended is none, and its number is free. */
static void test_abandoned(void)
{
	uint64_t from = lab_area_offset(store);
	static unsigned char memory[6 * SEGMENT];
	struct chario_record record;

	EQUAL(open_stream(&small), 0);
	EQUAL(lab_write(stream, 0, 10), 0);
	ram_hold(&disk, from, from + SLOTS * SEGMENT);
	EQUAL(chario_stream_write(stream, memory, sizeof(memory), 0, 0, 5000000), -EAGAIN);
	ram_hold(&disk, 0, 0);
	EQUAL(lab_write(stream, 1, 20000), 0);
	EQUAL(close_stream(), 0);
	EQUAL(open_reader(), 0);
	for (uint64_t i = 0; i < 2; i++) {
		EQUAL(next(&record), 0);
		EQUAL(record.sequence, i);
		EQUAL(record.missing, 0);
		CHECK(lab_is(record.memory, record.bytes, i));
	}
	EQUAL(next(&record), -ENODATA);
}

static void test_full(void)
{
	struct chario_record record;
	uint64_t count = 0;
	int err;

	EQUAL(open_stream(&small), 0);
	while (!(err = lab_write(stream, count, 3000)))
		count++;
	EQUAL(err, -ENOSPC);
	EQUAL(count, 2 * SLOTS);
	EQUAL(lab_write(stream, count, 40000), -ENOSPC);
	EQUAL(lab_write(stream, count, 1000), 0);
	EQUAL(close_stream(), 0);
	EQUAL(open_reader(), 0);
	for (uint64_t i = 0; i <= count; i++)
		EQUAL(next(&record), 0);
	EQUAL(next(&record), -ENODATA);
}

/* Nothing is durable that is only in the cache, or behind what is not written. */
static void test_durable(void)
{
	uint64_t from = lab_area_offset(store);

	EQUAL(open_stream(&small), 0);
	disk.noting = true;
	ram_hold(&disk, from, from + SEGMENT);
	for (uint64_t i = 0; i < 3; i++)
		EQUAL(lab_write(stream, i, chario_stream_room_bytes(stream)), 0);
	while (ram_nr_events(&disk) < 2)
		usleep(100);
	EQUAL(chario_stream_wait(stream, 100, 0), -EAGAIN);
	EQUAL(chario_stream_wait(stream, 100, 2000000), -EAGAIN);
	EQUAL(chario_stream_wait(stream, 25000, 0), -EINVAL);
	EQUAL(get_status(), 0);
	EQUAL(now_is.durable_bytes, 0);
	EQUAL(now_is.flushes, 0);
	ram_hold(&disk, 0, 0);
	EQUAL(chario_stream_wait(stream, 100, -1), 0);
	EQUAL(get_status(), 0);
	CHECK(now_is.durable_bytes >= 8000);
	EQUAL(chario_stream_wait(stream, UINT64_MAX, -1), 0);
	EQUAL(get_status(), 0);
	EQUAL(now_is.durable_bytes, 24000);
	EQUAL(now_is.durable_records, 3);
	CHECK(now_is.flushes >= 1);
}

static void test_no_cache(void)
{
	after();
	begin(false);
	EQUAL(open_stream(&small), 0);
	EQUAL(get_status(), 0);
	EQUAL(now_is.durability, CHARIO_DURABILITY_NONE);
	disk.noting = true;
	for (uint64_t i = 0; i < 10; i++)
		EQUAL(lab_write(stream, i, 5000), 0);
	EQUAL(chario_stream_wait(stream, UINT64_MAX, -1), 0);
	EQUAL(close_stream(), 0);
	for (size_t i = 0; i < disk.nr_events; i++)
		CHECK(!disk.events[i].flush);
}

static void test_fua(void)
{
	struct chario_stream_options options = small;

	options.durability = CHARIO_DURABILITY_FUA;
	EQUAL(open_stream(&options), 0);
	disk.noting = true;
	for (uint64_t i = 0; i < 10; i++)
		EQUAL(lab_write(stream, i, 5000), 0);
	EQUAL(chario_stream_wait(stream, UINT64_MAX, -1), 0);
	EQUAL(close_stream(), 0);
	for (size_t i = 0; i < disk.nr_events; i++)
		CHECK(!disk.events[i].flush && disk.events[i].fua);
}

/* A full segment is one write; what was not full goes on behind it. */
static void test_writes(void)
{
	EQUAL(open_stream(&small), 0);
	disk.noting = true;
	for (uint64_t i = 0; i < 4; i++)
		EQUAL(lab_write(stream, i, chario_stream_room_bytes(stream)), 0);
	while (ram_nr_events(&disk) < 4)
		usleep(100);
	for (size_t i = 0; i < 4; i++)
		EQUAL(disk.events[i].bytes, SEGMENT);
	EQUAL(lab_write(stream, 4, 10), 0);
	EQUAL(chario_stream_wait(stream, UINT64_MAX, -1), 0);
	EQUAL(lab_write(stream, 5, 10), 0);
	EQUAL(chario_stream_wait(stream, UINT64_MAX, -1), 0);
	EQUAL(get_status(), 0);
	EQUAL(now_is.segments, 5);
	EQUAL(disk.events[disk.nr_events - 2].bytes, 4096);
}

static void test_time(void)
{
	struct chario_stream_options options = small;
	struct pollfd polled;

	options.flush_ns = 20000000;
	EQUAL(open_stream(&options), 0);
	EQUAL(lab_write(stream, 0, 10), 0);
	polled = (struct pollfd){ .fd = chario_stream_fd(stream), .events = POLLIN };
	do {
		EQUAL(poll(&polled, 1, -1), 1);
		EQUAL(chario_stream_service(stream), 0);
		EQUAL(get_status(), 0);
	} while (!now_is.durable_records);
	/* With nothing to do nobody is woken. */
	EQUAL(chario_stream_service(stream), 0);
	EQUAL(poll(&polled, 1, 0), 0);
}

static void test_retries(void)
{
	struct chario_record record;

	EQUAL(open_stream(&small), 0);
	disk.error = -EIO;
	disk.failing = 3;
	EQUAL(lab_write(stream, 0, 5), 0);
	EQUAL(chario_stream_wait(stream, UINT64_MAX, -1), 0);
	disk.error = -ETIMEDOUT;
	disk.failing_flushes = 2;
	EQUAL(lab_write(stream, 1, 10), 0);
	EQUAL(chario_stream_wait(stream, UINT64_MAX, -1), 0);
	EQUAL(get_status(), 0);
	EQUAL(now_is.retries, 5);
	EQUAL(close_stream(), 0);
	EQUAL(open_reader(), 0);
	EQUAL(next(&record), 0);
	CHECK(lab_is(record.memory, 5, 0));
	EQUAL(next(&record), 0);
	CHECK(lab_is(record.memory, 10, 1));
}

static void test_error(void)
{
	struct chario_stream_room room;

	EQUAL(open_stream(&small), 0);
	EQUAL(lab_write(stream, 0, 10), 0);
	EQUAL(chario_stream_wait(stream, UINT64_MAX, -1), 0);
	disk.error = -EIO;
	disk.failing = 4;
	EQUAL(lab_write(stream, 1, 10), 0);
	EQUAL(chario_stream_wait(stream, UINT64_MAX, -1), -EIO);
	EQUAL(get(10, &room), -EIO);
	EQUAL(chario_stream_service(stream), -EIO);
	EQUAL(lab_write(stream, 1, 10), -EIO);
	EQUAL(get_status(), 0);
	EQUAL(now_is.durable_records, 1);
	EQUAL(close_stream(), -EIO);
	EQUAL(open_stream(&small), 0);
	disk.error = -EROFS;
	disk.failing = 1;
	EQUAL(lab_write(stream, 1, 10), 0);
	EQUAL(chario_stream_wait(stream, UINT64_MAX, -1), -EROFS);
	EQUAL(close_stream(), -EROFS);
}

static void test_late(void)
{
	struct chario_stream_options options = small;
	uint64_t from = lab_area_offset(store);

	options.late_ns = 1000000;
	EQUAL(open_stream(&options), 0);
	ram_hold(&disk, from, from + SEGMENT);
	EQUAL(lab_write(stream, 0, chario_stream_room_bytes(stream)), 0);
	ram_wait_held(&disk, 1);
	usleep(3000);
	ram_hold(&disk, 0, 0);
	EQUAL(chario_stream_wait(stream, UINT64_MAX, -1), 0);
	EQUAL(get_status(), 0);
	EQUAL(now_is.late, 1);
	CHECK(now_is.longest_ns >= 3000000);
	EQUAL(now_is.late_ns, now_is.longest_ns - options.late_ns);
	CHECK(now_is.segment_ns[0] >= now_is.longest_ns);
	CHECK(now_is.segment_ns[2] >= now_is.segment_ns[0]);
}

/* The drive takes the bytes from where they are, and says when it has. */
static void test_buffer(void)
{
	struct chario_device *device = chario_store_device(store);
	struct chario_stream_options options = small;
	struct chario_buffer *buffer;
	struct chario_record record;
	uint32_t released[40] = { 0 };
	unsigned char *memory;

	EQUAL(chario_buffer_pool(device, 1 << 16, 0, &buffer), 0);
	memory = chario_buffer_memory(buffer);
	options.segment_bytes = 16384;
	EQUAL(open_stream(&options), 0);
	EQUAL(chario_stream_write_buffer(stream, buffer, 0, 100, 0, 0, 0, NULL), -EINVAL);
	EQUAL(chario_stream_write_buffer(stream, buffer, 4, 512, 0, 0, 0, NULL), -EINVAL);
	EQUAL(chario_stream_write_buffer(stream, buffer, 0, 0, 0, 0, 0, NULL), -EINVAL);
	EQUAL(chario_stream_write_buffer(stream, buffer, 65536, 512, 0, 0, 0, NULL), -EINVAL);
	EQUAL(chario_stream_write_buffer(stream, buffer, 0, 512, 0, 8, 0, NULL), -EINVAL);
	EQUAL(chario_stream_write_buffer(stream, buffer, 0, 12288, 0, 0, 0, NULL), -EMSGSIZE);
	for (uint64_t i = 0; i < 40; i++) {
		size_t bytes = 512 * (i % 7 + 1);

		lab_fill(memory + i % 16 * 4096, bytes, i);
		EQUAL(chario_stream_write_buffer(stream, buffer, i % 16 * 4096, bytes, i + 1, 0, -1,
						 &released[i]),
		      0);
		if (i % 16 == 15)
			EQUAL(chario_stream_wait(stream, UINT64_MAX, -1), 0);
	}
	EQUAL(close_stream(), 0);
	for (size_t i = 0; i < 40; i++)
		EQUAL(released[i], 1);
	chario_buffer_free(buffer);
	EQUAL(open_reader(), 0);
	for (uint64_t i = 0; i < 40; i++) {
		EQUAL(next(&record), 0);
		EQUAL(record.sequence, i);
		EQUAL(record.bytes, 512 * (i % 7 + 1));
		EQUAL(record.flags, CHARIO_RECORD_NO_CRC);
		CHECK(lab_is(record.memory, record.bytes, i));
	}
	EQUAL(next(&record), -ENODATA);
}

static void *wait_for_all(void *data)
{
	return (void *)(intptr_t)chario_stream_wait(data, 20 * 5000, -1);
}

static void *look(void *data)
{
	struct chario_stream_status now = { 0 };

	while (now.durable_records < 20)
		if (chario_stream_get_status(data, &now, sizeof(now)) ||
		    now.durable_records > now.records || chario_stream_lose(data, 0, 0))
			return data;
	return NULL;
}

/* Others wait and look while the producer records. */
static void test_threads(void)
{
	pthread_t waiters[3];
	void *result;

	EQUAL(open_stream(&small), 0);
	for (uint64_t i = 0; i < 20; i++)
		EQUAL(lab_write(stream, i, 5000), 0);
	for (size_t i = 0; i < 3; i++)
		EQUAL(pthread_create(&waiters[i], NULL, i ? wait_for_all : look, stream), 0);
	for (uint64_t i = 20; i < 40; i++)
		EQUAL(lab_write(stream, i, 2000), 0);
	for (size_t i = 0; i < 3; i++) {
		EQUAL(pthread_join(waiters[i], &result), 0);
		CHECK(!result);
	}
}

static const struct tap_test tests[] = {
	{ "options are checked, the usual ones suit the area", test_options },
	{ "records of any length come back", test_lengths },
	{ "rooms are committed in any order, or taken back", test_rooms },
	{ "what was lost is seen where it was", test_losses },
	{ "without a free buffer the producer is told", test_pressure },
	{ "a record that could not be ended is none", test_abandoned },
	{ "an area that is full says so", test_full },
	{ "durable is what a flush has covered, in order", test_durable },
	{ "without a cache there is no flush", test_no_cache },
	{ "FUA flushes nothing", test_fua },
	{ "a segment is one write", test_writes },
	{ "what waits is written by time, and poll tells", test_time },
	{ "what fails is made again", test_retries },
	{ "what fails for good ends the recording", test_error },
	{ "late segments are counted", test_late },
	{ "buffers of others are not copied", test_buffer },
	{ "others wait while the producer records", test_threads },
};

TAP_MAIN(tests, before, after)
