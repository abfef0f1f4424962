/* SPDX-License-Identifier: MIT */
/*
 * Times since the first record of a recording.
 *
 * They are those of a clock that is never set, as far as the recording has it.
 */
#ifndef CHARIO_CLI_ELAPSED_H
#define CHARIO_CLI_ELAPSED_H

#include <chario/reader.h>

/**
 * struct cli_elapsed - a record, and when it was recorded
 * @sequence: number of the record
 * @time_ns: time of the record, nanoseconds since 1970
 * @boottime_ns: time of the record, or of one close behind it, on a clock that is never set; 0 if
 *	that is not known
 * @elapsed_ns: time since the first record
 */
struct cli_elapsed {
	uint64_t sequence;
	uint64_t time_ns;
	uint64_t boottime_ns;
	uint64_t elapsed_ns;
};

/*
 * Find the first record that comes at least @least_ns after the first one.  If there is none yet,
 * the number in @found is UINT64_MAX.  @last is the newest record, or has this number if there is
 * none.  Returns 0 or a negative errno.
 */
int cli_elapsed_find(struct chario_reader *reader, uint64_t least_ns, struct cli_elapsed *found,
		     struct cli_elapsed *last);

/*
 * Returns the time between two records, where nothing tells whether the clock was set between
 * them.
 */
uint64_t cli_elapsed_between(const struct cli_elapsed *from, const struct cli_elapsed *to);

#endif /* CHARIO_CLI_ELAPSED_H */
