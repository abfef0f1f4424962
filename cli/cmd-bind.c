// SPDX-License-Identifier: MIT
/*
 * chario bind: give drives to CharIO.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <chario/list.h>

#include "keep.h"
#include "move.h"

static int print_disk(const struct chario_list_disk *disk, void *data)
{
	const struct chario_drive *drive = data;
	char size[32];

	if (!strcmp(disk->address, drive->address))
		printf("  %s  %s  %s  %s\n", disk->path, cli_round_size(size, disk->capacity_bytes),
		       disk->model, disk->serial);
	return 0;
}

static void print_success(const struct chario_drive *drive, const struct chario_bind_result *result)
{
	if (result->was_bound)
		printf("%s: is with chario already\n", drive->address);
	else if (result->earlier_driver[0])
		printf("%s: from %s to chario\n", drive->address, result->earlier_driver);
	else
		printf("%s: to chario\n", drive->address);
	chario_list_disks(print_disk, (void *)drive);
	printf("  undo: chario unbind %s\n", drive->address);
}

static int bind_drive(const struct cli *cli, const struct chario_drive *drive, uint32_t flags,
		      struct chario_bind_result *result)
{
	int err = chario_bind(drive, flags, result, sizeof(*result));

	if (!err) {
		if (!cli->json)
			print_success(drive, result);
	} else if (err == -EBUSY && result->step == CHARIO_BIND_CHECK) {
		cli_say(cli, "%s is in use and stays with %s:", drive->address,
			drive->driver[0] ? drive->driver : "no driver");
		cli_say_uses(cli, drive);
		fprintf(stderr,
			"end the use first; --force --force binds it all the same and may destroy data\n");
	} else {
		cli_say_step(cli, drive, err, result);
	}
	return err;
}

static int bind_and_keep(const struct cli *cli, const struct chario_drive *drive, uint32_t flags,
			 struct chario_bind_result *result)
{
	int err = bind_drive(cli, drive, flags, result);

	if (!err)
		err = cli_keep(cli, drive);
	if (!err && !cli->json)
		printf("  kept: bound again whenever it comes back, until it is unbound\n");
	return err;
}

static int bind_kept(const struct cli *cli, const struct chario_drive *drive, uint32_t flags,
		     struct chario_bind_result *result)
{
	int kept = cli_is_kept(cli, drive);

	return kept > 0 ? bind_drive(cli, drive, flags, result) : kept;
}

int cmd_bind(struct cli *cli)
{
	int option, nr_forces = 0;
	cli_mover *move = bind_drive;

	while ((option = cli_next_option(cli)) != CLI_NO_OPTION) {
		if (option == 'f')
			nr_forces++;
		else if (option == 'k')
			move = bind_and_keep;
		else if (option == 'i')
			move = bind_kept;
		else
			return CLI_USAGE;
	}
	if (!cli_has_operands(cli, 1, INT_MAX))
		return CLI_USAGE;
	return cli_move_all(cli, move, nr_forces > 1 ? CHARIO_BIND_FORCE : 0);
}
