// SPDX-License-Identifier: MIT
/*
 * The window of a recording: a segment is written only when all those that stand a
 * window before it are durable.  The search for the head relies on it.
 */
#include <endian.h>

#include "store/area-inner.h"
#include "stream/format.h"
#include "tape-rig.h"

#define SEGMENT  RIG_SEGMENT
#define SLOTS    RIG_SLOTS
#define BUFFERS  4U
#define SEGMENTS 300U

/* Of a recording of which some segments are lost, and buffers of one that is appended. */
#define SHORT 24U
#define MORE  16U

static uint64_t window;

static void begin(bool cached, uint32_t slots)
{
	rig_begin(slots * SEGMENT, cached);
	/* Each other transfer lets some pass. */
	rig.disk->slow_one_in = 2;
	log_disk_record(rig.disk);
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
	int err = rig_open(&options);

	if (!err)
		err = rig_record(0, segments, chario_stream_room_bytes(rig.stream));
	return rig_close() ?: err;
}

/* What a reader takes the window to be. */
static int read_window(void)
{
	struct chario_area_stream is;
	struct chario_area *area;
	int err = chario_area_open(rig.store, LAB_AREA, O_RDONLY, &area);

	if (err)
		return err;
	err = chario_area_get_stream(area, &is);
	window = is.window;
	chario_area_close(area);
	return err;
}

/* The segment that an entry wrote, UINT64_MAX where it wrote something else. */
static uint64_t segment_of(size_t i)
{
	const struct chario_disk_batch *batch = (const void *)rig.disk->entries[i].data;

	return batch && le64toh(batch->magic) == CHARIO_DISK_BATCH_MAGIC ? le64toh(batch->segment) :
									   UINT64_MAX;
}

/* Whether a write was durable when there were so many entries. */
static bool is_durable(size_t write, size_t at)
{
	if (rig.disk->entries[write].durable)
		return write < at;
	for (size_t i = write + 1; i < at; i++)
		if (!rig.disk->entries[i].bytes && rig.disk->entries[i].begun > write)
			return true;
	return false;
}

/* All that a write had to wait for was durable when it began. */
static bool has_waited(size_t write)
{
	uint64_t segment = segment_of(write);

	for (size_t i = 0; i < rig.disk->nr_entries; i++)
		if (segment_of(i) != UINT64_MAX && segment_of(i) + window <= segment &&
		    !is_durable(i, rig.disk->entries[write].begun)) {
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

	for (size_t i = 0; i < rig.disk->nr_entries; i++) {
		if (segment_of(i) != UINT64_MAX && !has_waited(i))
			return 0;
		count += segment_of(i) != UINT64_MAX;
	}
	return count;
}

/* Nor before one whose write is under way, with FUA, nor where nothing is made durable. */
TEST(test_window, "no segment is written a window before one that is not durable")
{
	static const struct {
		bool cached;
		enum chario_durability durability;
	} ways[] = { { true, CHARIO_DURABILITY_FLUSH },
		     { true, CHARIO_DURABILITY_FUA },
		     { true, CHARIO_DURABILITY_NONE },
		     { false, CHARIO_DURABILITY_AUTO } };

	for (size_t i = 0; i < 4; i++) {
		rig_end();
		begin(ways[i].cached, SLOTS);
		EQUAL(record(ways[i].durability, CHARIO_STREAM_RING, BUFFERS, SEGMENTS), 0);
		EQUAL(read_window(), 0);
		CHECK(window >= BUFFERS && window < SLOTS);
		CHECK(count_waited() >= SEGMENTS);
	}
}

/* Readers know the window of the beginning only: it holds for what is appended, too. */
TEST(test_append, "and where others append with more buffers")
{
	EQUAL(record(CHARIO_DURABILITY_FUA, 0, BUFFERS, 3), 0);
	EQUAL(read_window(), 0);
	EQUAL(window, BUFFERS);
	log_disk_record(rig.disk);
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
		rig_end();
		begin(true, limits[i].slots);
		EQUAL(record(CHARIO_DURABILITY_NONE, limits[i].flags, 2, 2), 0);
		EQUAL(read_window(), 0);
		EQUAL(window, limits[i].window);
	}
}

/* Look for the head of a recording of which the segments between two are lost, and all behind. */
static void find_newest(const unsigned char *whole, uint64_t before, uint64_t newest)
{
	memcpy(rig.disk->image, whole, rig.disk->bytes);
	for (uint64_t i = before + 1; i < SLOTS; i++)
		if (i != newest)
			memset(rig_place(i * SEGMENT), 0, SEGMENT);
	EQUAL(rig_survey(), 0);
	rig_close_reader();
	/* A segment has one record, and nothing was said of an end. */
	EQUAL(rig.recording.next_record, newest + 1);
}

TEST(test_search, "the newest segment is found wherever in the window it is")
{
	unsigned char *whole;

	rig.disk->slow_one_in = 0;
	EQUAL(record(CHARIO_DURABILITY_FUA, 0, 2 * BUFFERS, SHORT), 0);
	EQUAL(read_window(), 0);
	EQUAL(window, 2 * BUFFERS);
	whole = malloc(rig.disk->bytes);
	memcpy(whole, rig.disk->image, rig.disk->bytes);
	for (uint64_t before = 0; before + window < SHORT; before++)
		for (uint64_t i = 1; i <= window && !tap_failed; i++)
			find_newest(whole, before, before + i);
	free(whole);
}

TEST_MAIN_WITH(begin(true, SLOTS), rig_end())
