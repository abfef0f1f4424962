// SPDX-License-Identifier: MIT
/*
 * chario resize: an area becomes longer or shorter.
 */
#include <errno.h>
#include <fcntl.h>

#include "store.h"

static int resize(const struct cli *cli, struct chario_store *store, const char *name,
		  uint64_t bytes)
{
	int err = chario_store_resize(store, name, bytes);

	if (!err)
		return CLI_OK;
	if (err != -EINVAL)
		return cli_fail_area(cli, err, "cannot resize \"%s\"", name);
	cli_say(cli,
		"\"%s\" holds a recording, whose length stays: chario rm it and create another",
		name);
	return CLI_FAILED;
}

int cmd_resize(struct cli *cli)
{
	struct chario_store *store;
	uint64_t bytes;
	int status;

	if (cli_parse_common(cli) || !cli_has_operands(cli, 2, 2) ||
	    cli_need_size(cli, cli->argv[1], &bytes))
		return CLI_USAGE;
	store = cli_open_store(cli, O_RDWR);
	if (!store)
		return CLI_FAILED;
	status = resize(cli, store, cli->argv[0], bytes);
	if (!status)
		status = cli_print_area_json(cli, store, cli->argv[0]);
	chario_store_close(store);
	return status;
}
