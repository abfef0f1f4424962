// SPDX-License-Identifier: MIT
/*
 * chario-bench: repeats one synchronous call in the guest, each repetition
 * between two markers for the counting plugin (marker.h).
 *
 *	chario-bench reload
 *	chario-bench CALL DEVICE BYTES PAGES SPEED OPERATIONS [NAME=VALUE...]
 *
 * CALL is an entry of calls[] in calls.c (run without arguments for the list), PAGES is
 * scattered, joined, huge or plain (see memory.c), SPEED is free, late or
 * stall.  The result is one line of JSON.  What can be said besides:
 *
 *	open=WORDS	how the device is opened, direct, sync, direct,sync, or buffered for none of them
 *	order=sequential	one call behind the other, from the beginning; else anywhere
 *	seed=N	of the places that are anywhere (42)
 *	piece=BYTES	calls by io_uring are cut into pieces of this size
 *	span=BYTES	the part of the device that is used (64 MiB)
 *	skew=BYTES	where that part begins (0)
 *	reopen=yes	before each operation the device is opened anew, and memory forgets it
 *	period=US	from the beginning of one operation to that of the next, at least
 *	priority=N	a real-time one (SCHED_FIFO)
 *	finish=fsync	the last operation goes on until all that was written is durable
 *	fresh=yes	each call has memory of its own, as the kernel gives it out
 *	commands=DISK	how many commands of this disk, nvme0n1 or chardisk0, each call takes
 *	latency=yes	how long each call takes: the median, 99 %, 99.9 % and the longest
 *	beside=NAME	how much others move through this block device, nvme0n1p1, meanwhile
 *	warm=CALLS	that come before and are not counted (16)
 *	gate=FILE	gets a 1 before the first counted call, and a 0 at the beginning and after the last:
 *			so a tracer's tracing_on sees nothing but what is counted
 *	perf=FIFO	the same for perf record --control fifo:FIFO,FIFO.ack, in its words, which it answers
 */
#include <limits.h>
#include <sched.h>

#include "bench.h"
#include "marker.h"

#define WARM_UP    16
#define SPAN_BYTES (64ul << 20)

_Noreturn void fail(const char *what)
{
	fprintf(stderr, "chario-bench: %s: %s\n", what, strerror(errno));
	exit(EXIT_FAILURE);
}

void must(int err, const char *what)
{
	errno = -err;
	if (err)
		fail(what);
}

int must_open(const char *path, int flags)
{
	int fd = open(path, flags | O_NOCTTY, 0600);

	if (fd < 0)
		fail(path);
	return fd;
}

static void usage(void)
{
	fprintf(stderr,
		"usage: chario-bench reload\n"
		"       chario-bench CALL DEVICE BYTES "
		"scattered|joined|huge|plain free|late|stall OPERATIONS\n"
		"       [open=buffered|direct|sync|direct,sync] [order=sequential] [seed=N]\n"
		"       [piece=BYTES] [span=BYTES] [skew=BYTES] [warm=CALLS] [fresh=yes]\n"
		"       [reopen=yes] [period=US] [priority=N] [finish=fsync] [commands=DISK]\n"
		"       [gate=FILE] [perf=FIFO] [latency=yes] [beside=NAME]\n"
		"calls:");
	for (size_t i = 0; calls[i].name; i++)
		fprintf(stderr, " %s", calls[i].name);
	fputc('\n', stderr);
	exit(EXIT_FAILURE);
}

static const struct call *find_call(const char *name)
{
	for (size_t i = 0; calls[i].name; i++)
		if (!strcmp(calls[i].name, name))
			return &calls[i];
	usage();
	return NULL;
}

static off_t next_offset(struct bench *b)
{
	size_t nr_places = b->span_bytes / b->bytes;

	if (b->in_order)
		return b->skew_bytes + (off_t)(b->nr_calls++ % nr_places * b->bytes);
	b->random = b->random * 6364136223846793005u + 1442695040888963407u;
	return b->skew_bytes + (off_t)((b->random >> 33) % nr_places * b->bytes);
}

static void set_speed(const char *speed)
{
	if (!strcmp(speed, "late"))
		MARKER(MARKER_DEVICE_LATE);
	else if (!strcmp(speed, "stall"))
		MARKER(MARKER_DEVICE_STALL);
	else
		MARKER(MARKER_DEVICE_FREE);
}

