// SPDX-License-Identifier: MIT
/*
 * A reader finds what was recorded, also while it is being recorded, in a ring that
 * comes round, behind damage, and after the end of the program that recorded.
 */

#include "tape-rig.h"

#define SEGMENT RIG_SEGMENT
#define SLOTS   64U

#define MS 1000000LL

/* Which records share a segment is for the tests to decide, not for a slow machine. */
#define NEVER_NS (1000000 * MS)

static const char *path;
static struct chario_stream_options options;

static void before(void)
{
	path = lab_make_file(SLOTS * SEGMENT);
	options = (struct chario_stream_options){
		.size = sizeof(options),
		.flags = CHARIO_STREAM_RING,
		.segment_bytes = SEGMENT,
		.nr_buffers = 4,
		.durability = CHARIO_DURABILITY_FUA,
		.flush_ns = NEVER_NS,
	};
	chario_store_open(path, O_RDWR, &rig.store);
}

static void after(void)
{
	rig_close_reader();
	rig_close();
	chario_store_close(rig.store);
	lab_remove_file();
}

static int open_stream(uint32_t flags)
{
	options.flags = flags;
	return rig_open(&options);
}

/* A part of a recording that is ended. */
static int record(uint32_t flags, uint64_t from, uint64_t to, size_t bytes)
{
	return open_stream(flags) ?: rig_record(from, to, bytes) ?: rig_close();
}

/* The next record is this one. */
static bool is_next(uint64_t sequence, uint64_t missing, int64_t timeout_ns)
{
	return rig_is_behind(sequence, missing, timeout_ns) && rig.record.time_ns == sequence + 1;
}

static bool are_next(uint64_t from, uint64_t to)
{
	while (from < to && is_next(from, 0, 0))
		from++;
	return from >= to;
}

TEST(test_empty, "an empty recording has no record")
{
	EQUAL(rig_open_reader(), -ENODATA);
	EQUAL(open_stream(0), 0);
	EQUAL(rig_open_reader(), 0);
	EQUAL(rig_next(), -EAGAIN);
	EQUAL(rig_get_recording(), 0);
	EQUAL(rig.recording.next_record, 0);
	EQUAL(rig.recording.ended, 0);
	EQUAL(chario_reader_seek(rig.reader, UINT64_MAX), 0);
	EQUAL(chario_reader_seek_time(rig.reader, 5), 0);
	EQUAL(chario_reader_seek(rig.reader, 0), 0);
	EQUAL(rig_next(), -EAGAIN);
	EQUAL(rig_close(), 0);
	EQUAL(rig_next(), -ENODATA);
	EQUAL(rig_get_recording(), 0);
	EQUAL(rig.recording.ended, 1);
	EQUAL(rig.recording.first_time_ns + rig.recording.last_time_ns, 0);
	EQUAL(chario_reader_get_recording(rig.reader, &rig.recording, 8), -EINVAL);
	EQUAL(chario_reader_open(rig.store, "nobody", &(struct chario_reader *){ NULL }), -ENOENT);
}

/* A record that a ring cannot hold would take all others with it. */
TEST(test_too_long, "a record that is longer than a ring is refused")
{
	static const unsigned char memory[SLOTS * SEGMENT];
	size_t most;

	EQUAL(open_stream(CHARIO_STREAM_RING), 0);
	EQUAL(rig_record(0, 1, 100), 0);
	most = (SLOTS - 2) * chario_stream_room_bytes(rig.stream);
	EQUAL(chario_stream_write(rig.stream, memory, most + 1, 0, 0, -1), -EMSGSIZE);
	EQUAL(chario_stream_write(rig.stream, memory, sizeof(memory), 0, 0, -1), -EMSGSIZE);
	EQUAL(chario_stream_write(rig.stream, memory, most, 7, 0, -1), 0);
	EQUAL(rig_close() ?: rig_survey(), 0);
	EQUAL(rig.recording.first_record, 0);
	EQUAL(rig.recording.next_record, 2);
	EQUAL(rig.recording.last_time_ns, 7);
	/* A ring may have two segments, and who does not wait may record. */
	EQUAL(RIG_OPEN(.flags = CHARIO_STREAM_RING, .segment_bytes = SLOTS * SEGMENT / 2), 0);
	EQUAL(chario_stream_write(rig.stream, memory, 10, 0, 0, 0), 0);
}

