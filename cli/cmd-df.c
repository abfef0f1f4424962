// SPDX-License-Identifier: MIT
/* chario df: the size and the free space of a store. */
#include "store.h"

int cmd_df(struct cli *cli)
{
	if (cli_parse_common(cli) || !cli_has_store_operand(cli))
		return CLI_USAGE;
	return cli_print_store(cli);
}
