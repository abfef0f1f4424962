/* SPDX-License-Identifier: MIT */
/* The regions of a disk: those of its partition table, and those that the module has. */
#ifndef CHARIO_CLI_REGIONS_H
#define CHARIO_CLI_REGIONS_H

#include "cli.h"
#include "table.h"

/*
 * Give the module the regions of a table, and warn of their nodes.  Returns CLI_OK, or CLI_FAILED
 * after a message.
 */
int cli_set_regions(const struct cli *cli, const struct chario_list_disk *disk,
		    const struct cli_partition_table *table);

/*
 * Read the partition table of a disk and give the module its regions.  Returns CLI_OK, or
 * CLI_FAILED after a message.
 */
int cli_apply_regions(const struct cli *cli, const struct chario_list_disk *disk);

/*
 * Say what keeps the partitions of a disk from being regions.  Returns whether anything does, and
 * has been said.
 */
bool cli_warn_of_table(const struct cli *cli, const struct chario_list_disk *disk,
		       const struct cli_partition_table *table);

/* Say which regions of a disk have another file, such as a plain one, in the place of their node. */
void cli_warn_of_nodes(const struct cli *cli, const struct chario_list_disk *disk);

#endif /* CHARIO_CLI_REGIONS_H */