/* At every length of a recording, from nothing to three laps. */
TEST(test_laps, "a ring is found at any place")
{
	for (uint64_t count = 1; count < 3 * SLOTS; count += count < 5 ? 1 : 7) {
		uint64_t first = count < SLOTS ? 0 : count - SLOTS;

		EQUAL(record(CHARIO_STREAM_RING, 0, count, 8000) ?: rig_survey(), 0);
		EQUAL(rig.recording.ring, 1);
		EQUAL(rig.recording.ended, 1);
		EQUAL(rig.recording.next_record, count);
		EQUAL(rig.recording.last_time_ns, count);
		EQUAL(rig.recording.bytes, count * 8000);
		EQUAL(rig.recording.torn_segments, 0);
		/* The end takes a segment of its own. */
		if (count >= SLOTS)
			first++;
		EQUAL(rig.recording.first_record, first);
		CHECK(are_next(first, count));
		EQUAL(rig_next(), -ENODATA);
		rig_close_reader();
	}
}

TEST(test_seek, "records and times are found")
{
	EQUAL(open_stream(CHARIO_STREAM_RING), 0);
	EQUAL(rig_record(0, 1000, 1000), 0);
	EQUAL(chario_stream_lose(rig.stream, 10, 0), 0);
	EQUAL(rig_record(1010, 1100, 12000), 0);
	EQUAL(rig_close() ?: rig_survey(), 0);
	CHECK(rig.recording.first_record > 1010);
	EQUAL(rig.recording.last_time_ns, 1100);
	EQUAL(open_stream(CHARIO_STREAM_RING), 0);
	EQUAL(rig_next(), -ESTALE);
	EQUAL(chario_reader_seek(rig.reader, 0), -ESTALE);
	EQUAL(chario_reader_seek(rig.reader, UINT64_MAX), -ESTALE);
	EQUAL(chario_reader_seek_newest(rig.reader, 1), -ESTALE);
	EQUAL(chario_reader_seek_time(rig.reader, 1), -ESTALE);
	rig_close_reader();
	EQUAL(rig_record(0, 300, 1000), 0);
	EQUAL(chario_stream_lose(rig.stream, 10, 0), 0);
	EQUAL(rig_record(310, 320, 12000), 0);
	EQUAL(rig_read_back(), 0);
	for (uint64_t i = 0; i < 320; i += 3) {
		uint64_t to = i >= 300 && i < 310 ? 310 : i;

		EQUAL(chario_reader_seek(rig.reader, i), 0);
		CHECK(is_next(to, 0, 0));
		EQUAL(chario_reader_seek_time(rig.reader, i + 1), 0);
		CHECK(is_next(to, 0, 0));
		if (to != 299 && to < 319)
			CHECK(is_next(to + 1, 0, 0));
	}
	EQUAL(chario_reader_seek(rig.reader, UINT64_MAX), 0);
	EQUAL(rig_next(), -ENODATA);
	EQUAL(chario_reader_seek(rig.reader, 5000), 0);
	EQUAL(rig_next(), -ENODATA);
	EQUAL(chario_reader_seek_time(rig.reader, 5000), 0);
	EQUAL(rig_next(), -ENODATA);
	/* A record that comes may be too early. */
	EQUAL(record(CHARIO_STREAM_APPEND, 320, 321, 1000), 0);
	EQUAL(rig_next(), -ENODATA);
}

