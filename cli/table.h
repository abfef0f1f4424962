/* SPDX-License-Identifier: MIT */
/*
 * The partition table of a disk, as libfdisk reads and writes it: a GPT, whose partitions of
 * CharIO's type are regions.
 */
#ifndef CHARIO_CLI_TABLE_H
#define CHARIO_CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <chario/list.h>
#include <chario/region.h>

#include "ends.h"

struct fdisk_context;
struct fdisk_table;

/**
 * struct cli_table_region - a region of a partition table
 * @range: number and place of the region
 * @name: name of the partition in UTF-8, may be empty
 * @uuid: UUID of the partition
 */
struct cli_table_region {
	struct chario_region range;
	char name[112];
	char uuid[40];
};

/**
 * struct cli_partition_table - the partition table of a disk
 * @context: libfdisk's
 * @ends: the ends of the disk, if it has no block disk
 * @lock: descriptor whose lock keeps other calls of chario from the table
 * @fd: descriptor that libfdisk reads and writes: the block disk, or the file of @ends
 * @before: the partitions when it was opened, or NULL
 * @is_block: true if @fd is a block disk
 * @is_assigned: true if @context has taken @fd
 * @is_gpt: true if there is a GPT
 * @is_damaged: true if there is a GPT that cannot be used, or that has lost its protective MBR
 * @other_block_bytes: size of the blocks for which there is a GPT, if not those of the disk; or 0
 * @high_number: number of the first partition that would be a region, but for its number; or 0
 * @regions: regions of the table, in the order of their numbers
 * @nr_regions: number of regions
 */
struct cli_partition_table {
	struct fdisk_context *context;
	struct cli_ends ends;
	int lock;
	int fd;
	struct fdisk_table *before;
	bool is_block;
	bool is_assigned;
	bool is_gpt;
	bool is_damaged;
	uint32_t other_block_bytes;
	uint32_t high_number;
	struct cli_table_region regions[CHARIO_REGIONS_MAX];
	uint32_t nr_regions;
};

/*
 * The functions return 0 or a negative errno.  Only one process has a table open, so that what
 * it gives the module is what stands on the disk.  A table that has been opened is closed by
 * cli_close_table(), also after an error of another function.
 */

/*
 * Read the table of a disk, from its block disk if it has one.  @writable: it is to be
 * changed.
 */
int cli_open_table(struct cli_partition_table *table, const struct chario_list_disk *disk,
		   bool writable);
void cli_close_table(struct cli_partition_table *table);

/* Returns the number of partitions for which a table has room. */
unsigned int cli_table_numbers(const struct cli_partition_table *table);

/* Make an empty GPT, in memory. */
int cli_renew_table(struct cli_partition_table *table);

/*
 * Add a region, in memory, where there is room: @bytes long, or with 0 as long as the
 * largest hole.  Returns -ENOSPC if no hole is large enough; @most is its size then; and
 * -EMFILE if there are as many partitions as there are numbers for regions.
 */
int cli_add_region(struct cli_partition_table *table, uint64_t bytes, const char *name,
		   struct chario_region *added, uint64_t *most);

/*
 * Returns whether a text can be the name of a region: UTF-8 of at most 36 characters, each of
 * which has 16 bits.  A GPT cuts off or leaves out the rest.
 */
bool cli_is_region_name(const char *name);

/* Remove the partition of a region, in memory. */
int cli_remove_region(struct cli_partition_table *table, uint32_t number);

/* Write the table to the disk, durably, and tell the kernel of the partitions. */
int cli_write_table(struct cli_partition_table *table);

#endif /* CHARIO_CLI_TABLE_H */
