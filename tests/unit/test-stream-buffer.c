// SPDX-License-Identifier: MIT
/*
 * Records from buffers that are not the stream's are not copied.
 */
#include <poll.h>

#include "queue/queue.h"
#include "stream/inner.h"
#include "tape-rig.h"

#define RECORDS 100U
#define PLACES  16U
#define PLACE   4096U

static struct chario_buffer *buffer;

static void before(void)
{
	rig_begin(4 * RIG_BYTES, true);
	chario_buffer_pool(chario_store_device(rig.store), PLACES * PLACE, 0, &buffer);
}

static void after(void)
{
	rig_close();
	chario_buffer_free(buffer);
	rig_end();
}

/* Room for two of the longest records in a segment. */
static int open_stream(void)
{
	return RIG_OPEN(.segment_bytes = 16384);
}

static int write_from(uint64_t offset, size_t bytes, uint32_t *released)
{
	return chario_stream_write_buffer(rig.stream, buffer, offset, bytes, 1, 0, -1, released);
}

TEST(test_refusals, "what cannot be recorded is refused, and leaves nothing")
{
	EQUAL(open_stream(), 0);
	EQUAL(write_from(0, 100, NULL), -EINVAL);
	EQUAL(write_from(4, 512, NULL), -EINVAL);
	EQUAL(write_from(0, 0, NULL), -EINVAL);
	EQUAL(write_from(PLACES * PLACE, 512, NULL), -EINVAL);
	EQUAL(write_from(PLACES * PLACE - 512, 1024, NULL), -EINVAL);
	EQUAL(write_from(0, PLACES * PLACE + 512, NULL), -EINVAL);
	EQUAL(write_from(0, 12800, NULL), -EMSGSIZE);
	EQUAL(chario_stream_write_buffer(rig.stream, buffer, 0, 512, 0, 8, 0, NULL), -EINVAL);
	EQUAL(rig_look(), 0);
	EQUAL(rig.status.records, 0);
	CHECK(rig_holds(0, 0));
}

static size_t length(uint64_t sequence)
{
	return 512 * (sequence % 7 + 1);
}

/* The drive takes the bytes from where they are, and says when it has. */
TEST(test_records, "the drive takes records from where they are")
{
	uint32_t released[RECORDS] = { 0 };

	EQUAL(open_stream(), 0);
	for (uint64_t i = 0; i < RECORDS; i++) {
		uint64_t place = i % PLACES * PLACE;

		lab_fill((unsigned char *)chario_buffer_memory(buffer) + place, length(i), i);
		EQUAL(write_from(place, length(i), &released[i]), 0);
		if (i % PLACES == PLACES - 1)
			EQUAL(rig_wait(), 0);
	}
	EQUAL(rig_close(), 0);
	for (size_t i = 0; i < RECORDS; i++)
		EQUAL(released[i], 1);
	EQUAL(rig_open_reader(), 0);
	for (uint64_t i = 0; i < RECORDS; i++) {
		CHECK(rig_is_next(i));
		EQUAL(rig.record.bytes, length(i));
		EQUAL(rig.record.flags, CHARIO_RECORD_NO_CRC);
	}
	EQUAL(rig_next(), -ENODATA);
}

/* Who does not wait is told that all transfers are in flight; what was refused takes no number. */
TEST(test_many, "many transfers may be in flight, and no more")
{
	uint64_t count = 0;
	int err = 0;

	EQUAL(RIG_OPEN(.segment_bytes = RIG_BYTES / 2), 0);
	rig_hold(RIG_BYTES);
	while (!err && count < 1000) {
		err = chario_stream_write_buffer(rig.stream, buffer, 0, 512, 1, 0, 0, NULL);
		count += !err;
	}
	EQUAL(err, -EAGAIN);
	EQUAL(count, 64);
	rig_hold(0);
	EQUAL(write_from(0, 512, NULL), 0);
	EQUAL(rig_wait(), 0);
	EQUAL(rig.status.records, 65);
	EQUAL(rig_close(), 0);
}

