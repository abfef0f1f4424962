// SPDX-License-Identifier: MIT
/*
 * What a stream says of the disk is so: of what is durable, and of what it has not
 * touched yet.
 */
#include "queue/queue.h"
#include "stream/inner.h"
#include "tape-rig.h"

/* What a flush has failed for may be gone: another one that succeeds proves nothing. */
TEST(test_flush_error, "a flush that fails is the last")
{
	EQUAL(rig_open(&rig_small), 0);
	EQUAL(rig_record(0, 1, 10), 0);
	EQUAL(rig_wait(), 0);
	rig.disk->faults.flush.times = 1;
	EQUAL(rig_record(1, 2, 10), 0);
	EQUAL(rig_wait(), -EIO);
	EQUAL(rig_look(), 0);
	EQUAL(rig.status.durable_records, 1);
	EQUAL(rig_close(), -EIO);
}

/* Where in the order of what the disk has done a write to a place is; or the end. */
static size_t find_write(uint64_t from, uint64_t to)
{
	size_t i = 0;

	while (i < rig.disk->nr_entries &&
	       (!rig.disk->entries[i].bytes || rig.disk->entries[i].offset < from ||
		rig.disk->entries[i].offset >= to))
		i++;
	return i;
}

/* As long as the first segment is not durable, those a window ahead are not touched. */
TEST(test_buffer_window, "buffers of others wait for the window")
{
	const uint64_t segment = RIG_BYTES / 16, from = lab_area_offset(rig.store);
	struct chario_buffer *buffer;
	uint32_t released[6] = { 0 };

	EQUAL(chario_buffer_pool(chario_store_device(rig.store), 1 << 16, 0, &buffer), 0);
	EQUAL(RIG_OPEN(.flags = CHARIO_STREAM_RING, .segment_bytes = (uint32_t)segment,
		       .nr_buffers = 6, .durability = CHARIO_DURABILITY_FUA),
	      0);
	log_disk_record(rig.disk);
	rig_hold(4096);
	for (uint64_t i = 0; i < 6; i++)
		EQUAL(chario_stream_write_buffer(rig.stream, buffer, 0, segment / 2, i + 1, 0, 0,
						 &released[i]),
		      0);
	/* An eighth of a ring of sixteen is two. */
	while (!released[0] || !released[1])
		EQUAL(chario_stream_service(rig.stream), 0);
	log_disk_wait_held(rig.disk, 1);
	EQUAL(chario_stream_service(rig.stream), 0);
	rig_hold(0);
	EQUAL(rig_close(), 0);
	EQUAL(released[5], 1);
	CHECK(find_write(from + 2 * segment, from + 6 * segment) > find_write(from, from + 4096));
	chario_buffer_free(buffer);
}

static int record_buffer(const struct chario_buffer *buffer, uint64_t sequence)
{
	lab_fill(chario_buffer_memory(buffer), 512, sequence);
	return chario_stream_write_buffer(rig.stream, buffer, 0, 512, sequence + 1, 0, 0, NULL) ?:
		       rig_wait();
}

/* Nothing but the table says that data without a checksum are another recording's. */
TEST(test_other_recording, "a reader gives no data of another recording")
{
	struct chario_buffer *buffer;

	EQUAL(chario_buffer_pool(chario_store_device(rig.store), 4096, 0, &buffer), 0);
	EQUAL(rig_open(&rig_small), 0);
	EQUAL(record_buffer(buffer, 0), 0);
	EQUAL(record_buffer(buffer, 1), 0);
	EQUAL(rig_read_back(), 0);
	EQUAL(rig_next(), 0);
	CHECK(lab_is(rig.record.memory, 512, 0));
	/* The reader has the header, and not the data, when another recording begins. */
	EQUAL(chario_reader_seek(rig.reader, 0), 0);
	EQUAL(rig_open(&rig_small), 0);
	EQUAL(record_buffer(buffer, 7), 0);
	EQUAL(rig_next(), -ESTALE);
	EQUAL(rig_close(), 0);
	chario_buffer_free(buffer);
}

#define RECORDS 5U

/* One batch has all of them; they have no checksum. */
static int record_buffers(const struct chario_buffer *buffer)
{
	unsigned char *memory = chario_buffer_memory(buffer);
	int err = RIG_OPEN(.flags = CHARIO_STREAM_RING, .segment_bytes = 32768);

	for (uint64_t i = 0; i < RECORDS && !err; i++) {
		lab_fill(memory + i * 1024, 1024, i);
		err = chario_stream_write_buffer(rig.stream, buffer, i * 1024, 1024, i + 1, 0, -1,
						 NULL);
	}
	return err ?: rig_close();
}

/* Whether one read has failed, after so many; all records are there for all that. */
static bool has_failed(uint64_t after)
{
	bool failed = false;

	rig.disk->faults.read = (struct log_fault){ .after = after, .times = 1 };
	for (uint64_t i = 0; i < RECORDS; i++) {
		int err = rig_next();

		if (err == -ETIMEDOUT && !failed) {
			failed = true;
			err = rig_next();
		}
		if (err || rig.record.sequence != i || rig.record.missing ||
		    !lab_is(rig.record.memory, rig.record.bytes, i)) {
			TAP_FAIL("record %u after %u reads: error %d", (unsigned int)i,
				 (unsigned int)after, err);
			break;
		}
	}
	log_disk_heal(rig.disk);
	return failed;
}

