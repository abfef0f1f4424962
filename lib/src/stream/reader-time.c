// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Going to a time.
 *
 * The clock may have been set while the recording was made, so the times of its records are
 * several runs: inside a run times go back by no more than CHARIO_DISK_TURN_NS.  The times of a
 * batch tell its run, whose number only grows.  So the headers of two segments that are of the
 * same run tell about all between them, and also about those that are missing: all of their
 * records are of that run, and none is later by more than CHARIO_DISK_TURN_NS than the first
 * record of the second segment.
 *
 * A reader that looks for a time reads on, and leaves out of each run what cannot be wanted: the
 * segments before the time, and those behind it up to the last segment of the run, in which the
 * next run may begin.  A binary search finds the end of what it leaves out.  Recordings of the
 * first release tell of no runs: the headers of all segments are read one by one.
 */
#include "stream/reader-inner.h"

#include <errno.h>

/**
 * struct leap - a part of the run of a batch, which a reader leaves out
 * @is_early: true for the segments before a time, false for all up to the last of the run
 * @goal_ns: time from which on records are wanted, if @is_early is set
 * @has_times: true if the batch has times
 * @run: number of the run, if it has
 */
struct leap {
	bool is_early;
	uint64_t goal_ns;
	bool has_times;
	uint64_t run;
};

/*
 * Returns whether the time in the header that was read last is that of a record of the producer.
 * The time of an empty batch, or of a room that was given back, is that of the system's clock.
 */
static bool is_of_record(const struct chario_tape *tape, const struct chario_disk_batch *batch)
{
	const struct chario_disk_record *first =
		(const void *)(tape->block.memory + batch->header_bytes);

	return batch->bytes - batch->header_bytes >= sizeof(*first) &&
	       batch->header_bytes <= CHARIO_DISK_BLOCK - sizeof(*first) &&
	       !(first->flags & CHARIO_DISK_RECORD_VOID);
}

/*
 * Returns whether a leap may go to a segment, whose header was read last: it is of the run, as
 * far as its times tell, and nothing before it is wanted.
 */
static bool may_go_to(const struct chario_tape *tape, const struct leap *leap,
		      const struct chario_disk_batch *batch)
{
	if (leap->has_times && !(tape->has_times && tape->times.run == leap->run))
		return false;
	if (!leap->is_early)
		return true;
	return is_of_record(tape, batch) && chario_disk_turns(leap->goal_ns, batch->time_ns);
}

static int leap_by_halves(struct chario_tape *tape, const struct leap *leap, uint64_t newest,
			  struct chario_disk_batch *batch)
{
	struct chario_disk_batch found;

	while (batch->segment < newest) {
		uint64_t middle = newest - (newest - batch->segment) / 2;
		int ret = chario_tape_first(tape, middle, newest, &found);

		if (ret < 0)
			return ret;
		if (ret && may_go_to(tape, leap, &found))
			*batch = found;
		else
			newest = middle - 1;
	}
	return 0;
}

static int leap_one_by_one(struct chario_tape *tape, const struct leap *leap, uint64_t newest,
			   struct chario_disk_batch *batch)
{
	uint64_t latest = batch->time_ns;
	struct chario_disk_batch found;

	for (uint64_t segment = batch->segment + 1; segment <= newest; segment++) {
		int ret = chario_tape_look(tape, segment, 0, &found);

		if (ret < 0)
			return ret;
		if (!ret)
			continue;
		if (tape->has_times || chario_disk_turns(latest, found.time_ns))
			return 0;
		latest = MAX(latest, found.time_ns);
		if (may_go_to(tape, leap, &found))
			*batch = found;
	}
	return 0;
}

/*
 * Find the last segment behind @batch of which a leap leaves out all before it; @batch stays if
 * there is none.  @newest is the newest segment, or UINT64_MAX if that is not known.  Returns 0
 * or a negative errno.
 */
static int find_leap(struct chario_tape *tape, const struct leap *leap, uint64_t newest,
		     struct chario_disk_batch *batch)
{
	struct chario_disk_batch found;
	int ret = chario_tape_look(tape, batch->segment + 1, 0, &found);

	/* Most leaps end here. */
	if (ret < 0 || (ret && !may_go_to(tape, leap, &found)))
		return MIN(ret, 0);
	if (newest == UINT64_MAX) {
		ret = chario_tape_newest(tape, &found);
		if (ret <= 0)
			return ret;
		newest = found.segment;
	}
	if (leap->has_times)
		return leap_by_halves(tape, leap, newest, batch);
	return leap_one_by_one(tape, leap, newest, batch);
}

