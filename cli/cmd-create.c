// SPDX-License-Identifier: MIT
/* chario create: an area with the old content of its place. */
#include <fcntl.h>

#include "capacity.h"
#include "store.h"

/*
 * Create an area; @options has the size of the records of a recording, or 0.  If no record
 * fits, refuse before the area is made.
 */
static int create(struct cli *cli, uint64_t bytes, const struct chario_stream_options *options)
{
	const char *name = cli->argv[0];
	struct chario_stream_fit fit;
	int err;

	if (options->record_bytes && cli_find_capacity(cli, bytes, options, &fit))
		return CLI_FAILED;
	err = chario_store_create(cli->store, name, bytes, 0);
	if (err)
		return cli_fail_create(cli, err, name);
	if (!options->record_bytes)
		return cli_print_area_json(cli, name);
	cli_print_capacity(cli, name, bytes, options, &fit);
	return CLI_OK;
}

int cmd_create(struct cli *cli)
{
	/* These are the defaults of chario record. */
	struct chario_stream_options options = {
		.size = sizeof(options),
		.flags = CHARIO_STREAM_DENSE,
	};
	const struct cli_value values[] = {
		{ 'R', .small = &options.record_bytes, .range = CLI_RECORD_RANGE },
		{ 0 },
	};
	uint64_t bytes;

	if (cli_parse(cli, values) || !cli_has_operands(cli, 2, 2) ||
	    cli_need_size(cli, cli->argv[1], &bytes))
		return CLI_USAGE;
	return cli_open_store(cli, O_RDWR) ? create(cli, bytes, &options) : CLI_FAILED;
}
