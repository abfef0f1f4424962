// SPDX-License-Identifier: MIT
/*
 * A disk that is slow, or fails: the producer is told before it is too late.
 */
#include "stream/inner.h"
#include "tape-rig.h"

/* With all buffers on their way nothing is got, and nothing of a long record is left. */
TEST(test_pressure, "without a free buffer the producer is told")
{
	static unsigned char memory[5 * RIG_SEGMENT];
	struct chario_stream_room room;

	EQUAL(rig_open(&rig_small), 0);
	rig_hold(RIG_BYTES);
	EQUAL(rig_record(0, 1, 5000) ?: rig_get(5000, &room), 0);
	/* A segment without room for it is on its way, and the room is not full yet. */
	EQUAL(rig.stream->in_flight, 1);
	lab_fill(room.memory, 5000, 1);
	EQUAL(chario_stream_commit(rig.stream, &room, 5000, 0, 0), 0);
	EQUAL(rig_record(2, 3, 8000) ?: rig_record(3, 4, 5000), 0);
	/* So is the last one, where a long record begins, which cannot be ended and is none. */
	EQUAL(chario_stream_write(rig.stream, memory, sizeof(memory), 0, 0, 1), -EAGAIN);
	EQUAL(rig.stream->in_flight, 4);
	log_disk_wait_held(rig.disk, 4);
	EQUAL(rig_get(1, &room), -EAGAIN);
	EQUAL(chario_stream_get(rig.stream, 1, 2000000, &room), -EAGAIN);
	EQUAL(chario_stream_write(rig.stream, memory, 1, 0, 0, 0), -EAGAIN);
	EQUAL(rig_look(), 0);
	EQUAL(rig.status.free_buffers, 0);
	EQUAL(rig.status.least_free_buffers, 0);
	EQUAL(rig.status.in_flight, 4);
	EQUAL(rig.status.waits, 2);
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
	EQUAL(rig_wait() ?: rig_record(5, 6, 8000) ?: rig_look(), 0);
	EQUAL(rig.status.least_free_buffers, 0);
	CHECK(rig_holds(0, 6));
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

/* The power is cut behind a flush that has dropped what was written since another one. */
static void cut_behind_drop(size_t flushed, size_t dropped)
{
	memcpy(rig.disk->image, rig.disk->before, rig.disk->bytes);
	for (size_t i = 0; i < rig.disk->nr_entries; i++) {
		const struct log_entry *entry = &rig.disk->entries[i];

		if (entry->bytes && (i < flushed || i >= dropped || entry->durable))
			memcpy(rig.disk->image + entry->offset, entry->data, entry->bytes);
	}
	EQUAL(rig_cut(), 0);
}

/* Number of writes up to the next flush that need one. */
static size_t nr_writes(size_t from)
{
	size_t nr = 0;

	for (; from < rig.disk->nr_entries && rig.disk->entries[from].bytes; from++)
		nr += !rig.disk->entries[from].durable;
	return nr;
}

/* Continue a recording whose last flush failed, behind batches of which some may be torn. */
static void go_on_behind_drop(uint64_t from, size_t bytes, uint32_t flags, size_t tears)
{
	size_t flushed, dropped, batches;

	EQUAL(rig_open_as(flags), 0);
	log_disk_record(rig.disk);
	EQUAL(rig_record(0, from + 3, bytes) ?: rig_wait(), 0);
	flushed = rig.disk->nr_entries;
	EQUAL(rig_record(from + 3, from + 7, bytes), 0);
	rig.disk->faults.flush = (struct log_fault){ 0, 1 };
	EQUAL(rig_close(), -EIO);
	dropped = rig.disk->nr_entries;
	batches = nr_writes(flushed);
	for (size_t i = 0; i < tears; i++)
		rig.disk->image[rig.disk->entries[flushed + i].offset + 400] ^= 1;
	EQUAL(rig_open_as(CHARIO_STREAM_APPEND), 0);
	EQUAL(nr_writes(dropped), batches - tears);
	EQUAL(rig_record(from + 7, from + 8, bytes) ?: rig_close(), 0);
	cut_behind_drop(flushed, dropped);
	EQUAL(rig_open_reader() ?: chario_reader_seek(rig.reader, from), 0);
	CHECK(tears || rig_are_next(from, from + 8));
}

/* The area is so long that no flush comes before the end. */
TEST(test_dropped, "who goes on writes again what a failed flush may have dropped")
{
	for (unsigned int how = 0; how < 6 && !tap_failed; how++) {
		rig_end();
		rig_begin(4 * RIG_BYTES, true);
		go_on_behind_drop(how & 1 ? 240 : 20, how < 4 ? 5000 : 1000,
				  (how & 1 ? CHARIO_STREAM_RING : 0) |
					  (how & 2 ? CHARIO_STREAM_NO_CRC : 0),
				  how / 5);
	}
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
