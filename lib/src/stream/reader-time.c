// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Going to a time.
 *
 * The clock may have been set while the recording was made, so the times of its records are
 * several runs: inside a run times do not go back.  The times of a batch tell its run, whose
 * number only grows, so a binary search finds the end of a run, and another one a time inside
 * a run.  Recordings of the first release tell of no runs: the headers of all segments are
 * read one by one.
 */
#include "stream/reader-inner.h"

#include <errno.h>

#include "system/sys.h"

/**
 * struct run - the segments that begin in one run of times
 * @first: header of the first of them
 * @has_times: true if @first has times
 * @run: number of the run, if it has
 * @end: number of the first segment behind them
 * @is_last: true if no other run follows
 * @next: header of the segment @end, unless @is_last is set
 */
struct run {
	struct chario_disk_batch first;
	bool has_times;
	uint64_t run;
	uint64_t end;
	bool is_last;
	struct chario_disk_batch next;
};

/* Returns whether the header that was read last belongs to a run. */
static bool is_in(const struct chario_tape *tape, const struct run *run)
{
	return tape->has_times && tape->times.run <= run->run;
}

static void end_run(struct run *run, const struct chario_disk_batch *next)
{
	run->is_last = false;
	run->end = next->segment;
	run->next = *next;
}

static int find_end_by_halves(struct chario_tape *tape, struct run *run)
{
	uint64_t inside = run->first.segment;
	struct chario_disk_batch found;

	while (run->end - inside > 1) {
		uint64_t middle = inside + (run->end - inside) / 2;
		int ret = chario_tape_first(tape, middle, run->end - 1, &found);

		if (ret < 0)
			return ret;
		if (!ret)
			run->end = middle;
		else if (is_in(tape, run))
			inside = found.segment;
		else
			end_run(run, &found);
	}
	/* Segments that are missing may lie before the next run. */
	if (!run->is_last)
		run->end = run->next.segment;
	return 0;
}

static int find_end_one_by_one(struct chario_tape *tape, struct run *run)
{
	uint64_t latest = run->first.time_ns;
	struct chario_disk_batch found;

	for (uint64_t segment = run->first.segment + 1; segment < run->end; segment++) {
		int ret = chario_tape_look(tape, segment, 0, &found);

		if (ret < 0)
			return ret;
		if (!ret)
			continue;
		if (tape->has_times || chario_disk_turns(latest, found.time_ns))
			end_run(run, &found);
		latest = MAX(latest, found.time_ns);
	}
	return 0;
}

/* Find the end of the run that @first of @run begins in.  Returns 0 or a negative errno. */
static int find_end(struct chario_tape *tape, uint64_t newest, struct run *run)
{
	run->end = newest + 1;
	run->is_last = true;
	return run->has_times ? find_end_by_halves(tape, run) : find_end_one_by_one(tape, run);
}

/*
 * Find the last segment of a run from @batch on that begins before a time; @batch stays if
 * there is none.  Returns 0 or a negative errno.
 */
static int find_before(struct chario_tape *tape, const struct run *run, uint64_t time_ns,
		       struct chario_disk_batch *batch)
{
	uint64_t end = run->end;
	struct chario_disk_batch found;

