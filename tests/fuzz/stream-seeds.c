// SPDX-License-Identifier: MIT
/*
 * Recordings to begin with, made by streams.
 */
#include "input.h"

#include <chario/area.h>
#include <chario/buffer.h>

#include "store/area-inner.h"
#include "stream/format.h"
#include "stream-input.h"
#include "tape-lab.h"

#define SEGMENT CHARIO_DISK_SEGMENT_MIN

/**
 * struct recipe - how a recording is made
 * @flags: of the stream
 * @settings: what is done with it
 * @segment_bytes: of it
 * @records: how many
 * @bytes: of each
 * @wait_every: records after which all is written; 0 for never
 * @buffers: every second record comes from a buffer of somebody else
 * @cut_off: it was not ended
 * @parts: programs that record one after the other
 */
struct recipe {
	uint32_t flags;
	uint32_t settings;
	uint32_t segment_bytes;
	unsigned int records;
	size_t bytes;
	unsigned int wait_every;
	bool buffers;
	bool cut_off;
	unsigned int parts;
};

static const struct recipe recipes[INPUTS] = {
	{ .segment_bytes = SEGMENT, .records = 3, .bytes = 1, .parts = 1 },
	{ .settings = TAPE_FOLLOW,
	  .segment_bytes = SEGMENT,
	  .records = 30,
	  .bytes = 1500,
	  .wait_every = 3,
	  .cut_off = true,
	  .parts = 1 },
	{ .flags = CHARIO_STREAM_RING,
	  .settings = TAPE_APPEND,
	  .segment_bytes = SEGMENT,
	  .records = 40,
	  .bytes = 2500,
	  .parts = 2 },
	{ .flags = CHARIO_STREAM_RING,
	  .settings = TAPE_FOLLOW,
	  .segment_bytes = 2 * SEGMENT,
	  .records = 60,
	  .bytes = 3584,
	  .buffers = true,
	  .parts = 1 },
	{ .flags = CHARIO_STREAM_NO_CRC,
	  .settings = TAPE_FOLLOW | TAPE_APPEND,
	  .segment_bytes = SEGMENT,
	  .records = 3,
	  .bytes = 20000,
	  .wait_every = 2,
	  .cut_off = true,
	  .parts = 1 },
	{ .flags = CHARIO_STREAM_RING | CHARIO_STREAM_NO_CRC,
	  .settings = TAPE_FOLLOW | TAPE_APPEND,
	  .segment_bytes = SEGMENT,
	  .records = 300,
	  .bytes = 300,
	  .wait_every = 7,
	  .buffers = true,
	  .cut_off = true,
	  .parts = 3 },
};

static void must(int err)
{
	if (err)
		abort();
}

static void write_one(struct chario_stream *stream, const struct recipe *recipe,
		      const struct chario_buffer *buffer, uint64_t number)
{
	uint32_t released = 0;

	if (!recipe->buffers || number % 2) {
		must(lab_write(stream, number, recipe->bytes));
		return;
	}
	must(chario_stream_write_buffer(stream, buffer, 0, recipe->bytes / 512 * 512 + 512,
					number + 1, 0, -1, &released));
	must(chario_stream_wait(stream, UINT64_MAX, -1));
}

static void write_all(struct chario_stream *stream, const struct recipe *recipe,
		      const struct chario_buffer *buffer)
{
	for (unsigned int i = 0; i < recipe->records; i++) {
		write_one(stream, recipe, buffer, i);
		if (recipe->wait_every && i % recipe->wait_every == 0)
			must(chario_stream_wait(stream, UINT64_MAX, -1));
	}
	must(chario_stream_wait(stream, UINT64_MAX, -1));
}

/* What the area holds before the last part ends, or after. */
static void record(struct log_disk *disk, struct chario_store *store, const struct recipe *recipe,
		   unsigned char *area)
{
	struct chario_stream_options options = { .size = sizeof(options),
						 .flags = recipe->flags,
						 .segment_bytes = recipe->segment_bytes,
						 .nr_buffers = 3 };
	const unsigned char *place = disk->image + lab_area_offset(store);
	struct chario_buffer *buffer;
	struct chario_stream *stream;

	must(chario_buffer_pool(chario_store_device(store), CHARIO_DISK_BLOCK, 0, &buffer));
	for (unsigned int i = 0; i < recipe->parts; i++) {
		must(chario_stream_open(store, LAB_AREA, &options, &stream));
		write_all(stream, recipe, buffer);
		memcpy(area, place, TAPE_BYTES);
		must(chario_stream_close(stream));
		options.flags |= CHARIO_STREAM_APPEND;
	}
	if (!recipe->cut_off)
		memcpy(area, place, TAPE_BYTES);
	must(chario_buffer_free(buffer));
}

static void describe(struct chario_store *store, const struct recipe *recipe,
		     struct tape_settings *settings)
{
	struct chario_area_stream stream;
	struct chario_area *area;

	must(chario_area_open(store, LAB_AREA, O_RDONLY, &area));
	must(chario_area_get_stream(area, &stream));
	chario_area_close(area);
	*settings = (struct tape_settings){
		.session = stream.session,
		.goal = recipe->records / 2,
		.segment_bytes = stream.segment_bytes,
		.window = stream.window,
		.flags = recipe->settings | (stream.ring ? TAPE_RING : 0),
		.cut = TAPE_BYTES / 4,
	};
}

size_t input_make(unsigned int number, unsigned char *image)
{
	const struct recipe *recipe = &recipes[number];
	struct log_disk *disk = lab_make_disk(TAPE_BYTES, true);
	struct chario_store *store = lab_open_store(disk);

	record(disk, store, recipe, image + sizeof(struct tape_settings));
	describe(store, recipe, (struct tape_settings *)image);
	chario_store_close(store);
	log_disk_destroy(disk);
	return sizeof(struct tape_settings) + TAPE_BYTES;
}