/* Go back into the batch of the reader, after the memory was used for another. */
static int go_back(struct chario_reader *reader, uint32_t at)
{
	int ret;

	reader->pile.batch = reader->last;
	reader->pile.at = at;
	ret = chario_reader_reload(reader);
	return ret < 0 ? ret : 0;
}

/*
 * Go on with a segment.  What is missing before it is not wanted, so missing records count from
 * the first one of the segment.  The place stays if the segment has been overwritten.  Returns
 * 0 or a negative errno.
 */
static int jump(struct chario_reader *reader, const struct chario_disk_batch *batch)
{
	uint32_t at = reader->pile.at;
	int ret = chario_reader_enter(reader, batch);

	if (ret != 1) {
		int err = go_back(reader, at);

		return ret < 0 ? ret : err;
	}
	reader->done_bytes = 0;
	reader->has_expected = true;
	reader->expected = chario_reader_first_record(batch);
	reader->skipped = 0;
	chario_losses_reset(&reader->losses);
	chario_losses_go_to(&reader->losses, batch, false, false,
			    chario_tape_kept_slots(&reader->tape));
	chario_losses_start(&reader->losses, reader->expected);
	return 0;
}

/* Leave out what a leap from the batch of the reader does; see find_leap(). */
static int leave_out(struct chario_reader *reader, bool is_early, uint64_t time_ns, uint64_t newest)
{
	const struct leap leap = {
		.is_early = is_early,
		.goal_ns = time_ns,
		.has_times = reader->pile.has_times,
		.run = reader->pile.times.run,
	};
	struct chario_disk_batch batch = reader->last;
	int err;

	/* The rest of the segment is read. */
	if (reader->has_left && reader->left == batch.segment)
		return 0;
	err = find_leap(&reader->tape, &leap, newest, &batch);
	if (!err && batch.segment > reader->last.segment + 1)
		err = jump(reader, &batch);
	if (err)
		return err;
	reader->has_left = true;
	reader->left = reader->last.segment;
	return 0;
}

int chario_reader_leave_run(struct chario_reader *reader, bool is_early, uint64_t time_ns)
{
	return leave_out(reader, is_early, time_ns, UINT64_MAX);
}

/**
 * struct best - the record whose time is the least that is not before the goal
 * @goal_ns: time that is looked for
 * @found: true if there is such a record
 * @time_ns: time of that record
 * @sequence: number of that record
 */
struct best {
	uint64_t goal_ns;
	bool found;
	uint64_t time_ns;
	uint64_t sequence;
};

static void compare(struct best *best, const struct chario_record *record)
{
	if (best->found && record->time_ns >= best->time_ns)
		return;
	best->found = true;
	best->time_ns = record->time_ns;
	best->sequence = record->sequence;
}

/*
 * Go to the oldest segment, and find the newest.  Returns 1, 0 if there is none, or a negative
 * errno.
 */
static int begin(struct chario_reader *reader, uint64_t *newest)
{
	struct chario_disk_batch batch;
	int ret = chario_tape_newest(&reader->tape, &batch);

	chario_reader_reset(reader);
	*newest = ret > 0 ? batch.segment : 0;
	if (ret > 0)
		ret = chario_reader_oldest(reader, *newest, &batch);
	if (ret > 0)
		ret = chario_reader_enter(reader, &batch);
	return ret;
}

/*
 * Compare the first record of each run that is not before the goal.  What a leap leaves out
 * counts for the latest time in its run, as far as the header behind it tells.
 */
static int search(struct chario_reader *reader, struct best *best)
{
	bool is_compared = false;
	struct chario_record record;
	uint64_t latest = 0, newest, segment;
	int ret = begin(reader, &newest);

	while (ret >= 0 && (ret = chario_reader_try(reader, &record)) == 1) {
		if (chario_disk_turns(latest, record.time_ns)) {
			is_compared = false;
			latest = 0;
		}
		latest = MAX(latest, record.time_ns);
		if (!is_compared && record.time_ns >= best->goal_ns) {
			compare(best, &record);
			is_compared = true;
		}
		if (best->found && best->time_ns == best->goal_ns)
			return 0;
		segment = reader->last.segment;
		ret = leave_out(reader, !is_compared, best->goal_ns, newest);
		if (reader->last.segment != segment)
			latest = MAX(latest, reader->last.time_ns);
	}
	return ret == -ENODATA ? 0 : ret;
}

int chario_reader_seek_time(struct chario_reader *reader, uint64_t time_ns)
{
	struct best best = { .goal_ns = time_ns };
	int err = search(reader, &best);

	if (err)
		return err;
	err = chario_reader_seek(reader, best.found ? best.sequence : UINT64_MAX);
	/* An earlier record of this number may lie at the place, or one come that is too early. */
	reader->from_time_ns = time_ns;
	return err;
}
