/* SPDX-License-Identifier: MIT */
/*
 * The common part of bind and unbind: a drive goes from one driver to another, and a user
 * wants to know the outcome.
 */
#ifndef CHARIO_CLI_MOVE_H
#define CHARIO_CLI_MOVE_H

#include <chario/bind.h>
#include <chario/drive.h>

#include "cli.h"

/* Returns "no driver" for an empty name. */
const char *cli_driver_name(const char *driver);

/*
 * Print why a step failed, and which driver has the drive now.  If the drive is in use, print
 * the uses, and @force, which tells of the option that moves it all the same.
 */
void cli_say_step(const struct cli *cli, const struct chario_drive *drive, int err,
		  const struct chario_bind_result *result, const char *force);

/* Move one drive.  Returns 0, or a negative errno after a message. */
typedef int cli_mover(const struct cli *cli, const struct chario_drive *drive, uint32_t flags,
		      struct chario_bind_result *result);

/*
 * Move all drives of the operands, one after the other; a failure of one does not affect
 * the others.  Prints the JSON.  Returns an exit code.
 */
int cli_move_all(struct cli *cli, cli_mover *move, uint32_t flags);

#endif /* CHARIO_CLI_MOVE_H */
