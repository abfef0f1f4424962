// SPDX-License-Identifier: MIT
/* chario rename: gives an area another name, which another area may have. */
#include <errno.h>
#include <fcntl.h>

#include "store.h"

/* Print how the other area can be removed, or which area is missing. */
static int fail(const struct cli *cli, int err)
{
	struct chario_area_info area;
	const char *name = cli->argv[0], *new_name = cli->argv[1];

	if (err == -EEXIST)
		return cli_say(cli,
			       "there is an area \"%s\" already\n--force replaces it, "
			       "--exchange gives each the name of the other",
			       new_name);
	if (err == -ENOENT && !chario_store_find(cli->store, name, &area, sizeof(area)))
		name = new_name;
	if (err == -ENOENT)
		return cli_fail_area(cli, err, "cannot find \"%s\"", name);
	return cli_fail_area(cli, err, "cannot rename \"%s\" to \"%s\"", name, new_name);
}

int cmd_rename(struct cli *cli)
{
	bool force = false, exchange = false;
	const struct cli_value values[] = {
		{ 'f', .flag = &force },
		{ 'x', .flag = &exchange },
		{ 0 },
	};
	int err;

	if (cli_parse(cli, values))
		return CLI_USAGE;
	if (force && exchange)
		return cli_usage(cli, "--exchange keeps both areas, --force one of them");
	if (!cli_has_operands(cli, 2, 2))
		return CLI_USAGE;
	if (!cli_open_store(cli, O_RDWR))
		return CLI_FAILED;
	if (exchange)
		err = chario_store_exchange(cli->store, cli->argv[0], cli->argv[1]);
	else if (force)
		err = chario_store_replace(cli->store, cli->argv[0], cli->argv[1]);
	else
		err = chario_store_rename(cli->store, cli->argv[0], cli->argv[1]);
	return err ? fail(cli, err) : cli_print_area_json(cli, cli->argv[1]);
}
