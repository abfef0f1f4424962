/* SPDX-License-Identifier: MIT */
/* The capacity of an area for a recording. */
#ifndef CHARIO_CLI_CAPACITY_H
#define CHARIO_CLI_CAPACITY_H

#include <chario/stream.h>

#include "cli.h"

/* Bytes that a record can have. */
#define CLI_RECORD_RANGE { "a size from 1 to 64M", .least = 1, .most = 64 << 20, .is_size = true }

/* Compute the capacity of an area.  Returns CLI_FAILED after a message if no record fits. */
int cli_find_capacity(const struct cli *cli, uint64_t area_bytes,
		      const struct chario_stream_options *options, struct chario_stream_fit *fit);

/* Print the capacity for people or as JSON. */
void cli_print_capacity(const struct cli *cli, const char *name, uint64_t area_bytes,
			const struct chario_stream_options *options,
			const struct chario_stream_fit *fit);

#endif /* CHARIO_CLI_CAPACITY_H */
