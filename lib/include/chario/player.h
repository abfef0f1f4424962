/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A player: gives the records of a recording to a function, one after the other.
 *
 * It gives them as fast as they can be read, or at the pace of the recording, from the place
 * of the reader to the newest, or for as long as the recording grows.
 *
 *	struct chario_player player = { .size = sizeof(player), .take = print, .data = file };
 *
 *	err = chario_player_run(reader, &player);
 *
 * The library handles no signal.  A signal whose handler was installed without SA_RESTART wakes
 * a player that waits for the time of a record; the player then asks @wait whether to go on.
 */
#ifndef CHARIO_PLAYER_H
#define CHARIO_PLAYER_H

#include <stdint.h>

#include <chario/reader.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Flags of &struct chario_player. */
#define CHARIO_PLAYER_PACED  (1U << 0) /* the time between records is that of the recording */
#define CHARIO_PLAYER_FOLLOW (1U << 1) /* wait for new records until the recording has ended */
#define CHARIO_PLAYER_META   (1U << 2) /* give records with CHARIO_RECORD_META, too */

/**
 * enum chario_player_end - the reason why a player has ended
 * @CHARIO_PLAYER_START: a wrong argument, before anything was read
 * @CHARIO_PLAYER_SOURCE: the end of the recording; without CHARIO_PLAYER_FOLLOW, the newest
 *	record
 * @CHARIO_PLAYER_LIMIT: a limit, of records or of time
 * @CHARIO_PLAYER_STOPPED: a result of a callback other than 0
 * @CHARIO_PLAYER_READ: a failed read of the recording
 */
enum chario_player_end {
	CHARIO_PLAYER_START,
	CHARIO_PLAYER_SOURCE,
	CHARIO_PLAYER_LIMIT,
	CHARIO_PLAYER_STOPPED,
	CHARIO_PLAYER_READ,
};

struct chario_player;

/**
 * chario_player_take - function that takes a record
 * @record: the record, valid until the function returns
 * @data: the caller's argument
 *
 * Return: 0 to go on; any other value ends the player, and is its result.
 */
typedef int chario_player_take(const struct chario_record *record, void *data);

/**
 * chario_player_fault - function that is told that the next part cannot be read
 * @err: negative errno, after which the player tries again
 * @data: the caller's argument
 *
 * Return: see chario_player_take().
 */
typedef int chario_player_fault(int err, void *data);

/**
 * chario_player_wait - function that is told that there is no record to give now
 * @player: the player with its present counters
 * @data: the caller's argument
 *
 * The function may pass on what has been gathered of earlier records.  It is called before
 * a player waits for the time of a record, after each signal that ends this wait, and at
 * least once a second while a player waits for that or for a new record.
 *
 * Return: see chario_player_take().
 */
typedef int chario_player_wait(const struct chario_player *player, void *data);

/**
 * chario_player_step - function that is told that the clock was set
 * @record: the first record with a time of the clock as it was set
 * @step_ns: nanoseconds by which it was set ahead, or back if negative
 * @is_sure: 1 if the recording says so; 0 for a guess: a new part begins, and its times of
 *	CLOCK_BOOTTIME, see chario_reader_boottime_ns(), go on as if the machine had not started
 *	anew; or the recording has no such times here, or the machine has started anew, and the
 *	time of the record is @step_ns after that of the one before: more than an hour later, or
 *	more than 10 s earlier
 * @data: the caller's argument
 *
 * It is called before a record that is given, if the clock was set since the record that was
 * given before it.
 *
 * Return: see chario_player_take().
 */
typedef int chario_player_step(const struct chario_record *record, int64_t step_ns, int is_sure,
			       void *data);

/**
 * struct chario_player - the options of a player, and its result
 * @size: sizeof(struct chario_player)
 * @flags: CHARIO_PLAYER_* bits
 * @until_ns: time in nanoseconds since 1970; records of a later time are not given, and the
 *	player ends when no other can follow; 0 for no limit
 * @limit_records: number of records to give; 0 for no limit
 * @limit_errors: number of errors after which the player goes on; 0 if the first ends it
 * @take: function that takes a record
 * @fault: function that is told of each error after which the player goes on, or NULL
 * @wait: function that is told of waits, or NULL
 * @data: argument of the functions, which use @reader no further than
 *	chario_reader_get_recording() and chario_reader_boottime_ns()
 * @end: &enum chario_player_end
 * @reserved: zero
 * @records: number of records given
 * @bytes: bytes of their data
 * @missing: number of records missing before, between and behind the records read, as
 *	&struct chario_record counts them; those between two records that are both too early, or
 *	both too late, count only if the clock was set back between the two
 * @errors: number of errors
 * @from_ns: time in nanoseconds since 1970; records of an earlier time are not given
 * @step: function that is told where the clock was set, or NULL
 * @steps: number of times that the clock was set, see chario_player_step()
 *
 * The caller sets the members up to @data, @from_ns and @step, the library the others.  A
 * caller that was made for an earlier version has a smaller @size, and no members from
 * @from_ns on.
 */
struct chario_player {
	uint32_t size;
	uint32_t flags;
	uint64_t until_ns;
	uint64_t limit_records;
	uint64_t limit_errors;
	chario_player_take *take;
	chario_player_fault *fault;
	chario_player_wait *wait;
	void *data;
	uint32_t end;
	uint32_t reserved;
	uint64_t records;
	uint64_t bytes;
	uint64_t missing;
	uint64_t errors;
	uint64_t from_ns;
	chario_player_step *step;
	uint64_t steps;
};

/**
 * chario_player_run() - give the records of a recording to a function
 * @reader: the reader, which stays open; it is behind the last record read afterwards
 * @player: options and result
 *
 * With CHARIO_PLAYER_PACED the first record is given at once, and each other one when as much
 * time has passed as between the two when they were recorded; late records are given at once.
 * That time is one of CLOCK_BOOTTIME: it goes on while the machine is suspended, and nobody
 * sets it.  If the recording does not have it, see &struct chario_record, and between the
 * parts of a recording, it is the difference of the times of the records; if it is negative,
 * or above an hour, so that the clock has been set or nothing was recorded, there is no wait.
 *
 * A range of times is that of @from_ns to @until_ns, wherever its records lie; records that
 * are left out are not missing.
 *
 * Damaged and unreadable records are missing, and no error, see chario_reader_next().  After
 * any other error but -ENOMEM and -ESTALE the player tries again, up to @limit_errors times.
 *
 * A recording that was interrupted has no end: with CHARIO_PLAYER_FOLLOW the player waits for
 * somebody to continue it.
 *
 * Context: may sleep.
 * Return: 0 with CHARIO_PLAYER_SOURCE and CHARIO_PLAYER_LIMIT; the result of a callback; or a
 * negative errno, whose reason is in @player->end: -EINVAL if a member is out of its range;
 * -EPERM in a child of fork(2); -ENOMEM; -ESTALE and the errors of pread(2), see
 * chario_reader_next().
 */
int chario_player_run(struct chario_reader *reader, struct chario_player *player);

#ifdef __cplusplus
}
#endif

#endif /* CHARIO_PLAYER_H */
