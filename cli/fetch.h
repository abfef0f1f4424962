/* SPDX-License-Identifier: MIT */
/* Copying the bytes of an area to a file descriptor. */
#ifndef CHARIO_CLI_FETCH_H
#define CHARIO_CLI_FETCH_H

#include <chario/store.h>

#include "cli.h"

/**
 * struct cli_fetch - an area and the destination of its bytes
 * @name: name of the area
 * @fd: descriptor open for writing
 * @to: name of the destination, for messages
 * @force: true to fetch an area that is not complete
 * @quiet: true to show no progress
 * @bytes: number of bytes fetched
 */
struct cli_fetch {
	const char *name;
	int fd;
	const char *to;
	bool force;
	bool quiet;
	uint64_t bytes;
};

/* Returns whether the area may be fetched, or false after a message; fills in @info. */
bool cli_fetch_allowed(const struct cli *cli, const struct cli_fetch *fetch,
		       struct chario_area_info *info);

/*
 * Fetch the area.  Returns CLI_OK, or an exit code after a message; there is no message if
 * the reader of a pipe has left.
 */
int cli_fetch_run(const struct cli *cli, struct cli_fetch *fetch);

#endif /* CHARIO_CLI_FETCH_H */
