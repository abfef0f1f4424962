// SPDX-License-Identifier: MIT
/*
 * A sensor: a record each so many microseconds, whether the drive keeps up or not.
 * What finds no buffer is lost, and is said to be.
 *
 *	producer make DEVICE [AREA MIB]...
 *		make a store with these areas
 *	producer record DEVICE AREA SECONDS PERIOD_US BYTES SEGMENT BUFFERS none|flush|fua [ring]
 *		record; a line of numbers at the end, and one for each gap
 *	producer read DEVICE AREA BYTES
 *		read it again, compare each record; the same lines
 *
 * While the file STALLED is there, the drive does not answer: those losses are counted
 * by themselves.
 */
#include <chario/area.h>
#include <chario/reader.h>
#include <chario/store.h>
#include <chario/stream.h>
#include <time.h>

#include "common.h"

#define STALLED   "/run/stalled"
#define SECOND_NS 1000000000LL
#define LATE_NS   (SECOND_NS / 2)

/* Records that are missing before one. */
struct gap {
	uint64_t before;
	uint64_t records;
};

static struct gap gaps[10000];
static unsigned int nr_gaps;

static void note_gap(uint64_t before, uint64_t records)
{
	if (nr_gaps < sizeof(gaps) / sizeof(gaps[0]))
		gaps[nr_gaps++] = (struct gap){ before, records };
}

static void print_gaps(void)
{
	for (unsigned int i = 0; i < nr_gaps; i++)
		printf("gap %" PRIu64 " %" PRIu64 "\n", gaps[i].before, gaps[i].records);
}

static void fill_in(unsigned char *memory, size_t bytes, uint64_t sequence)
{
	random_fill(&sequence, memory, bytes);
}

static struct chario_store *open_store(const char *device, int flags)
{
	struct chario_store *store;

	must(chario_store_open(device, flags, &store), "open the store");
	return store;
}

static int make(const char *device, char **areas)
{
	const struct chario_store_layout layout = { .size = sizeof(layout),
						    .flags = CHARIO_LAYOUT_REPLACE };
	struct chario_store *store;

	must(chario_store_format(device, &layout), "format");
	store = open_store(device, O_RDWR);
	for (; areas[0] && areas[1]; areas += 2)
		must(chario_store_create(store, areas[0], number(areas[1]) << 20, 0), areas[0]);
	chario_store_close(store);
	return 0;
}

static void set_durability(struct chario_stream_options *options, const char *name)
{
	options->durability = CHARIO_DURABILITY_NONE;
	if (!strcmp(name, "flush"))
		options->durability = CHARIO_DURABILITY_FLUSH;
	else if (!strcmp(name, "fua"))
		options->durability = CHARIO_DURABILITY_FUA;
}

/**
 * struct tally - what has become of the records
 * @attempts: all
 * @lost: that found no buffer
 * @stalled_attempts: while the drive did not answer
 * @stalled_lost: of them
 */
struct tally {
	uint64_t attempts;
	uint64_t lost;
	uint64_t stalled_attempts;
	uint64_t stalled_lost;
};

static bool attempt(struct chario_stream *stream, size_t bytes, uint64_t sequence)
{
	struct chario_stream_room room;
	int err = chario_stream_get(stream, bytes, 0, &room);

	if (err == -EAGAIN) {
		must(chario_stream_lose(stream, 1, bytes), "lose");
		return false;
	}
	must(err, "get room");
	fill_in(room.memory, bytes, sequence);
	must(chario_stream_commit(stream, &room, bytes, 0, 0), "commit");
	return true;
}

static void produce(struct chario_stream *stream, uint64_t nr_records, uint64_t period_ns,
		    size_t bytes, struct tally *tally)
{
	struct timespec next;
	uint64_t missing = 0;

	clock_gettime(CLOCK_MONOTONIC, &next);
	for (uint64_t i = 0; i < nr_records; i++) {
		bool stalled = !access(STALLED, F_OK);
		bool kept = attempt(stream, bytes, i);

		tally->attempts++;
		tally->lost += !kept;
		tally->stalled_attempts += stalled;
		tally->stalled_lost += stalled && !kept;
		if (kept && missing)
			note_gap(i, missing);
		missing = kept ? 0 : missing + 1;
		next.tv_nsec += (long)period_ns;
		next.tv_sec += next.tv_nsec / SECOND_NS;
		next.tv_nsec %= SECOND_NS;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
	}
}

