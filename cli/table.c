// SPDX-License-Identifier: MIT
/* The partition table of a disk, see table.h. */
#include <errno.h>
#include <fcntl.h>
#include <iconv.h>
#include <libfdisk/libfdisk.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "cli.h"
#include "table.h"

/* Characters of the name of a partition: a GPT has room for as many units of 16 bits. */
#define NAME_UNITS 36

/* Largest size of a block that a disk can have. */
#define MOST_BLOCK_BYTES 65536

static uint64_t sector_bytes(const struct cli_partition_table *table)
{
	return fdisk_get_sector_size(table->context);
}

static bool is_region(struct fdisk_partition *part)
{
	struct fdisk_parttype *type = fdisk_partition_get_type(part);
	const char *text = type ? fdisk_parttype_get_string(type) : NULL;

	return text && !strcasecmp(text, CHARIO_REGION_TYPE);
}

/* Note a partition if it is a region; what has no place is left out, and too high a number told. */
static void note_partition(struct cli_partition_table *table, struct fdisk_partition *part)
{
	struct cli_table_region *region = &table->regions[table->nr_regions];
	const char *name = fdisk_partition_get_name(part);
	const char *uuid = fdisk_partition_get_uuid(part);
	size_t number = fdisk_partition_get_partno(part) + 1;

	if (!is_region(part) || !fdisk_partition_has_start(part) || !fdisk_partition_has_size(part))
		return;
	if (number > CHARIO_REGIONS_MAX || table->nr_regions == CHARIO_REGIONS_MAX) {
		if (!table->high_number)
			table->high_number = (uint32_t)number;
		return;
	}
	*region = (struct cli_table_region){
		.range.number = (uint32_t)number,
		.range.offset = fdisk_partition_get_start(part) * sector_bytes(table),
		.range.bytes = fdisk_partition_get_size(part) * sector_bytes(table),
	};
	snprintf(region->name, sizeof(region->name), "%s", name ? name : "");
	snprintf(region->uuid, sizeof(region->uuid), "%s", uuid ? uuid : "");
	table->nr_regions++;
}

/* Returns whether a GPT has its mark at a place. */
static bool has_mark(const struct cli_partition_table *table, uint64_t offset)
{
	static const char mark[] = "EFI PART";
	char found[sizeof(mark) - 1];

	return pread(table->fd, found, sizeof(found), (off_t)offset) == sizeof(found) &&
	       !memcmp(found, mark, sizeof(found));
}

/* Look why a disk has no GPT that can be used: its header is in block 1, a copy in the last. */
static void find_marks(struct cli_partition_table *table)
{
	uint64_t block = sector_bytes(table);
	uint64_t blocks = fdisk_get_nsectors(table->context);

	table->is_damaged = has_mark(table, block) || has_mark(table, (blocks - 1) * block);
	for (uint32_t other = 512; other <= MOST_BLOCK_BYTES && !table->is_damaged; other *= 2)
		if (has_mark(table, other)) {
			table->other_block_bytes = other;
			return;
		}
}

static int read_regions(struct cli_partition_table *table)
{
	struct fdisk_table *parts = NULL;
	struct fdisk_partition *part;
	struct fdisk_iter *iter;
	int err;

	table->nr_regions = 0;
	table->high_number = 0;
	table->is_gpt = fdisk_has_label(table->context) &&
			fdisk_is_labeltype(table->context, FDISK_DISKLABEL_GPT);
	if (!table->is_gpt) {
		find_marks(table);
		return 0;
	}
	err = fdisk_get_partitions(table->context, &parts);
	if (err)
		return err;
	iter = cli_must(fdisk_new_iter(FDISK_ITER_FORWARD));
	while (!fdisk_table_next_partition(parts, iter, &part))
		note_partition(table, part);
	fdisk_free_iter(iter);
	fdisk_unref_table(parts);
	return 0;
}

