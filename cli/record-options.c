// SPDX-License-Identifier: MIT
/* The options of a recording. */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "capacity.h"
#include "record.h"

#define NS_PER_S  1000000000ULL
#define NS_PER_MS 1000000ULL

#define USUAL_RECORD (64U << 10)
#define MOST_BUFFERS 64
#define MOST_MS      3600000
#define MOST_SECONDS 1e9

static bool parse_number(const char *text, unsigned long least, unsigned long most,
			 unsigned long *number)
{
	char *end;

	errno = 0;
	*number = strtoul(text, &end, 10);
	return !errno && end != text && !*end && *text != '-' && *number >= least &&
	       *number <= most;
}

static int parse_ms(const struct cli *cli, const char *text, uint64_t *ns)
{
	unsigned long ms;

	if (!parse_number(text, 1, MOST_MS, &ms))
		return cli_usage(cli, "\"%s\" is not a number of milliseconds from 1 to 3600000",
				 text);
	*ns = ms * NS_PER_MS;
	return CLI_OK;
}

static int parse_seconds(const struct cli *cli, const char *text, uint64_t *ns)
{
	char *end;
	double seconds = strtod(text, &end);

	if (end == text || *end || !(seconds > 0) || seconds > MOST_SECONDS)
		return cli_usage(cli, "\"%s\" is not a number of seconds", text);
	*ns = (uint64_t)(seconds * (double)NS_PER_S) + 1;
	return CLI_OK;
}

static int parse_durability(const struct cli *cli, const char *text, uint32_t *durability)
{
	const char *name;

	for (uint32_t i = 0; (name = cli_record_durability(i)); i++) {
		if (!strcmp(name, text)) {
			*durability = i;
			return CLI_OK;
		}
	}
	return cli_usage(cli, "\"%s\" is not auto, none, flush or fua", text);
}

static int parse_segment(const struct cli *cli, const char *text, uint32_t *bytes)
{
	uint64_t size;

	if (!cli_parse_size(text, &size) || size < 8192 || size > 128U << 20 ||
	    size % CHARIO_STORE_BLOCK)
		return cli_usage(cli, "\"%s\" is not a multiple of 4k from 8k to 128M", text);
	*bytes = (uint32_t)size;
	return CLI_OK;
}

static int parse_buffers(const struct cli *cli, const char *text, uint32_t *buffers)
{
	unsigned long number;

	if (!parse_number(text, 2, MOST_BUFFERS, &number))
		return cli_usage(cli, "\"%s\" is not a number of buffers from 2 to 64", text);
	*buffers = (uint32_t)number;
	return CLI_OK;
}

static int parse_flag(struct cli_record *record, int option)
{
	switch (option) {
	case 's':
		record->store_name = optarg;
		return CLI_OK;
	case 'f':
		record->from = optarg;
		return CLI_OK;
	case 'r':
		record->options.flags |= CHARIO_STREAM_RING;
		return CLI_OK;
	case 'a':
		record->options.flags |= CHARIO_STREAM_APPEND;
		return CLI_OK;
	case 'D':
		record->recorder.flags |= CHARIO_RECORDER_DROP;
		return CLI_OK;
	case 'N':
		record->dry_run = true;
		return CLI_OK;
	case 'F':
		record->force = true;
		return CLI_OK;
	case 'q':
		record->quiet = true;
		return CLI_OK;
	}
	return CLI_USAGE;
}

static int parse_option(const struct cli *cli, struct cli_record *record, int option)
{
	switch (option) {
	case 'S':
		return cli_need_size(cli, optarg, &record->size) ? CLI_OK : CLI_USAGE;
	case 'b':
		return cli_need_size(cli, optarg, &record->recorder.limit_bytes) ? CLI_OK :
										   CLI_USAGE;
	case 't':
		return parse_seconds(cli, optarg, &record->recorder.limit_ns);
	case 'R':
		return cli_need_record_size(cli, optarg, &record->options.record_bytes) ? CLI_OK :
											  CLI_USAGE;
	case 'd':
		return parse_durability(cli, optarg, &record->options.durability);
	case 'm':
		return parse_ms(cli, optarg, &record->options.flush_ns);
	case 'l':
		return parse_ms(cli, optarg, &record->options.late_ns);
	case 'g':
		return parse_segment(cli, optarg, &record->options.segment_bytes);
	case 'n':
		return parse_buffers(cli, optarg, &record->options.nr_buffers);
	}
	return parse_flag(record, option);
}

int cli_record_parse(struct cli *cli, struct cli_record *record)
{
	int option, status = CLI_OK;

	while (!status && (option = cli_next_option(cli)) != CLI_NO_OPTION)
		status = parse_option(cli, record, option);
	if (status || !cli_has_operands(cli, 1, 1))
		return CLI_USAGE;
	if (record->dry_run && record->options.flags & CHARIO_STREAM_APPEND)
		return cli_usage(cli, "--dry-run tells of a new recording: leave --append away");
	record->name = cli->argv[0];
	record->sized = record->options.record_bytes;
	if (!record->sized)
		record->options.record_bytes = USUAL_RECORD;
	record->recorder.record_bytes = record->options.record_bytes;
	return CLI_OK;
}
