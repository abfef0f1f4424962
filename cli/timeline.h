/* SPDX-License-Identifier: MIT */
/* The job of chario timeline, and its report. */
#ifndef CHARIO_CLI_TIMELINE_H
#define CHARIO_CLI_TIMELINE_H

#include <chario/timeline.h>

#include "cli.h"

/**
 * struct timeline_job - the request of the user
 * @seconds: time to record in seconds; 0 to record until an interrupt
 * @stop_above_ns: time of a request in nanoseconds above which it freezes the rings
 * @records: number of records in each ring
 * @all: true to print every record
 * @tag: true to put a tag into the timeline of the parent, and do nothing else
 * @value: value of the tag
 */
struct timeline_job {
	double seconds;
	uint64_t stop_above_ns;
	uint32_t records;
	bool all;
	bool tag;
	uint64_t value;
};

/* Print the report.  Returns an exit code. */
int timeline_report(const struct cli *cli, const struct timeline_job *job,
		    const struct chario_timeline *timeline);

#endif /* CHARIO_CLI_TIMELINE_H */
