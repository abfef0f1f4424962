// SPDX-License-Identifier: MIT
#include "input.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <chario/area.h>
#include <chario/buffer.h>

#include "store/area-inner.h"
#include "log-device.h"
#include "stream/format.h"
#include "stream-input.h"
#include "tape-lab.h"

#define BLOCK        CHARIO_DISK_BLOCK
#define SEGMENT      (2 * BLOCK)
#define HEADER_WORDS (sizeof(struct chario_disk_batch) / 8)
#define RECORD_WORDS (sizeof(struct chario_disk_record) / 8)

/* recordings to begin with */

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
static void record(struct ram_disk *disk, struct chario_store *store, const struct recipe *recipe,
		   unsigned char *area)
{
	struct chario_stream_options options = { .size = sizeof(options),
						 .flags = recipe->flags,
						 .segment_bytes = recipe->segment_bytes,
						 .nr_buffers = 3 };
	const unsigned char *place = disk->image + lab_area_offset(store);
	struct chario_buffer *buffer;
	struct chario_stream *stream;

	must(chario_buffer_pool(chario_store_device(store), BLOCK, 0, &buffer));
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
		.window = stream.nr_buffers,
		.flags = recipe->settings | (stream.ring ? TAPE_RING : 0),
		.cut = TAPE_BYTES / 4,
	};
}

size_t input_make(unsigned int number, unsigned char *image)
{
	const struct recipe *recipe = &recipes[number];
	struct chario_store *store;
	struct ram_disk disk;

	ram_init(&disk, lab_make_file(TAPE_BYTES), true);
	store = lab_open_store(&disk);
	record(&disk, store, recipe, image + sizeof(struct tape_settings));
	describe(store, recipe, (struct tape_settings *)image);
	chario_store_close(store);
	ram_deinit(&disk);
	lab_remove_file();
	return sizeof(struct tape_settings) + TAPE_BYTES;
}

/* mutations */

/**
 * struct input - a recording that is mutated
 * @settings: of it
 * @area: its bytes
 * @nr_blocks: how many blocks these are
 * @random: decides
 */
struct input {
	struct tape_settings *settings;
	unsigned char *area;
	size_t nr_blocks;
	uint64_t *random;
};

static bool is_batch(const void *block)
{
	return ((const struct chario_disk_batch *)block)->magic == htole32(CHARIO_DISK_BATCH_MAGIC);
}

/* A block that begins a batch, if one of some does. */
static struct chario_disk_batch *choose_batch(const struct input *input)
{
	unsigned char *block = input->area;

	for (int i = 0; i < 16; i++) {
		block = input->area + log_below(input->random, input->nr_blocks) * BLOCK;
		if (is_batch(block))
			break;
	}
	return (struct chario_disk_batch *)block;
}

/* Bytes of a batch that are there, whatever it says. */
static size_t room_of(const struct input *input, const struct chario_disk_batch *batch)
{
	return (size_t)(input->area + input->nr_blocks * BLOCK - (const unsigned char *)batch);
}

/* The record behind another one, or in the first place; NULL where none can be. */
static struct chario_disk_record *next_record(const struct input *input,
					      struct chario_disk_batch *batch,
					      struct chario_disk_record *record)
{
	size_t end = le32toh(batch->bytes), room = room_of(input, batch), at;

	if (record)
		at = (size_t)((unsigned char *)record - (unsigned char *)batch) +
		     le32toh(record->next);
	else
		at = le16toh(batch->header_bytes);
	if (at % CHARIO_DISK_HEADER_ALIGN || end > room || at > end || end - at < sizeof(*record) ||
	    (record && !record->next))
		return NULL;
	return (struct chario_disk_record *)((unsigned char *)batch + at);
}

static struct chario_disk_record *choose_record(const struct input *input)
{
	struct chario_disk_batch *batch = choose_batch(input);
	struct chario_disk_record *record = next_record(input, batch, NULL), *next = record;

	for (uint64_t n = log_below(input->random, 16); next && n; n--) {
		record = next;
		next = next_record(input, batch, record);
	}
	return record;
}

static void set_word(const struct input *input, void *words, uint64_t nr_words)
{
	unsigned char *at = (unsigned char *)words + 4 * log_below(input->random, 2 * nr_words);
	uint64_t value = 0;

	memcpy(&value, at, 4);
	value = input_value(input->random, value);
	if (log_below(input->random, 2) && (uintptr_t)at % 8 == 0)
		memcpy(at, &value, 8);
	else
		memcpy(at, &value, 4);
}

static void set_batch(const struct input *input)
{
	set_word(input, choose_batch(input), HEADER_WORDS);
}

static void set_record(const struct input *input)
{
	struct chario_disk_record *record = choose_record(input);

	if (record)
		set_word(input, record, RECORD_WORDS);
}

static void flip_batch(const struct input *input)
{
	choose_batch(input)->flags ^= htole32(1U << log_below(input->random, 4));
}

static void flip_record(const struct input *input)
{
	struct chario_disk_record *record = choose_record(input);

	if (record)
		record->flags ^= htole32(1U << log_below(input->random, 13));
}

/* Data that lie apart, somewhere in the segment. */
static void put_apart(const struct input *input)
{
	struct chario_disk_record *record = choose_record(input);

	if (!record)
		return;
	record->flags |= htole32(CHARIO_DISK_RECORD_APART | CHARIO_RECORD_NO_CRC);
	record->data = htole32((uint32_t)log_below(input->random, 2 * SEGMENT));
	record->bytes = htole32((uint32_t)log_below(input->random, 2 * SEGMENT));
}

