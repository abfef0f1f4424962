// SPDX-License-Identifier: MIT
/*
 * Records what lies in a buffer that is not the stream's, as a sensor's memory is.
 *
 *	zero_copy DEVICE heap|inside
 *	zero_copy DEVICE window ADDRESS
 *
 * The memory inside a drive is filled by the drive: no CPU reaches it.
 */
#include <chario/area.h>
#include <chario/reader.h>
#include <chario/store.h>
#include <chario/stream.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/mman.h>

#include "common.h"

#define RECORD     (128U << 10)
#define RECORDS    8U
#define BYTES      (RECORD * RECORDS)
#define ROUNDS     10U
#define SEGMENT    (1U << 20)
#define AREA_BYTES (32ULL << 20)

static unsigned char pattern[BYTES];

static void must(int err, const char *what)
{
	if (err < 0) {
		errno = -err;
		die("%s", what);
	}
}

static void make_pattern(uint64_t round)
{
	uint64_t state = round;

	for (size_t i = 0; i < BYTES; i += sizeof(state)) {
		uint64_t word = random_next(&state);

		memcpy(pattern + i, &word, sizeof(word));
	}
}

static struct chario_buffer *make_buffer(struct chario_device *device, char **argv)
{
	struct chario_buffer *buffer;

	if (!strcmp(argv[2], "window"))
		must(chario_buffer_window(device, number(argv[3]), BYTES, 0, &buffer), "window");
	else if (!strcmp(argv[2], "inside"))
		must(chario_buffer_inside(device, BYTES, 0, &buffer), "inside");
	else
		must(chario_buffer_register(device,
					    mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
						 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
					    BYTES, 0, &buffer),
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

static void record(struct chario_stream *stream, struct chario_area *source,
		   const struct chario_buffer *buffer)
{
	for (uint64_t round = 0; round < ROUNDS; round++) {
		uint32_t released[RECORDS] = { 0 };

		fill(source, buffer, round);
		for (unsigned int i = 0; i < RECORDS; i++)
			must(chario_stream_write_buffer(stream, buffer, (uint64_t)i * RECORD,
							RECORD, 0, 0, -1, &released[i]),
			     "record");
		wait_for(stream, released);
		/* The next round may write over it. */
		if (chario_buffer_memory(buffer))
			memset(chario_buffer_memory(buffer), 0xee, BYTES);
	}
}

static void compare(struct chario_store *store)
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
	printf("%" PRIu64 "\n", records);
	chario_reader_close(reader);
}

int main(int argc, char **argv)
{
	const struct chario_store_layout layout = { .size = sizeof(layout),
						    .flags = CHARIO_LAYOUT_REPLACE };
	const struct chario_stream_options options = { .size = sizeof(options),
						       .segment_bytes = SEGMENT };
	struct chario_buffer *buffer;
	struct chario_stream *stream;
	struct chario_area *source;
	struct chario_store *store;

	if (argc < 3)
		die("usage: zero_copy DEVICE heap|inside|window [ADDRESS]");
	must(chario_store_format(argv[1], &layout), "format");
	must(chario_store_open(argv[1], O_RDWR, &store), "open the store");
	must(chario_store_create(store, "sensor", AREA_BYTES, 0), "create");
	must(chario_store_create(store, "source", BYTES, 0), "create");
	must(chario_area_open(store, "source", O_RDWR, &source), "open");
	buffer = make_buffer(chario_store_device(store), argv);
	must(chario_stream_open(store, "sensor", &options, &stream), "open the stream");
	record(stream, source, buffer);
	must(chario_stream_close(stream), "close the stream");
	compare(store);
	chario_area_close(source);
	must(chario_buffer_free(buffer), "free");
	chario_store_close(store);
	return 0;
}