/* A read that fails once is not one of a record that is missing. */
TEST(test_read_error, "a read that fails once leaves no record out")
{
	struct chario_buffer *buffer;
	uint64_t after = 0;

	EQUAL(chario_buffer_pool(chario_store_device(rig.store), 8192, 0, &buffer), 0);
	EQUAL(record_buffers(buffer), 0);
	EQUAL(rig_open_reader(), 0);
	rig.disk->faults.error = -ETIMEDOUT;
	while (has_failed(after++) && !tap_failed) {
		EQUAL(chario_reader_seek(rig.reader, 0), 0);
		rig.disk->faults.error = -ETIMEDOUT;
	}
	/* The batch, and of each record its data and what tells that they are its own. */
	CHECK(after > 2 * RECORDS);
	chario_buffer_free(buffer);
}

/* Reads of a record that is not whole yet, of which one fails; or none does any more. */
static int look_again(uint64_t after)
{
	int err;

	rig.disk->faults.error = -ETIMEDOUT;
	rig.disk->faults.read = (struct log_fault){ .after = after, .times = 1 };
	err = rig_next();
	log_disk_heal(rig.disk);
	return err;
}

/* What was not whole is no less to come when to look at it has failed. */
TEST(test_second_look_error, "a second look that fails once leaves none out")
{
	unsigned char *byte = rig_place(1000);
	uint64_t after = 0;
	int err;

	/* One in each segment, and the last in the first one again. */
	EQUAL(rig_open_as(CHARIO_STREAM_RING), 0);
	EQUAL(rig_record(0, RIG_SLOTS + 1, RIG_SEGMENT - 200), 0);
	EQUAL(rig_wait(), 0);
	EQUAL(rig_open_reader(), 0);
	while (1) {
		*byte ^= 1;
		EQUAL(chario_reader_seek(rig.reader, RIG_SLOTS), 0);
		EQUAL(rig_next(), -EAGAIN);
		err = look_again(after++);
		*byte ^= 1;
		CHECK(rig_is_next(RIG_SLOTS));
		if (err == -EAGAIN)
			break;
		EQUAL(err, -ETIMEDOUT);
	}
	/* Those that tell whether it stays so, and the one that reads it again. */
	CHECK(after > 2);
}

/* What was read half written is whole by the time that nobody writes any more. */
TEST(test_end_of_writing, "what was half written is read again at the end")
{
	unsigned char *byte = rig_place(1000);

	EQUAL(rig_open(&rig_small), 0);
	EQUAL(rig_record(0, 1, 2000), 0);
	EQUAL(rig_wait(), 0);
	EQUAL(rig_open_reader(), 0);
	*byte ^= 1;
	EQUAL(rig_next(), -EAGAIN);
	EQUAL(look_again(0), -ETIMEDOUT);
	*byte ^= 1;
	EQUAL(rig_close(), 0);
	CHECK(rig_is_next(0));
	EQUAL(rig_next(), -ENODATA);
}

static const struct chario_queue_kind *kind_is;
static unsigned int refusals;

static int submit_at_times(struct chario_queue *queue)
{
	if (!refusals)
		return kind_is->submit(queue);
	refusals--;
	return -EAGAIN;
}

/* Nothing is in flight whose end would wake anybody. */
TEST(test_no_memory, "a submission that was refused is made again")
{
	/* Where a claim fails, the stream is closed with it when this has returned. */
	static struct chario_queue_kind kind;

	EQUAL(rig_open(&rig_small), 0);
	kind_is = rig.stream->queue->kind;
	kind = *kind_is;
	kind.submit = submit_at_times;
	rig.stream->queue->kind = &kind;
	refusals = 3;
	EQUAL(rig_record(0, 1, 10), 0);
	EQUAL(rig_wait(), 0);
	EQUAL(refusals, 0);
	EQUAL(rig_close(), 0);
}

/* Open the recording only if its area has nothing to lose, and see whether it can be removed. */
static void check_unused(int should)
{
	const uint32_t append = CHARIO_STREAM_APPEND | CHARIO_STREAM_BEGIN;
	struct chario_area_info area;

	EQUAL(rig_open_as(CHARIO_STREAM_EXCL), should);
	EQUAL(rig_close(), 0);
	/* Who would continue a recording loses none. */
	EQUAL(rig_open_as(CHARIO_STREAM_EXCL | append), should == -EEXIST ? 0 : should);
	EQUAL(rig_close(), 0);
	EQUAL(chario_store_find(rig.store, LAB_AREA, &area, sizeof(area)), 0);
	EQUAL(chario_stream_remove_unused(rig.store, LAB_AREA, area.id + 1), -ENOENT);
	if (area.flags & CHARIO_AREA_FILLING && !area.filled_bytes)
		should = 0;
	EQUAL(chario_stream_remove_unused(rig.store, LAB_AREA, area.id), should);
	if (!should)
		EQUAL(chario_store_create(rig.store, LAB_AREA, RIG_BYTES, 0), 0);
}

