// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The loop of a player.
 *
 * The pace is that of CLOCK_BOOTTIME, as far as the recording has it: that clock is never set.
 * Otherwise the times of records count, as long as they can be the times of one clock.
 */
#include <chario/player.h>

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/param.h>

#include "stream/count.h"
#include "stream/reader-inner.h"
#include "system/sys.h"

/* Size in bytes of the first version of the struct. */
#define PLAYER_MIN offsetof(struct chario_player, from_ns)

#define FLAGS (CHARIO_PLAYER_PACED | CHARIO_PLAYER_FOLLOW | CHARIO_PLAYER_META)

/* Longest wait without a call of the callback, in nanoseconds. */
#define WAIT_NS 200000000

/* Any longer time between two records is endless, and can be added to a time. */
#define LONGEST_NS 1000000000000000000ULL

/*
 * Times that go back further than records are out of order, or ahead further than anybody
 * wants to wait, are those of a clock that was set, or of another part.
 */
#define BACK_NS  10000000000ULL
#define AHEAD_NS 3600000000000ULL

/* A smaller difference between the offsets of two parts may be one of their measurement. */
#define OFFSET_NS 50000000

/**
 * enum pace - the clock that measures the time between two records
 * @PACE_UNKNOWN: no clock: the time is not known
 * @PACE_STEADY: CLOCK_BOOTTIME
 * @PACE_TIMES: the clock of their times
 */
enum pace {
	PACE_UNKNOWN,
	PACE_STEADY,
	PACE_TIMES,
};

/**
 * enum side - the place of a record's time
 * @SIDE_EARLY: before the range of the player
 * @SIDE_IN: in the range
 * @SIDE_LATE: behind the range
 */
enum side {
	SIDE_EARLY,
	SIDE_IN,
	SIDE_LATE,
};

/**
 * struct moment - the time of a record
 * @time_ns: time of the record, nanoseconds since 1970
 * @clock: clock of the record
 * @at_ns: time at which the record is due, since the first, in nanoseconds
 */
struct moment {
	uint64_t time_ns;
	struct chario_reader_clock clock;
	uint64_t at_ns;
};

/**
 * struct loop - a player under way
 * @player: the caller's options and result
 * @reader: reader of the recording
 * @ended: true if the player has ended, for the reason in @end of @player
 * @result: result of the player
 * @has_step: true if the caller knows of the members from @from_ns on
 * @from_ns: time before which records are not given
 * @follows: true if the player waits for new records
 * @side: place of the time of the record that was read last
 * @time_ns: time of the record that was read last; 0 before
 * @begin_ns: time when the first record was given, on CLOCK_MONOTONIC; 0 before
 * @is_begun: true if a record has been given
 * @pace: clock of the pace
 * @last: time of the record before
 * @base: time of the record that the pace is counted from
 */
struct loop {
	struct chario_player *player;
	struct chario_reader *reader;
	bool ended;
	int result;
	bool has_step;
	uint64_t from_ns;
	bool follows;
	enum side side;
	uint64_t time_ns;
	int64_t begin_ns;
	bool is_begun;
	enum pace pace;
	struct moment last;
	struct moment base;
};

static void stop(struct loop *loop, enum chario_player_end end, int result)
{
	if (loop->ended)
		return;
	loop->ended = true;
	loop->player->end = end;
	loop->result = result;
}

/* Obey the result of a callback. */
static void obey(struct loop *loop, int result)
{
	if (result)
		stop(loop, CHARIO_PLAYER_STOPPED, result);
}

static void tell_wait(struct loop *loop)
{
	const struct chario_player *player = loop->player;

	if (player->wait)
		obey(loop, player->wait(player, player->data));
}

static bool is_steady(const struct moment *from, const struct moment *to)
{
	return from->clock.is_steady && to->clock.is_steady && from->clock.part == to->clock.part;
}

/* Returns by how much the offsets of the clocks of two records differ. */
static int64_t compare_offsets(const struct moment *from, const struct moment *to)
{
	return (int64_t)((uint64_t)to->clock.offset_ns - (uint64_t)from->clock.offset_ns);
}

