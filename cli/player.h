/* SPDX-License-Identifier: MIT */
/*
 * Records of a recording, to a file or a pipe; with --json, a line about each.
 */
#ifndef CHARIO_CLI_PLAYER_H
#define CHARIO_CLI_PLAYER_H

#include <stdio.h>

#include <chario/reader.h>

#include "cli.h"

/**
 * struct cli_player - a reader and where its records go
 * @cli: the call
 * @name: of the area
 * @store: open
 * @reader: open
 * @out: where the data go
 * @to: name of it
 * @records: that went there
 * @bytes: of them
 * @missing: numbers between them
 * @errors: of the disk
 */
struct cli_player {
	const struct cli *cli;
	const char *name;
	struct chario_store *store;
	struct chario_reader *reader;
	FILE *out;
	const char *to;
	uint64_t records;
	uint64_t bytes;
	uint64_t missing;
	uint64_t errors;
};

/* CLI_OK, or a message and an exit code. */
int cli_player_open(struct cli_player *player, const char *store);
void cli_player_close(struct cli_player *player);

/*
 * The next record of data: 1; 0 at the end, or where none has come in @timeout_ns; a
 * negative errno.  What the disk cannot read is said and left out.
 */
int cli_player_next(struct cli_player *player, int64_t timeout_ns, struct chario_record *record);

/* Whether there is no more to come. */
bool cli_player_ended(struct cli_player *player);

/* CLI_OK, or an exit code; a reader of a pipe that has left gets no message. */
int cli_player_put(struct cli_player *player, const struct chario_record *record);

/* Says what is missing, and makes an exit code of it. */
int cli_player_report(struct cli_player *player, int status);

#endif /* CHARIO_CLI_PLAYER_H */
