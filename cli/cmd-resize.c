// SPDX-License-Identifier: MIT
/*
 * chario resize: an area becomes longer or shorter.
 */
#include <errno.h>
#include <fcntl.h>

#include "store.h"

static int resize(const struct cli *cli, const char *name, uint64_t bytes)
{
	int err = chario_store_resize(cli->store, name, bytes);

	if (!err)
		return cli_print_area_json(cli, name);
	if (err != -EINVAL)
		return cli_fail_area(cli, err, "cannot resize \"%s\"", name);
	return cli_say(
		cli,
		"\"%s\" holds a recording, whose length stays: chario rm it and create another",
		name);
}

int cmd_resize(struct cli *cli)
{
	uint64_t bytes;

	if (cli_parse_common(cli) || !cli_has_operands(cli, 2, 2) ||
	    cli_need_size(cli, cli->argv[1], &bytes))
		return CLI_USAGE;
	return cli_open_store(cli, O_RDWR) ? resize(cli, cli->argv[0], bytes) : CLI_FAILED;
}