/* An area is not taken from a recording, whatever is left of it, or from a copy, complete or begun. */
TEST(test_unused, "an area with anything to lose is not taken")
{
	struct chario_area *area;

	check_unused(0);
	check_unused(0);
	EQUAL(chario_store_remove(rig.store, LAB_AREA), 0);
	EQUAL(chario_store_create(rig.store, LAB_AREA, RIG_BYTES, CHARIO_CREATE_FILLING), 0);
	check_unused(-EALREADY);
	EQUAL(chario_store_remove(rig.store, LAB_AREA), 0);
	EQUAL(chario_store_create(rig.store, LAB_AREA, RIG_BYTES, CHARIO_CREATE_FILLING), 0);
	EQUAL(chario_area_open(rig.store, LAB_AREA, O_RDWR, &area), 0);
	EQUAL(chario_area_set_filled(area, 4096, 1), 0);
	chario_area_close(area);
	check_unused(-EALREADY);
	EQUAL(chario_area_open(rig.store, LAB_AREA, O_RDWR, &area), 0);
	EQUAL(chario_area_set_filled(area, RIG_BYTES, 1), 0);
	chario_area_close(area);
	check_unused(-EALREADY);
	EQUAL(rig_open(&rig_small), 0);
	EQUAL(chario_stream_lose(rig.stream, 1, 1), 0);
	EQUAL(rig_close(), 0);
	check_unused(-EEXIST);
	EQUAL(rig_open(&rig_small), 0);
	EQUAL(rig_record(0, 1, 10), 0);
	EQUAL(rig_close(), 0);
	check_unused(-EEXIST);
	memset(rig_place(0), 0, RIG_BYTES);
	check_unused(-EEXIST);
	EQUAL(rig_open(&rig_small), 0);
	EQUAL(rig_close(), 0);
	memset(rig_place(0), 0, RIG_BYTES);
	EQUAL(chario_area_open(rig.store, LAB_AREA, O_RDONLY, &area), 0);
	EQUAL(chario_stream_remove_unused(rig.store, LAB_AREA, area->fields.id), -EBUSY);
	chario_area_close(area);
	check_unused(0);
}

/* More and more reads fail, as they do in a reset, and then none. */
TEST(test_unused_after_a_reset, "nor is one whose records could not be read for a moment")
{
	struct chario_area_info area;

	EQUAL(rig_open(&rig_small) ?: rig_record(0, 1, 10) ?: rig_stop(false), 0);
	EQUAL(chario_store_find(rig.store, LAB_AREA, &area, sizeof(area)), 0);
	for (uint64_t i = 0; i < 10 * 100; i++) {
		rig.disk->faults.read = (struct log_fault){ i % 10, i / 10 };
		rig.disk->faults.error = -EIO;
		CHECK(chario_stream_remove_unused(rig.store, LAB_AREA, area.id));
	}
	log_disk_heal(rig.disk);
	EQUAL(rig_survey(), 0);
	rig_close_reader();
}

static const char *path;
static uint32_t flags;

/* Begin a recording as soon as nobody else makes one.  Returns 0 or a negative errno. */
static int begin_alone(void)
{
	const struct chario_stream_options options = { .size = sizeof(options),
						       .segment_bytes = RIG_SEGMENT,
						       .flags = flags };
	struct chario_stream *stream = NULL;
	struct chario_store *store;
	int err = chario_store_open(path, O_RDWR, &store);

	if (!err) {
		do
			err = chario_stream_open(store, LAB_AREA, &options, &stream);
		while (err == -EBUSY);
		if (!err)
			err = lab_write(stream, 0, 10) ?: chario_stream_close(stream);
		chario_store_close(store);
	}
	return err;
}

/* Of several programs that begin a recording in one area, one does; the others may continue it. */
TEST(test_at_once, "one of several begins a recording")
{
	for (int i = 0; i < 40 && !tap_failed; i++) {
		uint32_t append = i % 2 ? CHARIO_STREAM_APPEND | CHARIO_STREAM_BEGIN : 0;
		int status, begun = 0, refused = 0;
		pid_t children[4];

		path = lab_make_file(RIG_BYTES);
		flags = CHARIO_STREAM_EXCL | append;
		for (size_t j = 0; j < 4; j++) {
			children[j] = fork();
			if (!children[j])
				_exit(-begin_alone());
		}
		for (size_t j = 0; j < 4; j++) {
			EQUAL(waitpid(children[j], &status, 0), children[j]);
			begun += status == 0;
			refused += WIFEXITED(status) && WEXITSTATUS(status) == EEXIST;
		}
		lab_remove_file();
		EQUAL(begun, append ? 4 : 1);
		EQUAL(refused, 4 - begun);
	}
}

TEST_MAIN(rig_begin_usual, rig_end)