/* Nobody is there to answer; whatever libfdisk asks or says is left to the verbs. */
static int answer(struct fdisk_context *context, struct fdisk_ask *ask, void *data)
{
	(void)context;
	(void)ask;
	(void)data;
	return 0;
}

/* Open the block disk. */
static int open_block(struct cli_partition_table *table, const char *path, bool writable)
{
	table->is_block = true;
	table->fd = open(path, (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOCTTY);
	return table->fd < 0 ? -errno : 0;
}

/* Open the ends of the character disk; of a file libfdisk does not know the block. */
static int open_ends(struct cli_partition_table *table, const char *path, bool writable)
{
	int err = cli_open_ends(&table->ends, path, writable ? O_RDWR : O_RDONLY);

	table->fd = table->ends.fd;
	return err ? err :
		     fdisk_save_user_sector_size(table->context, table->ends.block_bytes,
						 table->ends.block_bytes);
}

/* Wait until no other chario has the table.  Returns a descriptor or a negative errno. */
static int lock_table(const char *path)
{
	int err, fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0 || !flock(fd, LOCK_EX))
		return fd < 0 ? -errno : fd;
	err = -errno;
	close(fd);
	return err;
}

int cli_open_table(struct cli_partition_table *table, const struct chario_list_disk *disk,
		   bool writable)
{
	int err;

	*table = (struct cli_partition_table){
		.lock = lock_table(disk->path), .fd = -1, .ends.fd = -1, .ends.read = -1
	};
	if (table->lock < 0)
		return table->lock;
	table->context = cli_must(fdisk_new_context());
	fdisk_set_ask(table->context, answer, NULL);
	fdisk_disable_dialogs(table->context, 1);
	err = disk->block[0] ? open_block(table, disk->block, writable) :
			       open_ends(table, disk->path, writable);
	if (!err)
		err = fdisk_assign_device_by_fd(table->context, table->fd, disk->path, !writable);
	if (err)
		return err;
	table->is_assigned = true;
	err = read_regions(table);
	if (!err && table->is_gpt)
		err = fdisk_get_partitions(table->context, &table->before);
	return err;
}

void cli_close_table(struct cli_partition_table *table)
{
	fdisk_unref_table(table->before);
	if (table->is_assigned)
		fdisk_deassign_device(table->context, 1);
	if (table->context)
		fdisk_unref_context(table->context);
	if (table->is_block && table->fd >= 0)
		close(table->fd);
	cli_close_ends(&table->ends);
	if (table->lock >= 0)
		close(table->lock);
}

unsigned int cli_table_numbers(const struct cli_partition_table *table)
{
	return (unsigned int)fdisk_get_npartitions(table->context);
}

int cli_renew_table(struct cli_partition_table *table)
{
	int err = fdisk_create_disklabel(table->context, "gpt");

	return err ? err : read_regions(table);
}

/**
 * struct hole - free space of a table
 * @first: first sector, aligned
 * @sectors: number of sectors
 */
struct hole {
	uint64_t first;
	uint64_t sectors;
};

/* Returns the part of free space that begins and ends where partitions should. */
static struct hole align(struct fdisk_context *context, struct fdisk_partition *space)
{
	uint64_t start = fdisk_partition_get_start(space);
	uint64_t end = start + fdisk_partition_get_size(space);
	uint64_t first = fdisk_align_lba(context, start, FDISK_ALIGN_UP);
	uint64_t grain = fdisk_get_grain_size(context) / fdisk_get_sector_size(context);

	if (first >= end)
		return (struct hole){ 0 };
	return (struct hole){ first, (end - first) / grain * grain };
}

/*
 * Choose the smallest hole of at least so many sectors; with 0, the largest.  @largest gets
 * the sectors of the largest.
 */
