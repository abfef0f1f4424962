// SPDX-License-Identifier: MIT
/* chario rm: removes areas, whose space becomes free. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>

#include "store.h"

static int parse_options(struct cli *cli, const char **store, bool *force)
{
	int option;

	while ((option = cli_next_option(cli)) != CLI_NO_OPTION) {
		if (option == CLI_BAD_OPTION)
			return CLI_USAGE;
		if (option == 's')
			*store = optarg;
		else
			*force = true;
	}
	return cli_has_operands(cli, 1, INT_MAX) ? CLI_OK : CLI_USAGE;
}

/* An area that cannot be removed does not keep the others. */
static int remove_all(const struct cli *cli, struct chario_store *store, bool force)
{
	struct json_object *removed = cli_must(json_object_new_array());
	struct json_object *object = cli_must(json_object_new_object());
	int status = CLI_OK;

	for (int i = 0; i < cli->argc; i++) {
		int err = chario_store_remove(store, cli->argv[i]);

		if (!err)
			json_object_array_add(removed,
					      cli_must(json_object_new_string(cli->argv[i])));
		else if (err != -ENOENT || !force)
			status = cli_fail_area(cli, err, "cannot remove \"%s\"", cli->argv[i]);
	}
	json_object_object_add(object, "removed", removed);
	if (cli->json)
		cli_json_print(object);
	else
		json_object_put(object);
	return status;
}

int cmd_rm(struct cli *cli)
{
	struct chario_store *store;
	const char *given = NULL;
	bool force = false;
	int status = parse_options(cli, &given, &force);

	if (status)
		return status;
	store = cli_open_store(cli, given, O_RDWR);
	if (!store)
		return CLI_FAILED;
	status = remove_all(cli, store, force);
	chario_store_close(store);
	return status;
}
