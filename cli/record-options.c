// SPDX-License-Identifier: MIT
/* The options of a recording. */
#include <stdlib.h>
#include <string.h>

#include "capacity.h"
#include "record.h"

#define NS_PER_MS 1000000ULL

#define USUAL_RECORD (64U << 10)
#define MOST_SECONDS 1e9

static const struct cli_range milliseconds = { "a number of milliseconds from 1 to 3600000",
					       .least = 1, .most = 3600000, .unit = NS_PER_MS };

static int parse_seconds(const struct cli *cli, char *text, void *to)
{
	uint64_t *ns = to;
	char *end;
	double seconds = strtod(text, &end);

	if (end == text || *end || !(seconds > 0) || seconds > MOST_SECONDS)
		return cli_usage(cli, "\"%s\" is not a number of seconds", text);
	*ns = (uint64_t)(seconds * (double)NS_PER_S) + 1;
	return CLI_OK;
}

static int parse_durability(const struct cli *cli, char *text, void *to)
{
	uint32_t *durability = to;

	for (uint32_t i = CHARIO_DURABILITY_AUTO; i <= CHARIO_DURABILITY_FUA; i++) {
		if (!strcmp(cli_record_durability(i), text)) {
			*durability = i;
			return CLI_OK;
		}
	}
	return cli_usage(cli, "\"%s\" is not auto, none, flush or fua", text);
}

int cli_record_parse(struct cli *cli, struct cli_record *record)
{
	struct chario_stream_options *options = &record->options;
	struct chario_recorder *recorder = &record->recorder;
	const struct cli_value values[] = {
		{ 'f', .text = &record->from },
		{ 'S', .size = &record->size },
		{ 'r', .bits = &options->flags, .value = CHARIO_STREAM_RING },
		{ 'a', .bits = &options->flags, .value = CHARIO_STREAM_APPEND },
		{ 'F', .flag = &record->force },
		{ 't', .parse = parse_seconds, .to = &recorder->limit_ns },
		{ 'b', .size = &recorder->limit_bytes },
		{ 'R', .small = &options->record_bytes, .range = CLI_RECORD_RANGE },
		{ 'd', .parse = parse_durability, .to = &options->durability },
		{ 'm', .number = &options->flush_ns, .range = milliseconds },
		{ 'l', .number = &options->late_ns, .range = milliseconds },
		{ 'g', .small = &options->segment_bytes,
		  .range = { "a multiple of 4k from 8k to 128M", .least = 8192, .most = 128 << 20,
			     .step = CHARIO_STORE_BLOCK, .is_size = true } },
		{ 'n', .small = &options->nr_buffers,
		  .range = { "a number of buffers from 2 to 64", .least = 2, .most = 64 } },
		{ 'D', .bits = &recorder->flags, .value = CHARIO_RECORDER_DROP },
		{ 'u', .flag = &record->urgent },
		{ 'N', .flag = &record->dry_run },
		{ 'q', .flag = &record->quiet },
		{ 0 },
	};

	if (cli_parse(cli, values) || !cli_has_operands(cli, 1, 1))
		return CLI_USAGE;
	if (record->dry_run && options->flags & CHARIO_STREAM_APPEND)
		return cli_usage(cli, "--dry-run tells of a new recording: leave --append away");
	if (record->force && options->flags & CHARIO_STREAM_APPEND)
		return cli_usage(
			cli,
			"--append goes on with a recording, --force begins a new one: give one of them");
	record->name = cli->argv[0];
	record->sized = options->record_bytes;
	if (!record->sized)
		options->record_bytes = USUAL_RECORD;
	recorder->record_bytes = options->record_bytes;
	return CLI_OK;
}
