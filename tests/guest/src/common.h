/* SPDX-License-Identifier: MIT */
/*
 * What the programs of the guest tests share: one way to fail, one source of
 * random numbers.  A test passes on the line that a program prints at its end,
 * so each failure only has to say what it was.
 */
#ifndef GUEST_COMMON_H
#define GUEST_COMMON_H

#include <chario/uapi.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/* The message and, where there is one, the error of the last call. */
static inline _Noreturn __attribute__((format(printf, 1, 2))) void die(const char *format, ...)
{
	int error = errno;
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	if (error)
		fprintf(stderr, ": %s", strerror(error));
	fputc('\n', stderr);
	exit(EXIT_FAILURE);
}

static inline uint64_t number(const char *text)
{
	char *end;
	uint64_t value;

	errno = 0;
	value = strtoull(text, &end, 0);
	if (errno || end == text || *end)
		die("not a number: %s", text);
	return value;
}

/* splitmix64: any seed will do, 0 too. */
static inline uint64_t random_next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

static inline uint64_t random_below(uint64_t *state, uint64_t limit)
{
	return random_next(state) % limit;
}

/* From 1 to @most, each order of magnitude as likely as the next. */
static inline uint64_t random_length(uint64_t *state, uint64_t most)
{
	uint64_t length = most >> random_below(state, 64 - (uint64_t)__builtin_clzll(most));

	return 1 + random_below(state, length);
}

#endif /* GUEST_COMMON_H */
