// SPDX-License-Identifier: MIT
/*
 * How long each of the counted calls takes, by the clock of the machine, for programs that
 * care for the longest ones.
 */
#include "bench.h"

#define NS_A_SECOND 1000000000

static uint64_t *times_ns;
static size_t nr_times, nr_wanted;
static call_fn *run_call;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_A_SECOND + (uint64_t)now.tv_nsec;
}

static ssize_t run_timed(struct bench *b, off_t offset)
{
	uint64_t begin = now_ns();
	ssize_t moved = run_call(b, offset);

	if (nr_times < nr_wanted)
		times_ns[nr_times++] = now_ns() - begin;
	return moved;
}

call_fn *watch_latency(call_fn *run, long operations)
{
	nr_wanted = (size_t)operations;
	times_ns = calloc(nr_wanted, sizeof(*times_ns));
	if (!times_ns)
		fail("memory for the times of calls");
	run_call = run;
	return run_timed;
}

void begin_latency(void)
{
	nr_times = 0;
}

static int compare(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

/* The least time that so many of a thousand calls do not exceed. */
static uint64_t quantile(unsigned int per_mille)
{
	return times_ns[(nr_times * per_mille + 999) / 1000 - 1];
}

void print_latency(void)
{
	qsort(times_ns, nr_times, sizeof(*times_ns), compare);
	printf(", \"latency_ns\": {\"p50\": %" PRIu64 ", \"p99\": %" PRIu64 ", \"p999\": %" PRIu64
	       ", \"max\": %" PRIu64 "}",
	       quantile(500), quantile(990), quantile(999), quantile(1000));
}
