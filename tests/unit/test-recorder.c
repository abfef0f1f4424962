// SPDX-License-Identifier: MIT
/*
 * Recorders: what a pipe or a socket gives becomes a recording on a disk in memory.
 */
#include "recorder-rig.h"

TEST(test_bytes, "a stream of bytes is cut into records")
{
	EQUAL(give(0, 20), 0);
	end_source();
	ENDS(0, CHARIO_RECORDER_SOURCE);
	EQUAL(recorder.taken_bytes, 20 * RECORD);
	EQUAL(recorder.gaps, 0);
	CHECK(rig_holds(0, 20));
}

/* The last record is what there is of it. */
TEST(test_limit, "a recorder ends at its limits")
{
	recorder.limit_bytes = 2 * RECORD + 5;
	EQUAL(give(0, 4), 0);
	ENDS(0, CHARIO_RECORDER_LIMIT);
	EQUAL(recorder.taken_bytes, 2 * RECORD + 5);
	EQUAL(rig_wait(), 0);
	EQUAL(rig.status.records, 3);
	EQUAL(rig.status.bytes, 2 * RECORD + 5);
	recorder.limit_bytes = 0;
	recorder.limit_ns = 1000000;
	drop_source();
	EQUAL(pipe(ends), 0);
	ENDS(0, CHARIO_RECORDER_LIMIT);
	EQUAL(recorder.taken_bytes, 0);
}

static int stop_at_third(const struct chario_recorder *now, void *data)
{
	return ++calls > 2 ? STOPPED : 0;
}

/* A record that has begun does not wait for its rest for ever. */
TEST(test_part, "a record that has begun is ended in time")
{
	recorder.part_ns = 1000000;
	recorder.limit_ns = 20000000;
	EQUAL(write(ends[1], "part", 4), 4);
	EQUAL(run(), 0);
	EQUAL(rig_wait(), 0);
	EQUAL(rig.status.records, 1);
	EQUAL(rig.status.bytes, 4);
	/* Nor does the function of the program, which is called once a second. */
	recorder.part_ns = FOR_EVER_NS;
	recorder.limit_ns = 0;
	recorder.progress = stop_at_third;
	calls = 1;
	EQUAL(write(ends[1], "part", 4), 4);
	EQUAL(run(), STOPPED);
}

static int stop_at_wait(const struct chario_recorder *now, void *data)
{
	calls++;
	if (!now->waits && !now->gaps)
		return 0;
	rig_hold(0);
	return data ? 0 : STOPPED;
}

/* With all buffers on their way the source waits, or is read and not recorded. */
TEST(test_pressure, "without room the source waits")
{
	rig_hold(RIG_BYTES);
	recorder.progress = stop_at_wait;
	EQUAL(give(0, 60), 0);
	ENDS(STOPPED, CHARIO_RECORDER_STOPPED);
	EQUAL(recorder.waits, 1);
	EQUAL(recorder.wait_ns, recorder.longest_wait_ns);
	CHECK(recorder.wait_ns > 0);
	EQUAL(recorder.gaps, 0);
	CHECK(calls > 1);
	EQUAL(rig_look(), 0);
	EQUAL(rig.status.bytes, recorder.taken_bytes);
	/* The longest wait may be followed by records without any. */
	rig_hold(RIG_BYTES);
	recorder.data = &recorder;
	recorder.limit_bytes = 90 * RECORD - recorder.taken_bytes;
	EQUAL(give(60, 90), 0);
	ENDS(0, CHARIO_RECORDER_LIMIT);
	CHECK(recorder.waits && recorder.longest_wait_ns >= recorder.wait_ns / recorder.waits);
}

TEST(test_drop, "or what it gives is lost and counted")
{
	rig_hold(RIG_BYTES);
	recorder.progress = stop_at_wait;
	recorder.flags = CHARIO_RECORDER_DROP;
	EQUAL(give(0, 60), 0);
	EQUAL(run(), STOPPED);
	EQUAL(recorder.gaps, 1);
	EQUAL(recorder.waits, 0);
	CHECK(recorder.gap_ns > 0);
	EQUAL(rig_look(), 0);
	EQUAL(rig.status.lost_records, 1);
	EQUAL(rig.status.bytes + rig.status.lost_bytes, recorder.taken_bytes);
}

