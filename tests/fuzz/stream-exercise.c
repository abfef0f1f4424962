// SPDX-License-Identifier: MIT
#include "stream-input.h"

#include <chario/area.h>

#include "store/area-inner.h"
#include "store/crc32c.h"
#include "stream/format.h"
#include "tape-lab.h"

/* So many headers of batches and records are there at most. */
#define BATCHES (TAPE_BYTES / CHARIO_DISK_BLOCK)
#define RECORDS (TAPE_BYTES / (unsigned int)sizeof(struct chario_disk_record))
#define SLOTS   (TAPE_BYTES / (2 * CHARIO_DISK_BLOCK))

/*
 * Reads that one call may need.  A search for the head halves a lap at most once for
 * each segment that it goes on from, and looks at each slot and each window once or
 * twice; on the way to a record that is whole every batch may cost two searches, and
 * every record that is not, four looks.
 */
#define SEARCH_READS (SLOTS * 8U + BATCHES)
#define CALL_READS   (BATCHES * (2 * SEARCH_READS + 4 * SLOTS) + 4 * RECORDS)

/* Calls of a follower that find nothing, before it gives up. */
#define LOOKS 20

/* struct tape - the disk that all recordings are tried on */
struct tape {
	struct log_disk *disk;
	unsigned char *pristine;
	uint64_t offset;
	struct chario_store *store;
};

static struct tape tape;
static uint32_t seen;

static bool complain(const char *what, int err)
{
	printf("# %s: %d (%s)\n", what, err, err < 0 ? strerror(-err) : "");
	return false;
}

/* the disk */

static void remove_disk(void)
{
	log_disk_destroy(tape.disk);
}

static void open_store(void)
{
	tape.store = lab_open_store(tape.disk);
}

static void make_disk(void)
{
	tape.disk = lab_make_disk(TAPE_BYTES, true);
	atexit(remove_disk);
	tape.pristine = malloc(tape.disk->bytes);
	if (!tape.pristine)
		abort();
	memcpy(tape.pristine, tape.disk->image, tape.disk->bytes);
	open_store();
	tape.offset = lab_area_offset(tape.store);
	chario_store_close(tape.store);
}

static bool describe(const struct tape_settings *settings)
{
	const struct chario_area_stream stream = {
		.session = settings->session,
		.segment_bytes = settings->segment_bytes,
		.window = settings->window,
		.ring = settings->flags & TAPE_RING,
	};
	struct chario_area *area;
	int err = chario_area_open(tape.store, LAB_AREA, O_RDWR, &area);

	if (!err)
		err = chario_area_set_stream(area, &stream);
	if (err)
		return complain("the table of a good store is not changed", err);
	chario_area_close(area);
	return true;
}

/* What no table says is for those who fuzz stores. */
static bool is_admitted(const struct tape_settings *settings)
{
	return settings->window && settings->segment_bytes &&
	       settings->segment_bytes % CHARIO_DISK_BLOCK == 0 &&
	       settings->segment_bytes <= TAPE_BYTES;
}

/* Every call has so many reads. */
static void allow_reads(uint64_t reads)
{
	tape.disk->most_reads = reads ? tape.disk->nr_reads + reads : 0;
}

/* reading */

/* The sanitizer sees to it that all of the record is there. */
static void look_at(const struct chario_record *record)
{
	seen = chario_crc32c(seen, record->memory, record->bytes);
}

static int next(struct chario_reader *reader, struct chario_record *record)
{
	int err;

	allow_reads(CALL_READS);
	err = chario_reader_next(reader, 0, record);
	if (!err)
		look_at(record);
	return err;
}

static bool is_end(int err)
{
	return err == -EAGAIN || err == -ENODATA;
}

/* To the end, which stays the end. */
static bool read_all(struct chario_reader *reader)
{
	struct chario_record record;
	unsigned int records = 0;
	int err, again;

	while (!(err = next(reader, &record)))
		if (++records > RECORDS)
			return complain("there is no end of records", (int)records);
	if (!is_end(err))
		return complain("reading gives", err);
	again = next(reader, &record);
	return again == err || complain("behind the end reading gives", again);
}

static bool get_recording(struct chario_reader *reader)
{
	struct chario_recording recording;
	int err;

	allow_reads(2 * SEARCH_READS);
	err = chario_reader_get_recording(reader, &recording, sizeof(recording));
	return !err || complain("what there is cannot be told", err);
}

static int seek(struct chario_reader *reader, bool by_time, uint64_t goal)
{
	/* A search by time goes to each run of times, of which there may be one in each segment. */
	allow_reads(by_time ? SLOTS * 4U * SEARCH_READS : 4 * SEARCH_READS);
	return by_time ? chario_reader_seek_time(reader, goal) : chario_reader_seek(reader, goal);
}

