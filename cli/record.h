/* SPDX-License-Identifier: MIT */
/*
 * chario record: the common state of its parts.
 *
 * cmd-record.c		the area, the stream, the end
 * record-options.c	the options
 * record-report.c	the report at the end
 */
#ifndef CHARIO_CLI_RECORD_H
#define CHARIO_CLI_RECORD_H

#include <chario/recorder.h>

#include "intake.h"
#include "store.h"

/**
 * struct cli_record - a recording
 * @cli: call of the verb
 * @name: name of the area
 * @from: source as given
 * @size: size in bytes of a new area if @name does not exist; 0 if it must exist
 * @force: true if an existing recording is replaced
 * @dry_run: true if only the capacity of the area is printed
 * @sized: true if the user has given the length of a record
 * @urgent: true if the block side stands back for the writes
 * @created: number of the area if it has been created for the recording, or 0
 * @quiet: true if no progress line is shown
 * @options: options of the stream
 * @intake: open source
 * @stream: open stream
 * @recorder: options and counters of chario_recorder_run()
 * @requests: number of requests to end that the recorder has been given
 * @err: negative errno that the recorder has ended with, or 0
 * @begun: status at the beginning, which tells of an older part of the recording
 * @begin_ns: time of the beginning on CLOCK_MONOTONIC
 * @shown_ns: time of the last progress line on CLOCK_MONOTONIC
 */
struct cli_record {
	const struct cli *cli;
	const char *name;
	const char *from;
	uint64_t size;
	bool force;
	bool dry_run;
	bool sized;
	bool urgent;
	uint64_t created;
	bool quiet;
	struct chario_stream_options options;
	struct cli_intake intake;
	struct chario_stream *stream;
	struct chario_recorder recorder;
	int requests;
	int err;
	struct chario_stream_status begun;
	uint64_t begin_ns;
	uint64_t shown_ns;
};

/* Parse the options.  Returns CLI_OK, or CLI_USAGE after a message. */
int cli_record_parse(struct cli *cli, struct cli_record *record);

/* Returns a name such as "flush"; "unknown" for another number. */
const char *cli_record_durability(uint32_t durability);

/* Returns how many bytes have been recorded per second, without those that were lost. */
uint64_t cli_record_rate(const struct cli_record *record, const struct chario_stream_status *status,
			 uint64_t passed_ns);

/* Print the report of a recording, for people or as JSON. */
void cli_record_print(const struct cli_record *record, const struct chario_stream_status *status,
		      uint64_t passed_ns);

#endif /* CHARIO_CLI_RECORD_H */
