/* SPDX-License-Identifier: MIT */
/*
 * What chario timeline records, and what it makes of it.
 */
#ifndef CHARIO_CLI_TIMELINE_H
#define CHARIO_CLI_TIMELINE_H

#include <chario/timeline.h>

#include "cli.h"

/**
 * struct timeline_job - what the user wants
 * @seconds: to record; 0: until it is interrupted
 * @stop_above_ns: freeze at a longer request
 * @records: in each ring
 * @all: print every record
 * @tag: put a tag into the timeline of the parent, and nothing else
 * @value: of the tag
 */
struct timeline_job {
	double seconds;
	uint64_t stop_above_ns;
	uint32_t records;
	bool all;
	bool tag;
	uint64_t value;
};

/* Print what has been recorded; an exit code. */
int timeline_report(const struct cli *cli, const struct timeline_job *job,
		    const struct chario_timeline *timeline);

#endif /* CHARIO_CLI_TIMELINE_H */
