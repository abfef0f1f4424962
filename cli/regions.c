// SPDX-License-Identifier: MIT
/* The regions of a disk, see regions.h. */
#include "regions.h"

#include <errno.h>
#include <fcntl.h>

#include <chario/device.h>

static int set(const struct chario_list_disk *disk, const struct cli_partition_table *table)
{
	struct chario_region ranges[CHARIO_REGIONS_MAX];
	struct chario_device *device;
	int err;

	for (uint32_t i = 0; i < table->nr_regions; i++)
		ranges[i] = table->regions[i].range;
	err = chario_device_open(disk->path, O_RDONLY, &device);
	if (err)
		return err;
	err = chario_regions_set(device, ranges, table->nr_regions);
	chario_device_close(device);
	return err;
}

static int warn_of_node(const struct chario_list_region *region, void *data)
{
	if (region->node_error == ENOTBLK)
		cli_fail(data, -ENOTBLK, "%s", region->path);
	return 0;
}

void cli_warn_of_nodes(const struct cli *cli, const struct chario_list_disk *disk)
{
	chario_regions_list(disk->index, warn_of_node, (void *)cli);
}

bool cli_warn_of_table(const struct cli *cli, const struct chario_list_disk *disk,
		       const struct cli_partition_table *table)
{
	const char *path = disk->block[0] ? disk->block : disk->path;

	if (table->other_block_bytes)
		cli_say(cli,
			"%s has a GPT for blocks of %u bytes, but its blocks have %u: none of its "
			"partitions is known\n"
			"nvme format gives a namespace blocks of %u bytes and loses its data; "
			"chario region create --new-table makes a table for the blocks as they are",
			path, table->other_block_bytes, disk->logical_block_bytes,
			table->other_block_bytes);
	else if (table->is_damaged)
		cli_say(cli,
			"the GPT of %s is damaged or has no protective MBR: none of its partitions is "
			"known\n"
			"gdisk repairs one; chario region create --new-table makes an empty one",
			path);
	else if (table->high_number)
		cli_say(cli,
			"partition %u of %s has the type of a region and is left out: regions have "
			"the numbers 1 to %d\n"
			"sfdisk --reorder, on the block disk, numbers the partitions anew",
			table->high_number, path, CHARIO_REGIONS_MAX);
	else
		return false;
	return true;
}

static bool overlap(const struct chario_region *a, const struct chario_region *b)
{
	return a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
}

/* The module refuses the regions of a table: say which, and why. */
static int say_invalid(const struct cli *cli, const struct chario_list_disk *disk,
		       const struct cli_partition_table *table)
{
	static const char advice[] = "sfdisk --list shows them, sfdisk --delete removes one";

	for (uint32_t i = 0; i < table->nr_regions; i++) {
		const struct chario_region *a = &table->regions[i].range;

		if (a->offset > disk->capacity_bytes || a->bytes > disk->capacity_bytes - a->offset)
			return cli_say(cli, "region %u of %s ends behind the disk\n%s", a->number,
				       disk->path, advice);
		for (uint32_t j = 0; j < i; j++)
			if (overlap(a, &table->regions[j].range))
				return cli_say(cli, "regions %u and %u of %s overlap\n%s",
					       table->regions[j].range.number, a->number,
					       disk->path, advice);
	}
	return cli_say(cli, "a region of %s is not whole blocks\n%s", disk->path, advice);
}

int cli_set_regions(const struct cli *cli, const struct chario_list_disk *disk,
		    const struct cli_partition_table *table)
{
	int err = set(disk, table);

	if (err == -EBUSY)
		return cli_say(cli,
			       "a region of %s that would change or go is open\n"
			       "end the program that has it open (fuser %sp* names it), then: "
			       "chario region apply %s",
			       disk->path, disk->path, disk->name);
	if (err == -EINVAL)
		return say_invalid(cli, disk, table);
	if (err)
		return cli_fail(cli, err, "cannot set the regions of %s", disk->path);
	cli_warn_of_nodes(cli, disk);
	return CLI_OK;
}

int cli_apply_regions(const struct cli *cli, const struct chario_list_disk *disk)
{
	struct cli_partition_table table;
	int err = cli_open_table(&table, disk, false);
	int status = err ? cli_fail(cli, err, "cannot read the partition table of %s", disk->path) :
			   cli_set_regions(cli, disk, &table);

	if (!err)
		cli_warn_of_table(cli, disk, &table);
	cli_close_table(&table);
	return status;
}
