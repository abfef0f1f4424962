// SPDX-License-Identifier: MIT
/*
 * chario cat: areas, one after the other, to standard output.
 */
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include "fetch.h"
#include "interrupt.h"
#include "store.h"

/* An area that cannot be read does not keep the others from being printed. */
static int print_all(const struct cli *cli, struct cli_fetch *fetch)
{
	struct chario_area_info info;
	int status = CLI_OK;

	for (int i = 0; i < cli->argc && !cli_interrupted(); i++) {
		fetch->name = cli->argv[i];
		if (!cli_fetch_allowed(cli, fetch, &info) || cli_fetch_run(cli, fetch))
			status = CLI_FAILED;
	}
	return status;
}

int cmd_cat(struct cli *cli)
{
	struct cli_fetch fetch = { .fd = STDOUT_FILENO, .to = "standard output" };
	const struct cli_value values[] = { { 'f', .flag = &fetch.force }, { 0 } };

	if (cli_parse(cli, values))
		return CLI_USAGE;
	if (cli->json)
		return cli_usage(cli, "what areas hold is not JSON");
	if (!cli_has_operands(cli, 1, INT_MAX))
		return CLI_USAGE;
	/* A terminal shows the bytes, and must not show a progress line between them. */
	fetch.quiet = isatty(STDOUT_FILENO);
	return cli_open_store(cli, O_RDONLY) ? print_all(cli, &fetch) : CLI_FAILED;
}
