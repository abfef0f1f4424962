/* SPDX-License-Identifier: MIT */
/* Copying the records of a recording to a file or a pipe; with --json, a line about each. */
#ifndef CHARIO_CLI_PLAYER_H
#define CHARIO_CLI_PLAYER_H

#include <stdio.h>

#include <chario/player.h>

#include "cli.h"
#include "elapsed.h"

/**
 * struct cli_player - a player and the destination of its records
 * @cli: call of the verb
 * @name: name of the area
 * @reader: open reader
 * @engine: player of the library, whose limits and flags the verb sets
 * @out: destination of the data
 * @to: name of the destination
 * @status: exit code for the last record
 * @is_limited: true if records are given up to a time since the first one
 * @limit_ns: limit, in nanoseconds since the first record
 * @end: number of the first record behind it; UINT64_MAX if none was there yet
 * @newest: newest record at that moment
 */
struct cli_player {
	const struct cli *cli;
	const char *name;
	struct chario_reader *reader;
	struct chario_player engine;
	FILE *out;
	const char *to;
	int status;
	bool is_limited;
	uint64_t limit_ns;
	uint64_t end;
	struct cli_elapsed newest;
};

/*
 * Open the store, and the recording that the first operand names; the caller closes the
 * reader.  Returns CLI_OK, or an exit code after a message.
 */
int cli_player_open(struct cli *cli, struct cli_player *player);

/*
 * Copy the records until the player or an interrupt ends.  Errors of the disk are reported.
 * Returns CLI_OK, or an exit code; there is no message if the reader of a pipe has left.
 */
int cli_player_run(struct cli_player *player);

/* Report missing records and an interrupt, and return an exit code for them. */
int cli_player_report(const struct cli_player *player, int status);

#endif /* CHARIO_CLI_PLAYER_H */
