// SPDX-License-Identifier: MIT
/* chario tail: the newest records of a recording, and new ones. */
#include "interrupt.h"
#include "player.h"
#include "store.h"

#define USUAL_RECORDS 10

static int seek(const struct cli_player *player, uint64_t records)
{
	int err = chario_reader_seek_newest(player->reader, records);

	return err ? cli_fail_read(player->cli, err, "cannot find the end of \"%s\"",
				   player->name) :
		     CLI_OK;
}

int cmd_tail(struct cli *cli)
{
	struct cli_player player = { .out = stdout, .to = "standard output" };
	uint64_t records = USUAL_RECORDS;
	const struct cli_value values[] = {
		{ 'n', .number = &records, .range = { "a number of records" } },
		{ 'f', .bits = &player.engine.flags, .value = CHARIO_PLAYER_FOLLOW },
		{ 0 },
	};
	int status;

	if (cli_parse(cli, values) || !cli_has_operands(cli, 1, 1))
		return CLI_USAGE;
	status = cli_player_open(cli, &player);
	if (status)
		return status;
	cli_interrupt_catch();
	status = seek(&player, records);
	if (!status)
		status = cli_player_report(&player, cli_player_run(&player));
	chario_reader_close(player.reader);
	return status;
}
