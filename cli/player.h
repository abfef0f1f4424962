/* SPDX-License-Identifier: MIT */
/* Copying the records of a recording to a file or a pipe; with --json, a line about each. */
#ifndef CHARIO_CLI_PLAYER_H
#define CHARIO_CLI_PLAYER_H

#include <stdio.h>

#include <chario/reader.h>

#include "cli.h"

/**
 * struct cli_player - a reader and the destination of its records
 * @cli: call of the verb
 * @name: name of the area
 * @reader: open reader
 * @out: destination of the data
 * @to: name of the destination
 * @records: number of records copied
 * @bytes: bytes of these records
 * @missing: number of missing records between them
 * @errors: number of errors of the disk
 */
struct cli_player {
	const struct cli *cli;
	const char *name;
	struct chario_reader *reader;
	FILE *out;
	const char *to;
	uint64_t records;
	uint64_t bytes;
	uint64_t missing;
	uint64_t errors;
};

/*
 * Open the store, and the recording that the first operand names; the caller closes the
 * reader.  Returns CLI_OK, or an exit code after a message.
 */
int cli_player_open(struct cli *cli, struct cli_player *player);

/*
 * Find the next record of data.  Returns 1; 0 at the end, or if none arrived in
 * @timeout_ns; or a negative errno.  A part that the disk cannot read is reported and left
 * out.
 */
int cli_player_next(struct cli_player *player, int64_t timeout_ns, struct chario_record *record);

/*
 * Copy a record.  Returns CLI_OK, or an exit code; there is no message if the reader of a
 * pipe has left.
 */
int cli_player_put(struct cli_player *player, const struct chario_record *record);

/* Report missing records, and return an exit code for them. */
int cli_player_report(struct cli_player *player, int status);

#endif /* CHARIO_CLI_PLAYER_H */
