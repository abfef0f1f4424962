// SPDX-License-Identifier: MIT
/*
 * What a ring keeps whose records have no checksum: all that nobody can have torn.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tap.h"
#include "tape-rig.h"

/* One fills a segment, and the word that a recording has ended needs one of its own. */
#define RECORD_BYTES (RIG_SEGMENT - 200)

/* Segments that may be written and not durable. */
#define WINDOW (RIG_SLOTS / 8)

static const struct chario_stream_options *ring(unsigned int flags)
{
	static struct chario_stream_options options;

	options = rig_small;
	options.flags = CHARIO_STREAM_RING | CHARIO_STREAM_NO_CRC | flags;
	options.durability = CHARIO_DURABILITY_FLUSH;
	return &options;
}

static void before(void)
{
	/* Against hanging for ever. */
	alarm(300);
	rig_begin(RIG_BYTES, true);
}

/* Go on with the recording, and end it. */
static int append(uint64_t from, uint64_t to)
{
	int err = rig_open(ring(CHARIO_STREAM_APPEND)) ?: rig_record(from, to, RECORD_BYTES);

	return err ?: rig_close();
}

/* The same, but the power is cut when all is durable. */
static int append_and_cut(unsigned int flags, uint64_t from, uint64_t to)
{
	unsigned char *image = malloc(rig.disk->bytes);
	int err = rig_open(ring(flags)) ?: rig_record(from, to, RECORD_BYTES) ?: rig_wait();

	memcpy(image, rig.disk->image, rig.disk->bytes);
	rig_close();
	memcpy(rig.disk->image, image, rig.disk->bytes);
	free(image);
	return err;
}

/* The oldest record that is there, where all behind it up to @end are; or UINT64_MAX. */
static uint64_t oldest(uint64_t end)
{
	uint64_t first;

	if (rig_open_reader() || rig_next())
		return UINT64_MAX;
	first = rig.record.sequence;
	for (uint64_t next = first + 1; next < end; next++)
		if (!rig_is_next(next))
			return UINT64_MAX;
	first = rig_next() ? first : UINT64_MAX;
	rig_close_reader();
	return first;
}

/* Where all parts were closed, what has not been overwritten is there. */
static void test_clean_append(void)
{
	EQUAL(rig_open(ring(0)), 0);
	EQUAL(rig_record(0, 30, RECORD_BYTES), 0);
	EQUAL(rig_close(), 0);
	EQUAL(oldest(30), 0);
	EQUAL(append(30, 40), 0);
	EQUAL(oldest(40), 42 - RIG_SLOTS);
	EQUAL(append(40, 41), 0);
	EQUAL(oldest(41), 44 - RIG_SLOTS);
}

/* A cut takes what was being overwritten, an eighth at most. */
static void test_cut(void)
{
	EQUAL(append_and_cut(0, 0, 40), 0);
	EQUAL(oldest(40), 40 - RIG_SLOTS + WINDOW);
}

/* What a cut may have torn is not trusted before the ring has come round. */
static void test_append_after_cut(void)
{
	EQUAL(append_and_cut(0, 0, 40), 0);
	EQUAL(append(40, 42), 0);
	EQUAL(oldest(42), 43 - RIG_SLOTS + WINDOW);
	EQUAL(append_and_cut(CHARIO_STREAM_APPEND, 42, 43), 0);
	EQUAL(append(43, 43 + RIG_SLOTS), 0);
	EQUAL(append(43 + RIG_SLOTS, 44 + RIG_SLOTS), 0);
	/* Segment 44 has record 43, and the newest is 78. */
	EQUAL(oldest(44 + RIG_SLOTS), 79 - RIG_SLOTS - 1);
}

static const struct tap_test tests[] = {
	{ "a ring that was closed each time is whole", test_clean_append },
	{ "a power cut takes an eighth of a ring", test_cut },
	{ "what a cut may have torn is left out", test_append_after_cut },
};

TAP_MAIN(tests, before, rig_end)
