/* SPDX-License-Identifier: MIT */
/*
 * What the programs of the guest tests share: one way to fail, what ends the
 * program when it fails, one source of random numbers.  A test passes on the
 * line that a program prints at its end, so each failure only has to say what
 * it was.
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

/* A result of the library: below 0 it is an error, and the end. */
static inline int64_t must(int64_t result, const char *what)
{
	errno = result < 0 ? (int)-result : 0;
	if (errno)
		die("%s", what);
	return result;
}

static inline int must_open(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0600);

	if (fd < 0)
		die("%s", path);
	return fd;
}

/* Memory to read and write; @flags is MAP_PRIVATE or MAP_SHARED, and more. */
static inline void *must_map(size_t bytes, int flags, int fd, uint64_t offset)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, (off_t)offset);

	if (at == MAP_FAILED)
		die("a mapping of %zu bytes%s", bytes,
		    flags & MAP_HUGETLB ? " in huge pages: raise nr_hugepages" : "");
	return at;
}

/* Memory of its own; @flags are those beside MAP_PRIVATE and MAP_ANONYMOUS. */
static inline void *must_map_own(size_t bytes, int flags)
{
	return must_map(bytes, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
}

static inline void must_start(pthread_t *thread, void *(*run)(void *), void *argument)
{
	must(-pthread_create(thread, NULL, run, argument), "no thread");
}

/* How calls on an open disk are made from now on. */
static inline void must_set_file(int fd, uint64_t deadline_ns, uint32_t flags)
{
	struct chario_file_options options = {
		.size = sizeof(options),
		.deadline_ns = deadline_ns,
		.flags = flags,
	};

	if (ioctl(fd, CHARIO_IOC_SET_FILE, &options))
		die("CHARIO_IOC_SET_FILE");
}

/* A buffer of an open disk: of @memory, of a dma-buf, or of memory that it brings along. */
static inline struct chario_buffer_create must_create(int fd, uint32_t kind, void *memory,
						      size_t bytes, int dmabuf)
{
	struct chario_buffer_create create = {
		.size = sizeof(create),
		.kind = kind,
		.address = (uintptr_t)memory,
		.bytes = bytes,
		.fd = dmabuf,
	};

	if (ioctl(fd, CHARIO_IOC_BUFFER_CREATE, &create))
		die("a buffer of kind %u", kind);
	return create;
}

/* Tell a test, or another program, by a file; and wait for one. */
static inline int touch(const char *path)
{
	fflush(stdout);
	return close(must_open(path, O_WRONLY | O_CREAT));
}

static inline int await(const char *path)
{
	fflush(stdout);
	while (access(path, F_OK))
		usleep(10000);
	return 0;
}

/* Memory of this process that somebody has pinned. */
static inline long pinned_kib(void)
{
	FILE *status = fopen("/proc/self/status", "r");
	char line[256];
	long kib = -1;

	while (status && fgets(line, sizeof(line), status))
		if (sscanf(line, "VmPin: %ld", &kib) == 1)
			break;
	if (kib < 0)
		die("VmPin of /proc/self/status");
	fclose(status);
	return kib;
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

/* A switch over words: where @word is @name, the function returns @result. */
#define CASE(word, name, result)         \
	do {                             \
		if (!strcmp(word, name)) \
			return result;   \
	} while (0)

/* splitmix64: any seed will do, 0 too. */
static inline uint64_t random_next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

static inline void random_fill(uint64_t *state, void *memory, size_t bytes)
{
	for (size_t at = 0; at + sizeof(uint64_t) <= bytes; at += sizeof(uint64_t)) {
		uint64_t word = random_next(state);

		memcpy((char *)memory + at, &word, sizeof(word));
	}
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