/*
 * Returns whether two parts have most likely been recorded without a restart of the machine
 * between them: CLOCK_BOOTTIME has gone on, and by the clock of both the machine has started
 * before the first record.  The recording itself does not tell.  A time that goes back wraps.
 */
static bool is_one_boot(const struct moment *from, const struct moment *to)
{
	uint64_t from_ns = from->clock.boottime_ns, to_ns = to->clock.boottime_ns;

	return from->clock.is_steady && to->clock.is_steady && to_ns - from_ns <= AHEAD_NS &&
	       compare_offsets(from, to) < (int64_t)from_ns;
}

/* Returns whether two times that are not of the system's clock can be of one clock. */
static bool is_one_clock(const struct moment *from, const struct moment *to)
{
	if (to->time_ns < from->time_ns)
		return from->time_ns - to->time_ns <= BACK_NS;
	return to->time_ns - from->time_ns <= AHEAD_NS;
}

/* Returns by how much the clock was set between a record and the next, in nanoseconds. */
static int64_t find_step(const struct moment *from, const struct moment *to)
{
	int64_t step_ns = compare_offsets(from, to);

	if (is_steady(from, to))
		return step_ns;
	if (is_one_boot(from, to))
		return step_ns < OFFSET_NS && step_ns > -OFFSET_NS ? 0 : step_ns;
	return is_one_clock(from, to) ? 0 : (int64_t)(to->time_ns - from->time_ns);
}

static enum pace find_pace(const struct moment *from, const struct moment *to)
{
	if (is_steady(from, to) || is_one_boot(from, to))
		return PACE_STEADY;
	return is_one_clock(from, to) ? PACE_TIMES : PACE_UNKNOWN;
}

/*
 * Find out when a record is due.  Where another clock begins, the count begins at the record
 * before.
 */
static void find_due(struct loop *loop, struct moment *to)
{
	enum pace pace = find_pace(&loop->last, to);
	uint64_t from_ns = 0, to_ns = 0;

	if (pace != loop->pace)
		loop->base = loop->last;
	loop->pace = pace;
	if (pace != PACE_UNKNOWN) {
		from_ns = pace == PACE_STEADY ? loop->base.clock.boottime_ns : loop->base.time_ns;
		to_ns = pace == PACE_STEADY ? to->clock.boottime_ns : to->time_ns;
	}
	to->at_ns = loop->base.at_ns +
		    MIN(chario_saturating_sub(to_ns, from_ns), LONGEST_NS - loop->base.at_ns);
}

/* Wait until the time between the first record and this one has passed. */
static void keep_pace(struct loop *loop, uint64_t at_ns)
{
	if (!loop->begin_ns)
		loop->begin_ns = (int64_t)chario_sys_now();
	if (!at_ns)
		return;
	do
		tell_wait(loop);
	while (!loop->ended && chario_sys_nap(loop->begin_ns + (int64_t)at_ns, WAIT_NS));
}

/* Tell where the clock was set, as far as anybody asks. */
static void tell_step(struct loop *loop, const struct moment *moment,
		      const struct chario_record *record)
{
	struct chario_player *player = loop->player;
	int64_t step_ns = find_step(&loop->last, moment);

	if (!step_ns || !loop->has_step)
		return;
	player->steps++;
	if (player->step)
		obey(loop,
		     player->step(record, step_ns, is_steady(&loop->last, moment), player->data));
}

/* Go on to the time of a record. */
static void pass_time(struct loop *loop, const struct chario_record *record)
{
	struct moment moment = {
		.time_ns = record->time_ns,
		.clock = loop->reader->clock,
	};

	if (loop->is_begun) {
		find_due(loop, &moment);
		tell_step(loop, &moment, record);
	}
	loop->last = moment;
	loop->is_begun = true;
	if (!loop->ended && loop->player->flags & CHARIO_PLAYER_PACED)
		keep_pace(loop, moment.at_ns);
}

