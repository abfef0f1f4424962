/* SPDX-License-Identifier: MIT */
/*
 * The bytes of an area, into a file descriptor.
 */
#ifndef CHARIO_CLI_FETCH_H
#define CHARIO_CLI_FETCH_H

#include <chario/store.h>

#include "cli.h"

/**
 * struct cli_fetch - an area and where its bytes go
 * @store: open
 * @name: of the area
 * @fd: open for writing
 * @to: name of what @fd is, for messages
 * @force: although not all of it is there
 * @quiet: no progress
 * @bytes: that were fetched
 */
struct cli_fetch {
	struct chario_store *store;
	const char *name;
	int fd;
	const char *to;
	bool force;
	bool quiet;
	uint64_t bytes;
};

/* Whether it may be fetched; a message when not.  @info is filled in. */
bool cli_fetch_allowed(const struct cli *cli, const struct cli_fetch *fetch,
		       struct chario_area_info *info);

/* CLI_OK, or an exit code after a message; a reader of a pipe that has left gets none. */
int cli_fetch_run(const struct cli *cli, struct cli_fetch *fetch);

#endif /* CHARIO_CLI_FETCH_H */
