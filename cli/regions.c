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
		return cli_say(
			cli,
			"the partition table of %s has regions that overlap, end behind the disk, "
			"or are not whole blocks\nsfdisk --list shows them, sfdisk --delete removes one",
			disk->path);
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

	cli_close_table(&table);
	return status;
}
