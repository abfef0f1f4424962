// SPDX-License-Identifier: MIT
/* Copying the records of a recording to a file or a pipe. */
#include "player.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>

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

int cli_player_next(struct cli_player *player, int64_t timeout_ns, struct chario_record *record)
{
	for (;;) {
		int err = chario_reader_next(player->reader, timeout_ns, record);

		if (!err) {
			player->missing += record->missing;
			if (!(record->flags & CHARIO_RECORD_META))
				return 1;
		} else if (err == -ENODATA) {
			player->missing += record->missing;
			return 0;
		} else if (err == -EAGAIN) {
			return 0;
		} else if (err == -ENOMEM || ++player->errors > MOST_ERRORS) {
			return err;
		} else {
			cli_fail_area(player->cli, err, "a part of \"%s\" cannot be read",
				      player->name);
		}
	}
}

static void print_facts(const struct chario_record *record)
{
	struct json_object *object = cli_must(json_object_new_object());

	cli_json_number(object, "sequence", record->sequence);
	cli_json_number(object, "time_ns", record->time_ns);
	cli_json_number(object, "bytes", record->bytes);
	cli_json_number(object, "missing", record->missing);
	cli_json_flag(object, "checksum", !(record->flags & CHARIO_RECORD_NO_CRC));
	cli_json_print_line(object);
}

int cli_player_put(struct cli_player *player, const struct chario_record *record)
{
	player->records++;
	player->bytes += record->bytes;
	if (player->cli->json) {
		print_facts(record);
		return ferror(stdout) ? CLI_FAILED : CLI_OK;
	}
	if (fwrite(record->memory, 1, record->bytes, player->out) == record->bytes)
		return CLI_OK;
	if (errno != EPIPE && errno != EINTR)
		cli_fail_output(player->cli, -errno, player->to);
	return CLI_FAILED;
}

int cli_player_report(struct cli_player *player, int status)
{
	char missing[48];

	if (player->missing)
		cli_say(player->cli,
			"%s missing beside the %" PRIu64
			" that were read: lost when recording, overwritten, or damaged",
			cli_count(missing, player->missing, "record"), player->records);
	if (status)
		return status;
	if (player->errors)
		return CLI_FAILED;
	return player->missing ? CLI_WARNING : CLI_OK;
}