static void fail(struct loop *loop, int err)
{
	struct chario_player *player = loop->player;

	player->errors++;
	if (err == -ENOMEM || err == -ESTALE || player->errors > player->limit_errors)
		stop(loop, CHARIO_PLAYER_READ, err);
	else if (player->fault)
		obey(loop, player->fault(err, player->data));
}

static enum side find_side(const struct loop *loop, uint64_t time_ns)
{
	if (time_ns < loop->from_ns)
		return SIDE_EARLY;
	return loop->player->until_ns && time_ns > loop->player->until_ns ? SIDE_LATE : SIDE_IN;
}

/*
 * Count the records that are missing before one, or before the end, unless the records before
 * and behind them are both early, or both late.  If the clock was set back between these two,
 * those that are missing may be of any time.
 */
static void count_missing(struct loop *loop, uint64_t missing, enum side side, uint64_t time_ns)
{
	if (side == SIDE_IN || side != loop->side || chario_disk_turns(loop->time_ns, time_ns))
		loop->player->missing += missing;
}

/*
 * Leave out a record whose time is not in the range.  Those behind it may be in the range, as
 * the clock may have been set; as many as possible are left out without being read.
 */
static void leave_out(struct loop *loop, const struct chario_record *record)
{
	bool is_early = loop->side == SIDE_EARLY;
	int err = 0;

	if (is_early || record->time_ns - loop->player->until_ns > CHARIO_DISK_TURN_NS)
		err = chario_reader_leave_run(loop->reader, is_early, loop->from_ns);
	if (err)
		fail(loop, err);
}

static void give(struct loop *loop, const struct chario_record *record)
{
	struct chario_player *player = loop->player;

	if (loop->side != SIDE_IN) {
		leave_out(loop, record);
		return;
	}
	pass_time(loop, record);
	if (loop->ended)
		return;
	player->records++;
	player->bytes += record->bytes;
	obey(loop, player->take(record, player->data));
	if (player->limit_records && player->records >= player->limit_records)
		stop(loop, CHARIO_PLAYER_LIMIT, 0);
}

/*
 * After the end is known, look once more: records may have come just before it.  Behind a
 * record that is too late none is waited for.
 */
static void go_on(struct loop *loop, bool is_end)
{
	if (loop->side == SIDE_LATE)
		stop(loop, CHARIO_PLAYER_LIMIT, 0);
	if (!loop->follows)
		stop(loop, CHARIO_PLAYER_SOURCE, 0);
	loop->follows = !is_end;
	if (!loop->ended)
		tell_wait(loop);
}

static void run_once(struct loop *loop)
{
	struct chario_record record;
	int err = chario_reader_next(loop->reader, loop->follows ? WAIT_NS : 0, &record);
	uint64_t time_ns = err ? UINT64_MAX : record.time_ns;
	enum side side = find_side(loop, time_ns);

	if (!err || err == -ENODATA || err == -EAGAIN)
		count_missing(loop, record.missing, side, time_ns);
	if (!err) {
		loop->side = side;
		loop->time_ns = time_ns;
	}
	if (err == -ENODATA || err == -EAGAIN)
		go_on(loop, err == -ENODATA);
	else if (err)
		fail(loop, err);
	else if (!(record.flags & CHARIO_RECORD_META) || loop->player->flags & CHARIO_PLAYER_META)
		give(loop, &record);
}

int chario_player_run(struct chario_reader *reader, struct chario_player *player)
{
	struct loop loop = { .player = player, .reader = reader };

	if (player->size < PLAYER_MIN)
		return -EINVAL;
	loop.has_step = player->size >= sizeof(*player);
	player->end = CHARIO_PLAYER_START;
	player->reserved = 0;
	player->records = player->bytes = player->missing = player->errors = 0;
	if (loop.has_step) {
		player->steps = 0;
		loop.from_ns = player->from_ns;
	}
	if (player->flags & ~FLAGS || !player->take)
		return -EINVAL;
	loop.side = loop.from_ns ? SIDE_EARLY : SIDE_IN;
	loop.follows = player->flags & CHARIO_PLAYER_FOLLOW;
	while (!loop.ended)
		run_once(&loop);
	return loop.result;
}
