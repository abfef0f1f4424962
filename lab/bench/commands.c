// SPDX-License-Identifier: MIT
/*
 * How many commands the drive serves for each call, by its own counters, and how many
 * requests the block layer issues for it, by its tracepoint.
 *
 * Under Linux's driver reads and writes are those of the drive's SMART log.  No drive counts
 * flushes: the block layer does, in a file of sysfs.  CharIO counts all three; the SMART log
 * before and after all calls tells whether it is right.
 */
#include <linux/nvme_ioctl.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>

#include "bench.h"

#define ADMIN_GET_LOG_PAGE 0x02
#define LOG_SMART          0x02
#define LOG_SMART_BYTES    512
#define LOG_SMART_READS    64 /* Host Read Commands, 16 bytes; then Host Write Commands */
#define LOG_SMART_WRITES   80
#define ALL_NAMESPACES     0xffffffff
#define STAT_FLUSHES       15 /* column of /sys/block/NAME/stat */
#define ISSUE              "/sys/kernel/tracing/events/block/block_rq_issue/id"
#define MOST               1024 /* commands of a call that are told apart */

static const char *const counters[] = { "read_commands", "write_commands", "flush_commands" };
static int drive = -1, requests[MAX_CPUS], nr_requests;
/* The files with what the drive does not tell, and the column in each of them. */
static int files[3], nr_files;
static unsigned int column;
static uint64_t last, begin_requests;
static uint64_t command_calls[MOST], request_calls[MOST];

static uint64_t read_smart(void)
{
	uint8_t log[LOG_SMART_BYTES];
	struct nvme_admin_cmd cmd = {
		.opcode = ADMIN_GET_LOG_PAGE,
		.nsid = ALL_NAMESPACES,
		.addr = (uintptr_t)log,
		.data_len = sizeof(log),
		.cdw10 = LOG_SMART | (sizeof(log) / 4 - 1) << 16,
	};
	uint64_t reads, writes;

	if (ioctl(drive, NVME_IOCTL_ADMIN_CMD, &cmd))
		fail("the drive's SMART log");
	memcpy(&reads, log + LOG_SMART_READS, sizeof(reads));
	memcpy(&writes, log + LOG_SMART_WRITES, sizeof(writes));
	return reads + writes;
}

static uint64_t read_file(int fd)
{
	char text[512], *at = text;
	ssize_t len = pread(fd, text, sizeof(text) - 1, 0);
	uint64_t value = 0;

	if (len <= 0)
		fail("the count of commands");
	text[len] = '\0';
	for (unsigned int i = 0; i <= column; i++)
		value = strtoull(at, &at, 10);
	return value;
}

static uint64_t read_commands(void)
{
	uint64_t sum = drive < 0 ? 0 : read_smart();

	for (int i = 0; i < nr_files; i++)
		sum += read_file(files[i]);
	return sum;
}

static uint64_t read_requests(void)
{
	uint64_t sum = 0, count;

	for (int i = 0; i < nr_requests; i++) {
		if (read(requests[i], &count, sizeof(count)) != sizeof(count))
			fail("the tracepoint of the block layer");
		sum += count;
	}
	return sum;
}

/* Requests that the block layer hands to drivers, of all processes, on each CPU that is on line. */
static void open_tracepoint(void)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_TRACEPOINT, .size = sizeof(attr) };
	FILE *file = fopen(ISSUE, "r");
	int nr_cpus = (int)sysconf(_SC_NPROCESSORS_CONF);

	if (!file || fscanf(file, "%" SCNu64, (uint64_t *)&attr.config) != 1)
		fail(ISSUE);
	fclose(file);
	for (int cpu = 0; cpu < nr_cpus && nr_requests < MAX_CPUS; cpu++) {
		int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, 0);

		if (fd >= 0)
			requests[nr_requests++] = fd;
		else if (errno != ENODEV)
			fail("perf_event_open");
	}
}

static int open_file(const char *folder, const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return must_open(path, O_RDONLY);
}

void watch_commands(const char *disk)
{
	char folder[128];

	open_tracepoint();
	snprintf(folder, sizeof(folder), "/sys/class/chario/%s/counters", disk);
	if (!access(folder, F_OK)) {
		for (; nr_files < 3; nr_files++)
			files[nr_files] = open_file(folder, counters[nr_files]);
		return;
	}
	snprintf(folder, sizeof(folder), "/sys/class/block/%s", disk);
	files[nr_files++] = open_file(folder, "stat");
	column = STAT_FLUSHES;
	drive = open_file("/dev", disk);
}

/* What came before does not count. */
void begin_commands(void)
{
	memset(command_calls, 0, sizeof(command_calls));
	memset(request_calls, 0, sizeof(request_calls));
	last = read_commands();
}

void begin_call(void)
{
	begin_requests = read_requests();
}

static void note(uint64_t *calls, uint64_t count)
{
	calls[count < MOST ? count : MOST - 1]++;
}

/* What came after the call before belongs to this one: nothing is lost. */
void end_call(void)
{
	uint64_t now;

	note(request_calls, read_requests() - begin_requests);
	now = read_commands();
	note(command_calls, now - last);
	last = now;
}

static void print_histogram(const char *name, const uint64_t *calls)
{
	const char *separator = "";

	printf(", \"%s\": {", name);
	for (unsigned int count = 0; count < MOST; count++) {
		if (!calls[count])
			continue;
		printf("%s\"%u\": %" PRIu64, separator, count, calls[count]);
		separator = ", ";
	}
	putchar('}');
}

void print_commands(void)
{
	print_histogram("commands", command_calls);
	print_histogram("requests", request_calls);
}
