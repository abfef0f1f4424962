// SPDX-License-Identifier: MIT
/* chario rm: removes areas, whose space becomes free. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>

#include "store.h"

/* An area that cannot be removed does not keep the others. */
static int remove_all(const struct cli *cli, bool force)
{
	struct json_object *removed = cli_must(json_object_new_array());
	struct json_object *object = cli_must(json_object_new_object());
	int status = CLI_OK;

	for (int i = 0; i < cli->argc; i++) {
		int err = chario_store_remove(cli->store, cli->argv[i]);

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
	bool force = false;
	const struct cli_value values[] = { { 'f', .flag = &force }, { 0 } };

	if (cli_parse(cli, values) || !cli_has_operands(cli, 1, INT_MAX))
		return CLI_USAGE;
	return cli_open_store(cli, O_RDWR) ? remove_all(cli, force) : CLI_FAILED;
}
