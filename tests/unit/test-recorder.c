// SPDX-License-Identifier: MIT
/*
 * Recorders: what a pipe or a socket gives becomes a recording on a disk in memory.
 */
#include <chario/recorder.h>

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"
#include "tape-rig.h"

#define RECORD  1000U
#define STOPPED 77

static struct chario_recorder recorder;
static unsigned int calls;

/* The ends of a pipe or of a pair of sockets: what is written to the second is recorded. */
static int ends[2];

static void before(void)
{
	/* Against hanging for ever. */
	alarm(300);
	rig_begin(RIG_BYTES, true);
	if (pipe(ends) || rig_open(&rig_small)) {
		printf("Bail out! no pipe or no recording can be made\n");
		_exit(1);
	}
	recorder = (struct chario_recorder){ .size = sizeof(recorder), .record_bytes = RECORD };
	calls = 0;
}

static void drop_source(void)
{
	for (int i = 0; i < 2; i++) {
		if (ends[i] >= 0)
			close(ends[i]);
		ends[i] = -1;
	}
}

static void after(void)
{
	drop_source();
	rig_end();
}

static int make_sockets(int type)
{
	drop_source();
	recorder.flags |= CHARIO_RECORDER_DATAGRAMS;
	return socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends);
}

/* Have records from one number to before another come, as a stream or as datagrams. */
static int give(uint64_t from, uint64_t to)
{
	unsigned char memory[RECORD];

	for (uint64_t i = from; i < to; i++) {
		lab_fill(memory, RECORD, i);
		if (write(ends[1], memory, RECORD) != RECORD)
			return -errno;
	}
	return 0;
}

static void end_source(void)
{
	close(ends[1]);
	ends[1] = -1;
}

static int run(void)
{
	return chario_recorder_run(rig.stream, ends[0], &recorder);
}

static void test_bytes(void)
{
	EQUAL(give(0, 20), 0);
	end_source();
	EQUAL(run(), 0);
	EQUAL(recorder.end, CHARIO_RECORDER_SOURCE);
	EQUAL(recorder.taken_bytes, 20 * RECORD);
	EQUAL(recorder.gaps, 0);
	CHECK(rig_holds(0, 20));
}

/* The last record is what there is of it. */
static void test_limit(void)
{
	recorder.limit_bytes = 2 * RECORD + 5;
	EQUAL(give(0, 4), 0);
	EQUAL(run(), 0);
	EQUAL(recorder.end, CHARIO_RECORDER_LIMIT);
	EQUAL(recorder.taken_bytes, 2 * RECORD + 5);
	EQUAL(rig_wait(), 0);
	EQUAL(rig_look(), 0);
	EQUAL(rig.status.records, 3);
	EQUAL(rig.status.bytes, 2 * RECORD + 5);
	recorder.limit_bytes = 0;
	recorder.limit_ns = 1000000;
	drop_source();
	EQUAL(pipe(ends), 0);
	EQUAL(run(), 0);
	EQUAL(recorder.end, CHARIO_RECORDER_LIMIT);
	EQUAL(recorder.taken_bytes, 0);
}

/* A record that has begun does not wait for its rest for ever. */
static void test_part(void)
{
	recorder.part_ns = 1000000;
	recorder.limit_ns = 20000000;
	EQUAL(write(ends[1], "part", 4), 4);
	EQUAL(run(), 0);
	EQUAL(rig_wait(), 0);
	EQUAL(rig_look(), 0);
	EQUAL(rig.status.records, 1);
	EQUAL(rig.status.bytes, 4);
}

static void test_datagrams(void)
{
	EQUAL(make_sockets(SOCK_SEQPACKET), 0);
	EQUAL(give(0, 5), 0);
	end_source();
	EQUAL(run(), 0);
	EQUAL(recorder.end, CHARIO_RECORDER_SOURCE);
	EQUAL(recorder.taken_bytes, 5 * RECORD);
	CHECK(rig_holds(0, 5));
}

/* One that is too long is lost; one that is empty is no end. */
static void test_odd_datagrams(void)
{
	static const char memory[RECORD + 1];

	EQUAL(make_sockets(SOCK_DGRAM), 0);
	recorder.limit_bytes = 3 * RECORD + 1;
	EQUAL(give(0, 1), 0);
	EQUAL(send(ends[1], memory, 0, 0), 0);
	EQUAL(write(ends[1], memory, RECORD + 1), RECORD + 1);
	EQUAL(give(1, 2), 0);
	EQUAL(run(), 0);
	EQUAL(recorder.end, CHARIO_RECORDER_LIMIT);
	EQUAL(recorder.gaps, 1);
	EQUAL(rig_wait(), 0);
	EQUAL(rig_look(), 0);
	EQUAL(rig.status.records, 2);
	EQUAL(rig.status.lost_records, 1);
	EQUAL(rig.status.lost_bytes, RECORD + 1);
}

