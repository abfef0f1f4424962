// SPDX-License-Identifier: MIT
/*
 * The window of a recording: a segment is written only when all those that stand a
 * window before it are durable.  The search for the head relies on it.
 */
#include <endian.h>
#include <fcntl.h>
#include <stdlib.h>

#include "store/area-inner.h"
#include "stream/format.h"
#include "tap.h"
#include "tape-lab.h"

#define SEGMENT  8192U
#define SLOTS    32U
#define BUFFERS  4U
#define SEGMENTS 300U

static struct log_disk *disk;
static struct chario_store *store;
static uint64_t window;

static void begin(bool cached)
{
	disk = lab_make_disk(SLOTS * SEGMENT, cached);
	store = lab_open_store(disk);
	/* Each other transfer lets some pass. */
	disk->slow_one_in = 2;
	log_disk_record(disk);
}

static void end(void)
{
	chario_store_close(store);
	log_disk_destroy(disk);
}

/* One write for each segment, as fast as the stream takes them. */
static int record(enum chario_durability durability)
{
	const struct chario_stream_options options = {
		.size = sizeof(options),
		.flags = CHARIO_STREAM_RING,
		.segment_bytes = SEGMENT,
		.nr_buffers = BUFFERS,
		.flush_bytes = SEGMENT,
		.durability = durability,
	};
	struct chario_stream *stream;
	int err = chario_stream_open(store, LAB_AREA, &options, &stream);

	if (err)
		return err;
	for (uint64_t i = 0; i < SEGMENTS && !err; i++)
		err = lab_write(stream, i, chario_stream_room_bytes(stream));
	return chario_stream_close(stream) ?: err;
}

/* What a reader takes the window to be. */
static int read_window(void)
{
	struct chario_area_stream is;
	struct chario_area *area;
	int err = chario_area_open(store, LAB_AREA, O_RDONLY, &area);

	if (err)
		return err;
	err = chario_area_get_stream(area, &is);
	window = is.nr_buffers;
	chario_area_close(area);
	return err;
}

/* The segment that an entry wrote, UINT64_MAX where it wrote something else. */
static uint64_t segment_of(size_t i)
{
	const struct chario_disk_batch *batch = (const void *)disk->entries[i].data;

	return batch && le64toh(batch->magic) == CHARIO_DISK_BATCH_MAGIC ? le64toh(batch->segment) :
									   UINT64_MAX;
}

/* Whether a write was durable when there were so many entries. */
static bool is_durable(size_t write, size_t at)
{
	if (disk->entries[write].durable)
		return write < at;
	for (size_t i = write + 1; i < at; i++)
		if (!disk->entries[i].bytes && disk->entries[i].begun > write)
			return true;
	return false;
}

/* All that a write had to wait for was durable when it began. */
static bool has_waited(size_t write)
{
	uint64_t segment = segment_of(write);

	for (size_t i = 0; i < disk->nr_entries; i++)
		if (segment_of(i) != UINT64_MAX && segment_of(i) + window <= segment &&
		    !is_durable(i, disk->entries[write].begun)) {
			printf("# segment %llu was written before %llu was durable\n",
			       (unsigned long long)segment, (unsigned long long)segment_of(i));
			return false;
		}
	return true;
}

static void try_window(bool cached, enum chario_durability durability)
{
	size_t count = 0;

	begin(cached);
	EQUAL(record(durability), 0);
	EQUAL(read_window(), 0);
	CHECK(window >= BUFFERS && window < SLOTS);
	for (size_t i = 0; i < disk->nr_entries; i++) {
		if (segment_of(i) == UINT64_MAX)
			continue;
		CHECK(has_waited(i));
		count++;
	}
	CHECK(count >= SEGMENTS);
}

static void test_flush(void)
{
	try_window(true, CHARIO_DURABILITY_FLUSH);
}

static void test_fua(void)
{
	try_window(true, CHARIO_DURABILITY_FUA);
}

static void test_no_policy(void)
{
	try_window(true, CHARIO_DURABILITY_NONE);
}

static void test_no_cache(void)
{
	try_window(false, CHARIO_DURABILITY_AUTO);
}

static const struct tap_test tests[] = {
	{ "no segment is written a window before one that is not flushed", test_flush },
	{ "nor before one whose write is under way, with FUA", test_fua },
	{ "the window holds where nothing else is to be durable", test_no_policy },
	{ "and where there is no cache", test_no_cache },
};

TAP_MAIN(tests, tap_nothing, end)
