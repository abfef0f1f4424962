// SPDX-License-Identifier: MIT
/* chario rename: gives an area another name, which another area may have. */
#include <errno.h>
#include <fcntl.h>

#include "store.h"

typedef int rename_how(struct chario_store *store, const char *name, const char *new_name);

static int parse_options(struct cli *cli, rename_how **how)
{
	bool force = false, exchange = false;
	const struct cli_value values[] = {
		{ 'f', .flag = &force },
		{ 'x', .flag = &exchange },
		{ 0 },
	};

	if (cli_parse(cli, values))
		return CLI_USAGE;
	if (force && exchange)
		return cli_usage(cli, "--exchange keeps both areas, --force one of them");
	*how = exchange ? chario_store_exchange :
	       force    ? chario_store_replace :
			  chario_store_rename;
	return cli_has_operands(cli, 2, 2) ? CLI_OK : CLI_USAGE;
}

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
	rename_how *how = NULL;
	int err, status = parse_options(cli, &how);

	if (status)
		return status;
	if (!cli_open_store(cli, O_RDWR))
		return CLI_FAILED;
	err = how(cli->store, cli->argv[0], cli->argv[1]);
	return err ? fail(cli, err) : cli_print_area_json(cli, cli->argv[1]);
}
