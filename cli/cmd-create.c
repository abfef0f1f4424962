// SPDX-License-Identifier: MIT
/* chario create: an area with the old content of its place. */
#include <fcntl.h>

#include "capacity.h"
#include "store.h"

/**
 * struct creation - the job of the verb
 * @options: options of a recording with the size of its records; 0 if the user asks
 *	for no capacity
 * @bytes: length of the area in bytes
 */
struct creation {
	struct chario_stream_options options;
	uint64_t bytes;
};

static int parse_options(struct cli *cli, struct creation *creation)
{
	const struct cli_value values[] = {
		{ 'R', .small = &creation->options.record_bytes, .range = CLI_RECORD_RANGE },
		{ 0 },
	};

	if (cli_parse(cli, values) || !cli_has_operands(cli, 2, 2))
		return CLI_USAGE;
	return cli_need_size(cli, cli->argv[1], &creation->bytes);
}

/* If no record fits, refuse before the area is made. */
static int create(struct cli *cli, const struct creation *creation)
{
	const struct chario_stream_options *options = &creation->options;
	struct chario_stream_fit fit;
	int err;

	if (options->record_bytes && !cli_find_capacity(cli, creation->bytes, options, &fit))
		return CLI_FAILED;
	err = chario_store_create(cli->store, cli->argv[0], creation->bytes, 0);
	if (err)
		return cli_fail_create(cli, err, cli->argv[0]);
	if (!options->record_bytes)
		return cli_print_area_json(cli, cli->argv[0]);
	cli_print_capacity(cli, cli->argv[0], creation->bytes, options, &fit);
	return CLI_OK;
}

int cmd_create(struct cli *cli)
{
	/* These are the defaults of chario record. */
	struct creation creation = {
		.options.size = sizeof(creation.options),
		.options.flags = CHARIO_STREAM_DENSE,
	};
	int status = parse_options(cli, &creation);

	if (status)
		return status;
	return cli_open_store(cli, O_RDWR) ? create(cli, &creation) : CLI_FAILED;
}
