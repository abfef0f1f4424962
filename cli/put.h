/* SPDX-License-Identifier: MIT */
/*
 * chario put: the common state of its parts.
 *
 * cmd-put.c		the copy of a source to a new area
 * put-changed.c	the change of an area to the content of a source
 */
#ifndef CHARIO_CLI_PUT_H
#define CHARIO_CLI_PUT_H

#include <chario/copy.h>

#include "progress.h"
#include "source.h"
#include "store.h"

/**
 * struct cli_put - a put
 * @cli: call of the verb
 * @name: name of the area
 * @into: name of the area that is written: @name or @beside
 * @beside: name of a new area that will replace the old one
 * @asked_bytes: number of bytes that --bytes gives; 0 without it
 * @force: true if an existing area is replaced
 * @remove_first: true if the old area is removed before the new one is written
 * @changed: true if only the blocks that differ are written to an existing area
 * @quiet: true if no progress is shown
 * @source: source of the content
 * @area: area that is written, open for writing
 * @progress: progress line
 * @start: offset in the area at which this run began, in bytes
 * @written: end of the part of the area that is as the source, in bytes
 * @saved: end of the part that is durable, as saved in the table, in bytes
 * @saved_ns: time at which that was saved on CLOCK_MONOTONIC, in nanoseconds
 * @nr_written: number of blocks that this run has written
 * @created: number of a new area that is removed if nothing could be read; 0 if there is none
 * @begun: true if the library had its memory, and the source could be read
 * @broken: true if the copy has ended with an error of a write
 * @unflushed: true if a flush has failed, so that written data may be lost
 */
struct cli_put {
	const struct cli *cli;
	const char *name;
	const char *into;
	char beside[CHARIO_STORE_NAME_MAX + 1];
	uint64_t asked_bytes;
	bool force;
	bool remove_first;
	bool changed;
	bool quiet;
	struct cli_source source;
	struct chario_area *area;
	struct cli_progress progress;
	uint64_t start;
	uint64_t written;
	uint64_t saved;
	uint64_t saved_ns;
	uint64_t nr_written;
	uint64_t created;
	bool begun;
	bool broken;
	bool unflushed;
};

/* Report a copy that has failed, by the step at which the library has stopped. */
int cli_put_fail_copy(const struct cli_put *put, const struct chario_copy *copy, int err);

/*
 * Give an existing area the content of the source, durably; only the blocks that differ are
 * written.  Returns CLI_OK, or CLI_FAILED after a message, which also describes the content
 * of the area.
 */
int cli_put_changed(struct cli_put *put, const struct chario_area_info *area);

#endif /* CHARIO_CLI_PUT_H */