/* The arguments are where @run wants them: nothing but the call is counted. */
static __attribute__((noinline)) ssize_t counted(struct bench *b, off_t offset, call_fn *run)
{
	ssize_t moved;

	MARKER(MARKER_BEGIN);
	moved = run(b, offset);
	MARKER(MARKER_END);
	return moved;
}

static void use_priority(int priority)
{
	const struct sched_param param = { .sched_priority = priority };

	if (priority && sched_setscheduler(0, SCHED_FIFO, &param))
		fail("a real-time priority");
}

static void set_gate(const struct bench *b, bool is_open)
{
	static const char *const words[][2] = { { "0", "1" }, { "disable\n", "enable\n" } };
	const char *word = words[b->ack_fd >= 0][is_open];
	ssize_t length = (ssize_t)strlen(word);
	char answer[8];

	if (b->gate_fd >= 0 && write(b->gate_fd, word, (size_t)length) != length)
		fail("the gate");
	if (b->ack_fd >= 0 && read(b->ack_fd, answer, sizeof(answer)) <= 0)
		fail("the gate's answer");
}

static void close_gate(struct bench *b, const char *path)
{
	b->gate_fd = must_open(path, O_WRONLY);
	set_gate(b, false);
}

static void close_perf(struct bench *b, const char *path)
{
	char ack[PATH_MAX];

	snprintf(ack, sizeof(ack), "%s.ack", path);
	b->ack_fd = must_open(ack, O_RDONLY);
	close_gate(b, path);
}

/* As if it were read for the first time. */
static void reopen(struct bench *b)
{
	posix_fadvise(b->fd, 0, 0, POSIX_FADV_DONTNEED);
	close(b->fd);
	b->fd = must_open(b->path, b->flags);
	b->nr_calls = 0;
}

/* Return: when the period after the one that began at @begin does. */
static struct timespec wait_for_period(const struct bench *b, struct timespec begin)
{
	struct timespec next = begin, now;

	next.tv_nsec += b->period_us % 1000000 * 1000;
	next.tv_sec += b->period_us / 1000000 + next.tv_nsec / 1000000000;
	next.tv_nsec %= 1000000000;
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
	clock_gettime(CLOCK_MONOTONIC, &now);
	/* Who is late begins anew: calls that follow at once would be no periodic ones. */
	return now;
}

/* The last call, and all that is needed until what was written is durable. */
static ssize_t run_and_finish(struct bench *b, off_t offset)
{
	ssize_t moved = b->last_run(b, offset);

	return moved < 0 || !fsync(b->fd) ? moved : -1;
}

/* @times: when the first counted call began, and when the last one had ended. */
static void repeat(struct bench *b, const struct call *call, long operations, struct times times[2])
{
	call_fn *run = b->piece_bytes ? call->run_pieces : call->run;
	struct timespec begin;
	ssize_t moved;
	off_t offset;

	if (b->timed)
		run = watch_latency(run, operations);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (long i = -b->warm_up; i < operations; i++) {
		if (!i && b->disk)
			begin_commands();
		if (!i && b->timed)
			begin_latency();
		if (!i && b->beside)
			b->beside_bytes = read_beside(b->beside);
		if (!i) {
			read_times(&times[0]);
			set_gate(b, true);
			read_clock(&times[0]);
			MARKER(MARKER_SEGMENT);
		}
		if (b->reopen)
			reopen(b);
		offset = next_offset(b);
		errno = 0;
		if (b->finish && i == operations - 1) {
			b->last_run = run;
			run = run_and_finish;
		}
		if (b->fresh)
			renew_buffer(b);
		if (b->period_us)
			begin = wait_for_period(b, begin);
		if (call->before)
			call->before(b);
		if (b->disk)
			begin_call();
		moved = i < 0 ? run(b, offset) : counted(b, offset, run);
		if (b->disk)
			end_call();
		if (call->after)
			call->after(b);
		if (moved == (ssize_t)b->bytes)
			continue;
		if (moved < -1)
			errno = (int)-moved;
		MARKER(MARKER_SEGMENT_END);
		MARKER(MARKER_DEVICE_FREE);
		fail(call->name);
	}
	MARKER(MARKER_SEGMENT_END);
	read_clock(&times[1]);
	set_gate(b, false);
	if (b->beside)
		b->beside_bytes = read_beside(b->beside) - b->beside_bytes;
	read_times(&times[1]);
}

