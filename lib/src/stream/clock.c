// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The clocks of a recording.
 *
 * The times of records are those of a clock that may be set while the recording goes on.  So
 * each batch records by how much that clock differs from CLOCK_BOOTTIME, which nobody sets
 * and which counts the time of a suspend.  If the clock is set, a new batch begins.  A record
 * that is committed after that, in a batch that was begun before, makes that batch doubtful:
 * its time may be of either clock.
 *
 * Times that go back would mislead a search by time.  So each batch also records up to which
 * earlier batch they have not: see &struct chario_disk_times.
 */
#include "stream/inner.h"

#define MS_NS 1000000LL

/* The coarse clocks differ from each other by up to two ticks: 20 ms. */
#define COARSE_NS (50 * MS_NS)

/* A smaller difference is that of two looks at the clocks. */
#define STEP_NS MS_NS

/* A look takes longer than this only if the thread has been interrupted. */
#define LOOK_NS 20000
#define LOOKS   8

/* A time this near the present is taken for one of the system's clock. */
#define NEAR_NS (10000 * MS_NS)

static int64_t magnitude(int64_t ns)
{
	return ns < 0 ? -ns : ns;
}

static int64_t measure_offset(void)
{
	int64_t shortest = INT64_MAX, offset = 0;

	for (int i = 0; i < LOOKS && shortest > LOOK_NS; i++) {
		int64_t before = (int64_t)chario_sys_clock(CLOCK_BOOTTIME);
		int64_t time = (int64_t)chario_sys_clock(CLOCK_REALTIME);
		int64_t length = (int64_t)chario_sys_clock(CLOCK_BOOTTIME) - before;

		if (length >= shortest)
			continue;
		shortest = length;
		offset = time - before - length / 2;
	}
	return offset;
}

void chario_stream_begin_clock(struct chario_stream *stream)
{
	struct chario_stream_clock *clock = &stream->clock;

	clock->time_ns = chario_sys_clock(CLOCK_REALTIME_COARSE);
	clock->coarse_ns = (int64_t)(clock->time_ns - chario_sys_clock(CLOCK_MONOTONIC_COARSE));
	clock->offset_ns = measure_offset();
	clock->earliest_ns = UINT64_MAX;
}

/* After a suspend the coarse clocks differ as well, but the clock has not been set. */
void chario_stream_check_clock(struct chario_stream *stream, uint64_t monotonic_ns)
{
	struct chario_stream_clock *clock = &stream->clock;
	int64_t coarse, offset;

	clock->time_ns = chario_sys_clock(CLOCK_REALTIME_COARSE);
	coarse = (int64_t)(clock->time_ns - monotonic_ns);
	if (magnitude(coarse - clock->coarse_ns) < COARSE_NS)
		return;
	clock->coarse_ns = coarse;
	offset = measure_offset();
	if (magnitude(offset - clock->offset_ns) < STEP_NS)
		return;
	clock->offset_ns = offset;
	chario_stream_close_batch(stream);
}

/*
 * A producer may give times of its own, which say nothing of the system's clock, as it was when
 * it was looked at last.
 */
static bool is_near(const struct chario_stream_clock *clock, uint64_t time_ns)
{
	return clock->time_ns - time_ns + NEAR_NS < 2 * NEAR_NS;
}

/*
 * Returns whether it is known that no room is out, when one has come back to a batch: all batches
 * but the newest are complete, so it is that.
 */
static bool has_no_room_out(const struct chario_stream *stream, const struct chario_batch *batch)
{
	return !batch->rooms && stream->next == stream->tail - 1;
}

/* Returns whether a record is the first of its batch. */
static bool is_first(const struct chario_stream *stream, const struct chario_batch *batch,
		     const struct chario_disk_record *record)
{
	uint64_t at = chario_stream_pool_offset(stream, batch->header.segment) +
		      batch->header.offset + sizeof(batch->header);

	return (const unsigned char *)record == stream->pool.memory + at;
}

/*
 * Look whether times go back at a record that is committed after records behind it.  These may
 * be earlier than it, so a run begins with the next batch.
 */
static void note_late(struct chario_stream_clock *clock, struct chario_batch *batch,
		      uint64_t time_ns)
{
	bool turns = chario_disk_turns(clock->latest_ns, time_ns);

	batch->begins_run |= turns;
	batch->turns |= turns || chario_disk_turns(time_ns, clock->earliest_ns);
	clock->latest_ns = MAX(clock->latest_ns, time_ns);
}

/* A run begins with the first record of a batch, or behind a batch in which times go back. */
static void note_turn(struct chario_stream *stream, struct chario_batch *batch,
		      const struct chario_disk_record *record)
{
	if (is_first(stream, batch, record))
		batch->begins_run = true;
	else
		batch->turns = true;
	stream->clock.latest_ns = record->time_ns;
}

void chario_stream_note_time(struct chario_stream *stream, struct chario_batch *batch,
			     const struct chario_disk_record *record)
{
	struct chario_stream_clock *clock = &stream->clock;
	uint64_t time_ns = record->time_ns;

	chario_stream_check_clock(stream, chario_sys_clock(CLOCK_MONOTONIC_COARSE));
	batch->is_steady = batch->is_steady && batch->offset_ns == clock->offset_ns &&
			   is_near(clock, time_ns);
	if (record->sequence < clock->next) {
		note_late(clock, batch, time_ns);
	} else {
		if (chario_disk_turns(clock->latest_ns, time_ns))
			note_turn(stream, batch, record);
		clock->latest_ns = MAX(clock->latest_ns, time_ns);
		clock->next = record->sequence + 1;
	}
	clock->earliest_ns = has_no_room_out(stream, batch) ? UINT64_MAX :
							      MIN(clock->earliest_ns, time_ns);
}
