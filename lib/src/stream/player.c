// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* The loop of a player. */
#include <chario/player.h>

#include <errno.h>
#include <stdbool.h>
#include <sys/param.h>

#include "system/sys.h"

#define FLAGS (CHARIO_PLAYER_PACED | CHARIO_PLAYER_FOLLOW | CHARIO_PLAYER_META)

/* Longest wait without a call of the callback, in nanoseconds. */
#define WAIT_NS 200000000

/* Any longer time between two records is endless, and can be added to a time. */
#define LONGEST_NS 1000000000000000000ULL

/**
 * struct loop - a player under way
 * @player: the caller's options and result
 * @reader: reader of the recording
 * @ended: true if the player has ended, for the reason in @end of @player
 * @result: result of the player
 * @follows: true if the player waits for new records
 * @begin_ns: time when the first record was given, on CLOCK_MONOTONIC; 0 before
 * @first_ns: time of that record in the recording
 */
struct loop {
	struct chario_player *player;
	struct chario_reader *reader;
	bool ended;
	int result;
	bool follows;
	int64_t begin_ns;
	uint64_t first_ns;
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

/* Wait until the time between the first record and this one has passed. */
static void keep_pace(struct loop *loop, const struct chario_record *record)
{
	uint64_t after_ns;

	if (!loop->begin_ns) {
		loop->begin_ns = (int64_t)chario_sys_now();
		loop->first_ns = record->time_ns;
	}
	if (record->time_ns <= loop->first_ns)
		return;
	after_ns = MIN(record->time_ns - loop->first_ns, LONGEST_NS);
	do
		tell_wait(loop);
	while (!loop->ended && chario_sys_nap(loop->begin_ns + (int64_t)after_ns, WAIT_NS));
}

static void give(struct loop *loop, const struct chario_record *record)
{
	struct chario_player *player = loop->player;

	if (player->until_ns && record->time_ns > player->until_ns)
		stop(loop, CHARIO_PLAYER_LIMIT, 0);
	else if (player->flags & CHARIO_PLAYER_PACED)
		keep_pace(loop, record);
	if (loop->ended)
		return;
	player->records++;
	player->bytes += record->bytes;
	obey(loop, player->take(record, player->data));
	if (player->limit_records && player->records >= player->limit_records)
		stop(loop, CHARIO_PLAYER_LIMIT, 0);
}

/* After the end is known, look once more: records may have come just before it. */
static void go_on(struct loop *loop, bool is_end)
{
	if (!loop->follows)
		stop(loop, CHARIO_PLAYER_SOURCE, 0);
	loop->follows = !is_end;
	if (!loop->ended)
		tell_wait(loop);
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

static void turn(struct loop *loop)
{
	struct chario_record record;
	int err = chario_reader_next(loop->reader, loop->follows ? WAIT_NS : 0, &record);

	if (!err || err == -ENODATA)
		loop->player->missing += record.missing;
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

	if (player->size < sizeof(*player))
		return -EINVAL;
	player->end = CHARIO_PLAYER_START;
	player->reserved = 0;
	player->records = player->bytes = player->missing = player->errors = 0;
	if (player->flags & ~FLAGS || !player->take)
		return -EINVAL;
	loop.follows = player->flags & CHARIO_PLAYER_FOLLOW;
	while (!loop.ended)
		turn(&loop);
	return loop.result;
}