/* A batch for another slot, lap or place. */
static void renumber(const struct input *input)
{
	struct chario_disk_batch *batch = choose_batch(input);
	uint64_t slots = input->nr_blocks * BLOCK / SEGMENT + 1;
	uint64_t segment = le64toh(batch->segment);

	if (log_below(input->random, 2))
		segment += slots * (log_below(input->random, 5) - 2);
	else
		segment = UINT64_MAX - log_below(input->random, 4 * slots);
	batch->segment = htole64(segment);
}

static void copy_block(const struct input *input)
{
	unsigned char *to = input->area + log_below(input->random, input->nr_blocks) * BLOCK;

	memmove(to, choose_batch(input), BLOCK);
}

static void copy_segment(const struct input *input)
{
	size_t nr_slots = input->nr_blocks / 2;
	unsigned char *to = input->area + log_below(input->random, nr_slots) * SEGMENT;
	unsigned char *from = input->area + log_below(input->random, nr_slots) * SEGMENT;
	uint64_t distance = (uint64_t)(to - from) / SEGMENT;

	memmove(to, from, SEGMENT);
	for (size_t at = 0; at < SEGMENT; at += BLOCK) {
		struct chario_disk_batch *batch = (struct chario_disk_batch *)(to + at);

		if (is_batch(batch))
			batch->segment = htole64(le64toh(batch->segment) + distance);
	}
}

static void erase(const struct input *input)
{
	uint64_t from = log_below(input->random, input->nr_blocks);
	uint64_t count = 1 + log_below(input->random, 6);

	if (count > input->nr_blocks - from)
		count = input->nr_blocks - from;
	memset(input->area + from * BLOCK, 0, count * BLOCK);
}

static void scribble(const struct input *input)
{
	unsigned char *block = (unsigned char *)choose_batch(input);

	for (uint64_t n = log_below(input->random, 8); n; n--)
		block[log_below(input->random, BLOCK)] = (unsigned char)log_random(input->random);
}

static void set_settings(const struct input *input)
{
	struct tape_settings *settings = input->settings;

	switch (log_below(input->random, 6)) {
	case 0:
		settings->window = (uint32_t)(1 + log_below(input->random, 16));
		break;
	case 1:
		settings->segment_bytes = (uint32_t)(1 + log_below(input->random, 8)) * BLOCK;
		break;
	case 2:
		settings->goal = input_value(input->random, settings->goal);
		break;
	case 3:
		settings->cut = (uint32_t)log_below(input->random, TAPE_BYTES);
		break;
	case 4:
		set_word(input, settings, sizeof(*settings) / 8);
		break;
	default:
		settings->flags ^= 1U << log_below(input->random, 3);
	}
}

/* checksums */

static void sign_records(const struct input *input, struct chario_disk_batch *batch)
{
	uint32_t seed = chario_disk_record_seed(le64toh(batch->session), le64toh(batch->part),
						le64toh(batch->segment));
	struct chario_disk_record *record = NULL;

	while ((record = next_record(input, batch, record))) {
		unsigned char *data = (unsigned char *)record + le32toh(record->data);
		size_t bytes = le32toh(record->bytes);
		size_t end =
			(size_t)(input->area + input->nr_blocks * BLOCK - (unsigned char *)record);

		if (record->flags & htole32(CHARIO_RECORD_NO_CRC))
			bytes = 0;
		if (le32toh(record->data) <= end && bytes <= end - le32toh(record->data))
			record->crc = htole32(chario_disk_record_crc(seed, record, data, bytes));
	}
}

static void sign(const struct input *input)
{
	for (size_t i = 0; i < input->nr_blocks; i++) {
		struct chario_disk_batch *batch =
			(struct chario_disk_batch *)(input->area + i * BLOCK);

		if (!is_batch(batch))
			continue;
		batch->session = htole64(input->settings->session);
		sign_records(input, batch);
		chario_disk_batch_sign(batch);
	}
}

static void mutate(const struct input *input)
{
	static void (*const mutations[])(const struct input *input) = {
		set_batch,  set_batch,    set_batch,   set_record, set_record,
		set_record, flip_batch,   flip_record, put_apart,  renumber,
		copy_block, copy_segment, erase,       scribble,   set_settings,
	};

	for (uint64_t n = 1 + log_below(input->random, 4); n; n--)
		mutations[log_below(input->random, sizeof(mutations) / sizeof(mutations[0]))](
			input);
}

size_t input_mutate(unsigned char *image, size_t bytes, size_t most, uint64_t *random)
{
	struct input input = {
		.settings = (struct tape_settings *)image,
		.area = image + sizeof(struct tape_settings),
		.random = random,
	};

	if (most < sizeof(struct tape_settings) + SEGMENT)
		return bytes;
	if (bytes < sizeof(struct tape_settings) + SEGMENT) {
		memset(image + bytes, 0, sizeof(struct tape_settings) + SEGMENT - bytes);
		bytes = sizeof(struct tape_settings) + SEGMENT;
	}
	input.nr_blocks = (bytes - sizeof(struct tape_settings)) / BLOCK;
	mutate(&input);
	if (log_below(random, 8))
		sign(&input);
	return bytes;
}

/* trying */

void input_try(const unsigned char *image, size_t bytes)
{
	struct tape_settings settings;

	if (bytes < sizeof(settings))
		return;
	memcpy(&settings, image, sizeof(settings));
	bytes -= sizeof(settings);
	if (exercise_tape(&settings, image + sizeof(settings),
			  bytes < TAPE_BYTES ? bytes : TAPE_BYTES))
		return;
	fflush(stdout);
	abort();
}
