// SPDX-License-Identifier: MIT
/*
 * Records what lies in a buffer that is not the stream's, as a sensor's memory is.
 *
 *	zero_copy DEVICE heap|inside|heapbuf|udmabuf
 *	zero_copy DEVICE window ADDRESS
 *
 * The memory inside a drive is filled by the drive: no CPU reaches it.  So is a
 * dma-buf (heapbuf, udmabuf): this program has it mapped nowhere, and closes its
 * descriptor in the middle.
 *
 * Says how many records are as they were, and what device commands, and bytes, were
 * written beside their data.
 */
#include <chario/area.h>
#include <chario/plan.h>
#include <chario/reader.h>
#include <chario/store.h>
#include <chario/stream.h>
#include <poll.h>

#include "common.h"
#include "dmabuf.h"

#define RECORD     (128U << 10)
#define RECORDS    8U
#define BYTES      (RECORD * RECORDS)
#define ROUNDS     10U
#define SEGMENT    (1U << 20)
#define AREA_BYTES (32ULL << 20)

static unsigned char pattern[BYTES];

/* struct sensor - memory that is recorded; with a descriptor where it is a dma-buf */
struct sensor {
	struct chario_buffer *buffer;
	int fd;
};

/* struct cost - what was written to the drive */
struct cost {
	uint64_t commands;
	uint64_t bytes;
};

static void make_pattern(uint64_t round)
{
	random_fill(&round, pattern, BYTES);
}

static void must_be(int err, int expected, const char *what)
{
	errno = err < 0 ? -err : 0;
	if (err != expected)
		die("%s: not %s, but", what, strerror(-expected));
}

static struct chario_buffer *import(struct chario_device *device, int fd)
{
	struct chario_buffer *buffer;

	must(fd, "dma-buf");
	must_be(chario_buffer_import(device, fd, BYTES + 4096, 0, &buffer), -EINVAL,
		"more than the dma-buf has");
	must_be(chario_buffer_import(device, fd, BYTES - 2, 0, &buffer), -EINVAL,
		"a length that is not aligned");
	must(chario_buffer_import(device, fd, BYTES, CHARIO_BUFFER_SOURCE, &buffer), "source");
	must_be(chario_buffer_read(buffer, 0, 4096, 0, 0), -EPERM, "reading into a source");
	must(chario_buffer_free(buffer), "free the source");
	must(chario_buffer_import(device, fd, BYTES, 0, &buffer), "import");
	if (chario_buffer_memory(buffer))
		die("the CPU has the dma-buf");
	return buffer;
}

static int make_dmabuf(const char *kind)
{
	int fd, memory;

	if (!strcmp(kind, "heapbuf"))
		return dmabuf_of_heap(BYTES);
	fd = dmabuf_of_memory(BYTES, &memory);
	close(memory);
	return fd;
}

static struct chario_buffer *make_buffer(struct chario_device *device, char **argv, int *fd)
{
	struct chario_buffer *buffer;

	*fd = strstr(argv[2], "buf") ? make_dmabuf(argv[2]) : -1;
	if (strstr(argv[2], "buf"))
		return import(device, *fd);
	if (!strcmp(argv[2], "window"))
		must(chario_buffer_window(device, number(argv[3]), BYTES, 0, &buffer), "window");
	else if (!strcmp(argv[2], "inside"))
		must(chario_buffer_inside(device, BYTES, 0, &buffer), "inside");
	else
		must(chario_buffer_register(device, must_map_own(BYTES, 0), BYTES, 0, &buffer),
		     "heap");
	return buffer;
}

/* What the sensor sees in a round; by way of the disk where the CPU does not reach. */
static void fill(struct chario_area *source, const struct chario_buffer *buffer, uint64_t round)
{
	make_pattern(round);
	if (chario_buffer_memory(buffer)) {
		memcpy(chario_buffer_memory(buffer), pattern, BYTES);
		return;
	}
	if (chario_area_write(source, pattern, BYTES, 0) != BYTES)
		die("write the source");
	if (chario_area_read_buffer(source, buffer, 0, BYTES, 0, 0) != BYTES)
		die("read into the buffer");
}

static void wait_for(struct chario_stream *stream, const uint32_t *released)
{
	struct pollfd poll_fd = { .fd = chario_stream_fd(stream), .events = POLLIN };

	for (unsigned int i = 0; i < RECORDS; i++)
		while (!__atomic_load_n(&released[i], __ATOMIC_ACQUIRE)) {
			poll(&poll_fd, 1, 1000);
			must(chario_stream_service(stream), "service");
		}
}

/* What cannot be recorded is refused, and the recording goes on without it. */
static void refuse(struct chario_stream *stream, const struct chario_buffer *buffer)
{
	static const struct {
		uint64_t offset;
		size_t bytes;
		int err;
	} cases[] = {
		{ BYTES - 4096, 8192, -EINVAL },
		{ BYTES, 4096, -EINVAL },
		{ 2, 4096, -EINVAL },
		{ 0, 100, -EINVAL },
		{ 0, 0, -EINVAL },
		{ 0, SEGMENT, -EMSGSIZE },
	};
	struct chario_stream_status status;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		must_be(chario_stream_write_buffer(stream, buffer, cases[i].offset, cases[i].bytes,
						   0, 0, -1, NULL),
			cases[i].err, "what cannot be recorded");
	must(chario_stream_get_status(stream, &status, sizeof(status)), "status");
	if (status.records)
		die("what was refused counts");
}

