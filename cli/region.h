/* SPDX-License-Identifier: MIT */
/*
 * chario region: the common part of its actions.
 *
 * cmd-region.c		the choice of an action; list and apply
 * region-change.c	create and remove
 */
#ifndef CHARIO_CLI_REGION_H
#define CHARIO_CLI_REGION_H

#include "regions.h"

/**
 * struct cli_region_job - the job of the verb
 * @name: name of a new region, or NULL
 * @new_table: true to make a partition table first
 * @force: true although something is there that will be lost
 */
struct cli_region_job {
	const char *name;
	bool new_table;
	bool force;
};

/* Find the disk that an operand names.  Returns CLI_OK, or CLI_FAILED after a message. */
int cli_region_find_disk(const struct cli *cli, const char *name, struct chario_list_disk *disk);

/* Make a region of a table as JSON. */
struct json_object *cli_region_object(const struct chario_list_disk *disk,
				      const struct cli_table_region *region);

/* The actions; the operands are those behind the name of the action.  Return exit codes. */
int cli_region_create(struct cli *cli, const struct cli_region_job *job);
int cli_region_remove(struct cli *cli, const struct cli_region_job *job);

#endif /* CHARIO_CLI_REGION_H */