static void print_status(const struct chario_stream_status *status, const struct tally *tally)
{
	printf("attempts %" PRIu64 "\nlost %" PRIu64 "\nstalled_attempts %" PRIu64
	       "\nstalled_lost %" PRIu64 "\n",
	       tally->attempts, tally->lost, tally->stalled_attempts, tally->stalled_lost);
	printf("records %" PRIu64 "\nlost_records %" PRIu64 "\nlost_bytes %" PRIu64
	       "\ndurable_records %" PRIu64 "\n",
	       status->records, status->lost_records, status->lost_bytes, status->durable_records);
	printf("late %" PRIu64 "\nlate_ns %" PRIu64 "\nlongest_ns %" PRIu64 "\nretries %" PRIu64
	       "\nflushes %" PRIu64 "\nleast_free_buffers %u\nsegments %" PRIu64 "\n",
	       status->late, status->late_ns, status->longest_ns, status->retries, status->flushes,
	       status->least_free_buffers, status->segments);
}

static int record(char **argv, bool ring)
{
	struct chario_stream_options options = {
		.size = sizeof(options),
		.flags = ring ? CHARIO_STREAM_RING : 0,
		.segment_bytes = (uint32_t)number(argv[5]),
		.nr_buffers = (uint32_t)number(argv[6]),
		.late_ns = LATE_NS,
	};
	uint64_t period_ns = number(argv[3]) * 1000, bytes = number(argv[4]);
	struct chario_stream_status status;
	struct chario_stream *stream;
	struct tally tally = { 0 };

	set_durability(&options, argv[7]);
	must(chario_stream_open(open_store(argv[0], O_RDWR), argv[1], &options, &stream),
	     "open the stream");
	produce(stream, number(argv[2]) * SECOND_NS / period_ns, period_ns, bytes, &tally);
	must(chario_stream_wait(stream, UINT64_MAX, -1), "wait until all is durable");
	must(chario_stream_get_status(stream, &status, sizeof(status)), "get the status");
	must(chario_stream_close(stream), "close the stream");
	print_status(&status, &tally);
	print_gaps();
	return 0;
}

static int read_again(const char *device, const char *area, size_t bytes)
{
	unsigned char *expected = malloc(bytes);
	uint64_t records = 0, missing = 0, first = 0;
	struct chario_reader *reader;
	struct chario_record found;
	int err;

	if (!expected)
		die("no memory");
	must(chario_reader_open(open_store(device, O_RDONLY), area, &reader), "open the reader");
	while (!(err = chario_reader_next(reader, 0, &found))) {
		fill_in(expected, bytes, found.sequence);
		if (found.bytes != bytes || memcmp(found.memory, expected, bytes))
			die("record %" PRIu64 " is not as it was", found.sequence);
		if (!records++)
			first = found.sequence;
		else if (found.missing)
			note_gap(found.sequence, found.missing);
		missing += found.missing;
	}
	if (err != -ENODATA)
		must(err, "read");
	printf("records %" PRIu64 "\nmissing %" PRIu64 "\nfirst %" PRIu64 "\n", records, missing,
	       first);
	print_gaps();
	return 0;
}

int main(int argc, char **argv)
{
	if (argc >= 5 && !strcmp(argv[1], "make"))
		return make(argv[2], argv + 3);
	if (argc >= 10 && !strcmp(argv[1], "record"))
		return record(argv + 2, argc > 10);
	if (argc == 5 && !strcmp(argv[1], "read"))
		return read_again(argv[2], argv[3], number(argv[4]));
	die("usage: see the first lines of the source");
}