static struct cost cost_now(const struct chario_device *device)
{
	struct chario_stats stats;

	must(chario_device_get_stats(device, &stats, sizeof(stats)), "counters");
	return (struct cost){ stats.write_commands, stats.write_bytes };
}

/* What the data cost, known before: all else is the recording's own. */
static struct cost cost_of_data(const struct chario_device *device)
{
	struct chario_plan_limits limits;
	struct chario_plan_command command;
	struct chario_plan plan;
	struct cost cost = { .bytes = (uint64_t)ROUNDS * BYTES };

	must(chario_plan_get_limits(device, &limits), "limits");
	must(chario_plan_init(&plan, &limits, CHARIO_PLAN_WRITE, 0, RECORD), "plan");
	while (chario_plan_next(&plan, &command))
		cost.commands += (uint64_t)ROUNDS * RECORDS;
	return cost;
}

/* A dma-buf that nobody has mapped is one that no CPU reads. */
static void look_for_mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[4096];

	if (!maps)
		die("/proc/self/maps");
	while (fgets(line, sizeof(line), maps))
		if (strstr(line, "dmabuf") || strstr(line, "memfd:"))
			die("the dma-buf is mapped: %s", line);
	fclose(maps);
}

static void record(struct chario_stream *stream, struct chario_area *source, struct sensor *sensor)
{
	const struct chario_buffer *buffer = sensor->buffer;

	for (uint64_t round = 0; round < ROUNDS; round++) {
		uint32_t released[RECORDS] = { 0 };

		if (round == ROUNDS / 2 && sensor->fd >= 0 && close(sensor->fd))
			die("close the dma-buf");
		fill(source, buffer, round);
		for (unsigned int i = 0; i < RECORDS; i++)
			must(chario_stream_write_buffer(stream, buffer, (uint64_t)i * RECORD,
							RECORD, 0, 0, -1, &released[i]),
			     "record");
		wait_for(stream, released);
		/* The next round may write over it. */
		if (chario_buffer_memory(buffer))
			memset(chario_buffer_memory(buffer), 0xee, BYTES);
		else
			look_for_mappings();
	}
}

static uint64_t compare(struct chario_store *store)
{
	struct chario_reader *reader;
	struct chario_record found;
	uint64_t records = 0;
	int err;

	must(chario_reader_open(store, "sensor", &reader), "open the reader");
	while (!(err = chario_reader_next(reader, 0, &found))) {
		make_pattern(found.sequence / RECORDS);
		if (found.bytes != RECORD || found.missing ||
		    !(found.flags & CHARIO_RECORD_NO_CRC) ||
		    memcmp(found.memory, pattern + found.sequence % RECORDS * RECORD, RECORD))
			die("record %" PRIu64 " is not as it was", found.sequence);
		records++;
	}
	if (err != -ENODATA)
		must(err, "read");
	chario_reader_close(reader);
	return records;
}

/* The source is written to as often as there are rounds, where the drive fills. */
static struct cost cost_of_source(const struct chario_device *device,
				  const struct chario_buffer *buffer, struct chario_area *source)
{
	struct cost before = cost_now(device), after;

	fill(source, buffer, 0);
	after = cost_now(device);
	return (struct cost){ ROUNDS * (after.commands - before.commands),
			      ROUNDS * (after.bytes - before.bytes) };
}

/* Record all of it; what was written beside the data. */
static struct cost record_all(struct chario_store *store, struct chario_area *source,
			      struct sensor *sensor)
{
	/* Nothing is written because of the time, however slow the machine. */
	const struct chario_stream_options options = { .size = sizeof(options),
						       .segment_bytes = SEGMENT,
						       .flush_ns = 1000000000000 };
	const struct chario_device *device = chario_store_device(store);
	struct cost own = cost_of_source(device, sensor->buffer, source);
	struct cost data = cost_of_data(device), before, after;
	struct chario_stream *stream;

	must(chario_stream_open(store, "sensor", &options, &stream), "open the stream");
	refuse(stream, sensor->buffer);
	before = cost_now(device);
	record(stream, source, sensor);
	must(chario_stream_close(stream), "close the stream");
	after = cost_now(device);
	return (struct cost){ after.commands - before.commands - own.commands - data.commands,
			      after.bytes - before.bytes - own.bytes - data.bytes };
}

int main(int argc, char **argv)
{
	const struct chario_store_layout layout = { .size = sizeof(layout),
						    .flags = CHARIO_LAYOUT_REPLACE };
	struct chario_area *source;
	struct chario_store *store;
	struct sensor sensor;
	struct cost more;

	if (argc < 3)
		die("usage: zero_copy DEVICE heap|inside|heapbuf|udmabuf|window [ADDRESS]");
	must(chario_store_format(argv[1], &layout), "format");
	must(chario_store_open(argv[1], O_RDWR, &store), "open the store");
	must(chario_store_create(store, "sensor", AREA_BYTES, 0), "create");
	must(chario_store_create(store, "source", BYTES, 0), "create");
	must(chario_area_open(store, "source", O_RDWR, &source), "open");
	sensor.buffer = make_buffer(chario_store_device(store), argv, &sensor.fd);
	more = record_all(store, source, &sensor);
	printf("%" PRIu64, compare(store));
	printf(" %" PRIu64 " %" PRIu64 "\n", more.commands, more.bytes);
	chario_area_close(source);
	must(chario_buffer_free(sensor.buffer), "free");
	chario_store_close(store);
	return 0;
}