/* Go somewhere: what comes is not before it. */
static bool read_from(struct chario_reader *reader, bool by_time, uint64_t goal)
{
	struct chario_record record;
	int err = seek(reader, by_time, goal);

	if (err)
		return complain("going to a place gives", err);
	err = next(reader, &record);
	if (err)
		return is_end(err) || complain("at the place reading gives", err);
	if ((by_time ? record.time_ns : record.sequence) < goal && goal < UINT64_MAX)
		return complain("a record from before the goal", by_time);
	return read_all(reader);
}

/* A table that says what cannot be is known when the reader is opened. */
static int open_reader(struct chario_reader **reader)
{
	allow_reads(SEARCH_READS);
	return chario_reader_open(tape.store, LAB_AREA, reader);
}

static bool read_every_way(const struct tape_settings *settings)
{
	struct chario_reader *reader;
	int err = open_reader(&reader);
	bool fine;

	if (err)
		return err == -EUCLEAN || complain("opening a reader gives", err);
	fine = get_recording(reader) && read_all(reader) &&
	       read_from(reader, false, settings->goal) &&
	       read_from(reader, true, settings->goal) && read_from(reader, false, 0) &&
	       read_from(reader, false, UINT64_MAX);
	chario_reader_close(reader);
	return fine;
}

/* following */

static bool follow_for_a_while(struct chario_reader *reader)
{
	struct chario_record record;
	unsigned int records = 0;
	int err, looks = 0;

	do {
		err = next(reader, &record);
		looks += err == -EAGAIN;
		if (!err && ++records > RECORDS)
			return complain("there is no end of records to follow", (int)records);
	} while (!err || (err == -EAGAIN && looks < LOOKS));
	return is_end(err) || complain("following gives", err);
}

static bool follow(struct chario_reader *reader, const unsigned char *area, size_t bytes,
		   size_t cut)
{
	unsigned char *place = tape.disk->image + tape.offset;
	struct chario_area *writer;
	bool fine;
	int err = chario_area_open(tape.store, LAB_AREA, O_RDWR, &writer);

	if (err)
		return complain("nobody can write", err);
	memset(place + cut, 0, TAPE_BYTES - cut);
	fine = follow_for_a_while(reader);
	memcpy(place, area, bytes);
	fine = fine && follow_for_a_while(reader) && get_recording(reader);
	chario_area_close(writer);
	return fine && read_all(reader);
}

static bool follow_tape(const struct tape_settings *settings, const unsigned char *area,
			size_t bytes)
{
	size_t cut = settings->cut < bytes ? settings->cut : bytes;
	struct chario_reader *reader;
	int err = open_reader(&reader);
	bool fine;

	if (err)
		return err == -EUCLEAN || complain("opening a reader gives", err);
	fine = follow(reader, area, bytes, cut);
	chario_reader_close(reader);
	return fine;
}

/* going on */

static bool may_not_fit(int err)
{
	return !err || err == -ENOSPC || err == -EMSGSIZE;
}

static bool go_on(void)
{
	const struct chario_stream_options options = { .size = sizeof(options),
						       .flags = CHARIO_STREAM_APPEND,
						       .nr_buffers = 2 };
	static const size_t lengths[] = { 1, 5000, 20000 };
	struct chario_stream *stream;
	int err;

	allow_reads(2 * SEARCH_READS);
	err = chario_stream_open(tape.store, LAB_AREA, &options, &stream);
	if (err)
		return err == -EUCLEAN || complain("going on gives", err);
	for (uint64_t i = 0; i < 3; i++) {
		err = lab_write(stream, i, lengths[i]);
		if (!may_not_fit(err))
			break;
	}
	if (may_not_fit(err))
		err = chario_stream_close(stream);
	else
		chario_stream_close(stream);
	return may_not_fit(err) || complain("recording gives", err);
}

bool exercise_tape(const struct tape_settings *settings, const unsigned char *area, size_t bytes)
{
	bool fine;

	if (!is_admitted(settings))
		return true;
	if (!tape.pristine)
		make_disk();
	allow_reads(0);
	memcpy(tape.disk->image, tape.pristine, tape.disk->bytes);
	memcpy(tape.disk->image + tape.offset, area, bytes);
	open_store();
	fine = describe(settings) && read_every_way(settings);
	if (fine && settings->flags & TAPE_FOLLOW)
		fine = follow_tape(settings, area, bytes);
	if (fine && settings->flags & TAPE_APPEND)
		fine = go_on() && read_every_way(settings);
	allow_reads(0);
	chario_store_close(tape.store);
	return fine;
}
