// SPDX-License-Identifier: MIT
/*
 * Recorders and what their sources give: datagrams, packets, events, losses, and what waits
 * in the kernel at the end.
 */
#include <linux/net_tstamp.h>
#include <linux/userfaultfd.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "recorder-rig.h"
#include "stream/recorder-inner.h"

static int make_dgram(void)
{
	return make_sockets(SOCK_DGRAM);
}

static int make_seqpacket(void)
{
	return make_sockets(SOCK_SEQPACKET);
}

/* Make a pair of sockets whose losses the kernel counts. */
static int make_udp(void)
{
	const struct sockaddr_in here = { .sin_family = AF_INET,
					  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const int yes = 1;
	struct sockaddr_in name;
	socklen_t length = sizeof(name);

	drop_source();
	ends[0] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	ends[1] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (setsockopt(ends[0], SOL_SOCKET, SO_RXQ_OVFL, &yes, sizeof(yes)) ||
	    bind(ends[0], (const struct sockaddr *)&here, sizeof(here)) ||
	    getsockname(ends[0], (struct sockaddr *)&name, &length))
		return -errno;
	return connect(ends[1], (const struct sockaddr *)&name, length) ? -errno : 0;
}

/* The same, where the kernel has no room for more than a few datagrams. */
static int make_small_udp(void)
{
	const int least = 1;

	return make_udp() ?: setsockopt(ends[0], SOL_SOCKET, SO_RCVBUF, &least, sizeof(least));
}

/* The flag is that of the writer only. */
static int make_packets(void)
{
	drop_source();
	return pipe2(ends, O_DIRECT | O_CLOEXEC);
}

static int make_pipe(void)
{
	drop_source();
	return pipe2(ends, O_CLOEXEC);
}

/* Sources of which each read gives a whole record, and a stream of bytes. */
static int (*const makers[])(void) = { make_udp, make_dgram, make_seqpacket, make_packets,
				       make_pipe };
#define ALL_MAKERS   5U
#define WHOLE_MAKERS 4U

/* The descriptor decides, and not the flag, that its units are records. */
TEST(test_units, "datagrams and packets are records")
{
	recorder.record_bytes = RECORD + RECORD / 2;
	recorder.limit_bytes = 10 * RECORD;
	for (uint64_t i = 0; i < WHOLE_MAKERS; i++) {
		EQUAL(makers[i](), 0);
		EQUAL(give(i * 10, i * 10 + 10), 0);
		ENDS(0, CHARIO_RECORDER_LIMIT);
		EQUAL(recorder.gaps, 0);
	}
	CHECK(rig_holds(0, WHOLE_MAKERS * 10));
}

/* One that is too long is lost, and one that is empty, which is no end; pipes have none. */
TEST(test_odd_units, "datagrams that are too long or empty")
{
	static const char memory[RECORD + 1];
	uint64_t lost = 0;

	recorder.limit_bytes = 3 * RECORD + 1;
	for (uint64_t i = 0; i < WHOLE_MAKERS; i++) {
		bool empty = makers[i] != make_packets;

		EQUAL(makers[i](), 0);
		EQUAL(give(0, 1), 0);
		EQUAL(send(ends[1], memory, 0, 0), empty ? 0 : -1);
		EQUAL(write(ends[1], memory, RECORD + 1), RECORD + 1);
		EQUAL(give(1, 2), 0);
		ENDS(0, CHARIO_RECORDER_LIMIT);
		EQUAL(recorder.gaps, empty + 1);
		lost += recorder.gaps;
		HAS(2 * (i + 1), lost, (i + 1) * (RECORD + 1));
	}
}

/* Datagrams take the room that they need, although the longest would need a segment. */
TEST(test_short_units, "short datagrams fill the area")
{
	const uint64_t in_segment = RIG_SEGMENT / (RECORD + 100);
	const uint64_t most = (RIG_SLOTS - 1) * in_segment;

	recorder.record_bytes = chario_stream_room_bytes(rig.stream);
	recorder.limit_bytes = RECORD;
	EQUAL(make_dgram(), 0);
	for (uint64_t i = 0; i < most; i++) {
		EQUAL(give(i, i + 1), 0);
		ENDS(0, CHARIO_RECORDER_LIMIT);
	}
	CHECK(rig_holds(0, most));
}

/* One that is lost takes no room of the area. */
TEST(test_lost_units, "datagrams that are lost leave the area empty")
{
	static const char memory[RIG_SEGMENT];

	recorder.record_bytes = chario_stream_room_bytes(rig.stream);
	EQUAL(make_dgram(), 0);
	recorder.limit_bytes = RIG_SEGMENT;
	for (unsigned int i = 0; i < 2 * RIG_SLOTS; i++) {
		EQUAL(send(ends[1], memory, 0, 0), 0);
		EQUAL(send(ends[1], memory, RIG_SEGMENT, 0), RIG_SEGMENT);
		ENDS(0, CHARIO_RECORDER_LIMIT);
	}
	HAS(0, 4 * RIG_SLOTS, 2 * RIG_SLOTS * RIG_SEGMENT);
	CHECK(rig.status.segments <= 1);
}

static int give_packets(const struct chario_recorder *now, void *data)
{
	static const char memory[RECORD + 1];

	if (now->taken_bytes != RECORD)
		return 0;
	return fcntl(ends[1], F_SETFL, O_DIRECT) ||
	       write(ends[1], memory, RECORD + 1) != RECORD + 1 || give(1, 2);
}

/* The writer of a pipe begins to write packets behind bytes that have filled a record. */
TEST(test_later_packets, "packets behind bytes of a pipe")
{
	recorder.progress = give_packets;
	recorder.limit_bytes = 3 * RECORD;
	EQUAL(make_pipe(), 0);
	EQUAL(give(0, 1), 0);
	ENDS(0, CHARIO_RECORDER_LIMIT);
	HAS(2, 1, RECORD + 1);
}

/* A look at a pipe that has no room is an error, and leaves nothing behind for the next one. */
TEST(test_no_look, "a pipe that cannot be looked at")
{
	struct stream_source source;

	EQUAL(make_packets(), 0);
	EQUAL(give(0, 1), 0);
	EQUAL(chario_source_open(&source, ends[0]), 0);
	CHECK(fcntl(source.probe[1], F_SETPIPE_SZ, 4096) > 0);
	EQUAL(chario_source_is_whole(&source), -ENOBUFS);
	EQUAL(chario_source_is_whole(&source), -ENOBUFS);
	CHECK(fcntl(source.probe[1], F_SETPIPE_SZ, 8192) > 0);
	EQUAL(chario_source_is_whole(&source), 1);
	EQUAL(chario_source_is_whole(&source), 1);
	chario_source_close(&source);
}

/* A peer that has gone, or a socket that is shut down, is the end. */
TEST(test_end_of_datagrams, "datagrams end with the peer")
{
	EQUAL(make_seqpacket(), 0);
	EQUAL(send(ends[1], "", 0, 0), 0);
	EQUAL(give(0, 5), 0);
	end_source();
	ENDS(0, CHARIO_RECORDER_SOURCE);
	EQUAL(make_udp(), 0);
	/* It reports that the socket has no peer, and shuts it down. */
	EQUAL(shutdown(ends[0], SHUT_RD), -1);
	ENDS(0, CHARIO_RECORDER_SOURCE);
	HAS(5, 1, 0);
}

/* A device refuses a read without room for a whole event. */
TEST(test_events, "events of a device are records")
{
	recorder.record_bytes = 4;
	recorder.limit_bytes = 8;
	drop_source();
	ends[0] = eventfd(1, EFD_CLOEXEC);
	ENDS(0, CHARIO_RECORDER_LIMIT);
	EQUAL(rig_wait(), 0);
	EQUAL(rig.status.records, 1);
	EQUAL(rig.status.bytes, 8);
}

/* A segment has more room than one unit of a source. */
#define LONG_SEGMENT (STREAM_SOURCE_UNIT + 16384)

/* More events wait than a record has room for, or are read at once: they become several records. */
TEST(test_many_events, "more events than a record has room for")
{
	char name[] = "/tmp/chario-events-XXXXXX";
	int file = mkstemp(name);

	for (uint64_t i = 0; i < 2; i++) {
		EQUAL(rig_close() ?: RIG_OPEN(.segment_bytes = i ? LONG_SEGMENT : RIG_SEGMENT), 0);
		recorder.limit_bytes = (i ? 5000 : 2000) * sizeof(struct inotify_event);
		drop_source();
		ends[0] = inotify_init1(IN_CLOEXEC);
		CHECK(inotify_add_watch(ends[0], name, IN_OPEN | IN_CLOSE) >= 0);
		for (uint64_t j = 0; j < (i ? 2500 : 1000); j++)
			close(open(name, O_RDONLY | O_CLOEXEC));
		EQUAL(run(), 0);
		EQUAL(recorder.gaps, 0);
		HAS(i ? 2 : 4, 0, 0);
		EQUAL(rig.status.bytes, recorder.limit_bytes);
	}
	unlink(name);
	close(file);
}

/* The first are read straight into the segment: without scratch memory they would be lost. */
TEST(test_long_unit, "a datagram that is longer than most units")
{
	static const char memory[STREAM_SOURCE_UNIT + 14336];
	struct recorder_loop loop = { .recorder = &recorder };

	EQUAL(rig_close() ?: RIG_OPEN(.segment_bytes = LONG_SEGMENT), 0);
	loop.stream = rig.stream;
	EQUAL(make_dgram() ?: give(0, 4) ?: chario_source_open(&loop.source, ends[0]), 0);
	chario_recorder_take(&loop);
	chario_recorder_take(&loop);
	EQUAL(write(ends[1], memory, sizeof(memory)), sizeof(memory));
	recorder.record_bytes = sizeof(memory);
	recorder.limit_bytes = 2 * RECORD + sizeof(memory);
	ENDS(0, CHARIO_RECORDER_LIMIT);
	HAS(5, 0, 0);
}

/* Lines of the kernel's log have numbers, which show how many were overwritten. */
TEST(test_log, "overwritten lines of the kernel's log")
{
	static const char *const lines[] = { "6,41,10,-;a", "6,42,11,-;b", "12,46,12,c;c", "6,5",
					     "x" };
	static const uint64_t lost[] = { 0, 0, 3, 0, 0 };
	struct stream_source source = { .kind = STREAM_SOURCE_EVENTS, .is_log = true };
	struct stream_taken taken;
	char memory[RECORD];

	EQUAL(make_packets(), 0);
	source.fd = ends[0];
	for (int i = 0; i < 5; i++) {
		EQUAL(write(ends[1], lines[i], strlen(lines[i])), strlen(lines[i]));
		EQUAL(chario_source_read(&source, memory, sizeof(memory), &taken), 1);
		EQUAL(taken.bytes, strlen(lines[i]));
		EQUAL(taken.lost, lost[i]);
	}
}

/* Returns the number that the next descriptor will have. */
static int next_descriptor(void)
{
	int fd = dup(ends[0]);

	close(fd);
	return fd;
}

/* No descriptor is taken: close(2) of a file may last, and gives up the locks of this process on it. */
TEST(test_descriptors, "descriptors that come with a datagram")
{
	struct flock lock = { .l_type = F_WRLCK };
	int mine = memfd_create("mine", MFD_CLOEXEC), theirs;
	char path[32];
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
	snprintf(path, sizeof(path), "/proc/self/fd/%d", mine);
	theirs = open(path, O_RDWR | O_CLOEXEC);
	EQUAL(fcntl(mine, F_SETLK, &lock), 0);
	sent[0] = sent[1] = sent[2] = theirs;
	memcpy(CMSG_DATA(&control.header), sent, sizeof(sent));
	EQUAL(sendmsg(ends[1], &message, 0), 1);
	recorder.limit_bytes = 1;
	next = next_descriptor();
	EQUAL(run(), 0);
	EQUAL(next_descriptor(), next);
	EQUAL(fcntl(theirs, F_OFD_GETLK, &lock), 0);
	EQUAL(lock.l_type, F_WRLCK);
	close(mine);
	close(theirs);
}

static int stop_at_durable(const struct chario_recorder *now, void *data)
{
	return !rig_look() && rig.status.durable_records ? STOPPED : 0;
}

/* An empty datagram is lost and holds no room, so the record before it becomes durable. */
TEST(test_empty_datagram, "an empty datagram delays no record")
{
	EQUAL(rig_close(), 0);
	EQUAL(RIG_OPEN(.flush_ns = 10000000), 0);
	EQUAL(make_sockets(SOCK_DGRAM), 0);
	recorder.progress = stop_at_durable;
	recorder.limit_ns = 5000000000;
	EQUAL(give(0, 1), 0);
	EQUAL(send(ends[1], "", 0, 0), 0);
	ENDS(STOPPED, CHARIO_RECORDER_STOPPED);
	CHECK(rig_holds(0, 1));
}

/* Losses are counted that an empty datagram reports, which is one itself, or none. */
TEST(test_losses, "losses that no later datagram reports")
{
	char memory[RECORD];
	uint64_t kept, lost = 0;

	recorder.limit_ns = 50000000;
	for (int is_reported = 0; is_reported < 2; is_reported++) {
		EQUAL(make_small_udp() ?: give(0, 50), 0);
		for (kept = 0; recv(ends[0], memory, RECORD, MSG_DONTWAIT) > 0; kept++)
			;
		CHECK(kept < 50);
		lost += 50 - kept + (uint64_t)is_reported;
		if (is_reported)
			EQUAL(send(ends[1], "", 0, 0), 0);
		EQUAL(run(), 0);
		EQUAL(recorder.gaps, 1 + is_reported);
		EQUAL(rig_look(), 0);
		EQUAL(rig.status.lost_records, lost);
	}
}

/* The count that a datagram brings is that of its arrival. */
TEST(test_place_of_losses, "losses lie before the datagram that tells of them")
{
	EQUAL(make_small_udp() ?: give(0, 50), 0);
	recorder.limit_bytes = RECORD;
	ENDS(0, CHARIO_RECORDER_LIMIT);
	EQUAL(give(50, 51), 0);
	recorder.limit_bytes = 0;
	recorder.limit_ns = 1;
	recorder.flags = CHARIO_RECORDER_DRAIN;
	ENDS(0, CHARIO_RECORDER_LIMIT);
	EQUAL(rig_read_back(), 0);
	while (!rig_next() && !rig.record.missing)
		;
	CHECK(rig.record.missing > 0);
	EQUAL(rig.record.sequence, 50);
	CHECK(lab_is(rig.record.memory, rig.record.bytes, 50));
}

static int stop(const struct chario_recorder *now, void *data)
{
	return STOPPED;
}

static void flood(int number)
{
	give(0, 50);
}

/* Datagrams come while a signal ends the wait for them: what is lost of them lies behind the others. */
TEST(test_interrupted_wait, "losses lie behind datagrams that wait at a signal")
{
	const struct sigaction action = { .sa_handler = flood };
	const struct itimerval soon = { .it_value.tv_usec = 10000 };

	EQUAL(make_small_udp(), 0);
	recorder.flags = CHARIO_RECORDER_DRAIN;
	recorder.progress = stop;
	EQUAL(sigaction(SIGALRM, &action, NULL), 0);
	EQUAL(setitimer(ITIMER_REAL, &soon, NULL), 0);
	EQUAL(run(), STOPPED);
	signal(SIGALRM, SIG_DFL);
	EQUAL(rig_look(), 0);
	CHECK(rig.status.lost_records);
	EQUAL(rig.status.records + rig.status.lost_records, 50);
	CHECK(rig_holds(0, rig.status.records));
}

/* What waits when a recorder ends, by its function or in time, is taken. */
TEST(test_drain, "a drain takes what waits in the kernel")
{
	recorder.flags = CHARIO_RECORDER_DRAIN;
	for (uint64_t i = 0; i < 2 * ALL_MAKERS; i++) {
		bool stops = i < ALL_MAKERS;

		recorder.progress = stops ? stop : NULL;
		recorder.limit_ns = stops ? 0 : 1;
		EQUAL(makers[i % ALL_MAKERS](), 0);
		EQUAL(give(i * 10, i * 10 + 10), 0);
		ENDS(stops ? STOPPED : 0, stops ? CHARIO_RECORDER_STOPPED : CHARIO_RECORDER_LIMIT);
		EQUAL(recorder.taken_bytes, 10 * RECORD);
	}
	CHECK(rig_holds(0, 20 * ALL_MAKERS));
}

static int stop_twice(const struct chario_recorder *now, void *data)
{
	return STOPPED + (++calls > 1);
}

/* When the function ends a drain, what still waits is lost, and counted. */
TEST(test_abandon, "what waits is counted if a drain is ended")
{
	recorder.flags = CHARIO_RECORDER_DRAIN;
	recorder.progress = stop_twice;
	for (uint64_t i = 0; i < ALL_MAKERS; i++) {
		calls = 0;
		EQUAL(makers[i](), 0);
		EQUAL(give(0, 10), 0);
		ENDS(STOPPED + 1, CHARIO_RECORDER_STOPPED);
		EQUAL(recorder.gaps, 1);
		HAS(2 * (i + 1), 8 * (i + 1), 8 * (i + 1) * RECORD);
	}
}

/* The area gets full, in a drain or before: what has no room in it is lost as well. */
static void check_full(int (*make)(void), chario_recorder_progress *progress, uint64_t given)
{
	uint64_t most = 0;

	recorder_end();
	recorder_begin();
	while (!rig_record(most, most + 1, RECORD))
		most++;
	recorder_end();
	recorder_begin();
	EQUAL(rig_record(0, most - 3, RECORD), 0);
	EQUAL(make ? make() : 0, 0);
	recorder.flags = CHARIO_RECORDER_DRAIN;
	recorder.progress = progress;
	EQUAL(give(0, given), 0);
	EQUAL(run(), -ENOSPC);
	EQUAL(recorder.end, CHARIO_RECORDER_FULL);
	EQUAL(rig_look(), 0);
	EQUAL(rig.status.records + rig.status.lost_records, most - 3 + given);
}

TEST(test_full, "what waits is counted if the area is full")
{
	check_full(NULL, stop, 10);
	check_full(make_dgram, NULL, 10);
	/* The kernel drops most of them. */
	check_full(make_udp, NULL, 1000);
}

static int give_and_stop(const struct chario_recorder *now, void *data)
{
	return give(0, 1) ? 0 : stop(now, data);
}

/* A drain ends although the source goes on. */
TEST(test_endless, "a drain of a source that goes on ends")
{
	recorder.flags = CHARIO_RECORDER_DRAIN;
	recorder.progress = give_and_stop;
	EQUAL(give(0, 10), 0);
	EQUAL(run(), STOPPED);
	EQUAL(recorder.taken_bytes, 11 * RECORD);
	EQUAL(make_udp(), 0);
	EQUAL(give(0, 10), 0);
	ENDS(STOPPED, CHARIO_RECORDER_STOPPED);
}

static int make_tcp(void)
{
	struct sockaddr_in name = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(name);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), err;

	drop_source();
	ends[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	err = bind(listener, (const struct sockaddr *)&name, sizeof(name)) || listen(listener, 1) ||
	      getsockname(listener, (struct sockaddr *)&name, &length) ||
	      connect(ends[0], (const struct sockaddr *)&name, length);
	ends[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	close(listener);
	return err || ends[1] < 0 ? -errno : 0;
}

/* Have the error queue of a source hold the time at which it has sent a byte. */
static bool fill_error_queue(void)
{
	const int times = SOF_TIMESTAMPING_SOFTWARE | SOF_TIMESTAMPING_TX_SOFTWARE;
	struct sockaddr_in name;
	socklen_t length = sizeof(name);
	struct pollfd polled = { .fd = ends[0] };

	getsockname(ends[1], (struct sockaddr *)&name, &length);
	setsockopt(ends[0], SOL_SOCKET, SO_TIMESTAMPING, &times, sizeof(times));
	return sendto(ends[0], "x", 1, 0, (const struct sockaddr *)&name, length) == 1 &&
	       poll(&polled, 1, -1) == 1 && polled.revents == POLLERR;
}

/* Stops if @data is set, and gives up if the recorder goes on for ever. */
static int stop_or_give_up(const struct chario_recorder *now, void *data)
{
	return ++calls > 1000 ? (int)calls : data ? STOPPED : 0;
}

/* An error that poll(2) reports, of a socket without data, is taken and ends nothing. */
TEST(test_error_queue, "errors without data end with the drain")
{
	int (*const sockets[])(void) = { make_udp, make_tcp };

	recorder.flags = CHARIO_RECORDER_DRAIN;
	recorder.progress = stop_or_give_up;
	for (uint64_t i = 0; i < 4; i++) {
		recorder.data = i < 2 ? &recorder : NULL;
		recorder.limit_ns = i < 2 ? 0 : 1;
		EQUAL(sockets[i % 2](), 0);
		CHECK(fill_error_queue());
		EQUAL(run(), i < 2 ? STOPPED : 0);
		CHECK(fill_error_queue());
		EQUAL(give(i, i + 1), 0);
		EQUAL(run(), i < 2 ? STOPPED : 0);
	}
	CHECK(rig_holds(0, 4));
}

/* Linux reports it with the next receive, or with a poll. */
TEST(test_refused, "what a source has sent, and nobody takes, ends no recording")
{
	struct sockaddr_in name;
	socklen_t length = sizeof(name);

	EQUAL(make_udp(), 0);
	EQUAL(getsockname(ends[1], (struct sockaddr *)&name, &length), 0);
	EQUAL(connect(ends[0], (const struct sockaddr *)&name, length), 0);
	EQUAL(give(0, 1), 0);
	EQUAL(close(ends[1]), 0);
	EQUAL(send(ends[0], "x", 1, 0), 1);
	recorder.limit_bytes = RECORD;
	EQUAL(run(), 0);
	EQUAL(send(ends[0], "x", 1, 0), 1);
	recorder.limit_bytes = 0;
	recorder.progress = stop_or_give_up;
	recorder.data = &recorder;
	EQUAL(run(), STOPPED);
	ends[1] = -1;
}

/* Memory whose faults nobody has asked for has nothing to read. */
TEST(test_nothing_but_errors, "a source that gives nothing but errors ends the recording")
{
	drop_source();
	ends[0] = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);
	if (ends[0] < 0)
		SKIP("this kernel gives nobody userfaultfd(2)");
	ENDS(-EINVAL, CHARIO_RECORDER_READ);
	HAS(0, 0, 0);
}

TEST_MAIN(recorder_begin, recorder_end)
