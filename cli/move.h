/* SPDX-License-Identifier: MIT */
/*
 * What bind and unbind have in common: a drive goes from one driver to
 * another, and a user wants to know how far it came.
 */
#ifndef CHARIO_CLI_MOVE_H
#define CHARIO_CLI_MOVE_H

#include <chario/bind.h>
#include <chario/drive.h>

#include "cli.h"

/* Find a drive by what the user calls it: 0, or a negative errno and a message. */
int cli_find_drive(const struct cli *cli, const char *name, struct chario_drive *drive);

/* Say each use of a drive on stderr, one a line; returns how many there are. */
int cli_say_uses(const struct cli *cli, const struct chario_drive *drive);

/* Say why a step failed and where the drive is now. */
void cli_say_step(const struct cli *cli, const struct chario_drive *drive, int err,
		  const struct chario_bind_result *result);

/* The outcome as JSON, uses and disks included. */
struct json_object *cli_move_object(const struct chario_drive *drive, int err,
				    const struct chario_bind_result *result);

/* Moves one drive: 0, or a negative errno and a message. */
typedef int cli_mover(const struct cli *cli, const struct chario_drive *drive, uint32_t flags,
		      struct chario_bind_result *result);

/*
 * Move all drives that the operands name, each on its own: one that fails
 * does not keep the others.  Prints the JSON.  Returns an exit code.
 */
int cli_move_all(struct cli *cli, cli_mover *move, uint32_t flags);

#endif /* CHARIO_CLI_MOVE_H */
