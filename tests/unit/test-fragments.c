// SPDX-License-Identifier: MIT
/*
 * A record whose number comes again because it was cut off is not put together with the
 * one that has its number.
 */
#include "tape-rig.h"

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
	rig_cut();
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
	unsigned char old[RIG_SEGMENT];

	record_and_cut();
	memcpy(old, rig_place(RIG_SEGMENT), sizeof(old));
	EQUAL(rig_open_as(CHARIO_STREAM_APPEND), 0);
	log_disk_record(rig.disk);
	EQUAL(record('B'), 0);
	cut_at(3);
	memcpy(rig_place(RIG_SEGMENT), old, sizeof(old));
	CHECK(is_of_one());
}

/* The first fragment of the second one cannot be read. */
TEST(test_bad_block, "after a bad block")
{
	record_and_cut();
	EQUAL(rig_open_as(CHARIO_STREAM_APPEND), 0);
	EQUAL(record('B'), 0);
	EQUAL(record('C'), 0);
	EQUAL(rig_close(), 0);
	memset(rig_place(RIG_SEGMENT), 0, 4096);
	CHECK(is_of_one());
}

TEST_MAIN(rig_begin_usual, rig_end)
