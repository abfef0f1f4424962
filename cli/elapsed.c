// SPDX-License-Identifier: MIT
/*
 * Times since the first record.  See elapsed.h.
 *
 * Two records whose two clocks differ by the same are of one start of the machine, and the clock
 * that is never set tells the time between them and any record in between.  Other stretches are
 * halved until a record and the next one are left, between which the clock was set, or the machine
 * has started anew.
 */
#include "elapsed.h"

#include <errno.h>
#include <stdbool.h>

#include <chario/player.h>

#include "cli.h"

/* Bytes among which a record with a boottime is looked for: near a setting of the clock some have none. */
#define DOUBTFUL (8U << 20)

/* A smaller difference between two parts is one of the measurement of their clocks. */
#define OFFSET_NS 50000000

/* A longer time between two parts is no sign that the machine has gone on; a player has the same. */
#define GAP_NS (3600 * NS_PER_S)

/* Nobody goes on with a recording after years: the clock has been wrong. */
#define YEAR_NS (365 * 24 * GAP_NS)

/* Read the record at a number, or the next one there.  Returns 0, -ENODATA, or another errno. */
static int look(struct chario_reader *reader, uint64_t sequence, struct cli_elapsed *mark)
{
	struct chario_record record;
	int err = chario_reader_seek(reader, sequence);

	if (!err)
		err = chario_reader_next(reader, 0, &record);
	if (err)
		return err == -EAGAIN ? -ENODATA : err;
	*mark = (struct cli_elapsed){ .sequence = record.sequence, .time_ns = record.time_ns };
	for (size_t bytes = 0; bytes < DOUBTFUL && !err; bytes += record.bytes + 1) {
		mark->boottime_ns = chario_reader_boottime_ns(reader);
		if (mark->boottime_ns) {
			mark->time_ns = record.time_ns;
			return 0;
		}
		err = chario_reader_next(reader, 0, &record);
	}
	return 0;
}

/* Returns by how much the difference of the two clocks has changed. */
static int64_t compare_offsets(const struct cli_elapsed *from, const struct cli_elapsed *to)
{
	return (int64_t)((to->time_ns - to->boottime_ns) - (from->time_ns - from->boottime_ns));
}

static bool goes_on(const struct cli_elapsed *from, const struct cli_elapsed *to)
{
	return from->boottime_ns && to->boottime_ns >= from->boottime_ns;
}

/* Returns whether the clock of two records is the same, and so tells the time between them. */
static bool is_one_clock(const struct cli_elapsed *from, const struct cli_elapsed *to)
{
	int64_t step_ns = compare_offsets(from, to);

	if (!from->boottime_ns && !to->boottime_ns)
		return to->time_ns >= from->time_ns;
	return goes_on(from, to) && step_ns < OFFSET_NS && step_ns > -OFFSET_NS;
}

uint64_t cli_elapsed_between(const struct cli_elapsed *from, const struct cli_elapsed *to)
{
	uint64_t boottime_ns = to->boottime_ns - from->boottime_ns;
	uint64_t time_ns = to->time_ns > from->time_ns ? to->time_ns - from->time_ns : 0;

	if (!goes_on(from, to))
		return time_ns;
	if (is_one_clock(from, to) || time_ns > YEAR_NS)
		return boottime_ns;
	/* By the clock of the later one, the machine has not started since the earlier one. */
	if (boottime_ns <= GAP_NS && compare_offsets(from, to) < (int64_t)from->boottime_ns)
		return boottime_ns;
	return time_ns;
}

static int pass(const struct chario_record *record, void *data)
{
	(void)record;
	(void)data;
	return 0;
}

static int note(const struct chario_record *record, int64_t step_ns, int is_sure, void *data)
{
	(void)record;
	(void)step_ns;
	*(bool *)data = is_sure;
	return 0;
}

/* Find the time between a record and the next one; a player knows if they are of one part. */
static int measure(struct chario_reader *reader, const struct cli_elapsed *from,
		   struct cli_elapsed *to)
{
	bool is_sure = false;
	struct chario_player player = {
		.size = sizeof(player),
		.flags = CHARIO_PLAYER_META,
		.limit_records = 2,
		.take = pass,
		.step = note,
		.data = &is_sure,
	};
	int err = chario_reader_seek(reader, from->sequence);

