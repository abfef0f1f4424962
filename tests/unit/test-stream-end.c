// SPDX-License-Identifier: MIT
/*
 * How a recording ended: what is damaged at its end is missed.
 */
#include "store/crc32c.h"
#include "store/format.h"
#include "tape-rig.h"

#define RECORDS      12U
#define RECORD_BYTES 3000U

static int record_all(unsigned int flags, uint64_t from, uint64_t to)
{
	return rig_open_as(flags) ?: rig_record(from, to, RECORD_BYTES) ?: rig_close();
}

static void wipe(uint64_t from_segment)
{
	uint64_t from = from_segment * RIG_SEGMENT;

	memset(rig_place(from), 0x55, RIG_BYTES - from);
}

/* How many records there were when all was read last. */
static uint64_t count;

/* Read up to the end, whose errno is returned. */
static int read_all(void)
{
	int err = rig_open_reader();

	for (count = 0; !err && !(err = rig_next()); count++)
		;
	return err;
}

TEST(test_whole, "a recording that was closed says so")
{
	EQUAL(record_all(0, 0, RECORDS), 0);
	EQUAL(read_all(), -ENODATA);
	EQUAL(count, RECORDS);
	EQUAL(rig.record.missing, 0);
	EQUAL(rig.record.sequence, RECORDS);
	EQUAL(rig_get_recording(), 0);
	EQUAL(rig.recording.records, RECORDS);
	EQUAL(rig.recording.missing_records, 0);
	CHECK(rig.recording.ended && rig.recording.ended_ns);
}

/* Each number of segments that are left. */
TEST(test_damaged, "what is damaged at its end is missed")
{
	for (uint64_t left = 0; left < 4; left++) {
		EQUAL(record_all(0, 0, RECORDS), 0);
		wipe(left);
		EQUAL(read_all(), -ENODATA);
		CHECK(count < RECORDS);
		EQUAL(rig.record.missing, RECORDS - count);
		EQUAL(rig.record.sequence, RECORDS);
		EQUAL(rig_get_recording(), 0);
		EQUAL(rig.recording.records, count);
		EQUAL(rig.recording.last_time_ns, count);
		EQUAL(rig.recording.missing_records, RECORDS - count);
		EQUAL(rig.recording.missing_bytes, (RECORDS - count) * RECORD_BYTES);
		EQUAL(rig.recording.ended, 1);
		/* It is told once. */
		EQUAL(rig_next(), -ENODATA);
		EQUAL(rig.record.missing, 0);
		rig_close_reader();
	}
}

/* A record that is damaged, before the word that the recording has ended. */
TEST(test_last_record, "so is the last record of all")
{
	EQUAL(record_all(0, 0, 2), 0);
	*rig_place(192 + RECORD_BYTES + 200) ^= 1;
	EQUAL(read_all(), -ENODATA);
	EQUAL(count, 1);
	EQUAL(rig.record.missing, 1);
}

/* An end of an earlier part says nothing of the one behind it. */
TEST(test_append, "who goes on and is cut off has not ended")
{
	EQUAL(record_all(0, 0, RECORDS), 0);
	EQUAL(record_all(CHARIO_STREAM_APPEND, RECORDS, 2 * RECORDS), 0);
	EQUAL(read_all(), -ENODATA);
	EQUAL(count, 2 * RECORDS);
	EQUAL(rig.record.missing, 0);
	rig_close_reader();
	EQUAL(rig_open_as(CHARIO_STREAM_APPEND), 0);
	EQUAL(rig_record(2 * RECORDS, 2 * RECORDS + 2, RECORD_BYTES), 0);
	EQUAL(rig_wait(), 0);
	EQUAL(rig_cut(), 0);
	EQUAL(read_all(), -EAGAIN);
	EQUAL(count, 2 * RECORDS + 2);
	rig_close_reader();
	EQUAL(rig_open_reader(), 0);
	EQUAL(chario_reader_seek(rig.reader, UINT64_MAX), 0);
	EQUAL(rig_next(), -EAGAIN);
}

/* While somebody records, an end of the table is none. */
TEST(test_live, "a recording that goes on has not ended")
{
	EQUAL(record_all(0, 0, RECORDS), 0);
	wipe(2);
	EQUAL(rig_open_as(CHARIO_STREAM_APPEND), 0);
	EQUAL(read_all(), -EAGAIN);
	CHECK(count < RECORDS);
	EQUAL(rig_get_recording(), 0);
	EQUAL(rig.recording.ended, 0);
}

/* Programs of the first release begin another recording, and leave what stands there. */
TEST(test_other_session, "what a table says of another recording")
{
	EQUAL(record_all(0, 0, RECORDS), 0);
	for (size_t at = 0; at < rig.disk->bytes; at += CHARIO_STORE_BLOCK) {
		struct store_table *block = (void *)(rig.disk->image + at);

		if (block->head.magic != STORE_MAGIC_TABLE)
			continue;
		block->entries[0].fields.session ^= 1;
		block->head.checksum = 0;
		block->head.checksum = chario_crc32c(0, block, sizeof(*block));
	}
	chario_store_close(rig.store);
	EQUAL(chario_store_open_device(log_disk_open(rig.disk, O_RDWR), O_RDWR, &rig.store), 0);
	EQUAL(read_all(), -EAGAIN);
	EQUAL(count, 0);
	EQUAL(rig_get_recording(), 0);
	EQUAL(rig.recording.missing_records, 0);
	EQUAL(rig.recording.ended_ns, 0);
}

TEST_MAIN(rig_begin_usual, rig_end)
