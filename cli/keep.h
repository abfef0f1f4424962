/* SPDX-License-Identifier: MIT */
/*
 * Drives that an administrator wants with CharIO whenever they appear.
 */
#ifndef CHARIO_CLI_KEEP_H
#define CHARIO_CLI_KEEP_H

#include <chario/bind.h>
#include <chario/drive.h>

#include "cli.h"

/* Folder of the records of such drives. */
#define CLI_KEEP_FOLDER "/etc/chario/drives"

/* Record a drive that is bound, with these CHARIO_BIND_* bits.  Returns 0, or a negative errno after a message. */
int cli_keep(const struct cli *cli, const struct chario_drive *drive, uint32_t flags);

/*
 * Remove the record, and add its CHARIO_BIND_* bits to @flags.  Returns 1; 0 if there was
 * none; or a negative errno after a message.
 */
int cli_keep_no_more(const struct cli *cli, const struct chario_drive *drive, uint32_t *flags);

/*
 * Returns 1 if a drive is recorded, and adds the CHARIO_BIND_* bits of the record to @flags;
 * 0 if not; or a negative errno after a message.  Waits until its driver knows the identity
 * of the drive.
 */
int cli_is_kept(const struct cli *cli, const struct chario_drive *drive, uint32_t *flags);

#endif /* CHARIO_CLI_KEEP_H */
