/* SPDX-License-Identifier: MIT */
/*
 * The source of a put: a file, which can be read from any place and recognised; a disk, which
 * can be read from any place; or a pipe.
 */
#ifndef CHARIO_CLI_SOURCE_H
#define CHARIO_CLI_SOURCE_H

#include <sys/stat.h>

#include "cli.h"

/**
 * struct cli_source - a source
 * @name: name for messages
 * @fd: descriptor open for reading
 * @position: offset at which it was opened; -1 if it has none
 * @bytes: number of bytes to read from there on
 * @is_seekable: true if it can be read from any place, and is read from its beginning
 * @tag: number by which a file is recognised; 0 for all others
 * @begin: status when it was opened
 */
struct cli_source {
	const char *name;
	int fd;
	off_t position;
	uint64_t bytes;
	bool is_seekable;
	uint64_t tag;
	struct stat begin;
};

/*
 * Open @file, "-" for standard input, to read @bytes, or all of it if @bytes is 0.  Returns
 * CLI_OK, or an exit code after a message.
 */
int cli_source_open(const struct cli *cli, struct cli_source *source, const char *file,
		    uint64_t bytes);

/* Move the position behind what was put, where the next program with the same file goes on. */
void cli_source_pass(const struct cli_source *source);
void cli_source_close(struct cli_source *source);

/* Returns whether a file has changed since it was opened. */
bool cli_source_changed(const struct cli_source *source);

#endif /* CHARIO_CLI_SOURCE_H */
