/* SPDX-License-Identifier: MIT */
/* The progress of long work, on a line of the terminal at stderr. */
#ifndef CHARIO_CLI_PROGRESS_H
#define CHARIO_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/**
 * struct cli_progress - a line that shows progress
 * @what: name of the object of the work
 * @total_bytes: bytes of the whole work
 * @first_bytes: bytes that were done before it began, for the rate
 * @begin_ns: time of the beginning, CLOCK_MONOTONIC
 * @shown_ns: time when the line was drawn last; 0 while there is none
 * @silent: true to draw nothing: there is no terminal, or the user wants no line
 */
struct cli_progress {
	const char *what;
	uint64_t total_bytes;
	uint64_t first_bytes;
	uint64_t begin_ns;
	uint64_t shown_ns;
	bool silent;
};

/* Returns CLOCK_MONOTONIC in nanoseconds. */
uint64_t cli_now_ns(void);

/* Sleep until a time of CLOCK_MONOTONIC; a signal with a handler ends the sleep early. */
void cli_sleep_until(uint64_t time_ns);

void cli_progress_begin(struct cli_progress *progress, const char *what, uint64_t done_bytes,
			uint64_t total_bytes, bool quiet);

/* Draw the line if the work has taken a second, at most ten times a second. */
void cli_progress_update(struct cli_progress *progress, uint64_t done_bytes);

/* Remove the line, before any other message. */
void cli_progress_end(struct cli_progress *progress);

/* Draw a line on stderr, which is a terminal; the next line replaces it. */
void cli_progress_line(const char *format, ...) __attribute__((__format__(__printf__, 1, 2)));

/* Remove the line, if there is one. */
void cli_progress_clear(void);

#endif /* CHARIO_CLI_PROGRESS_H */