/* Returns the number that the next descriptor will have. */
static int next_descriptor(void)
{
	int fd = dup(ends[0]);

	close(fd);
	return fd;
}

/* The recorder closes descriptors that come with a datagram. */
static void test_descriptors(void)
{
	int sent[3];
	union {
		char bytes[CMSG_SPACE(sizeof(sent))];
		struct cmsghdr header;
	} control = { .header = { CMSG_LEN(sizeof(sent)), SOL_SOCKET, SCM_RIGHTS } };
	struct iovec piece = { (char[]){ 'x' }, 1 };
	const struct msghdr message = {
		.msg_iov = &piece,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	int next;

	EQUAL(make_sockets(SOCK_DGRAM), 0);
	sent[0] = sent[1] = sent[2] = ends[1];
	memcpy(CMSG_DATA(&control.header), sent, sizeof(sent));
	EQUAL(sendmsg(ends[1], &message, 0), 1);
	recorder.limit_bytes = 1;
	next = next_descriptor();
	EQUAL(run(), 0);
	EQUAL(next_descriptor(), next);
}

static int stop_at_durable(const struct chario_recorder *now, void *data)
{
	(void)now;
	(void)data;
	return !rig_look() && rig.status.durable_records ? STOPPED : 0;
}

/* An empty datagram is no record and holds no room, so the record before it becomes durable. */
static void test_empty_datagram(void)
{
	struct chario_stream_options timely = rig_small;

	timely.flush_ns = 10000000;
	EQUAL(rig_close(), 0);
	EQUAL(rig_open(&timely), 0);
	EQUAL(make_sockets(SOCK_DGRAM), 0);
	recorder.progress = stop_at_durable;
	recorder.limit_ns = 5000000000;
	EQUAL(give(0, 1), 0);
	EQUAL(send(ends[1], "", 0, 0), 0);
	EQUAL(run(), STOPPED);
	EQUAL(recorder.end, CHARIO_RECORDER_STOPPED);
	CHECK(rig_holds(0, 1));
}

/* Make a pair of sockets whose queue is short, and whose losses the kernel counts. */
static int make_short_queue(void)
{
	const struct sockaddr_in here = { .sin_family = AF_INET,
					  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const int yes = 1, least = 1;
	struct sockaddr_in name;
	socklen_t length = sizeof(name);

	drop_source();
	recorder.flags |= CHARIO_RECORDER_DATAGRAMS;
	ends[0] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	ends[1] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (setsockopt(ends[0], SOL_SOCKET, SO_RCVBUF, &least, sizeof(least)) ||
	    setsockopt(ends[0], SOL_SOCKET, SO_RXQ_OVFL, &yes, sizeof(yes)) ||
	    bind(ends[0], (const struct sockaddr *)&here, sizeof(here)) ||
	    getsockname(ends[0], (struct sockaddr *)&name, &length))
		return -errno;
	return connect(ends[1], (const struct sockaddr *)&name, length) ? -errno : 0;
}

/* The losses that an empty datagram tells of count like all others. */
static void test_losses_of_empty(void)
{
	char memory[RECORD];
	uint64_t kept = 0;

	EQUAL(make_short_queue(), 0);
	EQUAL(give(0, 50), 0);
	while (recv(ends[0], memory, RECORD, MSG_DONTWAIT) > 0)
		kept++;
	CHECK(kept < 50);
	EQUAL(send(ends[1], "", 0, 0), 0);
	recorder.limit_ns = 50000000;
	EQUAL(run(), 0);
	EQUAL(recorder.gaps, 1);
	EQUAL(rig_look(), 0);
	EQUAL(rig.status.lost_records, 50 - kept);
}

static void hold_disk(bool hold)
{
	uint64_t from = lab_area_offset(rig.store);

	log_disk_hold(rig.disk, hold ? from : 0, hold ? from + RIG_BYTES : 0);
}

static int stop_at_wait(const struct chario_recorder *now, void *data)
{
	(void)data;
	calls++;
	if (!now->waits && !now->gaps)
		return 0;
	hold_disk(false);
	return STOPPED;
}

/* With all buffers on their way the source waits, or is read and not recorded. */
static void test_pressure(void)
{
	hold_disk(true);
	recorder.progress = stop_at_wait;
	EQUAL(give(0, 60), 0);
	EQUAL(run(), STOPPED);
	EQUAL(recorder.end, CHARIO_RECORDER_STOPPED);
	EQUAL(recorder.waits, 1);
	EQUAL(recorder.wait_ns, recorder.longest_wait_ns);
	CHECK(recorder.wait_ns > 0);
	EQUAL(recorder.gaps, 0);
	CHECK(calls > 1);
	EQUAL(rig_look(), 0);
	EQUAL(rig.status.bytes, recorder.taken_bytes);
}

static void test_drop(void)
{
	hold_disk(true);
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

static void test_full(void)
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
	EQUAL(run(), -ENOSPC);
	EQUAL(recorder.end, CHARIO_RECORDER_FULL);
	EQUAL(recorder.taken_bytes, 0);
}

static void test_errors(void)
{
	int folder = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	EQUAL(chario_recorder_run(rig.stream, folder, &recorder), -EISDIR);
	EQUAL(recorder.end, CHARIO_RECORDER_READ);
	close(folder);
	EQUAL(chario_recorder_run(rig.stream, folder, &recorder), -EBADF);
	EQUAL(chario_recorder_run(rig.stream, -1, &recorder), -EBADF);
	EQUAL(recorder.end, CHARIO_RECORDER_READ);
	recorder.flags = CHARIO_RECORDER_DATAGRAMS;
	EQUAL(give(0, 2), 0);
	EQUAL(run(), -ENOTSOCK);
	EQUAL(recorder.end, CHARIO_RECORDER_READ);
	recorder.flags = 0;
	rig.disk->faults.write.times = LOG_FOR_EVER;
	EQUAL(rig_record(0, 1, 10), 0);
	EQUAL(rig_wait(), -EIO);
	EQUAL(run(), -EIO);
	EQUAL(recorder.end, CHARIO_RECORDER_WRITE);
	rig.disk->faults.write.times = 0;
}

static void test_arguments(void)
{
	recorder.size--;
	EQUAL(run(), -EINVAL);
	recorder.size++;
	recorder.flags = 1U << 31;
	recorder.end = CHARIO_RECORDER_LIMIT;
	EQUAL(run(), -EINVAL);
	EQUAL(recorder.end, CHARIO_RECORDER_START);
	recorder.flags = 0;
	recorder.record_bytes = 0;
	EQUAL(run(), -EINVAL);
	recorder.record_bytes = chario_stream_room_bytes(rig.stream) + 1;
	EQUAL(run(), -EINVAL);
	EQUAL(recorder.end, CHARIO_RECORDER_START);
}

static void test_child(void)
{
	pid_t child;
	int status;

	EQUAL(give(0, 1), 0);
	child = fork();
	if (!child)
		_exit(run() == -EPERM && recorder.end == CHARIO_RECORDER_WRITE ? 0 : 1);
	EQUAL(waitpid(child, &status, 0), child);
	EQUAL(status, 0);
}

static void note_signal(int number)
{
	(void)number;
}

static int stop_at_third(const struct chario_recorder *now, void *data)
{
	(void)now;
	(void)data;
	return ++calls > 2 ? STOPPED : 0;
}

/* A pipe that gives nothing. */
static void test_signal(void)
{
	const struct itimerval often = { { 0, 10000 }, { 0, 10000 } }, never = { 0 };
	const struct sigaction action = { .sa_handler = note_signal };
	int err;

	recorder.progress = stop_at_third;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	err = run();
	setitimer(ITIMER_REAL, &never, NULL);
	EQUAL(err, STOPPED);
	EQUAL(recorder.end, CHARIO_RECORDER_STOPPED);
	EQUAL(recorder.taken_bytes, 0);
}

static const struct tap_test tests[] = {
	{ "a stream of bytes is cut into records", test_bytes },
	{ "a recorder ends at its limits", test_limit },
	{ "a record that has begun is ended in time", test_part },
	{ "datagrams are records", test_datagrams },
	{ "datagrams that are too long or empty", test_odd_datagrams },
	{ "descriptors that come with a datagram", test_descriptors },
	{ "an empty datagram delays no record", test_empty_datagram },
	{ "an empty datagram tells of losses", test_losses_of_empty },
	{ "without room the source waits", test_pressure },
	{ "or what it gives is lost and counted", test_drop },
	{ "a full area", test_full },
	{ "errors of the source and of the disk", test_errors },
	{ "arguments that cannot be", test_arguments },
	{ "a child of fork() records nothing", test_child },
	{ "a signal wakes a recorder that waits", test_signal },
};

TAP_MAIN(tests, before, after)
