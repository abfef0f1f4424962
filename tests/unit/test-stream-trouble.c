// SPDX-License-Identifier: MIT
/*
 * A disk that is slow, or fails: the producer is told before it is too late.
 */
#include "stream/inner.h"
#include "tap.h"
#include "tape-rig.h"

/* With all buffers on their way nothing is got, and nothing of a long record is left. */
TEST(test_pressure, "without a free buffer the producer is told")
{
	static unsigned char memory[5 * RIG_SEGMENT];
	struct chario_stream_room room;

	EQUAL(rig_open(&rig_small), 0);
	rig_hold(RIG_BYTES);
	EQUAL(rig_record(0, 4, chario_stream_room_bytes(rig.stream)), 0);
	log_disk_wait_held(rig.disk, 4);
	EQUAL(rig_get(1, &room), -EAGAIN);
	EQUAL(chario_stream_get(rig.stream, 1, 2000000, &room), -EAGAIN);
	EQUAL(chario_stream_write(rig.stream, memory, 1, 0, 0, 0), -EAGAIN);
	EQUAL(rig_look(), 0);
	EQUAL(rig.status.free_buffers, 0);
	EQUAL(rig.status.least_free_buffers, 0);
	EQUAL(rig.status.in_flight, 4);
	EQUAL(rig.status.waits, 1);
	CHECK(rig.status.wait_ns >= 2000000);
	EQUAL(rig.status.durable_records, 0);
	rig_hold(0);
	EQUAL(chario_stream_get(rig.stream, 1, -1, &room), 0);
	EQUAL(chario_stream_commit(rig.stream, &room, 0, 0, 0), 0);
	EQUAL(rig_wait(), 0);
	/* Five segments at once are more than there are. */
	EQUAL(chario_stream_write(rig.stream, memory, sizeof(memory), 0, 0, 0), -EAGAIN);
	lab_fill(memory, sizeof(memory), 4);
	EQUAL(chario_stream_write(rig.stream, memory, sizeof(memory), 5, 0, -1), 0);
	CHECK(rig_holds(0, 5));
}

TEST(test_retries, "what fails is made again")
{
	EQUAL(rig_open(&rig_small), 0);
	rig.disk->faults.write.times = 3;
	EQUAL(rig_record(0, 1, 5), 0);
	EQUAL(rig_wait(), 0);
	rig.disk->faults.error = -ETIMEDOUT;
	rig.disk->faults.flush.times = 2;
	EQUAL(rig_record(1, 2, 10), 0);
	EQUAL(rig_wait(), 0);
	EQUAL(rig.status.retries, 5);
	CHECK(rig_holds(0, 2));
}

/* A flush that is made again counts as the same. */
TEST(test_flush, "a flush is not made again for ever")
{
	EQUAL(rig_open(&rig_small), 0);
	rig.disk->faults.error = -ETIMEDOUT;
	rig.disk->faults.flush.times = CHARIO_STREAM_RETRIES + 1;
	EQUAL(rig_record(0, 1, 10), 0);
	EQUAL(rig_wait(), -ETIMEDOUT);
	EQUAL(rig_look(), 0);
	EQUAL(rig.status.retries, CHARIO_STREAM_RETRIES);
	EQUAL(rig_close(), -ETIMEDOUT);
}

TEST(test_error, "what fails for good ends the recording")
{
	struct chario_stream_room room;

	EQUAL(rig_open(&rig_small), 0);
	EQUAL(rig_record(0, 1, 10), 0);
	EQUAL(rig_wait(), 0);
	rig.disk->faults.write.times = 4;
	EQUAL(rig_record(1, 2, 10), 0);
	EQUAL(rig_wait(), -EIO);
	EQUAL(rig_get(10, &room), -EIO);
	EQUAL(chario_stream_service(rig.stream), -EIO);
	EQUAL(rig_record(1, 2, 10), -EIO);
	EQUAL(rig_look(), 0);
	EQUAL(rig.status.durable_records, 1);
	EQUAL(rig_close(), -EIO);
	EQUAL(rig_open(&rig_small), 0);
	rig.disk->faults.error = -EROFS;
	rig.disk->faults.write.times = 1;
	EQUAL(rig_record(1, 2, 10), 0);
	EQUAL(rig_wait(), -EROFS);
	EQUAL(rig_close(), -EROFS);
}

TEST(test_late, "late segments are counted")
{
	const uint64_t late_ns = 1000000;

	EQUAL(RIG_OPEN(.late_ns = late_ns), 0);
	rig_hold(RIG_SEGMENT);
	EQUAL(rig_record(0, 1, chario_stream_room_bytes(rig.stream)), 0);
	log_disk_wait_held(rig.disk, 1);
	usleep(3000);
	rig_hold(0);
	EQUAL(rig_wait(), 0);
	EQUAL(rig.status.late, 1);
	CHECK(rig.status.longest_ns >= 3000000);
	EQUAL(rig.status.late_ns, rig.status.longest_ns - late_ns);
	CHECK(rig.status.segment_ns[0] >= rig.status.longest_ns);
	CHECK(rig.status.segment_ns[2] >= rig.status.segment_ns[0]);
}

TEST_MAIN(rig_begin_usual, rig_end)
