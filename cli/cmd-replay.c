// SPDX-License-Identifier: MIT
/*
 * chario replay: the records of a recording, as fast as possible or paced by their times.
 *
 * A file is FILE.part until all records are in it, so that FILE is never a part of them.  A FIFO
 * or a character device that is no disk is written to directly: nothing can be lost there.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <chario/device.h>

#include "interrupt.h"
#include "player.h"
#include "store.h"

#define BUFFER_BYTES ((size_t)1 << 20)
#define SUFFIX       ".part"

/**
 * struct replay - a replay
 * @player: player of the records
 * @from: earliest time of records as given by the user, or NULL
 * @until: latest time of records as given by the user, or NULL
 * @file: file for the data, or NULL
 * @part: name of the file until it is complete; empty if it is written to directly
 */
struct replay {
	struct cli_player player;
	const char *from;
	const char *until;
	const char *file;
	char part[PATH_MAX];
};

/* No record has a later time; a sum that is larger is this. */
static uint64_t add(uint64_t ns, uint64_t more_ns)
{
	return more_ns > UINT64_MAX - ns ? UINT64_MAX : ns + more_ns;
}

static uint64_t seconds_to_ns(uint64_t seconds)
{
	return seconds > UINT64_MAX / NS_PER_S ? UINT64_MAX : seconds * NS_PER_S;
}

/* Parse a fraction of a second, or nothing, and add it. */
static bool parse_fraction(const char *text, uint64_t *ns)
{
	uint64_t unit = NS_PER_S;

	if (!*text)
		return true;
	if (*text++ != '.' || !*text)
		return false;
	for (; *text >= '0' && *text <= '9'; text++) {
		unit /= 10;
		*ns = add(*ns, unit * (uint64_t)(*text - '0'));
	}
	return !*text;
}

/* Seconds that have no room are the largest number. */
static bool parse_whole(const char *text, const char **rest, uint64_t *seconds)
{
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	*seconds = strtoull(text, &end, 10);
	*rest = end;
	return true;
}

/* Returns whether the month has such a day; mktime() takes February 30 for March 2. */
static bool is_day(const struct tm *local)
{
	struct tm day = { .tm_year = local->tm_year,
			  .tm_mon = local->tm_mon,
			  .tm_mday = local->tm_mday };

	timegm(&day);
	return day.tm_mday == local->tm_mday;
}

static bool parse_date(const char *text, const char **rest, uint64_t *seconds)
{
	static const char *const forms[] = { "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S" };

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		struct tm local = { .tm_isdst = -1 };
		time_t time;

		*rest = strptime(text, forms[i], &local);
		if (!*rest)
			continue;
		if (!is_day(&local))
			return false;
		time = mktime(&local);
		*seconds = (uint64_t)time;
		return time >= 0;
	}
	return false;
}

/* Parse "2026-11-22 03:40:12.5", "@SECONDS" since 1970, or "+SECONDS" after the first record. */
static bool parse_time(const char *text, uint64_t *ns)
{
	uint64_t seconds;
	const char *rest;

	if (*text == '@' || *text == '+') {
		if (!parse_whole(text + 1, &rest, &seconds))
			return false;
	} else if (!parse_date(text, &rest, &seconds)) {
		return false;
	}
	*ns = seconds_to_ns(seconds);
	return parse_fraction(rest, ns);
}

/* Parse a time as given by the user, or NULL. */
static int need_time(const struct replay *replay, const char *text, uint64_t *ns)
{
	if (!text || parse_time(text, ns))
		return CLI_OK;
	return cli_usage(
		replay->player.cli,
		"\"%s\" is not a time: \"2026-11-22 03:40:12.5\" (from 1970 on), @SECONDS since "
		"1970, or +SECONDS after the first record",
		text);
}

static bool is_elapsed(const char *text)
{
	return text && *text == '+';
}

/*
 * Find the records of a time since the first one.  Where no record has a clock that is never set,
 * the times of records count, and they may be out of order.
 */
static int find_elapsed(struct replay *replay, struct chario_reader *reader)
{
	struct cli_player *player = &replay->player;
	struct chario_player *engine = &player->engine;
	uint64_t from_ns = engine->from_ns, until_ns = engine->until_ns;
	struct chario_recording recording;
	struct cli_elapsed found;
	int err = chario_reader_get_recording(reader, &recording, sizeof(recording));

	if (!err)
		err = cli_elapsed_find(reader, add(until_ns, 1), &found, &player->newest);
	if (err)
		return err;
	if (is_elapsed(replay->until))
		engine->until_ns = add(recording.first_time_ns, until_ns);
	if (is_elapsed(replay->from))
		engine->from_ns = add(recording.first_time_ns, from_ns);
	if (!player->newest.boottime_ns)
		return 0;
	if (is_elapsed(replay->until)) {
		engine->until_ns = 0;
		player->is_limited = true;
		player->limit_ns = until_ns;
		player->end = found.sequence;
	}
	if (!is_elapsed(replay->from))
		return 0;
	engine->from_ns = 0;
	err = cli_elapsed_find(reader, from_ns, &found, &player->newest);
	return err ? err : chario_reader_seek(player->reader, found.sequence);
}

/* Another reader searches, as the place of the player's tells how many records are missing. */
static int need_elapsed(struct replay *replay)
{
	struct cli_player *player = &replay->player;
	struct chario_reader *reader = NULL;
	int err;

	if (!is_elapsed(replay->from) && !is_elapsed(replay->until))
		return CLI_OK;
	err = chario_reader_open(player->cli->store, player->name, &reader);
	if (!err)
		err = find_elapsed(replay, reader);
	chario_reader_close(reader);
	return err ? cli_fail_read(player->cli, err, "cannot read \"%s\"", player->name) : CLI_OK;
}