/* As many as are asked for, and of a ring not those that it has overwritten. */
TEST(test_newest, "the newest records are found")
{
	EQUAL(open_stream(CHARIO_STREAM_RING), 0);
	EQUAL(rig_open_reader(), 0);
	EQUAL(chario_reader_seek_newest(rig.reader, 5), 0);
	EQUAL(rig_next(), -EAGAIN);
	EQUAL(rig_record(0, 2 * SLOTS, 8000), 0);
	EQUAL(chario_reader_seek_newest(rig.reader, 0), 0);
	EQUAL(rig_close(), 0);
	EQUAL(chario_reader_seek_newest(rig.reader, 3), 0);
	CHECK(are_next(2 * SLOTS - 3, 2 * SLOTS));
	EQUAL(rig_next(), -ENODATA);
	EQUAL(chario_reader_seek_newest(rig.reader, 0), 0);
	EQUAL(rig_next(), -ENODATA);
	EQUAL(chario_reader_seek_newest(rig.reader, UINT64_MAX), 0);
	EQUAL(rig_get_recording(), 0);
	CHECK(rig.recording.first_record > 0);
	CHECK(is_next(rig.recording.first_record, 0, 0));
}

TEST(test_append, "what is appended follows")
{
	EQUAL(record(0, 0, 10, 3000) ?: rig_open_reader(), 0);
	CHECK(are_next(0, 10));
	EQUAL(rig_next(), -ENODATA);
	EQUAL(open_stream(CHARIO_STREAM_APPEND), 0);
	EQUAL(rig_next(), -EAGAIN);
	EQUAL(rig_record(10, 20, 3000), 0);
	EQUAL(rig_close(), 0);
	CHECK(are_next(10, 20));
	EQUAL(rig_next(), -ENODATA);
	options.segment_bytes = 16384;
	EQUAL(open_stream(CHARIO_STREAM_APPEND), -EINVAL);
}

/* In a process of its own: what it leaves is what a power cut would. */
static pid_t start_writer(uint32_t flags, uint64_t from, uint64_t to, useconds_t pause_us,
			  bool ends)
{
	pid_t child = fork();

	if (child)
		return child;
	/* The store of the parent is the parent's. */
	if (pause_us)
		options.flush_ns = 5 * MS;
	if (chario_store_open(path, O_RDWR, &rig.store) || open_stream(flags))
		_exit(1);
	for (uint64_t i = from; i < to; i++) {
		if (lab_write(rig.stream, i, 1 + lab_mix(i) % 9000))
			_exit(2);
		if (pause_us)
			usleep(pause_us);
	}
	if (ends)
		_exit(rig_close() ? 3 : 0);
	if (rig_wait())
		_exit(4);
	kill(getpid(), SIGKILL);
	_exit(5);
}

TEST(test_kill, "a program that was killed leaves its recording")
{
	int how;

	EQUAL(waitpid(start_writer(0, 0, 30, 0, false), &how, 0) > 0, 1);
	CHECK(WIFSIGNALED(how));
	EQUAL(rig_open_reader(), 0);
	CHECK(are_next(0, 30));
	EQUAL(rig_next(), -EAGAIN);
	EQUAL(rig_get_recording(), 0);
	EQUAL(rig.recording.ended, 0);
	EQUAL(waitpid(start_writer(CHARIO_STREAM_APPEND, 30, 50, 0, true), &how, 0) > 0, 1);
	EQUAL(how, 0);
	CHECK(are_next(30, 50));
	EQUAL(rig_next(), -ENODATA);
}

static bool has_ended(pid_t child)
{
	siginfo_t how = { 0 };

	return waitid(P_PID, (id_t)child, &how, WEXITED | WNOHANG | WNOWAIT) || how.si_pid;
}

/* As many records as there is room for where each is flushed before the next one. */
TEST(test_follow, "a reader follows another process")
{
	pid_t writer;
	int how;

	EQUAL(open_stream(0), 0);
	EQUAL(rig_close(), 0);
	writer = start_writer(CHARIO_STREAM_APPEND, 0, 30, 1000, true);
	EQUAL(rig_open_reader(), 0);
	/* Until the writer goes on, the recording has an end. */
	do
		EQUAL(rig_get_recording(), 0);
	while (!rig.recording.next_record && !has_ended(writer));
	for (uint64_t i = 0; i < 30; i++) {
		CHECK(is_next(i, 0, 60000 * MS));
		EQUAL(rig_get_recording(), 0);
		CHECK(rig.recording.next_record > i);
	}
	EQUAL(waitpid(writer, &how, 0), writer);
	EQUAL(how, 0);
	EQUAL(rig_next(), -ENODATA);
}

