// SPDX-License-Identifier: MIT
/*
 * chario rename: an area gets another name.
 */
#include <fcntl.h>

#include "store.h"

int cmd_rename(struct cli *cli)
{
	struct chario_store *store;
	const char *given = NULL;
	int err, status = cli_store_option(cli, &given);

	if (status || !cli_has_operands(cli, 2, 2))
		return CLI_USAGE;
	store = cli_open_store(cli, given, O_RDWR);
	if (!store)
		return CLI_FAILED;
	err = chario_store_rename(store, cli->argv[0], cli->argv[1]);
	status = err ? cli_fail_area(cli, err, "cannot rename \"%s\" to \"%s\"", cli->argv[0],
				     cli->argv[1]) :
		       cli_print_area_json(cli, store, cli->argv[1]);
	chario_store_close(store);
	return status;
}
