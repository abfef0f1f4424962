// SPDX-License-Identifier: MIT
/*
 * Repeats one kind of call along a file and lets the counting plugin count the
 * whole series, from before the first call to after the last:
 *
 *	repeat reload			have the plugin read its map again
 *	repeat spin			compute for a while: what the kernel does
 *					meanwhile, it does for timer ticks
 *	repeat PATH read|write direct|buffered BYTES CALLS
 *	repeat run PROGRAM ARGUMENT...	a whole program, from its start to its end
 *
 * A series of writes ends with fsync, which belongs to its cost: before, the
 * data of a buffered write has not left memory.
 */
#define _GNU_SOURCE /* O_DIRECT */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../bench/marker.h"

#define ALIGNMENT_BYTES 4096
#define SPIN_LOOPS      30000000L

static void fail(const char *what)
{
	fprintf(stderr, "repeat: %s: %s\n", what, strerror(errno));
	exit(EXIT_FAILURE);
}

static bool repeat(int fd, bool writes, char *buffer, size_t bytes, long calls)
{
	ssize_t moved;

	for (long i = 0; i < calls; i++) {
		moved = writes ? write(fd, buffer, bytes) : read(fd, buffer, bytes);
		if (moved != (ssize_t)bytes)
			return false;
	}
	return !writes || !fsync(fd);
}

static int spin(void)
{
	MARKER(MARKER_SEGMENT);
	MARKER(MARKER_BEGIN);
	for (volatile long i = 0; i < SPIN_LOOPS; i++)
		;
	MARKER(MARKER_END);
	MARKER(MARKER_SEGMENT_END);
	return EXIT_SUCCESS;
}

static int run(char **argv)
{
	bool writes = !strcmp(argv[2], "write");
	bool direct = !strcmp(argv[3], "direct");
	size_t bytes = strtoul(argv[4], NULL, 0);
	long calls = strtol(argv[5], NULL, 0);
	int flags = (writes ? O_WRONLY | O_CREAT : O_RDONLY) | (direct ? O_DIRECT : 0);
	int fd = open(argv[1], flags | O_NOCTTY, 0600);
	char *buffer = aligned_alloc(ALIGNMENT_BYTES, bytes);
	bool done;

	if (fd < 0 || !buffer)
		fail(argv[1]);
	/* Not zeros: a drive could treat them as something else. */
	for (size_t i = 0; i < bytes; i++)
		buffer[i] = (char)(i * 31 + 7);
	MARKER(MARKER_SEGMENT);
	MARKER(MARKER_BEGIN);
	done = repeat(fd, writes, buffer, bytes, calls);
	MARKER(MARKER_END);
	MARKER(MARKER_SEGMENT_END);
	if (!done)
		fail(argv[1]);
	return EXIT_SUCCESS;
}

static int run_program(char **argv)
{
	pid_t child;
	int status;

	MARKER(MARKER_SEGMENT);
	MARKER(MARKER_BEGIN);
	child = fork();
	if (!child) {
		execvp(argv[0], argv);
		fail(argv[0]);
	}
	if (child < 0 || waitpid(child, &status, 0) < 0)
		fail(argv[0]);
	MARKER(MARKER_END);
	MARKER(MARKER_SEGMENT_END);
	return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "reload")) {
		MARKER(MARKER_RELOAD);
		return EXIT_SUCCESS;
	}
	if (argc == 2 && !strcmp(argv[1], "spin"))
		return spin();
	if (argc > 2 && !strcmp(argv[1], "run"))
		return run_program(argv + 2);
	if (argc == 6)
		return run(argv);
	fputs("usage: repeat PATH read|write direct|buffered BYTES CALLS | run PROGRAM...\n",
	      stderr);
	return EXIT_FAILURE;
}