static int find_range(struct replay *replay)
{
	struct chario_player *engine = &replay->player.engine;

	if (need_time(replay, replay->until, &engine->until_ns) ||
	    need_time(replay, replay->from, &engine->from_ns))
		return CLI_USAGE;
	if (replay->from && replay->until && engine->until_ns < engine->from_ns &&
	    is_elapsed(replay->from) == is_elapsed(replay->until))
		return cli_usage(replay->player.cli,
				 "--to-time \"%s\" is before --from-time \"%s\"", replay->until,
				 replay->from);
	return need_elapsed(replay);
}

static int run(struct replay *replay)
{
	struct cli_player *player = &replay->player;
	int status = find_range(replay);

	/* No record is of the beginning of 1970, which means no limit to a player. */
	if (status || (replay->until && !player->is_limited && !player->engine.until_ns))
		return status;
	setvbuf(player->out, NULL, _IOFBF, BUFFER_BYTES);
	cli_interrupt_catch();
	status = cli_player_run(player);
	if (!status && fflush(player->out))
		status = cli_fail_output(player->cli, -errno, player->to);
	return cli_player_report(player, status);
}

/* Returns whether the file keeps nothing: a FIFO, or a character device that is no disk. */
static bool keeps_nothing(const char *file)
{
	struct chario_info disk;
	struct stat status;

	if (stat(file, &status))
		return false;
	return S_ISFIFO(status.st_mode) ||
	       (S_ISCHR(status.st_mode) && !cli_look_for_disk(file, &disk));
}

static int open_directly(struct replay *replay)
{
	struct cli_player *player = &replay->player;
	int fd = open(replay->file, O_WRONLY | O_CLOEXEC | O_NOCTTY);

	player->to = replay->file;
	player->out = fd < 0 ? NULL : fdopen(fd, "w");
	return player->out ? CLI_OK : cli_fail_file(player->cli, -errno, "open", replay->file);
}

/* Do not overwrite an existing file: it may be the only copy of its content. */
static int open_part(struct replay *replay)
{
	struct cli_player *player = &replay->player;
	struct stat status;

	if (!lstat(replay->file, &status))
		return cli_say(player->cli, "\"%s\" is there already: %sname another file",
			       replay->file, S_ISREG(status.st_mode) ? "remove it, or " : "");
	if ((size_t)snprintf(replay->part, sizeof(replay->part), "%s%s", replay->file, SUFFIX) >=
	    sizeof(replay->part))
		return cli_fail_file(player->cli, -ENAMETOOLONG, "create", replay->file);
	player->to = replay->part;
	player->out = fopen(replay->part, "wxe");
	if (player->out)
		return CLI_OK;
	if (errno == EEXIST)
		return cli_say(player->cli,
			       "\"%s\" is there already: another chario writes it, or one was "
			       "stopped, and it can be removed",
			       replay->part);
	return cli_fail_file(player->cli, -errno, "create", replay->part);
}

static int open_output(struct replay *replay)
{
	if (!replay->file || !strcmp(replay->file, "-")) {
		replay->file = NULL;
		replay->player.to = "standard output";
		replay->player.out = stdout;
		return CLI_OK;
	}
	if (cli_check_path(replay->player.cli, replay->file))
		return CLI_FAILED;
	return keeps_nothing(replay->file) ? open_directly(replay) : open_part(replay);
}

/* Not every file system can keep a file that has come meanwhile. */
static int take_name(const struct replay *replay)
{
	if (!renameat2(AT_FDCWD, replay->part, AT_FDCWD, replay->file, RENAME_NOREPLACE))
		return 0;
	return errno == EINVAL && !rename(replay->part, replay->file) ? 0 : -errno;
}

/* Give a file with all records its name; what a failure has left of it stays apart. */
static int close_file(const struct replay *replay, int status)
{
	const struct cli_player *player = &replay->player;
	bool is_whole = !status || status == CLI_WARNING, is_part = replay->part[0];
	int err = 0;

	if (is_part && is_whole && fdatasync(fileno(player->out)))
		err = -errno;
	if (fclose(player->out) && is_whole && !err)
		err = -errno;
	if (err)
		return cli_fail_output(player->cli, err, player->to);
	if (!is_part)
		return status;
	if (is_whole)
		err = take_name(replay);
	else if (player->engine.records)
		cli_say(player->cli, "\"%s\" has what was read", replay->part);
	else
		unlink(replay->part);
	return err ? cli_fail_file(player->cli, err, "create", replay->file) : status;
}

static int parse_options(struct cli *cli, struct replay *replay)
{
	struct chario_player *engine = &replay->player.engine;
	const struct cli_value values[] = {
		{ 'p', .bits = &engine->flags, .value = CHARIO_PLAYER_PACED },
		{ 'F', .text = &replay->from },
		{ 'T', .text = &replay->until },
		{ 'n', .number = &engine->limit_records,
		  .range = { "a number of records from 1", .least = 1, .is_size = true } },
		{ 'o', .text = &replay->file },
		{ 0 },
	};

	if (cli_parse(cli, values) || !cli_has_operands(cli, 1, 1))
		return CLI_USAGE;
	if (cli->json && replay->file)
		return cli_usage(cli, "--json prints no data: leave --output away");
	return CLI_OK;
}

int cmd_replay(struct cli *cli)
{
	struct replay replay = { 0 };
	struct cli_player *player = &replay.player;
	int status = parse_options(cli, &replay);

	if (status)
		return status;
	status = cli_player_open(cli, player);
	if (status)
		return status;
	status = open_output(&replay);
	if (!status) {
		status = run(&replay);
		if (replay.file)
			status = close_file(&replay, status);
	}
	chario_reader_close(player->reader);
	return status;
}
