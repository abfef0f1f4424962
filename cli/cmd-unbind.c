// SPDX-License-Identifier: MIT
/* chario unbind: gives drives back to their earlier drivers. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>

#include "keep.h"
#include "move.h"

static void print_success(const struct chario_drive *drive, const struct chario_bind_result *result)
{
	if (result->driver[0])
		printf("%s: from chario to %s\n", drive->address, result->driver);
	else
		printf("%s: from chario to no driver; \"modprobe nvme\" loads the usual one\n",
		       drive->address);
}

static int unbind_drive(const struct cli *cli, const struct chario_drive *drive, uint32_t flags,
			struct chario_bind_result *result)
{
	int err = chario_unbind(drive, flags, result, sizeof(*result));

	if (err == -ENXIO && !result->was_bound)
		cli_say(cli, "%s is not with chario but with %s", drive->address,
			cli_driver_name(drive->driver));
	else if (err)
		cli_say_step(cli, drive, err, result,
			     "--force unbinds it all the same, and its users get ENODEV");
	else if (!cli->json)
		print_success(drive, result);
	return err;
}

/*
 * Remove the record first: udev looks at the drive as soon as another driver has it.  The
 * record is also removed if another driver already has the drive.
 */
static int unbind_for_good(const struct cli *cli, const struct chario_drive *drive, uint32_t flags,
			   struct chario_bind_result *result)
{
	uint32_t kept_flags = 0;
	int err, kept = cli_keep_no_more(cli, drive, &kept_flags);

	if (kept < 0)
		return kept;
	err = unbind_drive(cli, drive, flags, result);
	if (err && err != -ENXIO && kept)
		cli_keep(cli, drive, kept_flags);
	else if (kept)
		cli_say(cli, "%s is not kept any more", drive->address);
	else if (!err && !drive->serial[0])
		cli_say(cli,
			"%s had no driver that knows its serial number: if it was kept, its note in " CLI_KEEP_FOLDER
			" stays, and is yours to remove",
			drive->address);
	return err;
}

int cmd_unbind(struct cli *cli)
{
	uint32_t flags = 0;
	const struct cli_value values[] = {
		{ 'f', .bits = &flags, .value = CHARIO_BIND_FORCE },
		{ 0 },
	};

	if (cli_parse(cli, values) || !cli_has_operands(cli, 1, INT_MAX))
		return CLI_USAGE;
	return cli_move_all(cli, unbind_for_good, flags);
}
