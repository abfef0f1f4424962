/* SPDX-License-Identifier: MIT */
/*
 * Drives that an administrator wants with CharIO whenever they appear.
 */
#ifndef CHARIO_CLI_KEEP_H
#define CHARIO_CLI_KEEP_H

#include <chario/drive.h>

#include "cli.h"

/* Where the notes are. */
#define CLI_KEEP_FOLDER "/etc/chario/drives"

/* Note a drive that is bound: 0, or a negative errno and a message. */
int cli_keep(const struct cli *cli, const struct chario_drive *drive);

/* Forget it: 1; 0 where it was not noted; or a negative errno and a message. */
int cli_keep_no_more(const struct cli *cli, const struct chario_drive *drive);

/*
 * Whether a drive is noted: 1, 0, or a negative errno and a message.  Waits until its
 * driver can tell who it is.
 */
int cli_is_kept(const struct cli *cli, const struct chario_drive *drive);

#endif /* CHARIO_CLI_KEEP_H */
