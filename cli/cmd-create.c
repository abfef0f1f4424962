// SPDX-License-Identifier: MIT
/*
 * chario create: an area that holds what its place held.
 */
#include <fcntl.h>

#include "store.h"

int cmd_create(struct cli *cli)
{
	struct chario_store *store;
	const char *given = NULL;
	uint64_t bytes;
	int err, status = cli_store_option(cli, &given);

	if (status || !cli_has_operands(cli, 2, 2) || !cli_need_size(cli, cli->argv[1], &bytes))
		return CLI_USAGE;
	store = cli_open_store(cli, given, O_RDWR);
	if (!store)
		return CLI_FAILED;
	err = chario_store_create(store, cli->argv[0], bytes, 0);
	status = err ? cli_fail_area(cli, err, "cannot create \"%s\"", cli->argv[0]) :
		       cli_print_area_json(cli, store, cli->argv[0]);
	chario_store_close(store);
	return status;
}
