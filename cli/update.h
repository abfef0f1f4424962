/* SPDX-License-Identifier: MIT */
/*
 * An update: an area that is there gets the content of a source, and only the blocks
 * that differ are written.
 */
#ifndef CHARIO_CLI_UPDATE_H
#define CHARIO_CLI_UPDATE_H

#include "source.h"
#include "store.h"

/**
 * struct cli_update - an update
 * @cli: the call
 * @name: of the area
 * @source: what the area is to hold
 * @quiet: no progress
 * @area: open for writing
 * @done_bytes: that are known to be the same
 * @nr_written: blocks that were not, and have been written
 */
struct cli_update {
	const struct cli *cli;
	const char *name;
	const struct cli_source *source;
	bool quiet;
	struct chario_area *area;
	uint64_t done_bytes;
	uint64_t nr_written;
};

/*
 * Give an area the length of the source: with @force it is resized, otherwise another
 * length is refused.  CLI_OK, or a message and CLI_FAILED.
 */
int cli_update_fit(const struct cli_update *update, struct chario_store *store,
		   const struct chario_area_info *info, bool force);

/*
 * Do it: the first five members are set.  CLI_OK when the area holds what the source
 * holds, durably; or a message, also about what the area holds, and CLI_FAILED.
 */
int cli_update_run(struct cli_update *update, struct chario_store *store);

/* Blocks of so many bytes. */
uint64_t cli_count_blocks(uint64_t bytes);

#endif /* CHARIO_CLI_UPDATE_H */
