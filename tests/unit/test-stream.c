// SPDX-License-Identifier: MIT
/*
 * A stream records what it is given, and its reader finds that.
 */
#include <pthread.h>

#include "tape-rig.h"

TEST(test_options, "options are checked, the usual ones suit the area")
{
	static const struct {
		struct chario_stream_options options;
		int err;
	} cases[] = {
		{ { .size = 8 }, -EINVAL },
		{ { .size = sizeof(rig_small), .flags = 1 << 9 }, -EINVAL },
		{ { .size = sizeof(rig_small), .flags = CHARIO_STREAM_BEGIN }, -EINVAL },
		{ { .size = sizeof(rig_small), .segment_bytes = 4096 }, -EINVAL },
		{ { .size = sizeof(rig_small), .segment_bytes = 8191 }, -EINVAL },
		{ { .size = sizeof(rig_small), .segment_bytes = 256U << 20 }, -EINVAL },
		{ { .size = sizeof(rig_small), .nr_buffers = 1 }, -EINVAL },
		{ { .size = sizeof(rig_small), .nr_buffers = 65 }, -EINVAL },
		{ { .size = sizeof(rig_small), .durability = 4 }, -EINVAL },
		{ { .size = sizeof(rig_small), .record_bytes = 128U << 20 }, -EINVAL },
		{ { .size = sizeof(rig_small), .flush_ns = UINT64_MAX }, -EINVAL },
		{ { .size = sizeof(rig_small), .segment_bytes = 1 << 20 }, -ENOSPC },
		{ { .size = sizeof(rig_small), .flags = CHARIO_STREAM_APPEND }, -ENODATA },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		EQUAL(rig_open(&cases[i].options), cases[i].err);
	EQUAL(chario_stream_open(rig.store, "nobody", NULL, &rig.stream), -ENOENT);
	EQUAL(rig_open_reader(), -ENODATA);
	EQUAL(rig_open(NULL), 0);
	EQUAL(chario_stream_open(rig.store, LAB_AREA, NULL, &(struct chario_stream *){ NULL }),
	      -EBUSY);
	EQUAL(rig_look(), 0);
	EQUAL(rig.status.nr_buffers, 8);
	EQUAL(rig.status.segment_bytes, 16384);
	EQUAL(rig.status.durability, CHARIO_DURABILITY_FLUSH);
	EQUAL(chario_stream_get_status(rig.stream, &rig.status, 8), -EINVAL);
	EQUAL(chario_stream_close(NULL), 0);
}

/* Records of every length up to three segments come back as they were. */
TEST(test_lengths, "records of any length come back")
{
	static const size_t lengths[] = { 1,    2,     7,     8,     15,    16,   17,    63,
					  64,   65,    100,   4000,  4095,  4096, 4097,  7999,
					  8000, 8001,  8191,  8192,  8193,  9000, 16000, 16383,
					  1,    16384, 16385, 20000, 24000, 3,    24576, 5 };
	size_t count = sizeof(lengths) / sizeof(lengths[0]);

	EQUAL(rig_open(&rig_small), 0);
	for (size_t i = 0; i < count; i++)
		EQUAL(lab_write(rig.stream, i, lengths[i]), 0);
	EQUAL(rig_read_back(), 0);
	for (size_t i = 0; i < count; i++) {
		CHECK(rig_is_next(i));
		EQUAL(rig.record.bytes, lengths[i]);
		EQUAL(rig.record.time_ns, i + 1);
	}
	EQUAL(rig_next(), -ENODATA);
	EQUAL(rig_next(), -ENODATA);
}

/* A room is as long as was asked for, and its memory is the drive's. */
TEST(test_room, "a room is memory of the drive")
{
	struct chario_stream_room a;

	EQUAL(rig_open(&rig_small), 0);
	EQUAL(rig_get(0, &a), -EINVAL);
	EQUAL(rig_get(chario_stream_room_bytes(rig.stream) + 1, &a), -EMSGSIZE);
	EQUAL(rig_get(500, &a), 0);
	EQUAL((uintptr_t)a.memory % 64, 0);
	EQUAL(a.bytes, 500);
	CHECK((char *)chario_buffer_memory(a.buffer) + a.buffer_offset == a.memory);
}

/* What does not belong to a room is refused, and the room stays. */
TEST(test_commits, "what is no room is not committed")
{
	struct chario_stream_room c, forged;

	EQUAL(rig_open(&rig_small), 0);
	EQUAL(rig_get(chario_stream_room_bytes(rig.stream), &c), 0);
	forged = c;
	forged.token += 8;
	EQUAL(chario_stream_commit(rig.stream, &forged, 1, 5, 0), -EINVAL);
	forged.token = UINT64_MAX;
	EQUAL(chario_stream_commit(rig.stream, &forged, 1, 5, 0), -EINVAL);
	EQUAL(chario_stream_commit(rig.stream, &c, 8001, 0, 0), -EINVAL);
	EQUAL(chario_stream_commit(rig.stream, &c, 8000, 5, 0x80), -EINVAL);
	EQUAL(chario_stream_commit(rig.stream, &c, 8000, 5, 0), 0);
	EQUAL(chario_stream_commit(rig.stream, &c, 8000, 5, 0), -EINVAL);
	EQUAL(chario_stream_commit(rig.stream, &c, 0, 0, 0), -EINVAL);
	EQUAL(rig_look(), 0);
	EQUAL(rig.status.records, 1);
}

TEST(test_rooms, "rooms are committed in any order, or taken back")
{
	struct chario_stream_room a, b, c;

	EQUAL(rig_open(&rig_small), 0);
	EQUAL(rig_get(500, &a), 0);
	EQUAL(rig_get(600, &b), 0);
	EQUAL(rig_get(chario_stream_room_bytes(rig.stream), &c), 0);
	lab_fill(c.memory, 8000, 2);
	EQUAL(chario_stream_commit(rig.stream, &c, 8000, 5, CHARIO_RECORD_META), 0);
	/* Taken back in the middle: its number is not missing. */
	EQUAL(chario_stream_commit(rig.stream, &a, 0, 0, 0), 0);
	EQUAL(chario_stream_commit(rig.stream, &a, 0, 0, 0), -EINVAL);
	lab_fill(b.memory, 300, 1);
	EQUAL(chario_stream_commit(rig.stream, &b, 300, 4, 0), 0);
	/* Taken back as the newest: without a trace. */
	EQUAL(rig_get(100, &a), 0);
	EQUAL(chario_stream_commit(rig.stream, &a, 0, 0, 0), 0);
	EQUAL(lab_write(rig.stream, 3, 10), 0);
	EQUAL(rig_get(100, &a), 0);
	EQUAL(rig_look(), 0);
	EQUAL(rig.status.records, 3);
	EQUAL(rig.status.bytes, 8310);
	EQUAL(rig_read_back(), 0);
	for (uint64_t i = 1; i < 4; i++) {
		CHECK(rig_is_next(i));
		EQUAL(rig.record.flags, i == 2 ? CHARIO_RECORD_META : 0);
	}
	EQUAL(rig_next(), -ENODATA);
}

TEST(test_losses, "what was lost is seen where it was")
{
	EQUAL(rig_open(&rig_small), 0);
	EQUAL(rig_record(0, 1, 10), 0);
	EQUAL(chario_stream_lose(rig.stream, 3, 3000), 0);
	EQUAL(lab_write(rig.stream, 4, 10), 0);
	EQUAL(rig_look(), 0);
	EQUAL(rig.status.lost_records, 3);
	EQUAL(rig.status.lost_bytes, 3000);
	EQUAL(rig.status.records, 2);
	EQUAL(rig_read_back(), 0);
	CHECK(rig_is_next(0));
	EQUAL(rig_next(), 0);
	EQUAL(rig.record.sequence, 4);
	EQUAL(rig.record.missing, 3);
	EQUAL(rig_get_recording(), 0);
	EQUAL(rig.recording.lost_records, 3);
	EQUAL(rig.recording.lost_bytes, 3000);
	EQUAL(rig.recording.next_record, 5);
	EQUAL(rig.recording.bytes, 20);
	EQUAL(rig.recording.durable_records, 2);
}

TEST(test_full, "an area that is full says so")
{
	uint64_t count = 0;
	int err;

	EQUAL(rig_open(&rig_small), 0);
	while (!(err = lab_write(rig.stream, count, 2900)))
		count++;
	EQUAL(err, -ENOSPC);
	/* Two fit into a segment, and a third goes on in the next. */
	EQUAL(count, 86);
	CHECK(count * 2900 >= RIG_SLOTS * RIG_SEGMENT * 95 / 100);
	EQUAL(lab_write(rig.stream, count, 40000), -ENOSPC);
	EQUAL(lab_write(rig.stream, count, 100), 0);
	CHECK(rig_holds(0, count + 1));
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
TEST(test_threads, "others wait while the producer records")
{
	pthread_t waiters[3];
	void *result;

	EQUAL(rig_open(&rig_small), 0);
	EQUAL(rig_record(0, 20, 5000), 0);
	for (size_t i = 0; i < 3; i++)
		EQUAL(pthread_create(&waiters[i], NULL, i ? wait_for_all : look, rig.stream), 0);
	EQUAL(rig_record(20, 40, 2000), 0);
	for (size_t i = 0; i < 3; i++) {
		EQUAL(pthread_join(waiters[i], &result), 0);
		CHECK(!result);
	}
}

TEST_MAIN(rig_begin_usual, rig_end)
