// SPDX-License-Identifier: MIT
/*
 * chario region: parts of a disk with nodes of their own, which a partition table keeps.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "region.h"

/**
 * struct search - the search for a disk
 * @name: name that the user has given: a path, chardiskN, N or a serial number
 * @disk: the disk that was found
 * @nr_found: number of disks that the name stands for
 */
struct search {
	const char *name;
	struct chario_list_disk *disk;
	unsigned int nr_found;
};

/* Is this the name or the path of the block disk? */
static bool is_block(const struct chario_list_disk *disk, const char *name)
{
	const char *path = disk->block;

	return *path && (!strcmp(name, path) || !strcmp(name, strrchr(path, '/') + 1));
}

static int match(const struct chario_list_disk *disk, void *data)
{
	struct search *search = data;
	char index[16];

	snprintf(index, sizeof(index), "%u", disk->index);
	if (strcmp(search->name, disk->path) != 0 && strcmp(search->name, disk->name) != 0 &&
	    strcmp(search->name, index) != 0 && !is_block(disk, search->name) &&
	    strcmp(search->name, disk->serial) != 0)
		return 0;
	*search->disk = *disk;
	search->nr_found++;
	return 0;
}

int cli_region_find_disk(const struct cli *cli, const char *name, struct chario_list_disk *disk)
{
	char path[PATH_MAX];
	struct search search = { .name = strchr(name, '/') && realpath(name, path) ? path : name,
				 .disk = disk };
	char of[32];
	int err;

	if (!cli_has_name(cli, name, "disk"))
		return CLI_FAILED;
	err = chario_list_disks(match, &search);
	if (!err && search.nr_found != 1)
		err = search.nr_found ? -ENOTUNIQ : -ENODEV;
	if (err == -ENODEV && cli_is_region(name, of))
		return cli_say(cli, "\"%s\" is the name of a region; name its disk, %s", name, of);
	return err ? cli_fail(cli, err, "\"%s\"", name) : CLI_OK;
}

static int compare(const struct chario_list_region *region, void *data)
{
	const struct chario_region *range = data;

	return region->number == range->number && region->offset == range->offset &&
	       region->bytes == range->bytes;
}

/* Does the module have a region of the table as it is there? */
static bool is_set(const struct chario_list_disk *disk, const struct cli_table_region *region)
{
	return chario_regions_list(disk->index, compare, (void *)&region->range) > 0;
}

static void add_row(struct cli_table *rows, const struct chario_list_disk *disk,
		    const struct cli_table_region *region)
{
	char size[32];

	cli_table_add(rows, "%sp%u", disk->path, region->range.number);
	cli_table_add(rows, "%s", cli_round_size(size, region->range.bytes));
	cli_table_add(rows, "%s", cli_exact_size(size, region->range.offset));
	cli_table_add_escaped(rows, "%s", region->name);
	cli_table_add(rows, "%s", is_set(disk, region) ? "set" : "not set");
}

static struct json_object *make_object(const char *path, const struct chario_region *range,
				       const char *name, const char *uuid, bool set, bool in_table)
{
	struct json_object *object = cli_must(json_object_new_object());

	cli_json_text(object, "path", path);
	cli_json_number(object, "number", range->number);
	cli_json_number(object, "offset", range->offset);
	cli_json_number(object, "bytes", range->bytes);
	cli_json_text(object, "name", name);
	cli_json_text(object, "uuid", uuid);
	cli_json_flag(object, "set", set);
	cli_json_flag(object, "in_table", in_table);
	return object;
}

struct json_object *cli_region_object(const struct chario_list_disk *disk,
				      const struct cli_table_region *region)
{
	char path[48];

	snprintf(path, sizeof(path), "%sp%u", disk->path, region->range.number);
	return make_object(path, &region->range, region->name, region->uuid, is_set(disk, region),
			   true);
}

/**
 * struct listing - the list that is being printed
 * @cli: the verb
 * @rows: rows for people
 * @objects: JSON array
 * @table: partition table of the disk whose regions are being added
 * @status: exit code
 * @is_told: true if something has been said that explains why there is no region
 * @applies: true if the regions are to be set, and listed for programs only
 */
struct listing {
	const struct cli *cli;
	struct cli_table rows;
	struct json_object *objects;
	const struct cli_partition_table *table;
	int status;
	bool is_told;
	bool applies;
};

static const struct cli_table_region *find(const struct cli_partition_table *table, uint32_t number)
{
	for (uint32_t i = 0; i < table->nr_regions; i++)
		if (table->regions[i].range.number == number)
			return &table->regions[i];
	return NULL;
}

