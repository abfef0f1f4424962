// SPDX-License-Identifier: MIT
/*
 * chario cat: areas, one after the other, to standard output.
 */
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <unistd.h>

#include "fetch.h"
#include "interrupt.h"
#include "store.h"

static int parse_options(struct cli *cli, const char **store, struct cli_fetch *fetch)
{
	int option;

	while ((option = cli_next_option(cli)) != CLI_NO_OPTION) {
		if (option == CLI_BAD_OPTION)
			return CLI_USAGE;
		if (option == 's')
			*store = optarg;
		fetch->force |= option == 'f';
	}
	if (cli->json)
		return cli_usage(cli, "what areas hold is not JSON");
	return cli_has_operands(cli, 1, INT_MAX) ? CLI_OK : CLI_USAGE;
}

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
	const char *given = NULL;
	int status = parse_options(cli, &given, &fetch);

	if (status)
		return status;
	/* A terminal shows the bytes, and must not show a progress line between them. */
	fetch.quiet = isatty(STDOUT_FILENO);
	fetch.store = cli_open_store(cli, given, O_RDONLY);
	if (!fetch.store)
		return CLI_FAILED;
	status = print_all(cli, &fetch);
	chario_store_close(fetch.store);
	return status;
}
