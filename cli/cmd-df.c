// SPDX-License-Identifier: MIT
/* chario df: the size and the free space of a store. */
#include <fcntl.h>

#include "store.h"

int cmd_df(struct cli *cli)
{
	struct chario_store *store;
	const char *given = NULL;
	int status = cli_store_option(cli, &given);

	if (status || !cli_has_operands(cli, 0, given ? 0 : 1))
		return CLI_USAGE;
	if (cli->argc)
		given = cli->argv[0];
	store = cli_open_store(cli, given, O_RDONLY);
	if (!store)
		return CLI_FAILED;
	status = cli_print_store(cli, store);
	chario_store_close(store);
	return status;
}
