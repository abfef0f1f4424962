// SPDX-License-Identifier: MIT
/*
 * chario list: the disks of CharIO, and all NVMe controllers.
 */
#include <errno.h>
#include <stdio.h>

#include <chario/drive.h>
#include <chario/list.h>
#include <chario/region.h>

#include "regions.h"

#define DISK(name)   CLI_MEMBER(chario_list_disk, name)
#define DRIVE(name)  CLI_MEMBER(chario_drive, name)
#define REGION(name) CLI_MEMBER(chario_list_region, name)
static const struct cli_member disk_members[] = {
	DISK(index),
	DISK(path),
	DISK(capacity_bytes),
	DISK(logical_block_bytes),
	DISK(backend),
	DISK(state),
	DISK(address),
	DISK(namespace_id),
	DISK(nr_queues),
	DISK(serial),
	DISK(model),
	DISK(firmware),
	DISK(node_error),
	DISK(block),
	{ 0 },
};
static const struct cli_member region_members[] = {
	REGION(number), REGION(path), REGION(offset), REGION(bytes), REGION(node_error), { 0 },
};
static const struct cli_member drive_members[] = {
	DRIVE(address), DRIVE(driver), DRIVE(controller), DRIVE(serial), DRIVE(model), { 0 },
};

static int add_region_row(const struct chario_list_region *region, void *data)
{
	struct cli_table *table = data;
	char size[32];

	cli_table_add(table, "%s", region->path);
	cli_table_add(table, "%s", cli_round_size(size, region->bytes));
	cli_table_add(table, "%s", "");
	cli_table_add(table, "region");
	for (int i = 4; i < 8; i++)
		cli_table_add(table, "%s", "");
	return 0;
}

static int add_disk_row(const struct chario_list_disk *disk, void *data)
{
	struct cli_table *table = data;
	char size[32];

	cli_table_add(table, "%s", disk->path);
	cli_table_add(table, "%s", cli_round_size(size, disk->capacity_bytes));
	cli_table_add(table, "%u", disk->logical_block_bytes);
	cli_table_add(table, "%s", disk->backend);
	cli_table_add(table, "%s", disk->state);
	cli_table_add(table, "%s", disk->address);
	cli_table_add(table, "%s", disk->serial);
	cli_table_add(table, "%s", disk->model);
	return chario_regions_list(disk->index, add_region_row, table);
}

/* The disk works, but data written to its path are lost. */
static int warn_of_node(const struct chario_list_disk *disk, void *data)
{
	if (disk->node_error == ENOTBLK)
		cli_fail(data, -ENOTBLK, "%s", disk->path);
	cli_warn_of_nodes(data, disk);
	return 0;
}

static int add_drive_row(const struct chario_drive *drive, void *data)
{
	struct cli_table *table = data;

	cli_table_add(table, "%s", drive->address);
	cli_table_add(table, "%s", drive->driver);
	cli_table_add(table, "%s", drive->controller);
	cli_table_add(table, "%s", drive->serial);
	cli_table_add(table, "%s", drive->model);
	return 0;
}

static int print_tables(struct cli *cli, bool all)
{
	static const char *const disk_heading[] = { "DISK",  "SIZE",    "BLOCK",  "BACKEND",
						    "STATE", "ADDRESS", "SERIAL", "MODEL" };
	static const char *const drive_heading[] = { "ADDRESS", "DRIVER", "NAME", "SERIAL",
						     "MODEL" };
	struct cli_table table = { 0 };
	int err;

	cli_table_head(&table, disk_heading, 8);
	err = chario_list_disks(add_disk_row, &table);
	if (table.nr_cells > table.nr_columns)
		cli_table_print(&table);
	else if (!err)
		cli_say(cli, "there is no disk of CharIO; %s",
			all ? "chario bind ADDRESS makes a drive one" :
			      "chario list --all shows what could be bound");
	cli_table_clear(&table);
	if (!err)
		err = chario_list_disks(warn_of_node, cli);
	if (err || !all)
		return err;

	printf("\n");
	cli_table_head(&table, drive_heading, 5);
	err = chario_drive_each(add_drive_row, &table);
	cli_table_print(&table);
	cli_table_clear(&table);
	return err;
}

static int add_region_object(const struct chario_list_region *region, void *data)
{
	struct json_object *object = cli_must(json_object_new_object());

	cli_json_members(object, region_members, region);
	json_object_array_add(data, object);
	return 0;
}

static int add_disk_object(const struct chario_list_disk *disk, void *data)
{
	struct json_object *object = cli_must(json_object_new_object());
	struct json_object *regions = cli_must(json_object_new_array());

	cli_json_members(object, disk_members, disk);
	json_object_object_add(object, "regions", regions);
	json_object_array_add(data, object);
	return chario_regions_list(disk->index, add_region_object, regions);
}

static int add_drive_object(const struct chario_drive *drive, void *data)
{
	struct json_object *object = cli_must(json_object_new_object());

	cli_json_members(object, drive_members, drive);
	json_object_array_add(data, object);
	return 0;
}

static int print_json(bool all)
{
	struct json_object *object = cli_must(json_object_new_object());
	struct json_object *disks = cli_must(json_object_new_array()), *drives;
	int err = chario_list_disks(add_disk_object, disks);

	json_object_object_add(object, "disks", disks);
	if (all && !err) {
		drives = cli_must(json_object_new_array());
		err = chario_drive_each(add_drive_object, drives);
		json_object_object_add(object, "drives", drives);
	}
	if (err)
		json_object_put(object);
	else
		cli_json_print(object);
	return err;
}

int cmd_list(struct cli *cli)
{
	bool all = false;
	const struct cli_value values[] = { { 'a', .flag = &all }, { 0 } };
	int err;

	if (cli_parse(cli, values) || !cli_has_operands(cli, 0, 0))
		return CLI_USAGE;
	err = cli->json ? print_json(all) : print_tables(cli, all);
	return err ? cli_fail(cli, err, "cannot read the list") : CLI_OK;
}
