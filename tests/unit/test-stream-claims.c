// SPDX-License-Identifier: MIT
/*
 * What a stream says of the disk is so: of what is durable, and of what it has not
 * touched yet.
 */
#include <errno.h>
#include <string.h>

#include "tap.h"
#include "tape-lab.h"

#define SEGMENT 8192U
#define SLOTS   32U
#define SECOND  1000000000LL

static struct ram_disk disk;
static struct chario_store *store;
static struct chario_stream *stream;
static struct chario_reader *reader;

static const struct chario_stream_options small = {
	.size = sizeof(small),
	.segment_bytes = SEGMENT,
	.nr_buffers = 4,
	/* Nothing happens by time that a test does not ask for. */
	.flush_ns = 1000 * SECOND,
	.late_ns = 1000 * SECOND,
};

static void before(void)
{
	ram_init(&disk, lab_make_file(SLOTS * SEGMENT), true);
	store = lab_open_store(&disk);
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

/* What a flush has failed for may be gone: another one that succeeds proves nothing. */
static void test_flush_error(void)
{
	struct chario_stream_status now_is;

	EQUAL(open_stream(&small), 0);
	EQUAL(lab_write(stream, 0, 10), 0);
	EQUAL(chario_stream_wait(stream, UINT64_MAX, -1), 0);
	disk.error = -EIO;
	disk.failing_flushes = 1;
	EQUAL(lab_write(stream, 1, 10), 0);
	EQUAL(chario_stream_wait(stream, UINT64_MAX, -1), -EIO);
	EQUAL(chario_stream_get_status(stream, &now_is, sizeof(now_is)), 0);
	EQUAL(now_is.durable_records, 1);
	EQUAL(close_stream(), -EIO);
}

/* Where in the order of what the disk has done a write to a place is; or the end. */
static size_t find_write(uint64_t from, uint64_t to)
{
	size_t i = 0;

	while (i < disk.nr_events && (disk.events[i].flush || disk.events[i].offset < from ||
				      disk.events[i].offset >= to))
		i++;
	return i;
}

/* As long as the first segment is not durable, those a window ahead are not touched. */
static void test_buffer_window(void)
{
	const uint64_t segment = SLOTS * SEGMENT / 8, from = lab_area_offset(store);
	struct chario_stream_options options = small;
	struct chario_buffer *buffer;
	uint32_t released[6] = { 0 };

	EQUAL(chario_buffer_pool(chario_store_device(store), 1 << 16, 0, &buffer), 0);
	options.flags = CHARIO_STREAM_RING;
	options.segment_bytes = (uint32_t)segment;
	options.nr_buffers = 6;
	options.durability = CHARIO_DURABILITY_FUA;
	EQUAL(open_stream(&options), 0);
	disk.noting = true;
	ram_hold(&disk, from, from + 4096);
	for (uint64_t i = 0; i < 6; i++)
		EQUAL(chario_stream_write_buffer(stream, buffer, 0, segment * 3 / 4, i + 1, 0, 0,
						 &released[i]),
		      0);
	/* Half of a ring of eight is four. */
	while (!released[0] || !released[1] || !released[2] || !released[3])
		EQUAL(chario_stream_service(stream), 0);
	ram_wait_held(&disk, 1);
	EQUAL(chario_stream_service(stream), 0);
	ram_hold(&disk, 0, 0);
	EQUAL(close_stream(), 0);
	EQUAL(released[5], 1);
	CHECK(find_write(from + 4 * segment, from + 6 * segment) > find_write(from, from + 4096));
	chario_buffer_free(buffer);
}

static int record_buffer(const struct chario_buffer *buffer, uint64_t sequence)
{
	lab_fill(chario_buffer_memory(buffer), 512, sequence);
	return chario_stream_write_buffer(stream, buffer, 0, 512, sequence + 1, 0, 0, NULL) ?:
		       chario_stream_wait(stream, UINT64_MAX, -1);
}

/* Nothing but the table says that data without a checksum are another recording's. */
static void test_other_recording(void)
{
	struct chario_buffer *buffer;
	struct chario_record record;

	EQUAL(chario_buffer_pool(chario_store_device(store), 4096, 0, &buffer), 0);
	EQUAL(open_stream(&small), 0);
	EQUAL(record_buffer(buffer, 0), 0);
	EQUAL(record_buffer(buffer, 1), 0);
	EQUAL(close_stream(), 0);
	EQUAL(chario_reader_open(store, LAB_AREA, &reader), 0);
	EQUAL(chario_reader_next(reader, 0, &record), 0);
	CHECK(lab_is(record.memory, 512, 0));
	/* The reader has the header, and not the data, when another recording begins. */
	EQUAL(chario_reader_seek(reader, 0), 0);
	EQUAL(open_stream(&small), 0);
	EQUAL(record_buffer(buffer, 7), 0);
	EQUAL(chario_reader_next(reader, 0, &record), -ESTALE);
	EQUAL(close_stream(), 0);
	chario_buffer_free(buffer);
}

static const struct tap_test tests[] = {
	{ "a flush that fails is the last", test_flush_error },
	{ "buffers of others wait for the window", test_buffer_window },
	{ "a reader gives no data of another recording", test_other_recording },
};

TAP_MAIN(tests, before, after)
