// SPDX-License-Identifier: MIT
/*
 * Executes what the tests of the counting plugin know the length of, between
 * its markers:
 *
 *	counted reload			have the plugin read its map
 *	counted loop LOOPS		1 + 2 * LOOPS instructions
 *	counted threads LOOPS		loop on CPU 0 and, at the same time, with twice
 *					the loops on CPU 1; says how often each waited
 *	counted remote LOOPS		sleep on CPU 0 while a thread on CPU 1 loops
 *	counted write PATH WORD		one write()
 *	counted read PATH BYTES		one pread(), which finds the device slow enough
 *					to sleep
 *	counted movsb BYTES		copy so many bytes, by one instruction; also
 *					movsq, stosb, stosq, which count in their own
 *					units, and single, which has no rep prefix
 *
 * All but threads stay on CPU 0.
 */
#define _GNU_SOURCE /* CPU_SET, O_DIRECT */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../../lab/bench/marker.h"

/* Nothing but @code lies between the two markers. */
#define COUNTED(code, ...)                                                                        \
	__asm__ volatile(                                                                         \
		".byte 0x0f, 0x1f, 0x80\n\t"                                                      \
		".long %c[begin]\n\t" code "\n\t"                                                 \
		".byte 0x0f, 0x1f, 0x80\n\t"                                                      \
		".long %c[end]"                                                                   \
		:                                                                                 \
		: [begin] "i"(MARKER_MAGIC | MARKER_BEGIN), [end] "i"(MARKER_MAGIC | MARKER_END), \
		  __VA_ARGS__                                                                     \
		: "rax", "rcx", "rsi", "rdi", "memory", "cc")

/* %[n] times @code, from one buffer to another. */
#define MOVE(code, source, target, times)                                             \
	COUNTED("mov %[from], %%rsi\n\tmov %[to], %%rdi\n\tmov %[n], %%rcx\n\t" code, \
		[from] "r"(source), [to] "r"(target), [n] "r"(times))

#define LOOP "mov %[loops], %%rcx\n\t0: dec %%rcx\n\tjnz 0b"

struct thread {
	int cpu;
	int stage;   /* 1: it has begun, 2: it has looped */
	long loops;
	long rounds; /* of waiting for the other one */
	struct thread *other;
};

static pthread_barrier_t thread_moved;

static void check(bool good, const char *what)
{
	if (good)
		return;
	perror(what);
	exit(EXIT_FAILURE);
}

static void stay_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	check(!sched_setaffinity(0, sizeof(set), &set), "sched_setaffinity");
}

static void loop(long loops)
{
	COUNTED(LOOP, [loops] "r"(loops));
}

static void *loop_uncounted(void *loops)
{
	stay_on(1);
	__asm__ volatile(LOOP : : [loops] "r"(*(long *)loops) : "rcx", "cc");
	return NULL;
}

/*
 * Loops while the other thread's operation is open too: each waits for the other
 * one to have begun, and to have looped. All but the rounds of waiting, three
 * instructions each, are 5 + 2 * LOOPS instructions.
 */
static void *loop_together(void *argument)
{
	struct thread *thread = argument;

	stay_on(thread->cpu);
	/* A new thread starts on its parent's CPU, where it must not be counted. */
	pthread_barrier_wait(&thread_moved);
	COUNTED("movl $1, (%[mine])\n\tmov $0, %%rcx\n\t"
		"0: inc %%rcx\n\tcmpl $1, (%[other])\n\tjl 0b\n\t"
		"mov %[loops], %%rax\n\t1: dec %%rax\n\tjnz 1b\n\t"
		"movl $2, (%[mine])\n\t"
		"2: inc %%rcx\n\tcmpl $2, (%[other])\n\tjl 2b\n\t"
		"mov %%rcx, (%[rounds])",
		[mine] "r"(&thread->stage), [other] "r"(&thread->other->stage),
		[loops] "r"(thread->loops), [rounds] "r"(&thread->rounds));
	return NULL;
}

static void run_threads(long loops)
{
	struct thread threads[] = {
		{ .cpu = 0, .loops = loops, .other = &threads[1] },
		{ .cpu = 1, .loops = 2 * loops, .other = &threads[0] },
	};
	pthread_t other;

	check(!pthread_barrier_init(&thread_moved, NULL, 2), "pthread_barrier_init");
	check(!pthread_create(&other, NULL, loop_together, &threads[1]), "pthread_create");
	loop_together(&threads[0]);
	pthread_join(other, NULL);
	printf("%ld %ld\n", threads[0].rounds, threads[1].rounds);
}

static void run_remote(long loops)
{
	pthread_t other;

	MARKER(MARKER_BEGIN);
	check(!pthread_create(&other, NULL, loop_uncounted, &loops), "pthread_create");
	pthread_join(other, NULL);
	MARKER(MARKER_END);
}

static void run_write(const char *path, const char *word)
{
	int fd = open(path, O_WRONLY);
	size_t len = strlen(word);
	ssize_t written;

	check(fd >= 0, path);
	MARKER(MARKER_BEGIN);
	written = write(fd, word, len);
	MARKER(MARKER_END);
	check(written == (ssize_t)len, word);
	close(fd);
}

static void run_read(const char *path, size_t bytes)
{
	int fd = open(path, O_RDONLY | O_DIRECT);
	void *buffer = aligned_alloc(4096, bytes);
	ssize_t moved;

	check(fd >= 0 && buffer, path);
	memset(buffer, 1, bytes);
	MARKER(MARKER_DEVICE_LATE);
	/* The first call takes paths that no later one takes. */
	check(pread(fd, buffer, bytes, 0) == (ssize_t)bytes, path);
	MARKER(MARKER_BEGIN);
	moved = pread(fd, buffer, bytes, 0);
	MARKER(MARKER_END);
	MARKER(MARKER_DEVICE_FREE);
	check(moved == (ssize_t)bytes, path);
}

static bool move(const char *how, size_t bytes)
{
	char *from = malloc(bytes), *to = malloc(bytes);
	size_t words = bytes / 8;

	check(from && to, "malloc");
	/* Their pages are there: no instruction is started twice. */
	memset(from, 1, bytes);
	memset(to, 2, bytes);
	if (!strcmp(how, "movsb"))
		MOVE("rep movsb", from, to, bytes);
	else if (!strcmp(how, "movsq"))
		MOVE("rep movsq", from, to, words);
	else if (!strcmp(how, "stosb"))
		MOVE("rep stosb", from, to, bytes);
	else if (!strcmp(how, "stosq"))
		MOVE("rep stosq", from, to, words);
	else if (!strcmp(how, "single"))
		MOVE("movsl", from, to, bytes);
	else
		return false;
	return true;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "reload")) {
		MARKER(MARKER_RELOAD);
		return EXIT_SUCCESS;
	}
	errno = EINVAL;
	check(argc > 2, "usage: counted WHAT ...");
	stay_on(0);
	MARKER(MARKER_SEGMENT);
	if (!strcmp(argv[1], "loop"))
		loop(atol(argv[2]));
	else if (!strcmp(argv[1], "threads"))
		run_threads(atol(argv[2]));
	else if (!strcmp(argv[1], "remote"))
		run_remote(atol(argv[2]));
	else if (!strcmp(argv[1], "write") && argc == 4)
		run_write(argv[2], argv[3]);
	else if (!strcmp(argv[1], "read") && argc == 4)
		run_read(argv[2], strtoul(argv[3], NULL, 0));
	else
		check(move(argv[1], strtoul(argv[2], NULL, 0)), argv[1]);
	MARKER(MARKER_SEGMENT_END);
	return EXIT_SUCCESS;
}
