// SPDX-License-Identifier: MIT
/* Copying the records of a recording to a file or a pipe. */
#include "player.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>

#include "interrupt.h"
#include "store.h"

/* Largest number of errors, so that a dead disk is not asked for each of its segments. */
#define MOST_ERRORS 100

int cli_player_open(struct cli *cli, struct cli_player *player)
{
	int err;

	if (!cli_open_store(cli, O_RDONLY))
		return CLI_FAILED;
	player->cli = cli;
	player->name = cli->argv[0];
	err = chario_reader_open(cli->store, player->name, &player->reader);
	return err ? cli_fail_area(cli, err, "cannot read \"%s\"", player->name) : CLI_OK;
}

static void print_facts(const struct chario_record *record, uint64_t boottime_ns)
{
	struct json_object *object = cli_must(json_object_new_object());

	cli_json_number(object, "sequence", record->sequence);
	cli_json_number(object, "time_ns", record->time_ns);
	if (boottime_ns)
		cli_json_number(object, "boottime_ns", boottime_ns);
	cli_json_number(object, "bytes", record->bytes);
	cli_json_number(object, "missing", record->missing);
	cli_json_flag(object, "checksum", !(record->flags & CHARIO_RECORD_NO_CRC));
	cli_json_print_line(object);
}

static int put(const struct cli_player *player, const struct chario_record *record)
{
	if (player->cli->json) {
		print_facts(record, chario_reader_boottime_ns(player->reader));
		return ferror(stdout) ? CLI_FAILED : CLI_OK;
	}
	if (fwrite(record->memory, 1, record->bytes, player->out) == record->bytes)
		return CLI_OK;
	if (errno != EPIPE && errno != EINTR)
		cli_fail_output(player->cli, -errno, player->to);
	return CLI_FAILED;
}

/* Records may have come since the limit was looked for. */
static bool is_past(const struct cli_player *player, const struct chario_record *record)
{
	const struct cli_elapsed mark = {
		.time_ns = record->time_ns,
		.boottime_ns = chario_reader_boottime_ns(player->reader),
	};

	if (!player->is_limited || player->end < UINT64_MAX)
		return player->is_limited && record->sequence >= player->end;
	return record->sequence > player->newest.sequence &&
	       player->newest.elapsed_ns + cli_elapsed_between(&player->newest, &mark) >
		       player->limit_ns;
}

static int take(const struct chario_record *record, void *data)
{
	struct cli_player *player = data;

	if (is_past(player, record)) {
		player->engine.records--;
		player->engine.bytes -= record->bytes;
		return 1;
	}
	player->status = put(player, record);
	return player->status || cli_interrupted();
}

static int tell_fault(int err, void *data)
{
	const struct cli_player *player = data;

	cli_fail_read(player->cli, err, "a part of \"%s\" cannot be read", player->name);
	return cli_interrupted();
}

/*
 * A step that the recording does not tell of matters to the pace only: it may be the time
 * between two parts, during which nothing was recorded.
 */
static int tell_step(const struct chario_record *record, int64_t step_ns, int is_sure, void *data)
{
	const struct cli_player *player = data;
	uint64_t ns = step_ns < 0 ? -(uint64_t)step_ns : (uint64_t)step_ns;
	char time[32];

	if (is_sure || player->engine.flags & CHARIO_PLAYER_PACED)
		cli_say(player->cli,
			"the clock %s set %s by %.3f s before record %" PRIu64 ", to %s%s",
			is_sure ? "was" : "seems to have been", step_ns < 0 ? "back" : "ahead",
			(double)ns / (double)NS_PER_S, record->sequence,
			cli_show_time(time, record->time_ns),
			is_sure || step_ns < 0 ?
				"" :
				", or nothing was recorded for so long: it is not waited for");
	return cli_interrupted();
}

static int flush(const struct chario_player *engine, void *data)
{
	const struct cli_player *player = data;

	(void)engine;
	return fflush(player->out) || cli_interrupted();
}

int cli_player_run(struct cli_player *player)
{
	struct chario_player *engine = &player->engine;
	int err;

	engine->size = sizeof(*engine);
	engine->limit_errors = MOST_ERRORS;
	engine->take = take;
	engine->fault = tell_fault;
	engine->wait = flush;
	engine->step = tell_step;
	engine->data = player;
	err = chario_player_run(player->reader, engine);
	return err < 0 ? cli_fail_read(player->cli, err, "cannot read \"%s\"", player->name) :
			 player->status;
}

int cli_player_report(const struct cli_player *player, int status)
{
	const struct chario_player *engine = &player->engine;
	char count[48];

	if (engine->missing)
		cli_say(player->cli,
			"%s missing beside the %" PRIu64
			" that were read: lost when recording, overwritten, or damaged",
			cli_count(count, engine->missing, "record"), engine->records);
	if (engine->end == CHARIO_PLAYER_STOPPED && cli_interrupted() &&
	    !(engine->flags & CHARIO_PLAYER_FOLLOW))
		return cli_say(player->cli, "stopped after %s",
			       cli_count(count, engine->records, "record"));
	if (status)
		return status;
	if (engine->errors)
		return CLI_FAILED;
	return engine->missing ? CLI_WARNING : CLI_OK;
}