/* A reader that is too slow for a ring is told how much it has missed. */
TEST(test_lapped, "a reader that is too slow is told")
{
	uint64_t expected = 1;

	EQUAL(open_stream(CHARIO_STREAM_RING), 0);
	EQUAL(rig_record(0, 10, 8000), 0);
	EQUAL(rig_wait(), 0);
	EQUAL(rig_open_reader(), 0);
	CHECK(is_next(0, 0, 0));
	EQUAL(rig_record(10, 200, 8000), 0);
	EQUAL(rig_wait(), 0);
	while (!rig_next()) {
		EQUAL(rig.record.sequence, expected + rig.record.missing);
		CHECK(lab_is(rig.record.memory, rig.record.bytes, rig.record.sequence));
		expected = rig.record.sequence + 1;
	}
	EQUAL(expected, 200);
}

/* What is damaged is passed over and counted, all else is found. */
TEST(test_damage, "damage is passed over")
{
	static const unsigned char junk[SEGMENT];
	uint64_t from = lab_area_offset(rig.store);
	int fd = open(path, O_RDWR | O_CLOEXEC);

	EQUAL(record(0, 0, 50, 3930), 0);
	/* Two records fill a segment: data of one, the header of the next but one, all. */
	EQUAL(pwrite(fd, junk, 100, (off_t)from + 3 * SEGMENT + 1000), 100);
	EQUAL(pwrite(fd, junk, 4, (off_t)from + 5 * SEGMENT + 128), 4);
	EQUAL(pwrite(fd, junk, 4096, (off_t)from + 7 * SEGMENT), 4096);
	EQUAL(pwrite(fd, junk, SEGMENT, (off_t)from + 16 * SEGMENT), SEGMENT);
	EQUAL(pwrite(fd, junk, SEGMENT, (off_t)from), SEGMENT);
	close(fd);
	EQUAL(rig_survey(), 0);
	EQUAL(rig.recording.next_record, 50);
	CHECK(is_next(2, 2, 0));
	CHECK(are_next(3, 6));
	CHECK(is_next(7, 1, 0));
	CHECK(is_next(8, 0, 0));
	CHECK(is_next(9, 0, 0));
	CHECK(is_next(12, 2, 0));
	CHECK(is_next(13, 0, 0));
	for (uint64_t i = 16; i < 32; i++)
		CHECK(is_next(i, i == 16 ? 2 : 0, 0));
	for (uint64_t i = 34; i < 50; i++)
		CHECK(is_next(i, i == 34 ? 2 : 0, 0));
	EQUAL(rig_next(), -ENODATA);
	EQUAL(chario_reader_seek(rig.reader, 15), 0);
	CHECK(is_next(16, 0, 0));
}

/* The search reads as many headers as the logarithm says, not as many as there are. */
TEST(test_search, "the search is a logarithm")
{
	static const uint64_t counts[] = { 1, 100, 2047, 2048, 3000, 4095, 4096, 4097, 6000, 9000 };
	struct log_disk *disk;

	chario_store_close(rig.store);
	disk = lab_make_disk(4096ULL * SEGMENT, false);
	rig.store = lab_open_store(disk);
	options.durability = CHARIO_DURABILITY_AUTO;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		EQUAL(record(CHARIO_STREAM_RING, 0, counts[i], 8000) ?: rig_survey(), 0);
		EQUAL(rig.recording.next_record, counts[i]);
		/* Twice the logarithm of 4096, thrice the window of 4, and some. */
		CHECK(rig.recording.reads <= 2 * 12 + 3 * 4 + 6);
		rig_close_reader();
	}
	chario_store_close(rig.store);
	rig.store = NULL;
	log_disk_destroy(disk);
}

TEST_MAIN(before, after)
