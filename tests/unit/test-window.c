// SPDX-License-Identifier: MIT
/*
 * The window of a recording: a segment is written only when all those that stand a
 * window before it are durable.  The search for the head relies on it.
 */
#include <endian.h>

#include "store/area-inner.h"
#include "stream/format.h"
#include "tap.h"
#include "tape-lab.h"

#define SEGMENT  8192U
#define SLOTS    32U
#define BUFFERS  4U
#define SEGMENTS 300U

/* Of a recording of which some segments are lost, and buffers of one that is appended. */
#define SHORT 24U
#define MORE  16U

static struct log_disk *disk;
static struct chario_store *store;
static uint64_t window;

static void begin(bool cached, uint32_t slots)
{
	disk = lab_make_disk(slots * SEGMENT, cached);
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
static int record(enum chario_durability durability, unsigned int flags, uint32_t buffers,
		  uint64_t segments)
{
	const struct chario_stream_options options = {
		.size = sizeof(options),
		.flags = flags,
		.segment_bytes = SEGMENT,
		.nr_buffers = buffers,
		.flush_bytes = SEGMENT,
		.durability = durability,
	};
	struct chario_stream *stream;
	int err = chario_stream_open(store, LAB_AREA, &options, &stream);

	if (err)
		return err;
	for (uint64_t i = 0; i < segments && !err; i++)
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

/* The segments that were written, all of which had to wait for the window. */
static size_t count_waited(void)
{
	size_t count = 0;

	for (size_t i = 0; i < disk->nr_entries; i++) {
		if (segment_of(i) != UINT64_MAX && !has_waited(i))
			return 0;
		count += segment_of(i) != UINT64_MAX;
	}
	return count;
}

static void try_window(bool cached, enum chario_durability durability)
{
	begin(cached, SLOTS);
	EQUAL(record(durability, CHARIO_STREAM_RING, BUFFERS, SEGMENTS), 0);
	EQUAL(read_window(), 0);
	CHECK(window >= BUFFERS && window < SLOTS);
	CHECK(count_waited() >= SEGMENTS);
}

TEST(test_flush, "no segment is written a window before one that is not flushed")
{
	try_window(true, CHARIO_DURABILITY_FLUSH);
}

TEST(test_fua, "nor before one whose write is under way, with FUA")
{
	try_window(true, CHARIO_DURABILITY_FUA);
}

TEST(test_no_policy, "the window holds where nothing else is to be durable")
{
	try_window(true, CHARIO_DURABILITY_NONE);
}

TEST(test_no_cache, "and where there is no cache")
{
	try_window(false, CHARIO_DURABILITY_AUTO);
}

/* Readers know the window of the beginning only: it holds for what is appended, too. */
TEST(test_append, "and where others append with more buffers")
{
	begin(true, SLOTS);
	EQUAL(record(CHARIO_DURABILITY_FUA, 0, BUFFERS, 3), 0);
	EQUAL(read_window(), 0);
	EQUAL(window, BUFFERS);
	log_disk_record(disk);
	EQUAL(record(CHARIO_DURABILITY_NONE, CHARIO_STREAM_APPEND, MORE, MORE), 0);
	CHECK(count_waited() >= MORE);
}

/* The search for the head reads no more than this, and a ring of a few segments has one. */
TEST(test_limits, "a window is neither too long nor nothing")
{
	static const struct {
		uint32_t slots;
		unsigned int flags;
		uint32_t window;
	} limits[] = { { 300, 0, 256 },
		       { 300, CHARIO_STREAM_RING, 37 },
		       { 4, CHARIO_STREAM_RING, 1 } };

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		begin(true, limits[i].slots);
		EQUAL(record(CHARIO_DURABILITY_NONE, limits[i].flags, 2, 2), 0);
		EQUAL(read_window(), 0);
		EQUAL(window, limits[i].window);
		if (i < 2)
			end();
	}
}

/* Look for the head of a recording of which the segments between two are lost, and all behind. */
static void find_newest(const unsigned char *whole, uint64_t before, uint64_t newest)
{
	const uint64_t offset = lab_area_offset(store);
	struct chario_recording recording;
	struct chario_reader *reader;
	int err;

	memcpy(disk->image, whole, disk->bytes);
	for (uint64_t i = before + 1; i < SLOTS; i++)
		if (i != newest)
			memset(disk->image + offset + i * SEGMENT, 0, SEGMENT);
	EQUAL(chario_reader_open(store, LAB_AREA, &reader), 0);
	err = chario_reader_get_recording(reader, &recording, sizeof(recording));
	chario_reader_close(reader);
	EQUAL(err, 0);
	/* A segment has one record, and nothing was said of an end. */
	EQUAL(recording.next_record, newest + 1);
}

TEST(test_search, "the newest segment is found wherever in the window it is")
{
	unsigned char *whole;

	begin(true, SLOTS);
	disk->slow_one_in = 0;
	EQUAL(record(CHARIO_DURABILITY_FUA, 0, 2 * BUFFERS, SHORT), 0);
	EQUAL(read_window(), 0);
	EQUAL(window, 2 * BUFFERS);
	whole = malloc(disk->bytes);
	memcpy(whole, disk->image, disk->bytes);
	for (uint64_t before = 0; before + window < SHORT; before++)
		for (uint64_t i = 1; i <= window && !tap_failed; i++)
			find_newest(whole, before, before + i);
	free(whole);
}

TEST_MAIN(tap_nothing, end)
