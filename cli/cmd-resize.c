// SPDX-License-Identifier: MIT
/*
 * chario resize: an area becomes longer or shorter.
 */
#include <errno.h>

#include "store.h"

static int resize(const struct cli *cli, struct chario_store *store, const char *name,
		  uint64_t bytes)
{
	int err = chario_store_resize(store, name, bytes);

	if (!err)
		return CLI_OK;
	if (err != -EINVAL)
		return cli_fail_area(cli, err, "cannot resize \"%s\"", name);
	cli_say(cli,
		"\"%s\" holds a recording, whose length stays: chario rm it and create another",
		name);
	return CLI_FAILED;
}

int cmd_resize(struct cli *cli)
{
	return cli_set_size(cli, resize);
}