	if (!err)
		err = chario_player_run(reader, &player);
	to->elapsed_ns = from->elapsed_ns + (is_sure && goes_on(from, to) ?
						     to->boottime_ns - from->boottime_ns :
						     cli_elapsed_between(from, to));
	return err;
}

/*
 * Find the record between two of one clock; the later one comes late enough.  No record is between
 * @end and @to.
 */
static int halve(struct chario_reader *reader, uint64_t least_ns, struct cli_elapsed from,
		 struct cli_elapsed *to)
{
	uint64_t end = to->sequence;
	struct cli_elapsed middle;

	while (end - from.sequence > 1) {
		uint64_t half = from.sequence + (end - from.sequence) / 2;
		int err = look(reader, half, &middle);

		if (err)
			return err;
		middle.elapsed_ns = from.elapsed_ns + cli_elapsed_between(&from, &middle);
		if (middle.sequence < to->sequence && middle.elapsed_ns < least_ns) {
			from = middle;
			continue;
		}
		if (middle.sequence < to->sequence)
			*to = middle;
		end = half;
	}
	return 0;
}

/* Find a record between two.  Returns 1, 0 if there is none, or a negative errno. */
static int divide(struct chario_reader *reader, const struct cli_elapsed *from,
		  const struct cli_elapsed *to, struct cli_elapsed *middle)
{
	uint64_t end = to->sequence;

	while (end - from->sequence > 1) {
		uint64_t half = from->sequence + (end - from->sequence) / 2;
		int err = look(reader, half, middle);

		if (err || middle->sequence < to->sequence)
			return err ? err : 1;
		end = half;
	}
	return 0;
}

/*
 * Find the time of @to, and the record that is looked for if it is behind @from and not behind
 * @to.  Returns 1 if it is, and then it is in @to; 0; or a negative errno.
 */
static int search(struct chario_reader *reader, uint64_t least_ns, const struct cli_elapsed *from,
		  struct cli_elapsed *to)
{
	struct cli_elapsed middle;
	int ret;

	if (is_one_clock(from, to)) {
		to->elapsed_ns = from->elapsed_ns + cli_elapsed_between(from, to);
		if (to->elapsed_ns < least_ns)
			return 0;
		ret = halve(reader, least_ns, *from, to);
		return ret ? ret : 1;
	}
	ret = divide(reader, from, to, &middle);
	if (ret < 0)
		return ret;
	if (!ret) {
		ret = measure(reader, from, to);
		return ret ? ret : to->elapsed_ns >= least_ns;
	}
	ret = search(reader, least_ns, from, &middle);
	if (!ret)
		return search(reader, least_ns, &middle, to);
	*to = middle;
	return ret;
}

/* Read the newest record that can be read. */
static int look_at_newest(struct chario_reader *reader, struct cli_elapsed *last)
{
	struct chario_recording recording;
	int err = chario_reader_get_recording(reader, &recording, sizeof(recording));

	if (err)
		return err;
	err = -ENODATA;
	for (uint64_t back = 1; err == -ENODATA && back <= recording.next_record; back *= 2)
		err = look(reader, recording.next_record - back, last);
	return err;
}

int cli_elapsed_find(struct chario_reader *reader, uint64_t least_ns, struct cli_elapsed *found,
		     struct cli_elapsed *last)
{
	struct cli_elapsed first;
	int ret = look(reader, 0, &first);

	last->sequence = found->sequence = UINT64_MAX;
	if (!ret)
		ret = look_at_newest(reader, last);
	if (ret)
		return ret == -ENODATA ? 0 : ret;
	if (!least_ns) {
		*found = first;
		return 0;
	}
	*found = *last;
	ret = search(reader, least_ns, &first, found);
	last->elapsed_ns = found->elapsed_ns;
	if (!ret)
		found->sequence = UINT64_MAX;
	return ret < 0 ? ret : 0;
}
