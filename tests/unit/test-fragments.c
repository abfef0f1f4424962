// SPDX-License-Identifier: MIT
/*
 * A record whose number comes again because it was cut off is not put together with the
 * one that has its number.
 */
#include "tap.h"
#include "tape-rig.h"

static unsigned char *image;

static void before(void)
{
	rig_begin(RIG_BYTES, true);
	image = malloc(rig.disk->bytes);
}

static void after(void)
{
	free(image);
	rig_end();
}

/* A record of some segments, all of it one letter. */
static int record(unsigned char letter)
{
	size_t bytes = 3 * chario_stream_room_bytes(rig.stream);
	unsigned char *memory = malloc(bytes);
	int err;

	memset(memory, letter, bytes);
	err = chario_stream_write(rig.stream, memory, bytes, 0, 0, -1);
	free(memory);
	return err;
}

/* The power is cut when so many writes have ended. */
static void cut_at(size_t writes)
{
	while (log_disk_nr_entries(rig.disk) < writes)
		usleep(1000);
	memcpy(image, rig.disk->image, rig.disk->bytes);
	log_disk_hold(rig.disk, 0, 0);
	rig_close();
	memcpy(rig.disk->image, image, rig.disk->bytes);
}

/* Its first segment is there, nothing of the others. */
static void record_and_cut(void)
{
	uint64_t area = lab_area_offset(rig.store);

	EQUAL(rig_open(&rig_small), 0);
	log_disk_hold(rig.disk, area + RIG_SEGMENT, area + RIG_BYTES);
	log_disk_record(rig.disk);
	EQUAL(record('A'), 0);
	cut_at(1);
}

static int append(void)
{
	struct chario_stream_options options = rig_small;

	options.flags = CHARIO_STREAM_APPEND;
	return rig_open(&options);
}

/* Whether each record that a reader gives is of one letter. */
static bool is_of_one(void)
{
	bool is = !rig_open_reader();

	while (is && !rig_next()) {
		const unsigned char *memory = rig.record.memory;

		is = !memcmp(memory, memory + 1, rig.record.bytes - 1);
	}
	rig_close_reader();
	return is;
}

/* Of the segments that may be written in any order the first is the one that was not. */
TEST(test_two_cuts, "after a second power cut")
{
	uint64_t segment = lab_area_offset(rig.store) + RIG_SEGMENT;
	unsigned char old[RIG_SEGMENT];

	record_and_cut();
	memcpy(old, image + segment, sizeof(old));
	EQUAL(append(), 0);
	log_disk_record(rig.disk);
	EQUAL(record('B'), 0);
	cut_at(3);
	memcpy(rig.disk->image + segment, old, sizeof(old));
	CHECK(is_of_one());
}

/* The first fragment of the second one cannot be read. */
TEST(test_bad_block, "after a bad block")
{
	uint64_t segment = lab_area_offset(rig.store) + RIG_SEGMENT;

	record_and_cut();
	EQUAL(append(), 0);
	EQUAL(record('B'), 0);
	EQUAL(record('C'), 0);
	EQUAL(rig_close(), 0);
	memset(rig.disk->image + segment, 0, 4096);
	CHECK(is_of_one());
}

TEST_MAIN(before, after)
