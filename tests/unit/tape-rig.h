/* SPDX-License-Identifier: MIT */
/*
 * One recording on a disk in memory: what tests of streams make, look at, and read
 * back.
 */
#ifndef CHARIO_TAPE_RIG_H
#define CHARIO_TAPE_RIG_H

#include "tape-lab.h"

/* Of a segment, and of the area, as most tests have them. */
#define RIG_SEGMENT 8192U
#define RIG_SLOTS   32U
#define RIG_BYTES   (RIG_SLOTS * RIG_SEGMENT)

/**
 * struct tape_rig - the recording, and what was last found out about it
 * @disk: that it is on
 * @store: that it is in, open for writing
 * @stream: that makes it, or NULL
 * @reader: that reads it, or NULL
 * @status: of the stream, when rig_look() or rig_wait() was called
 * @record: that rig_next() has read
 * @recording: when rig_get_recording() was called
 */
struct tape_rig {
	struct log_disk *disk;
	struct chario_store *store;
	struct chario_stream *stream;
	struct chario_reader *reader;
	struct chario_stream_status status;
	struct chario_record record;
	struct chario_recording recording;
};

#define FOR_EVER_NS 1000000000000

static struct tape_rig rig;

/* Small segments, and nothing happens by time that a test does not ask for. */
static const struct chario_stream_options rig_small = {
	.size = sizeof(rig_small),
	.segment_bytes = RIG_SEGMENT,
	.nr_buffers = 4,
	.flush_ns = FOR_EVER_NS,
	.late_ns = FOR_EVER_NS,
};

/* Make a disk with one area and no recording. */
static inline void rig_begin(uint64_t area_bytes, bool cached)
{
	/* Against hanging for ever. */
	alarm(300);
	rig.disk = lab_make_disk(area_bytes, cached);
	rig.store = lab_open_store(rig.disk);
}

static inline void rig_begin_usual(void)
{
	rig_begin(RIG_BYTES, true);
}

static inline int rig_close(void)
{
	int err = chario_stream_close(rig.stream);

	rig.stream = NULL;
	return err;
}

static inline void rig_close_reader(void)
{
	chario_reader_close(rig.reader);
	rig.reader = NULL;
}

static inline void rig_end(void)
{
	log_disk_hold(rig.disk, 0, 0);
	rig_close_reader();
	rig_close();
	chario_store_close(rig.store);
	log_disk_destroy(rig.disk);
}

static inline void rig_begin_again(void)
{
	rig_end();
	rig_begin_usual();
}

/* Open the stream. */
static inline int rig_open(const struct chario_stream_options *options)
{
	return chario_stream_open(rig.store, LAB_AREA, options, &rig.stream);
}

/* The small options but for the members that are given. */
#define RIG_OPEN(...) rig_open_with((struct chario_stream_options){ __VA_ARGS__ })

static inline int rig_open_with(struct chario_stream_options options)
{
	options.size = sizeof(options);
	options.segment_bytes = options.segment_bytes ?: rig_small.segment_bytes;
	options.nr_buffers = options.nr_buffers ?: rig_small.nr_buffers;
	options.flush_ns = options.flush_ns ?: rig_small.flush_ns;
	options.late_ns = options.late_ns ?: rig_small.late_ns;
	return rig_open(&options);
}

static inline int rig_open_as(uint32_t flags)
{
	return RIG_OPEN(.flags = flags);
}

static inline int rig_open_reader(void)
{
	return chario_reader_open(rig.store, LAB_AREA, &rig.reader);
}

/* Close the stream, and open a reader of what it has recorded. */
static inline int rig_read_back(void)
{
	return rig_close() ?: rig_open_reader();
}

/* Hold writes to the first bytes of the area back; none with 0. */
static inline void rig_hold(uint64_t bytes)
{
	uint64_t from = bytes ? lab_area_offset(rig.store) : 0;

	log_disk_hold(rig.disk, from, from + bytes);
}

/*
 * Cut the power: the disk has what had been written, and nothing of an end; the store is opened
 * again.  Returns the error with which the stream closed.
 */
static inline int rig_cut(void)
{
	unsigned char *image = malloc(rig.disk->bytes);
	int err;

	memcpy(image, rig.disk->image, rig.disk->bytes);
	rig_hold(0);
	err = rig_close();
	memcpy(rig.disk->image, image, rig.disk->bytes);
	free(image);
	chario_store_close(rig.store);
	rig.store = lab_open_store(rig.disk);
	return err;
}

static inline int rig_look(void)
{
	return chario_stream_get_status(rig.stream, &rig.status, sizeof(rig.status));
}

/* Wait until all is durable; what the status is then. */
static inline int rig_wait(void)
{
	return chario_stream_wait(rig.stream, UINT64_MAX, -1) ?: rig_look();
}

/* Close the stream, or leave it as if its program had been killed when all was durable. */
static inline int rig_stop(bool is_closed)
{
	return is_closed ? rig_close() : rig_wait() ?: rig_cut();
}

/* Record the records from one number to before another. */
static inline int rig_record(uint64_t from, uint64_t to, size_t bytes)
{
	int err = 0;

	for (uint64_t i = from; i < to && !err; i++)
		err = lab_write(rig.stream, i, bytes);
	return err;
}

/* Get a room, without waiting for it. */
static inline int rig_get(size_t bytes, struct chario_stream_room *room)
{
	return chario_stream_get(rig.stream, bytes, 0, room);
}

static inline int rig_next(void)
{
	return chario_reader_next(rig.reader, 0, &rig.record);
}

static inline int rig_get_recording(void)
{
	return chario_reader_get_recording(rig.reader, &rig.recording, sizeof(rig.recording));
}

/* Open a reader, and get what it knows. */
static inline int rig_survey(void)
{
	return rig_open_reader() ?: rig_get_recording();
}

/* Bytes of the area on the disk. */
static inline unsigned char *rig_place(uint64_t offset)
{
	return rig.disk->image + lab_area_offset(rig.store) + offset;
}

/* Have the drive be unable to read one place of the area, instead of any before, until healed. */
static inline void rig_spoil(uint64_t offset, uint64_t bytes)
{
	rig.disk->faults.bad[0] = (struct log_place){ lab_area_offset(rig.store) + offset, bytes };
}

/* Whether the next record is this one, as it was written, behind so many missing ones. */
static inline bool rig_is_behind(uint64_t sequence, uint64_t missing, int64_t timeout_ns)
{
	const struct chario_record *is = &rig.record;
	int err = chario_reader_next(rig.reader, timeout_ns, &rig.record);

	if (!err && is->sequence == sequence && is->missing == missing &&
	    lab_is(is->memory, is->bytes, sequence))
		return true;
	printf("# record %lld: error %d, record %lld, %lld missing, %zu bytes\n",
	       (long long)sequence, err, (long long)is->sequence, (long long)is->missing,
	       is->bytes);
	return false;
}

static inline bool rig_is_next(uint64_t sequence)
{
	return rig_is_behind(sequence, 0, 0);
}

/* Whether the next records are those from one number to before another. */
static inline bool rig_are_next(uint64_t from, uint64_t to)
{
	while (from < to && rig_is_next(from))
		from++;
	return from >= to;
}

/* Close the stream and read: records from one number to before another, and the end. */
static inline bool rig_holds(uint64_t from, uint64_t to)
{
	int err = rig_read_back();

	if (err)
		printf("# closing, or opening the reader: %d\n", err);
	return !err && rig_are_next(from, to) && rig_next() == -ENODATA;
}

#endif /* CHARIO_TAPE_RIG_H */
