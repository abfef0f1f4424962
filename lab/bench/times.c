// SPDX-License-Identifier: MIT
/*
 * What the processors did while the calls ran, as the kernel accounts for it, for how long, and
 * how much memory files took.
 */
#include <ctype.h>

#include "bench.h"

#define STAT    "/proc/stat"
#define MEMINFO "/proc/meminfo"

/* A line of /proc/stat: proc(5) names its columns. */
static bool parse_line(const char *line, struct times *times, unsigned int at)
{
	uint64_t user, nice, system, idle, iowait, irq, softirq;

	/* The first line is the sum over all. */
	if (!isdigit((unsigned char)line[strlen("cpu")]) ||
	    sscanf(line,
		   "cpu%*u %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		   " %" SCNu64,
		   &user, &nice, &system, &idle, &iowait, &irq, &softirq) != 7)
		return false;
	times->user[at] = user + nice;
	times->kernel[at] = system + irq + softirq;
	times->idle[at] = idle + iowait;
	return true;
}

/* Pages of files, and of block devices. */
static uint64_t read_cached_kib(void)
{
	FILE *file = fopen(MEMINFO, "r");
	uint64_t sum = 0, kib;
	char line[128];

	if (!file)
		fail(MEMINFO);
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "Cached: %" SCNu64, &kib) == 1 ||
		    sscanf(line, "Buffers: %" SCNu64, &kib) == 1)
			sum += kib;
	fclose(file);
	return sum;
}

/* Interrupts and switches since the machine has booted. */
static void parse_events(const char *line, struct times *times)
{
	sscanf(line, "intr %" SCNu64, &times->interrupts);
	sscanf(line, "ctxt %" SCNu64, &times->switches);
}

void read_clock(struct times *times)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	times->now_us = (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

void read_times(struct times *times)
{
	FILE *file = fopen(STAT, "r");
	char line[512];

	if (!file)
		fail(STAT);
	times->nr_cpus = 0;
	times->interrupts = times->switches = 0;
	while (fgets(line, sizeof(line), file)) {
		if (times->nr_cpus < MAX_CPUS)
			times->nr_cpus += parse_line(line, times, times->nr_cpus);
		parse_events(line, times);
	}
	fclose(file);
	times->cached_kib = read_cached_kib();
}

static void print_list(const char *name, const uint64_t *begin, const uint64_t *end,
		       unsigned int nr)
{
	uint64_t tick_us = 1000000 / (uint64_t)sysconf(_SC_CLK_TCK);

	printf(", \"%s\": [", name);
	for (unsigned int i = 0; i < nr; i++)
		printf("%s%" PRIu64, i ? ", " : "", (end[i] - begin[i]) * tick_us);
	putchar(']');
}

void print_times(const struct times *begin, const struct times *end)
{
	printf(", \"elapsed_us\": %" PRIu64, end->now_us - begin->now_us);
	printf(", \"cached_kib\": %" PRId64, (int64_t)(end->cached_kib - begin->cached_kib));
	printf(", \"interrupts\": %" PRIu64 ", \"switches\": %" PRIu64,
	       end->interrupts - begin->interrupts, end->switches - begin->switches);
	print_list("user_us", begin->user, end->user, end->nr_cpus);
	print_list("kernel_us", begin->kernel, end->kernel, end->nr_cpus);
	print_list("idle_us", begin->idle, end->idle, end->nr_cpus);
}
