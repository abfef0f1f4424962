/* SPDX-License-Identifier: MIT */
/* Checks that all data of a store can be read, and are whole if they have a checksum. */
#ifndef CHARIO_CLI_CHECK_DATA_H
#define CHARIO_CLI_CHECK_DATA_H

#include "store.h"

/*
 * Read all areas, and replay all recordings; losses are printed, or added to @findings with
 * --json.  Returns the number of areas with losses, or -1 after a message.
 */
int cli_check_data(struct cli *cli, bool quiet, struct json_object *findings);

#endif /* CHARIO_CLI_CHECK_DATA_H */
