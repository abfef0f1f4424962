// SPDX-License-Identifier: MIT
/*
 * chario set: the user's own keys and values of an area.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "store.h"

/**
 * struct changes - the job of the verb
 * @list: texts for chario_store_set_attributes()
 * @bytes: bytes of the list, without the empty text behind the last
 */
struct changes {
	char *list;
	size_t bytes;
};

static void add(struct changes *changes, const char *text)
{
	size_t length = strlen(text) + 1;

	changes->list = cli_must(realloc(changes->list, changes->bytes + length + 1));
	memcpy(changes->list + changes->bytes, text, length);
	changes->bytes += length;
	changes->list[changes->bytes] = '\0';
}

static int add_key(const struct cli *cli, char *key, void *changes)
{
	if (!*key || strchr(key, '='))
		return cli_usage(cli, "\"%s\" is not a key: one is not empty and has no '='", key);
	add(changes, key);
	return CLI_OK;
}

static int add_value(struct cli *cli, struct changes *changes, const char *attribute)
{
	const char *equals = strchr(attribute, '=');

	if (!equals || equals == attribute)
		return cli_usage(cli, "\"%s\" is not KEY=VALUE", attribute);
	add(changes, attribute);
	return CLI_OK;
}

static int parse_options(struct cli *cli, struct changes *changes)
{
	const struct cli_value values[] = { { 'u', .parse = add_key, .to = changes }, { 0 } };

	if (cli_parse(cli, values) || !cli_has_operands(cli, 1, INT_MAX))
		return CLI_USAGE;
	for (int i = 1; i < cli->argc; i++)
		if (add_value(cli, changes, cli->argv[i]))
			return CLI_USAGE;
	return changes->list ? CLI_OK : cli_usage(cli, "neither KEY=VALUE nor --unset is given");
}

static int set(struct cli *cli, const struct changes *changes)
{
	int err;

	if (!cli_open_store(cli, O_RDWR))
		return CLI_FAILED;
	err = chario_store_set_attributes(cli->store, cli->argv[0], changes->list);
	return err ? cli_fail_area(cli, err, "cannot set attributes of \"%s\"", cli->argv[0]) :
		     cli_print_area_json(cli, cli->argv[0]);
}

int cmd_set(struct cli *cli)
{
	struct changes changes = { 0 };
	int status = parse_options(cli, &changes);

	if (!status)
		status = set(cli, &changes);
	free(changes.list);
	return status;
}
