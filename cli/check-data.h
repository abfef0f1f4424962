/* SPDX-License-Identifier: MIT */
/*
 * Whether all that a store holds can be read, and is whole where a checksum says so.
 */
#ifndef CHARIO_CLI_CHECK_DATA_H
#define CHARIO_CLI_CHECK_DATA_H

#include "store.h"

/*
 * Read all areas, and replay all recordings; what is lost is printed, or added to
 * @findings with --json.  The number of areas that have lost something, or -1 after a
 * message.
 */
int cli_check_data(const struct cli *cli, const char *store, bool quiet,
		   struct json_object *findings);

#endif /* CHARIO_CLI_CHECK_DATA_H */
