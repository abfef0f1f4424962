/* SPDX-License-Identifier: MIT */
/*
 * What is put into an area: a file or a disk, which can be read from any place and
 * known again, or a pipe, which cannot.
 */
#ifndef CHARIO_CLI_SOURCE_H
#define CHARIO_CLI_SOURCE_H

#include <sys/stat.h>

#include "cli.h"

/**
 * struct cli_source - a source
 * @name: for messages
 * @fd: open for reading
 * @bytes: to be read
 * @tag: by which it is known again; 0 for a pipe
 * @begin: what it was when it was opened
 */
struct cli_source {
	const char *name;
	int fd;
	uint64_t bytes;
	uint64_t tag;
	struct stat begin;
};

/*
 * Open @file, "-" for standard input; @bytes of it, or 0 for all.  CLI_OK, or a message
 * and an exit code.
 */
int cli_source_open(const struct cli *cli, struct cli_source *source, const char *file,
		    uint64_t bytes);
void cli_source_close(struct cli_source *source);

/* Whether it is no longer what it was. */
bool cli_source_changed(const struct cli_source *source);

#endif /* CHARIO_CLI_SOURCE_H */
