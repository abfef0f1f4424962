// SPDX-License-Identifier: MIT
/*
 * chario bind: give drives to CharIO.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <chario/list.h>

#include "keep.h"
#include "move.h"
#include "regions.h"

/* This file exists while udev runs. */
#define UDEV "/run/udev/control"

/**
 * struct binding - a drive that has been bound
 * @cli: the verb
 * @drive: the drive
 */
struct binding {
	const struct cli *cli;
	const struct chario_drive *drive;
};

static int print_disk(const struct chario_list_disk *disk, void *data)
{
	const struct chario_drive *drive = data;
	char size[32];

	if (!strcmp(disk->address, drive->address))
		printf("  %s%s%s  %s  %s  %s\n", disk->path, disk->block[0] ? ", " : "",
		       disk->block, cli_round_size(size, disk->capacity_bytes), disk->model,
		       disk->serial);
	return 0;
}

/*
 * Give the module the regions of a disk of the drive, where no udev does it: an open disk is in
 * the way of an unbind, which waits for udev only.
 */
static int give_regions(const struct chario_list_disk *disk, void *data)
{
	const struct binding *binding = data;

	if (strcmp(disk->address, binding->drive->address) != 0)
		return 0;
	if (access(UDEV, F_OK))
		cli_apply_regions(binding->cli, disk);
	else
		cli_warn_of_nodes(binding->cli, disk);
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

	if (err)
		cli_say_step(cli, drive, err, result,
			     "--force --force binds it all the same and may destroy data");
	else
		chario_list_disks(give_regions, &(struct binding){ cli, drive });
	if (!err && !cli->json)
		print_success(drive, result);
	return err;
}

static int bind_and_keep(const struct cli *cli, const struct chario_drive *drive, uint32_t flags,
			 struct chario_bind_result *result)
{
	int err = bind_drive(cli, drive, flags, result);

	if (!err)
		err = cli_keep(cli, drive, flags);
	if (!err && !cli->json)
		printf("  kept: bound again whenever it comes back, until it is unbound\n");
	return err;
}

static int bind_kept(const struct cli *cli, const struct chario_drive *drive, uint32_t flags,
		     struct chario_bind_result *result)
{
	int kept = cli_is_kept(cli, drive, &flags);

	return kept > 0 ? bind_drive(cli, drive, flags, result) : kept;
}

int cmd_bind(struct cli *cli)
{
	bool keep = false, if_kept = false;
	unsigned int nr_forces = 0;
	uint32_t flags = 0;
	const struct cli_value values[] = {
		{ 'f', .times = &nr_forces },
		{ 'b', .bits = &flags, .value = CHARIO_BIND_BLOCK },
		{ 'k', .flag = &keep },
		{ 'i', .flag = &if_kept },
		{ 0 },
	};
	cli_mover *mover;

	if (cli_parse(cli, values) || !cli_has_operands(cli, 1, INT_MAX))
		return CLI_USAGE;
	if (keep && if_kept)
		return cli_usage(
			cli,
			"--keep records drives, --if-kept takes those recorded before: give one of them");
	mover = keep ? bind_and_keep : if_kept ? bind_kept : bind_drive;
	return cli_move_all(cli, mover, flags | (nr_forces > 1 ? CHARIO_BIND_FORCE : 0));
}
