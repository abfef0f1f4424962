/* SPDX-License-Identifier: MIT */
/* Checks that all data of a store can be read, and are whole if they have a checksum. */
#ifndef CHARIO_CLI_CHECK_DATA_H
#define CHARIO_CLI_CHECK_DATA_H

#include "store.h"

/**
 * struct cli_data - the result of a check of the data
 * @findings: array that the findings are added to with --json
 * @nr_lost: number of areas with losses
 * @nr_notes: number of areas that lack records which were not durable
 */
struct cli_data {
	struct json_object *findings;
	unsigned int nr_lost;
	unsigned int nr_notes;
};

/*
 * Read all areas, and replay all recordings; findings are printed, or added to @data with
 * --json.  Returns whether all was checked; if not, there was a message.
 */
bool cli_check_data(struct cli *cli, bool quiet, struct cli_data *data);

#endif /* CHARIO_CLI_CHECK_DATA_H */