/* Add a region that the module has and the table has not, or not there: it may be open. */
static int add_other(const struct chario_list_region *region, void *data)
{
	struct chario_region range = { .number = region->number,
				       .offset = region->offset,
				       .bytes = region->bytes };
	struct listing *listing = data;
	const struct cli_table_region *same = find(listing->table, region->number);
	struct cli_table *rows = &listing->rows;
	char size[32];

	if (same && compare(region, (void *)&same->range))
		return 0;
	cli_table_add(rows, "%s", region->path);
	cli_table_add(rows, "%s", cli_round_size(size, region->bytes));
	cli_table_add(rows, "%s", cli_exact_size(size, region->offset));
	cli_table_add(rows, "%s", "");
	cli_table_add(rows, "%s, %s", region->nr_open ? "open" : "set",
		      same ? "moved in the table" : "gone from the table");
	json_object_array_add(listing->objects,
			      make_object(region->path, &range, "", "", true, false));
	return 0;
}

/* Add the regions of a disk; one that cannot be read does not keep the others. */
static int add_regions(const struct chario_list_disk *disk, void *data)
{
	struct listing *listing = data;
	struct cli_partition_table table;
	int err = cli_open_table(&table, disk, false);

	if (err)
		listing->status = cli_fail(listing->cli, err,
					   "cannot read the partition table of %s", disk->path);
	if (!err && listing->applies && cli_set_regions(listing->cli, disk, &table))
		listing->status = CLI_FAILED;
	for (uint32_t i = 0; !err && i < table.nr_regions; i++) {
		add_row(&listing->rows, disk, &table.regions[i]);
		json_object_array_add(listing->objects, cli_region_object(disk, &table.regions[i]));
	}
	if (!err) {
		listing->table = &table;
		chario_regions_list(disk->index, add_other, listing);
		listing->is_told |= cli_warn_of_table(listing->cli, disk, &table);
	}
	cli_close_table(&table);
	return 0;
}

static void print_listing(struct listing *listing)
{
	struct json_object *object;

	if (listing->cli->json) {
		object = cli_must(json_object_new_object());
		json_object_object_add(object, "regions", listing->objects);
		cli_json_print(object);
		return;
	}
	json_object_put(listing->objects);
	if (listing->applies)
		return;
	if (listing->rows.nr_cells > listing->rows.nr_columns)
		cli_table_print(&listing->rows);
	else if (!listing->status && !listing->is_told)
		cli_say(listing->cli,
			"there is no region; chario region create DISK SIZE makes one");
}

/* List the regions of a disk or of all disks, or set them and say nothing but with --json. */
static int go_through(struct cli *cli, bool applies)
{
	static const char *const heading[] = { "REGION", "SIZE", "START", "NAME", "STATE" };
	struct listing listing = { .cli = cli,
				   .objects = cli_must(json_object_new_array()),
				   .applies = applies };
	struct chario_list_disk disk;
	int err = 0;

	cli_table_head(&listing.rows, heading, 5);
	if (cli->argc)
		listing.status = cli_region_find_disk(cli, cli->argv[0], &disk);
	else
		err = chario_list_disks(add_regions, &listing);
	if (cli->argc && !listing.status)
		add_regions(&disk, &listing);
	print_listing(&listing);
	cli_table_clear(&listing.rows);
	return err ? cli_fail(cli, err, "cannot read the list") : listing.status;
}

static int list(struct cli *cli, const struct cli_region_job *job)
{
	(void)job;
	return go_through(cli, false);
}

static int apply(struct cli *cli, const struct cli_region_job *job)
{
	(void)job;
	return go_through(cli, true);
}

/* The actions, and the letters of the options that each has. */
static const struct {
	const char *name;
	const char *letters;
	int least;
	int most;
	int (*run)(struct cli *cli, const struct cli_region_job *job);
} actions[] = {
	{ "list", "", 0, 1, list },
	{ "create", "ntf", 1, 2, cli_region_create },
	{ "remove", "f", 1, INT_MAX - 1, cli_region_remove },
	{ "apply", "", 0, 1, apply },
};

static bool fits(const struct cli_region_job *job, const char *letters)
{
	return (!job->name || strchr(letters, 'n')) && (!job->new_table || strchr(letters, 't')) &&
	       (!job->force || strchr(letters, 'f'));
}

int cmd_region(struct cli *cli)
{
	struct cli_region_job job = { 0 };
	const struct cli_value values[] = {
		{ 'n', .text = &job.name },
		{ 't', .flag = &job.new_table },
		{ 'f', .flag = &job.force },
		{ 0 },
	};

	if (cli_parse(cli, values) || !cli_has_operands(cli, 1, INT_MAX))
		return CLI_USAGE;
	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
		if (strcmp(cli->argv[0], actions[i].name) != 0)
			continue;
		if (!fits(&job, actions[i].letters))
			return cli_usage(
				cli,
				"--name and --new-table are for region create, --force also for "
				"region remove");
		if (!cli_has_operands(cli, actions[i].least + 1, actions[i].most + 1))
			return CLI_USAGE;
		cli->argc--;
		cli->argv++;
		return actions[i].run(cli, &job);
	}
	return cli_usage(cli, "\"%s\" is not list, create, remove or apply", cli->argv[0]);
}
