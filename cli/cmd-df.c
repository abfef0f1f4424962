// SPDX-License-Identifier: MIT
/* chario df: the size and the free space of a store. */
#include <fcntl.h>

#include "store.h"

int cmd_df(struct cli *cli)
{
	struct chario_store *store;
	int status;

	if (cli_parse_common(cli) || !cli_has_store_operand(cli))
		return CLI_USAGE;
	store = cli_open_store(cli, O_RDONLY);
	if (!store)
		return CLI_FAILED;
	status = cli_print_store(cli, store);
	chario_store_close(store);
	return status;
}
