// SPDX-License-Identifier: MIT
/* chario tail: the newest records of a recording, and new ones. */

#include "interrupt.h"
#include "player.h"
#include "store.h"

#define USUAL_RECORDS 10
#define WAIT_NS       200000000LL

/**
 * struct tail - a tail
 * @player: player of the records
 * @records: number of records to begin with
 * @follow: true to continue until the recording ends
 */
struct tail {
	struct cli_player player;
	uint64_t records;
	bool follow;
};

static int seek(const struct tail *tail)
{
	int err = chario_reader_seek_newest(tail->player.reader, tail->records);

	return err ? cli_fail_area(tail->player.cli, err, "cannot find the end of \"%s\"",
				   tail->player.name) :
		     CLI_OK;
}

/*
 * Returns whether to end when there is no record now: no more can follow, or the user does
 * not want them.
 */
static bool is_over(struct tail *tail)
{
	struct chario_recording recording;
	int err = chario_reader_get_recording(tail->player.reader, &recording, sizeof(recording));

	return !tail->follow || (!err && recording.ended);
}

static int play(struct tail *tail)
{
	struct cli_player *player = &tail->player;
	struct chario_record record;
	bool last = false;
	int status = CLI_OK;

	while (!status && !cli_interrupted()) {
		int ret = cli_player_next(player, tail->follow && !last ? WAIT_NS : 0, &record);

		if (ret < 0)
			return cli_fail_area(player->cli, ret, "cannot read \"%s\"", player->name);
		if (ret) {
			status = cli_player_put(player, &record);
			continue;
		}
		if (fflush(player->out) || last)
			break;
		/* Records that came before the end was known are read once more. */
		last = is_over(tail);
	}
	return status;
}

int cmd_tail(struct cli *cli)
{
	struct tail tail = {
		.player = { .out = stdout, .to = "standard output" },
		.records = USUAL_RECORDS,
	};
	const struct cli_value values[] = {
		{ 'n', .number = &tail.records, .range = { "a number of records" } },
		{ 'f', .flag = &tail.follow },
		{ 0 },
	};
	int status;

	if (cli_parse(cli, values) || !cli_has_operands(cli, 1, 1))
		return CLI_USAGE;
	status = cli_player_open(cli, &tail.player);
	if (status)
		return status;
	cli_interrupt_catch();
	status = seek(&tail);
	if (!status)
		status = cli_player_report(&tail.player, play(&tail));
	chario_reader_close(tail.player.reader);
	return status;
}