static int open_flags(const char *words)
{
	return (strstr(words, "direct") ? O_DIRECT : 0) | (strstr(words, "sync") ? O_SYNC : 0);
}

/* Return: -1 when there is no such thing to say. */
static int set_option(struct bench *b, char *word, int *flags)
{
	char *value = strchr(word, '=');

	if (!value)
		return -1;
	*value++ = '\0';
	if (!strcmp(word, "open"))
		*flags = (*flags & O_ACCMODE) | open_flags(value);
	else if (!strcmp(word, "order"))
		b->in_order = !strcmp(value, "sequential");
	else if (!strcmp(word, "seed"))
		b->seed = strtoul(value, NULL, 0);
	else if (!strcmp(word, "piece"))
		b->piece_bytes = strtoul(value, NULL, 0);
	else if (!strcmp(word, "span"))
		b->span_bytes = strtoul(value, NULL, 0);
	else if (!strcmp(word, "skew"))
		b->skew_bytes = strtol(value, NULL, 0);
	else if (!strcmp(word, "reopen"))
		b->reopen = true;
	else if (!strcmp(word, "period"))
		b->period_us = strtol(value, NULL, 0);
	else if (!strcmp(word, "priority"))
		b->priority = (int)strtol(value, NULL, 0);
	else if (!strcmp(word, "finish"))
		b->finish = true;
	else if (!strcmp(word, "fresh"))
		b->fresh = true;
	else if (!strcmp(word, "commands"))
		b->disk = value;
	else if (!strcmp(word, "latency"))
		b->timed = true;
	else if (!strcmp(word, "beside"))
		b->beside = value;
	else if (!strcmp(word, "gate"))
		close_gate(b, value);
	else if (!strcmp(word, "perf"))
		close_perf(b, value);
	else if (!strcmp(word, "warm"))
		b->warm_up = strtol(value, NULL, 0);
	else
		return -1;
	return 0;
}

int main(int argc, char **argv)
{
	struct bench b = {
		.seed = 42,
		.span_bytes = SPAN_BYTES,
		.warm_up = WARM_UP,
		.gate_fd = -1,
		.ack_fd = -1,
	};
	const struct call *call;
	struct times times[2];
	long operations;
	int flags;

	if (argc == 2 && !strcmp(argv[1], "reload")) {
		MARKER(MARKER_RELOAD);
		return EXIT_SUCCESS;
	}
	if (argc < 7)
		usage();
	call = find_call(argv[1]);
	flags = call->flags;
	for (int i = 7; i < argc; i++)
		if (set_option(&b, argv[i], &flags))
			usage();
	b.bytes = strtoul(argv[3], NULL, 0);
	operations = strtol(argv[6], NULL, 0);
	if (!b.bytes || b.bytes > b.span_bytes || operations < 1)
		usage();
	b.random = b.seed;
	b.path = argv[2];
	b.writes = (flags & O_ACCMODE) != O_RDONLY;
	if (b.piece_bytes && !call->run_pieces)
		usage();
	b.durable = flags & O_SYNC;
	b.flags = flags;
	b.fd = must_open(b.path, flags | (b.writes ? O_CREAT : 0));
	if (map_buffer(&b, argv[4]))
		usage();
	if (b.disk)
		watch_commands(b.disk);
	if (call->set_up)
		call->set_up(&b);
	use_priority(b.priority);
	set_speed(argv[5]);
	repeat(&b, call, operations, times);
	MARKER(MARKER_DEVICE_FREE);
	printf("{\"call\": \"%s\", \"pages\": \"%s\", \"neighbours\": %zu, "
	       "\"operations\": %ld, \"seed\": %" PRIu64,
	       call->name, b.pages, buffer_neighbours(&b), operations, b.seed);
	print_times(&times[0], &times[1]);
	if (b.disk)
		print_commands();
	if (b.timed)
		print_latency();
	if (b.beside)
		printf(", \"beside_bytes\": %" PRIu64, b.beside_bytes);
	puts("}");
	return EXIT_SUCCESS;
}
