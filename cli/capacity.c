// SPDX-License-Identifier: MIT
/* The capacity of an area for a recording. */
#include "capacity.h"

#include <inttypes.h>
#include <stdio.h>

static void print_text(const char *name, uint64_t area_bytes, uint32_t record_bytes,
		       const struct chario_stream_fit *fit)
{
	char area[32], segment[32], memory[32], data[32], records[48];

	printf("%-14s %s, %s\n", "area", name, cli_exact_size(area, area_bytes));
	printf("%-14s %" PRIu64 " of %s; memory for %u (%s)\n", "segments", fit->segments,
	       cli_exact_size(segment, fit->segment_bytes), fit->nr_buffers,
	       cli_round_size(memory, (uint64_t)fit->segment_bytes * fit->nr_buffers));
	printf("%-14s %s of %" PRIu32 " bytes fit\n", "records",
	       cli_count(records, fit->records, "record"), record_bytes);
	printf("%-14s %s, %.1f %% of the area\n", "data", cli_round_size(data, fit->bytes),
	       100.0 * (double)fit->bytes / (double)area_bytes);
}

static void print_json(const char *name, uint64_t area_bytes, uint32_t record_bytes,
		       const struct chario_stream_fit *fit)
{
	struct json_object *object = cli_must(json_object_new_object());

	cli_json_text(object, "name", name);
	cli_json_number(object, "area_bytes", area_bytes);
	cli_json_number(object, "record_bytes", record_bytes);
	cli_json_number(object, "segment_bytes", fit->segment_bytes);
	cli_json_number(object, "segments", fit->segments);
	cli_json_number(object, "nr_buffers", fit->nr_buffers);
	cli_json_number(object, "records", fit->records);
	cli_json_number(object, "bytes", fit->bytes);
	cli_json_print(object);
}

int cli_find_capacity(const struct cli *cli, uint64_t area_bytes,
		      const struct chario_stream_options *options, struct chario_stream_fit *fit)
{
	char area[32];
	int err = chario_stream_get_fit(area_bytes, options, fit, sizeof(*fit));

	if (err)
		return cli_say(cli,
			       "no recording fits into %s: an area has two segments at least, "
			       "each as long as a record\na larger area, or shorter records, help",
			       cli_exact_size(area, area_bytes));
	if (options->record_bytes && !fit->records)
		return cli_say(cli,
			       "a record of %" PRIu32 " bytes does not fit into a segment of %s\n"
			       "--segment makes them longer",
			       options->record_bytes, cli_exact_size(area, fit->segment_bytes));
	return CLI_OK;
}

void cli_print_capacity(const struct cli *cli, const char *name, uint64_t area_bytes,
			const struct chario_stream_options *options,
			const struct chario_stream_fit *fit)
{
	if (cli->json)
		print_json(name, area_bytes, options->record_bytes, fit);
	else
		print_text(name, area_bytes, options->record_bytes, fit);
}
