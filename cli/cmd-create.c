// SPDX-License-Identifier: MIT
/*
 * chario create: an area that holds what its place held.
 */
#include "store.h"

static int create(const struct cli *cli, struct chario_store *store, const char *name,
		  uint64_t bytes)
{
	int err = chario_store_create(store, name, bytes, 0);

	return err ? cli_fail_create(cli, err, name) : CLI_OK;
}

int cmd_create(struct cli *cli)
{
	return cli_set_size(cli, create);
}
