// SPDX-License-Identifier: MIT
/*
 * chario-bench: repeats one synchronous call in the guest, each repetition
 * between two markers for the counting plugin (marker.h).
 *
 *	chario-bench reload
 *	chario-bench CALL DEVICE BYTES PAGES SPEED OPERATIONS
 *
 * CALL is an entry of calls[] in calls.c (run without arguments for the list), PAGES is
 * scattered, joined or huge (see memory.c), SPEED is free, late or
 * stall. The result is one line of JSON.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "marker.h"

#define WARM_UP 16

_Noreturn void fail(const char *what)
{
	fprintf(stderr, "chario-bench: %s: %s\n", what, strerror(errno));
	exit(EXIT_FAILURE);
}

static void usage(void)
{
	fprintf(stderr, "usage: chario-bench reload\n"
			"       chario-bench CALL DEVICE BYTES "
			"scattered|joined|huge free|late|stall OPERATIONS\n"
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
	b->random = b->random * 6364136223846793005u + 1442695040888963407u;
	return (off_t)((b->random >> 33) % (SPAN_BYTES / b->bytes) * b->bytes);
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

static void repeat(struct bench *b, const struct call *call, long operations)
{
	call_fn *run = call->run;
	ssize_t moved;
	off_t offset;

	for (long i = -WARM_UP; i < operations; i++) {
		if (!i)
			MARKER(MARKER_SEGMENT);
		offset = next_offset(b);
		errno = 0;
		if (call->before)
			call->before(b);
		moved = i < 0 ? run(b, offset) : counted(b, offset, run);
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
}

int main(int argc, char **argv)
{
	const struct call *call;
	struct bench b = { .random = 42 };
	long operations;

	if (argc == 2 && !strcmp(argv[1], "reload")) {
		MARKER(MARKER_RELOAD);
		return EXIT_SUCCESS;
	}
	if (argc != 7)
		usage();
	call = find_call(argv[1]);
	b.bytes = strtoul(argv[3], NULL, 0);
	operations = strtol(argv[6], NULL, 0);
	if (!b.bytes || b.bytes > SPAN_BYTES || operations < 1)
		usage();
	b.fd = open(argv[2], call->flags);
	if (b.fd < 0)
		fail(argv[2]);
	if (map_buffer(&b, argv[4]))
		usage();
	if (call->set_up)
		call->set_up(&b);
	set_speed(argv[5]);
	repeat(&b, call, operations);
	MARKER(MARKER_DEVICE_FREE);
	printf("{\"call\": \"%s\", \"pages\": \"%s\", \"neighbours\": %zu, "
	       "\"operations\": %ld}\n",
	       call->name, b.pages, buffer_neighbours(&b), operations);
	return EXIT_SUCCESS;
}