TEST(test_full, "a full area")
{
	uint64_t records = 0;
	int err = 0;

	/* All but the last segment is full already. */
	while (!err) {
		err = rig_record(records, records + 1, 8000);
		records += !err;
		EQUAL(rig_wait(), 0);
	}
	EQUAL(err, -ENOSPC);
	EQUAL(give(0, 1), 0);
	ENDS(-ENOSPC, CHARIO_RECORDER_FULL);
	EQUAL(recorder.taken_bytes, 0);
}

TEST(test_errors, "errors of the source and of the disk")
{
	int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	EQUAL(chario_recorder_run(rig.stream, fd, &recorder), -EISDIR);
	EQUAL(recorder.end, CHARIO_RECORDER_READ);
	close(fd);
	EQUAL(chario_recorder_run(rig.stream, fd, &recorder), -EBADF);
	EQUAL(chario_recorder_run(rig.stream, -1, &recorder), -EBADF);
	EQUAL(recorder.end, CHARIO_RECORDER_READ);
	/* Poll never tells of data there, so these would be waited for until the limit. */
	recorder.limit_ns = 50000000;
	EQUAL(chario_recorder_run(rig.stream, ends[1], &recorder), -EBADF);
	EQUAL(recorder.end, CHARIO_RECORDER_READ);
	fd = open("/proc/self/fd/0", O_PATH | O_CLOEXEC);
	EQUAL(chario_recorder_run(rig.stream, fd, &recorder), -EBADF);
	close(fd);
	recorder.limit_ns = 0;
	recorder.flags = CHARIO_RECORDER_DATAGRAMS;
	EQUAL(give(0, 2), 0);
	ENDS(-ENOTSOCK, CHARIO_RECORDER_READ);
	recorder.flags = 0;
	rig.disk->faults.write.times = LOG_FOR_EVER;
	EQUAL(rig_record(0, 1, 10), 0);
	EQUAL(rig_wait(), -EIO);
	ENDS(-EIO, CHARIO_RECORDER_WRITE);
	rig.disk->faults.write.times = 0;
	recorder.flags = CHARIO_RECORDER_DATAGRAMS;
	EQUAL(make_sockets(SOCK_STREAM), 0);
	ENDS(-EPROTOTYPE, CHARIO_RECORDER_READ);
	recorder.flags = 0;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	EQUAL(bind(fd, &(struct sockaddr){ .sa_family = AF_UNIX }, sizeof(sa_family_t)), 0);
	EQUAL(listen(fd, 1), 0);
	EQUAL(chario_recorder_run(rig.stream, fd, &recorder), -ENOTCONN);
	EQUAL(recorder.end, CHARIO_RECORDER_READ);
	close(fd);
}

TEST(test_arguments, "arguments that cannot be")
{
	recorder.size--;
	EQUAL(run(), -EINVAL);
	recorder.size++;
	recorder.flags = 1U << 31;
	recorder.end = CHARIO_RECORDER_LIMIT;
	ENDS(-EINVAL, CHARIO_RECORDER_START);
	recorder.flags = 0;
	recorder.record_bytes = 0;
	EQUAL(run(), -EINVAL);
	recorder.record_bytes = chario_stream_room_bytes(rig.stream) + 1;
	ENDS(-EINVAL, CHARIO_RECORDER_START);
}

TEST(test_child, "a child of fork() records nothing")
{
	EQUAL(give(0, 1), 0);
	CHECK_IN_CHILD(run() == -EPERM && recorder.end == CHARIO_RECORDER_WRITE);
}

/* A pipe that gives nothing. */
TEST(test_signal, "a signal wakes a recorder that waits")
{
	recorder.progress = stop_at_third;
	EQUAL(tap_interrupt(10000), 0);
	ENDS(STOPPED, CHARIO_RECORDER_STOPPED);
	EQUAL(tap_interrupt(0), 0);
	EQUAL(recorder.taken_bytes, 0);
}

TEST_MAIN(recorder_begin, recorder_end)