	while (end - batch->segment > 1) {
		uint64_t middle = batch->segment + (end - batch->segment) / 2;
		int ret = chario_tape_first(tape, middle, end - 1, &found);

		if (ret < 0)
			return ret;
		if (ret && found.time_ns < time_ns)
			*batch = found;
		else
			end = middle;
	}
	return 0;
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
 * Read a segment of a run, and on to the first record behind it of that time or later, or to
 * the end of the run: of each run in them, the first such record is compared.  Returns 0 or a
 * negative errno.
 */
static int read_segment(struct chario_reader *reader, const struct run *run,
			const struct chario_disk_batch *batch, struct best *best)
{
	bool is_compared = false;
	struct chario_record record;
	uint64_t latest = 0;
	int ret;

	chario_reader_reset(reader);
	ret = chario_reader_enter(reader, batch);
	while (ret == 1 && (ret = chario_reader_try(reader, &record)) == 1) {
		bool is_behind = reader->last.segment > batch->segment;

		/* Records of later runs are found from the beginning of their run. */
		if (!run->is_last && reader->last.segment > run->end)
			break;

		if (chario_disk_turns(latest, record.time_ns)) {
			is_compared = false;
			latest = 0;
		}
		latest = MAX(latest, record.time_ns);
		if (record.time_ns < best->goal_ns)
			continue;
		if (!is_compared)
			compare(best, &record);
		is_compared = true;
		if (is_behind)
			break;
	}
	return ret < 0 && ret != -ENODATA ? ret : 0;
}

/* A run may have begun in the segment before its first, unless that is of another part. */
static int begin_of(struct chario_tape *tape, const struct run *run,
		    struct chario_disk_batch *batch)
{
	struct chario_disk_batch before;
	int ret;

	*batch = run->first;
	if (!run->first.segment)
		return 0;
	ret = chario_tape_look(tape, run->first.segment - 1, 0, &before);
	if (ret > 0 && before.part == run->first.part)
		*batch = before;
	return ret < 0 ? ret : 0;
}

static int search_run(struct chario_reader *reader, const struct run *run, struct best *best)
{
	struct chario_disk_batch batch = run->first;
	int err;

	if (batch.time_ns >= best->goal_ns)
		err = begin_of(&reader->tape, run, &batch);
	else
		err = find_before(&reader->tape, run, best->goal_ns, &batch);
	return err ? err : read_segment(reader, run, &batch, best);
}

static int search(struct chario_reader *reader, struct best *best)
{
	struct chario_tape *tape = &reader->tape;
	struct run run = { 0 };
	uint64_t newest;
	int ret = chario_tape_newest(tape, &run.first);

	if (ret <= 0)
		return ret;
	newest = run.first.segment;
	ret = chario_tape_oldest(tape, newest, &run.first);
	while (ret > 0) {
		run.has_times = tape->has_times;
		run.run = tape->times.run;
		ret = find_end(tape, newest, &run);
		if (!ret)
			ret = search_run(reader, &run, best);
		if (ret || run.is_last || (best->found && best->time_ns == best->goal_ns))
			return ret;
		ret = chario_tape_first(tape, run.end, newest, &run.first);
	}
	return ret;
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

/* Go on with a segment, or a later one if it is missing.  Returns 0 or a negative errno. */
static int jump(struct chario_reader *reader, uint64_t segment, uint64_t newest)
{
	struct chario_disk_batch batch;
	int ret = chario_tape_first(&reader->tape, segment, newest, &batch);

	if (ret <= 0)
		return ret;
	reader->has_expected = false;
	chario_losses_reset(&reader->losses);
	ret = chario_reader_enter(reader, &batch);
	reader->done_bytes = 0;
	return ret < 0 ? ret : 0;
}

int chario_reader_leave_run(struct chario_reader *reader, bool is_early, uint64_t time_ns)
{
	struct chario_tape *tape = &reader->tape;
	struct run run = { .first = reader->last };
	struct chario_disk_batch batch;
	uint64_t segment = reader->last.segment, newest;
	int ret;

	/* The rest of the segment is read. */
	if (reader->has_left && reader->left == segment)
		return 0;
	run.has_times = reader->pile.has_times;
	run.run = reader->pile.times.run;
	ret = chario_tape_newest(tape, &batch);
	if (ret < 0)
		return ret;
	newest = MAX(ret ? batch.segment : segment, segment);
	ret = find_end(tape, newest, &run);
	if (ret)
		return ret;
	batch = reader->last;
	if (is_early)
		ret = find_before(tape, &run, time_ns, &batch);
	else
		batch.segment = run.end - 1;
	if (ret)
		return ret;
	reader->has_left = true;
	reader->left = batch.segment;
	return batch.segment > segment ? jump(reader, batch.segment, newest) : 0;
}