static int choose_hole(struct fdisk_context *context, uint64_t sectors, struct hole *chosen,
		       uint64_t *largest)
{
	struct fdisk_table *spaces = NULL;
	struct fdisk_partition *space;
	struct fdisk_iter *iter;
	int err = fdisk_get_freespaces(context, &spaces);

	*chosen = (struct hole){ 0 };
	*largest = 0;
	if (err)
		return err;
	iter = cli_must(fdisk_new_iter(FDISK_ITER_FORWARD));
	while (!fdisk_table_next_partition(spaces, iter, &space)) {
		struct hole hole = align(context, space);
		bool is_better = !chosen->sectors || (sectors ? hole.sectors < chosen->sectors :
								hole.sectors > chosen->sectors);

		if (hole.sectors > *largest)
			*largest = hole.sectors;
		if (hole.sectors >= sectors && hole.sectors && is_better)
			*chosen = hole;
	}
	fdisk_free_iter(iter);
	fdisk_unref_table(spaces);
	return chosen->sectors ? 0 : -ENOSPC;
}

/* Find the lowest number that a region can have, counted from 0. */
static int choose_number(struct fdisk_context *context, size_t *number)
{
	size_t most = fdisk_get_npartitions(context);

	for (*number = 0; *number < most && *number < CHARIO_REGIONS_MAX; ++*number)
		if (!fdisk_is_partition_used(context, *number))
			return 0;
	return -EMFILE;
}

static int add_partition(struct cli_partition_table *table, const struct hole *place,
			 const char *name, size_t number)
{
	struct fdisk_partition *part = cli_must(fdisk_new_partition());
	struct fdisk_parttype *type = cli_must(fdisk_new_parttype());
	int err;

	fdisk_parttype_set_typestr(type, CHARIO_REGION_TYPE);
	fdisk_partition_set_type(part, type);
	fdisk_partition_set_partno(part, number);
	fdisk_partition_set_start(part, place->first);
	fdisk_partition_set_size(part, place->sectors);
	err = name ? fdisk_partition_set_name(part, name) : 0;
	if (!err)
		err = fdisk_add_partition(table->context, part, NULL);
	fdisk_unref_parttype(type);
	fdisk_unref_partition(part);
	return err;
}

int cli_add_region(struct cli_partition_table *table, uint64_t bytes, const char *name,
		   struct chario_region *added, uint64_t *most)
{
	uint64_t grain = fdisk_get_grain_size(table->context);
	/* Near 2^64 a sum of bytes would begin again at 0. */
	uint64_t grains = bytes / grain + (bytes % grain != 0);
	uint64_t sectors = grains * (grain / sector_bytes(table));
	struct hole place;
	size_t number;
	int err = choose_hole(table->context, sectors, &place, most);

	*most *= sector_bytes(table);
	if (!err)
		err = choose_number(table->context, &number);
	if (err)
		return err;
	if (sectors)
		place.sectors = sectors;
	err = add_partition(table, &place, name, number);
	if (err)
		return err;
	*added = (struct chario_region){
		.number = (uint32_t)number + 1,
		.offset = place.first * sector_bytes(table),
		.bytes = place.sectors * sector_bytes(table),
	};
	return read_regions(table);
}

bool cli_is_region_name(const char *name)
{
	char units[2 * NAME_UNITS], *to = units, *from = (char *)name;
	size_t bytes = strlen(name), room = sizeof(units);
	iconv_t way = iconv_open("UCS-2", "UTF-8");
	bool is = way != (iconv_t)-1 && iconv(way, &from, &bytes, &to, &room) != (size_t)-1;

	if (way != (iconv_t)-1)
		iconv_close(way);
	return is;
}

int cli_remove_region(struct cli_partition_table *table, uint32_t number)
{
	int err = fdisk_delete_partition(table->context, number - 1);

	return err ? err : read_regions(table);
}

int cli_write_table(struct cli_partition_table *table)
{
	int err = fdisk_write_disklabel(table->context);

	if (err)
		return err;
	if (!table->is_block)
		return cli_restore_ends(&table->ends);
	if (fsync(table->fd))
		return -errno;
	return table->before ? fdisk_reread_changes(table->context, table->before) :
			       fdisk_reread_partition_table(table->context);
}
