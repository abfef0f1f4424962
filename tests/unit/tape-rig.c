// SPDX-License-Identifier: MIT
#include "tape-rig.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FOR_EVER_NS 1000000000000

struct tape_rig rig;

const struct chario_stream_options rig_small = {
	.size = sizeof(rig_small),
	.segment_bytes = RIG_SEGMENT,
	.nr_buffers = 4,
	.flush_ns = FOR_EVER_NS,
	.late_ns = FOR_EVER_NS,
};

void rig_begin(uint64_t area_bytes, bool cached)
{
	/* Against hanging for ever. */
	alarm(300);
	rig.disk = lab_make_disk(area_bytes, cached);
	rig.store = lab_open_store(rig.disk);
}

void rig_begin_usual(void)
{
	rig_begin(RIG_BYTES, true);
}

void rig_begin_again(void)
{
	rig_end();
	rig_begin_usual();
}

void rig_end(void)
{
	log_disk_hold(rig.disk, 0, 0);
	rig_close_reader();
	rig_close();
	chario_store_close(rig.store);
	log_disk_destroy(rig.disk);
}

int rig_open(const struct chario_stream_options *options)
{
	return chario_stream_open(rig.store, LAB_AREA, options, &rig.stream);
}

int rig_open_with(struct chario_stream_options options)
{
	options.size = sizeof(options);
	options.segment_bytes = options.segment_bytes ?: rig_small.segment_bytes;
	options.nr_buffers = options.nr_buffers ?: rig_small.nr_buffers;
	options.flush_ns = options.flush_ns ?: rig_small.flush_ns;
	options.late_ns = options.late_ns ?: rig_small.late_ns;
	return rig_open(&options);
}

int rig_open_as(uint32_t flags)
{
	return RIG_OPEN(.flags = flags);
}

int rig_close(void)
{
	int err = chario_stream_close(rig.stream);

	rig.stream = NULL;
	return err;
}

int rig_open_reader(void)
{
	return chario_reader_open(rig.store, LAB_AREA, &rig.reader);
}

int rig_read_back(void)
{
	return rig_close() ?: rig_open_reader();
}

void rig_close_reader(void)
{
	chario_reader_close(rig.reader);
	rig.reader = NULL;
}

int rig_cut(void)
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

int rig_stop(bool is_closed)
{
	return is_closed ? rig_close() : rig_wait() ?: rig_cut();
}

int rig_wait(void)
{
	return chario_stream_wait(rig.stream, UINT64_MAX, -1) ?: rig_look();
}

int rig_record(uint64_t from, uint64_t to, size_t bytes)
{
	int err = 0;

	for (uint64_t i = from; i < to && !err; i++)
		err = lab_write(rig.stream, i, bytes);
	return err;
}

int rig_get(size_t bytes, struct chario_stream_room *room)
{
	return chario_stream_get(rig.stream, bytes, 0, room);
}

int rig_look(void)
{
	return chario_stream_get_status(rig.stream, &rig.status, sizeof(rig.status));
}

int rig_next(void)
{
	return chario_reader_next(rig.reader, 0, &rig.record);
}

int rig_get_recording(void)
{
	return chario_reader_get_recording(rig.reader, &rig.recording, sizeof(rig.recording));
}

int rig_survey(void)
{
	return rig_open_reader() ?: rig_get_recording();
}

unsigned char *rig_place(uint64_t offset)
{
	return rig.disk->image + lab_area_offset(rig.store) + offset;
}

void rig_hold(uint64_t bytes)
{
	uint64_t from = bytes ? lab_area_offset(rig.store) : 0;

	log_disk_hold(rig.disk, from, from + bytes);
}

void rig_spoil(uint64_t offset, uint64_t bytes)
{
	rig.disk->faults.bad[0] = (struct log_place){ lab_area_offset(rig.store) + offset, bytes };
}

bool rig_is_behind(uint64_t sequence, uint64_t missing, int64_t timeout_ns)
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

bool rig_is_next(uint64_t sequence)
{
	return rig_is_behind(sequence, 0, 0);
}

bool rig_are_next(uint64_t from, uint64_t to)
{
	while (from < to && rig_is_next(from))
		from++;
	return from >= to;
}

bool rig_holds(uint64_t from, uint64_t to)
{
	int err = rig_read_back();

	if (err)
		printf("# closing, or opening the reader: %d\n", err);
	return !err && rig_are_next(from, to) && rig_next() == -ENODATA;
}
