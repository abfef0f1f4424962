/* SPDX-License-Identifier: MIT */
/*
 * How much of a recording fits into an area.
 */
#ifndef CHARIO_CLI_CAPACITY_H
#define CHARIO_CLI_CAPACITY_H

#include <chario/stream.h>

#include "cli.h"

/* The bytes of a record, 1 to 64M; a message where the text is no such size. */
bool cli_need_record_size(const struct cli *cli, const char *text, uint32_t *bytes);

/* What fits into an area; a message where nothing does. */
bool cli_find_capacity(const struct cli *cli, uint64_t area_bytes,
		       const struct chario_stream_options *options, struct chario_stream_fit *fit);

/* The same, for people or as JSON. */
void cli_print_capacity(const struct cli *cli, const char *name, uint64_t area_bytes,
			const struct chario_stream_options *options,
			const struct chario_stream_fit *fit);

#endif /* CHARIO_CLI_CAPACITY_H */
