// SPDX-License-Identifier: MIT
/* Making and removing regions, see region.h. */
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <chario/store.h>

#include "content.h"
#include "region.h"
#include "target.h"

/*
 * Returns whether somebody has the block disk, or the partition with this number, to himself:
 * a mount, or an open region.
 */
static bool is_in_use(const struct chario_list_disk *disk, const char *number)
{
	char path[48];
	int fd;

	if (!disk->block[0])
		return false;
	snprintf(path, sizeof(path), "%s%s", disk->block, number);
	fd = open(path, O_RDONLY | O_EXCL | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return errno == EBUSY;
	close(fd);
	return false;
}

static int match_export(const struct cli_target *target, const struct cli_listener *listener,
			void *data)
{
	struct cli_target *wanted = data;

	(void)listener;
	if (fnmatch(wanted->device, target->device, 0) != 0)
		return 0;
	*wanted = *target;
	return 1;
}

/* Refuse to take away what another machine uses: the partition @number, or with "*" any. */
static int refuse_export(const struct cli *cli, const struct chario_list_disk *disk,
			 const char *number)
{
	struct cli_target target;

	snprintf(target.device, sizeof(target.device), "%sb%s", disk->path, number);
	if (!cli_each_target(match_export, &target))
		return CLI_OK;
	return cli_say(cli,
		       "%s is exported to other machines, as %s\n"
		       "end that first: chario export --stop %s",
		       target.device, target.nqn, target.device);
}

/* Returns whether there is a store, whole or not. */
static bool has_store(const char *path)
{
	struct chario_store *store;
	int err = chario_store_open(path, O_RDONLY, &store);

	if (!err)
		chario_store_close(store);
	return !err || err == -EPROTO || err == -EUCLEAN;
}

/* Refuse to lose what is on a disk or region. */
static int refuse_content(const struct cli *cli, const char *path, const char *what)
{
	char content[256];
	int ret = cli_find_content(path, content, sizeof(content));

	if (ret < 0)
		return cli_fail(cli, ret, "cannot look what %s holds", path);
	if (!ret && !has_store(path))
		return CLI_OK;
	if (!ret)
		snprintf(content, sizeof(content), "a store");
	return cli_say(cli, "%s holds %s\n--force %s all the same, and that is lost", path, content,
		       what);
}

static int fail_to_write(const struct cli *cli, int err, const struct chario_list_disk *disk)
{
	if (err == -EBUSY)
		return cli_say(
			cli,
			"the partition table of %s is written, but Linux still uses the old one: "
			"a partition that changed is in use\n"
			"end its use, then: blockdev --rereadpt %s; chario region apply %s",
			disk->path, disk->block, disk->name);
	return cli_fail(cli, err, "cannot write the partition table of %s", disk->path);
}

static int fail_to_open(const struct cli *cli, int err, const struct chario_list_disk *disk)
{
	if (err == -EBUSY)
		return cli_say(
			cli,
			"%s is in use: a region of it, or the disk, is open for writing\n"
			"end that first, or give the disk a block disk (chario bind --block), whose "
			"table can be changed meanwhile",
			disk->path);
	return cli_fail(cli, err, "cannot open the partition table of %s", disk->path);
}

static int no_table(const struct cli *cli, const struct chario_list_disk *disk,
		    const struct cli_partition_table *table)
{
	if (cli_warn_of_table(cli, disk, table))
		return CLI_FAILED;
	return cli_say(cli,
		       "%s has no GPT, where regions are kept\n--new-table makes one: it is for an "
		       "empty disk",
		       disk->path);
}

static void print_region(const struct cli *cli, const struct chario_list_disk *disk,
			 const struct cli_partition_table *table, uint32_t number)
{
	char size[32];

	for (uint32_t i = 0; i < table->nr_regions; i++) {
		const struct cli_table_region *region = &table->regions[i];

		if (region->range.number != number)
			continue;
		if (cli->json)
			cli_json_print(cli_region_object(disk, region));
		else
			cli_print("%sp%u  %s\n", disk->path, number,
				  cli_exact_size(size, region->range.bytes));
	}
}

static int fail_to_add(const struct cli *cli, int err, const struct chario_list_disk *disk,
		       const struct cli_partition_table *table, uint64_t most)
{
	unsigned int numbers = cli_table_numbers(table);
	char size[32];

	if (err == -ENOSPC && most)
		return cli_say(cli, "the largest hole of %s has %s", disk->path,
			       cli_exact_size(size, most));
	if (err == -ENOSPC)
		return cli_say(cli, "%s has no hole between its partitions", disk->path);
	if (err == -EMFILE && numbers < CHARIO_REGIONS_MAX)
		return cli_say(
			cli,
			"the partition table of %s has room for %u partitions, and has them\n"
			"remove a region or a partition first; sfdisk makes a table of another "
			"length (table-length)",
			disk->path, numbers);
	if (err == -EMFILE)
		return cli_say(cli,
			       "the partition table of %s has no number left: regions have the "
			       "numbers 1 to %d\nremove a region or a partition first",
			       disk->path, CHARIO_REGIONS_MAX);
	return cli_fail(cli, err, "cannot add a partition to %s", disk->path);
}

/* The module gets a new region first: if it refuses, nothing has been written. */
static int put_in(const struct cli *cli, const struct chario_list_disk *disk,
		  const struct cli_partition_table *before, struct cli_partition_table *table)
{
	int err;

	if (cli_set_regions(cli, disk, table))
		return CLI_FAILED;
	err = cli_write_table(table);
	if (!err)
		return CLI_OK;
	cli_set_regions(cli, disk, before);
	return fail_to_write(cli, err, disk);
}

static int add(const struct cli *cli, const struct cli_region_job *job,
	       const struct chario_list_disk *disk, struct cli_partition_table *table,
	       uint64_t bytes)
{
	const struct cli_partition_table before = *table;
	struct chario_region region;
	uint64_t most = 0;
	int err;

	if (job->new_table) {
		err = cli_renew_table(table);
		if (err)
			return cli_fail(cli, err, "cannot make a GPT for %s", disk->path);
	}
	if (!table->is_gpt)
		return no_table(cli, disk, table);
	err = cli_add_region(table, bytes, job->name, &region, &most);
	if (err)
		return fail_to_add(cli, err, disk, table, most);
	if (put_in(cli, disk, &before, table))
		return CLI_FAILED;
	print_region(cli, disk, table, region.number);
	return CLI_OK;
}

int cli_region_create(struct cli *cli, const struct cli_region_job *job)
{
	struct cli_partition_table table;
	struct chario_list_disk disk;
	uint64_t bytes = 0;
	int err, status;

	if (cli->argc > 1 && cli_need_size(cli, cli->argv[1], &bytes))
		return CLI_USAGE;
	if (job->name && !cli_is_region_name(job->name))
		return cli_usage(cli,
				 "\"%s\" cannot be the name of a partition: it has at most 36 "
				 "characters, and none from U+10000 on, such as emoji",
				 job->name);
	if (cli_region_find_disk(cli, cli->argv[0], &disk))
		return CLI_FAILED;
	if (job->new_table && refuse_export(cli, &disk, "*"))
		return CLI_FAILED;
	if (job->new_table && is_in_use(&disk, ""))
		return cli_say(cli,
			       "%s is in use: a part of it is mounted or open for writing; "
			       "lsblk and fuser show by whom: end that first",
			       disk.block);
	if (job->new_table && !job->force && refuse_content(cli, disk.path, "makes a new table"))
		return CLI_FAILED;
	err = cli_open_table(&table, &disk, true);
	status = err ? fail_to_open(cli, err, &disk) : add(cli, job, &disk, &table, bytes);
	cli_close_table(&table);
	return status;
}

/* Parse the name of a region, chardiskNpM.  Returns CLI_OK, or CLI_FAILED after a message. */
static int find_region(const struct cli *cli, const char *name, struct chario_list_disk *disk,
		       uint32_t *number)
{
	char text[PATH_MAX];
	char *mark;
	int used = 0;

	if (!strchr(name, '/') || !realpath(name, text))
		snprintf(text, sizeof(text), "%s", name);
	mark = strrchr(text, 'p');
	if (!mark || sscanf(mark, "p%u%n", number, &used) != 1 || mark[used] || !*number ||
	    *number > CHARIO_REGIONS_MAX)
		return cli_say(cli, "\"%s\" is not the name of a region, such as chardisk0p1",
			       name);
	*mark = '\0';
	return cli_region_find_disk(cli, text, disk);
}

/* Take a region out of the table in memory.  Returns false if there is none. */
static bool forget(struct cli_partition_table *table, uint32_t number)
{
	for (uint32_t i = 0; i < table->nr_regions; i++)
		if (table->regions[i].range.number == number) {
			memmove(&table->regions[i], &table->regions[i + 1],
				(--table->nr_regions - i) * sizeof(table->regions[0]));
			return true;
		}
	return false;
}

/* The module gives it up first: it refuses while the region is open. */
static int take_out(const struct cli *cli, const struct chario_list_disk *disk,
		    struct cli_partition_table *table, uint32_t number)
{
	const struct cli_partition_table before = *table;
	char text[16];
	int err;

	if (!forget(table, number))
		return cli_say(cli, "%s has no region %u", disk->path, number);
	if (cli_set_regions(cli, disk, table))
		return CLI_FAILED;
	snprintf(text, sizeof(text), "%u", number);
	if (is_in_use(disk, text)) {
		cli_set_regions(cli, disk, &before);
		return cli_say(
			cli,
			"%s%u is mounted or otherwise in use; lsblk shows by whom: end that first",
			disk->block, number);
	}
	err = cli_remove_region(table, number);
	if (!err)
		err = cli_write_table(table);
	if (!err)
		return CLI_OK;
	cli_set_regions(cli, disk, &before);
	return fail_to_write(cli, err, disk);
}

static int match_number(const struct chario_list_region *region, void *data)
{
	return region->number == *(const uint32_t *)data;
}

static int remove_one(const struct cli *cli, const struct cli_region_job *job, const char *name)
{
	struct cli_partition_table table;
	struct chario_list_disk disk;
	char path[48], text[16];
	uint32_t number;
	int err, status = find_region(cli, name, &disk, &number);

	if (status)
		return status;
	snprintf(text, sizeof(text), "%u", number);
	if (refuse_export(cli, &disk, text))
		return CLI_FAILED;
	snprintf(path, sizeof(path), "%sp%u", disk.path, number);
	if (!job->force && !chario_regions_list(disk.index, match_number, &number))
		return cli_say(cli,
			       "%s is no region: chario region list shows those there are; chario "
			       "region apply sets one that is not set",
			       path);
	if (!job->force && refuse_content(cli, path, "removes the region"))
		return CLI_FAILED;
	err = cli_open_table(&table, &disk, true);
	status = err ? fail_to_open(cli, err, &disk) : take_out(cli, &disk, &table, number);
	cli_close_table(&table);
	return status;
}

int cli_region_remove(struct cli *cli, const struct cli_region_job *job)
{
	int status = CLI_OK;

	for (int i = 0; i < cli->argc; i++)
		if (remove_one(cli, job, cli->argv[i]))
			status = CLI_FAILED;
	return status;
}
