/* SPDX-License-Identifier: MIT */
/* Recordings with batches of one record, and what is known of them when some are bad. */
#ifndef CHARIO_HIDDEN_RIG_H
#define CHARIO_HIDDEN_RIG_H

#include "store/area-inner.h"
#include "stream/inner.h"
#include "tape-rig.h"

/* Three of them are in a block, and each that is waited for is a batch of one. */
#define RECORD_BYTES 952U

#define LONG_SEGMENT 32768U
#define LONG_SLOTS   (RIG_BYTES / LONG_SEGMENT)
#define IN_LONG      (LONG_SEGMENT / 4096U)
#define LAST_BATCHES 6U

static inline int open_long(unsigned int flags)
{
	return RIG_OPEN(.segment_bytes = LONG_SEGMENT, .flags = flags);
}

/* Record batches of one record. */
static inline int record_each(uint64_t from, uint64_t to)
{
	int err = 0;

	for (uint64_t i = from; i < to && !err; i++)
		err = rig_record(i, i + 1, RECORD_BYTES) ?: rig_wait();
	return err;
}

/* Record batches of one record, and leave them so. */
static inline void record_and_stop(unsigned int flags, uint64_t from, uint64_t to)
{
	EQUAL(open_long(flags) ?: record_each(from, to), 0);
	EQUAL(rig_stop(false), 0);
}

/* A block of the long segment in a slot. */
static inline unsigned char *block(uint64_t slot, uint64_t index)
{
	return rig_place(slot * LONG_SEGMENT + index * 4096);
}

static inline void wipe(uint64_t slot, uint64_t index, uint64_t blocks)
{
	memset(block(slot, index), 0, blocks * 4096);
}

/* Let a header tell that so many records were durable. */
static inline void say_durable(unsigned char *place, uint64_t records)
{
	struct chario_disk_batch *batch = (void *)place;

	batch->durable_records = records;
	chario_disk_batch_sign(batch);
}

/* All that is missing was durable, but so many. */
static inline void check_losses(uint64_t undurable)
{
	uint64_t lost, found;

	EQUAL(chario_reader_count_missing(rig.reader, &lost, &found), 0);
	EQUAL(lost, 0);
	EQUAL(found, undurable);
}

/* Read each record once, from a number to the end, and see how many are missing. */
static inline void read_on(uint64_t from, uint64_t next, uint64_t missing)
{
	uint64_t are_missing = 0;
	int err;

	while (!(err = rig_next())) {
		CHECK(lab_is(rig.record.memory, rig.record.bytes, rig.record.sequence));
		EQUAL(rig.record.sequence, from + rig.record.missing);
		are_missing += rig.record.missing;
		from = rig.record.sequence + 1;
	}
	CHECK(err == -ENODATA || err == -EAGAIN);
	EQUAL(from + rig.record.missing, next);
	EQUAL(are_missing + rig.record.missing, missing);
}

/* Open a reader; what is left of an earlier lap of a ring is passed over. */
static inline void open_reader(uint64_t from)
{
	EQUAL(rig_survey(), 0);
	if (from)
		EQUAL(chario_reader_seek(rig.reader, from), 0);
}

static inline void expect(uint64_t from, uint64_t next, uint64_t missing, uint64_t undurable)
{
	open_reader(from);
	EQUAL(rig.recording.next_record, next);
	read_on(from, next, missing);
	check_losses(undurable);
	rig_close_reader();
}

#endif /* CHARIO_HIDDEN_RIG_H */