/* They count as written with their batch, which says nothing of when they were. */
TEST(test_durable, "what is not copied is durable by itself")
{
	uint32_t released[RECORDS] = { 0 };
	size_t count = 0;

	EQUAL(open_stream(), 0);
	log_disk_record(rig.disk);
	for (uint64_t i = 0; i < PLACES; i++)
		EQUAL(write_from(i * PLACE, 512, &released[i]), 0);
	EQUAL(rig_wait(), 0);
	EQUAL(rig_close(), 0);
	for (size_t i = 0; i < rig.disk->nr_entries; i++) {
		const struct log_entry *entry = &rig.disk->entries[i];

		count += entry->bytes == 512;
		CHECK(entry->bytes != 512 || entry->durable);
	}
	EQUAL(count, PLACES);
}

/* Memory that the drive cannot read any more ends the recording, and is let go. */
TEST(test_error, "memory that cannot be read ends the recording")
{
	uint32_t released[3] = { 0 };

	EQUAL(open_stream(), 0);
	EQUAL(write_from(0, 512, &released[0]), 0);
	EQUAL(rig_wait(), 0);
	rig.disk->faults.error = -EINVAL;
	rig.disk->faults.write.times = 1;
	EQUAL(write_from(0, 512, &released[1]), 0);
	EQUAL(rig_wait(), -EINVAL);
	EQUAL(write_from(0, 512, &released[2]), -EINVAL);
	EQUAL(rig_close(), -EINVAL);
	EQUAL(released[0], 1);
	EQUAL(released[1], 1);
	EQUAL(released[2], 0);
	EQUAL(rig_open_reader(), 0);
	EQUAL(rig_next(), 0);
	EQUAL(rig_next(), -EAGAIN);
}

/* An error of an earlier write that the call finds: it leaves the word alone for ever. */
TEST(test_not_begun, "an error says that the transfer has not begun")
{
	struct pollfd polled = { .events = POLLIN };
	uint32_t released[2] = { 0 };

	EQUAL(open_stream(), 0);
	polled.fd = chario_stream_fd(rig.stream);
	rig_hold(4 * RIG_BYTES);
	EQUAL(write_from(0, 512, &released[0]), 0);
	log_disk_wait_held(rig.disk, 1);
	rig.disk->faults.error = -EINVAL;
	rig.disk->faults.write.times = 1;
	rig_hold(0);
	EQUAL(poll(&polled, 1, -1), 1);
	EQUAL(write_from(PLACE, 512, &released[1]), -EINVAL);
	EQUAL(rig_close(), -EINVAL);
	EQUAL(released[0], 1);
	EQUAL(released[1], 0);
}

static const struct chario_queue_kind *kind_is;
static struct chario_queue_kind kind;

static int submit_and_fail(struct chario_queue *queue)
{
	kind_is->submit(queue);
	return -EBADF;
}

/* The transfer is in flight when the recording ends: the word is still to be told. */
TEST(test_begun, "one that has begun is no error, and tells")
{
	uint32_t released = 0;

	EQUAL(open_stream(), 0);
	kind_is = rig.stream->queue->kind;
	kind = *kind_is;
	kind.submit = submit_and_fail;
	rig.stream->queue->kind = &kind;
	rig_hold(4 * RIG_BYTES);
	EQUAL(write_from(0, 512, &released), 0);
	log_disk_wait_held(rig.disk, 1);
	EQUAL(released, 0);
	EQUAL(write_from(0, 512, NULL), -EBADF);
	EQUAL(chario_stream_service(rig.stream), -EBADF);
	EQUAL(released, 0);
	rig_hold(0);
	EQUAL(rig_close(), -EBADF);
	EQUAL(released, 1);
}

TEST_MAIN(before, after)
