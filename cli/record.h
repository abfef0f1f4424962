/* SPDX-License-Identifier: MIT */
/*
 * chario record: what its parts share.
 *
 * cmd-record.c		the area, the stream, the end
 * record-options.c	what is asked for
 * record-report.c	what has become of it
 */
#ifndef CHARIO_CLI_RECORD_H
#define CHARIO_CLI_RECORD_H

#include <chario/recorder.h>

#include "intake.h"
#include "store.h"

/**
 * struct cli_record - a recording
 * @cli: the call
 * @store_name: that was given, or NULL
 * @name: of the area
 * @from: the source
 * @size: of the area where it is missing; 0 where it has to be there
 * @force: although there is a recording
 * @dry_run: only say what fits
 * @sized: somebody has said how long a record is
 * @quiet: no line that tells how it goes
 * @options: of the stream
 * @intake: the source
 * @store: open
 * @stream: the recording
 * @recorder: the loop
 * @err: negative errno that the recorder has ended with, or 0
 * @begin_ns: when it began, CLOCK_MONOTONIC
 * @shown_ns: when the line was drawn last
 */
struct cli_record {
	const struct cli *cli;
	const char *store_name;
	const char *name;
	const char *from;
	uint64_t size;
	bool force;
	bool dry_run;
	bool sized;
	bool quiet;
	struct chario_stream_options options;
	struct cli_intake intake;
	struct chario_store *store;
	struct chario_stream *stream;
	struct chario_recorder recorder;
	int err;
	uint64_t begin_ns;
	uint64_t shown_ns;
};

/* Parse the options.  Returns CLI_OK, or CLI_USAGE after a message. */
int cli_record_parse(struct cli *cli, struct cli_record *record);

/* Returns a name such as "flush"; NULL if @durability is unknown. */
const char *cli_record_durability(uint32_t durability);

/* Print the report of a recording, for people or as JSON. */
void cli_record_print(const struct cli_record *record, const struct chario_stream_status *status,
		      uint64_t passed_ns);

#endif /* CHARIO_CLI_RECORD_H */
