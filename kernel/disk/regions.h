/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The functions of nodes and regions.
 */
#ifndef CHARIO_DISK_REGIONS_H
#define CHARIO_DISK_REGIONS_H

#include "types/disk.h"

/* Minor numbers: those of disks first, then those of regions. */
#define CHARIO_DISK_MINORS	256
#define CHARIO_REGION_MINORS	4096

/* disk/node.c */
int chario_node_add(struct chario_node *node, const struct file_operations *fops);
void chario_node_remove(struct chario_node *node);

/* disk/regions.c */
int chario_regions_set(struct chario_disk *disk, const struct chario_region *table,
		       u32 count);
void chario_regions_remove(struct chario_disk *disk);

#endif /* CHARIO_DISK_REGIONS_H */
