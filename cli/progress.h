/* SPDX-License-Identifier: MIT */
/*
 * How far long work is, on a line of the terminal that stderr is.
 */
#ifndef CHARIO_CLI_PROGRESS_H
#define CHARIO_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/**
 * struct cli_progress - a line that tells of work
 * @what: is being worked on
 * @total_bytes: of the work
 * @first_bytes: that were done before it began, for the rate
 * @begin_ns: CLOCK_MONOTONIC
 * @shown_ns: when the line was drawn last; 0 while there is none
 * @silent: nothing is drawn: no terminal, or nobody wants it
 */
struct cli_progress {
	const char *what;
	uint64_t total_bytes;
	uint64_t first_bytes;
	uint64_t begin_ns;
	uint64_t shown_ns;
	bool silent;
};

/* CLOCK_MONOTONIC */
uint64_t cli_now_ns(void);

void cli_progress_begin(struct cli_progress *progress, const char *what, uint64_t done_bytes,
			uint64_t total_bytes, bool quiet);

/* Draws the line when the work has taken a second, ten times a second at most. */
void cli_progress_update(struct cli_progress *progress, uint64_t done_bytes);

/* Takes the line away, before anything else is said. */
void cli_progress_end(struct cli_progress *progress);

/* A line on stderr, which is a terminal, that the next one replaces. */
void cli_progress_line(const char *format, ...) __attribute__((__format__(__printf__, 1, 2)));

/* Takes the line away, where there is one. */
void cli_progress_clear(void);

#endif /* CHARIO_CLI_PROGRESS_H */
