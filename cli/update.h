/* SPDX-License-Identifier: MIT */
/*
 * An update: an existing area gets the content of a source, and only the blocks that differ
 * are written.
 */
#ifndef CHARIO_CLI_UPDATE_H
#define CHARIO_CLI_UPDATE_H

#include "source.h"
#include "store.h"

/**
 * struct cli_update - an update
 * @cli: call of the verb
 * @name: name of the area
 * @source: source of the new content
 * @quiet: true if no progress is shown
 * @area: area, open for writing
 * @done_bytes: length of the part that is equal to the source
 * @nr_written: number of blocks that differed and have been written
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
 * Give an area the length of the source, if @force is set; otherwise refuse another length.
 * Returns CLI_OK, or CLI_FAILED after a message.
 */
int cli_update_fit(const struct cli_update *update, const struct chario_area_info *info,
		   bool force);

/*
 * Update an area; the caller has set @cli, @name, @source and @quiet.  Returns CLI_OK if the
 * area durably has the content of the source, or CLI_FAILED after a message, which also
 * describes the content of the area.
 */
int cli_update_run(struct cli_update *update);

/* Returns the number of blocks of @bytes. */
uint64_t cli_count_blocks(uint64_t bytes);

#endif /* CHARIO_CLI_UPDATE_H */
