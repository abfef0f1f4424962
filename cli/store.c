// SPDX-License-Identifier: MIT
/* Choosing the store, and opening it. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <chario/device.h>
#include <chario/list.h>
#include <chario/region.h>

#include "progress.h"
#include "store.h"

/**
 * struct only - the disk, if there is only one
 * @nr_disks: number of disks
 * @path: path of the last disk
 */
struct only {
	unsigned int nr_disks;
	char path[32];
};

#define SOON_NS  2000000000ULL
#define PAUSE_NS 50000000L

bool cli_once_more(int err, uint64_t begin_ns)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };

	if (err != -EBUSY || cli_now_ns() - begin_ns > SOON_NS)
		return false;
	nanosleep(&pause, NULL);
	return true;
}

int cli_open_area(const struct cli *cli, const char *name, int flags, struct chario_area **area)
{
	uint64_t begin_ns = cli_now_ns();
	int err;

	do
		err = chario_area_open(cli->store, name, flags, area);
	while (cli_once_more(err, begin_ns));
	return err;
}

void cli_forget_cache(const struct cli *cli)
{
	posix_fadvise(chario_device_fd(chario_store_device(cli->store)), 0, 0, POSIX_FADV_DONTNEED);
}

static int count_disk(const struct chario_list_disk *disk, void *data)
{
	struct only *only = data;

	only->nr_disks++;
	snprintf(only->path, sizeof(only->path), "%s", disk->path);
	return 0;
}

static const char *only_disk(const struct cli *cli)
{
	static struct only only;
	int err;

	only.nr_disks = 0;
	err = chario_list_disks(count_disk, &only);
	if (err) {
		cli_fail(cli, err, "cannot look for disks; give --store STORE");
		return NULL;
	}
	if (only.nr_disks == 1)
		return only.path;
	cli_say(cli,
		"which store? there %s %s of CharIO here\n"
		"give --store STORE (a disk, a block device or a file), or set CHARIO_STORE; "
		"the only disk of a machine needs neither",
		only.nr_disks ? "are several" : "is no", only.nr_disks ? "disks" : "disk");
	return NULL;
}

const char *cli_choose_store(const struct cli *cli)
{
	const char *set = getenv("CHARIO_STORE");

	if (cli->store_name && !*cli->store_name) {
		cli_say(cli, "the name of the store is empty");
		return NULL;
	}
	if (cli->store_name)
		return cli->store_name;
	return set && *set ? set : only_disk(cli);
}

bool cli_has_store(void)
{
	const char *set = getenv("CHARIO_STORE");
	struct only only = { 0 };

	return (set && *set) || (!chario_list_disks(count_disk, &only) && only.nr_disks == 1);
}

/* Warn that a part of the store is missing, because the disk has been cut off. */
static void tell_of_cut(const struct cli *cli, const char *name)
{
	struct chario_store_info info;
	struct chario_info disk;
	char is[32], was[32];

	if (chario_store_get_info(cli->store, &info, sizeof(info)) ||
	    chario_device_get_info(chario_store_device(cli->store), &disk, sizeof(disk)) ||
	    disk.capacity_bytes >= info.capacity_bytes)
		return;
	cli_say(cli, "\"%s\" has %s, and the store on it %s: what lies behind the end is missing",
		name, cli_exact_size(is, disk.capacity_bytes),
		cli_exact_size(was, info.capacity_bytes));
}

/**
 * struct regions - the regions of the disk that a store was looked for on
 * @name: name or path of the disk
 * @paths: paths of its regions, each behind a blank
 */
struct regions {
	const char *name;
	char paths[256];
};

static int add_path(const struct chario_list_region *region, void *data)
{
	struct regions *regions = data;
	size_t used = strlen(regions->paths);
	size_t room = sizeof(regions->paths) - used;

	bool is_last = strlen(region->path) + sizeof("  ...") > room;

	snprintf(regions->paths + used, room, " %s", is_last ? "..." : region->path);
	return is_last;
}

static int add_regions(const struct chario_list_disk *disk, void *data)
{
	struct regions *regions = data;
	char index[16];

	snprintf(index, sizeof(index), "%u", disk->index);
	if (strcmp(regions->name, disk->path) != 0 && strcmp(regions->name, disk->name) != 0 &&
	    strcmp(regions->name, index) != 0 && strcmp(regions->name, disk->serial) != 0)
		return 0;
	return chario_regions_list(disk->index, add_path, regions);
}

/* Returns whether a disk without a store has regions; they are named. */
static bool tell_of_regions(const struct cli *cli, const char *name)
{
	struct regions regions = { .name = name };

	chario_list_disks(add_regions, &regions);
	if (!regions.paths[0])
		return false;
	cli_say(cli,
		"there is no store on \"%s\" itself, but the disk has regions, which chario format "
		"would overwrite:%s\n"
		"give one that has a store with --store, or make a store in one with chario format",
		name, regions.paths);
	return true;
}

static int match_block(const struct chario_list_disk *disk, void *data)
{
	return disk->block[0] && !strcmp(strrchr(disk->block, '/') + 1, data);
}

bool cli_tell_of_block(const struct cli *cli, const char *name)
{
	char path[PATH_MAX];
	struct stat status;

	if (strchr(name, '/') ||
	    (size_t)snprintf(path, sizeof(path), "/dev/%s", name) >= sizeof(path))
		return false;
	if ((stat(path, &status) || !S_ISBLK(status.st_mode)) &&
	    !chario_list_disks(match_block, (void *)name))
		return false;
	cli_say(cli, "there is no file \"%s\" here, and a block device is named by its path: %s",
		name, path);
	return true;
}

bool cli_open_store(struct cli *cli, int flags)
{
	const char *name = cli_choose_store(cli);
	int err;

	if (!name)
		return false;
	err = chario_store_open(name, flags, &cli->store);
	if ((err == -ENOMEDIUM && tell_of_regions(cli, name)) ||
	    (err == -ENOENT && cli_tell_of_block(cli, name)))
		return false;
	if (err)
		cli_fail_store(cli, err, "cannot open the store \"%s\"", name);
	if (err == -EIO)
		cli_say(cli,
			"chario check says what of the store cannot be read, and what can be done");
	if (!err)
		tell_of_cut(cli, name);
	return !err;
}

bool cli_find_area(const struct cli *cli, const char *name, struct chario_area_info *info)
{
	int err = chario_store_find(cli->store, name, info, sizeof(*info));

	if (err)
		cli_fail_area(cli, err, "cannot find \"%s\"", name);
	return !err;
}

int cli_areas_add(const struct chario_area_info *area, void *data)
{
	struct cli_areas *list = data;

	list->areas = cli_grow(list->areas, list->nr_areas, sizeof(*area));
	list->areas[list->nr_areas++] = *area;
	return 0;
}
