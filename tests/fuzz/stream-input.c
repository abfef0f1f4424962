// SPDX-License-Identifier: MIT
#include "input.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <chario/stream.h>

#include "log-device.h"
#include "stream/format.h"
#include "stream-input.h"

#define BLOCK        CHARIO_DISK_BLOCK
#define SEGMENT      CHARIO_DISK_SEGMENT_MIN
#define HEADER_WORDS (sizeof(struct chario_disk_batch) / 8)
#define RECORD_WORDS (sizeof(struct chario_disk_record) / 8)

const unsigned int input_mutations = 8;

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
