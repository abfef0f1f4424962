// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* The disks of this machine, from sysfs, and their names. */
#include <chario/list.h>
#include <chario/region.h>

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "machine/disk.h"
#include "machine/pci.h"
#include "system/sys.h"

#define NAME_PREFIX "chardisk"

/* An attribute that a back end does not have leaves its member empty. */
static void read_text(char *text, size_t size, const char *disk, const char *attribute)
{
	chario_sys_read(text, size, CHARIO_DISK_CLASS "/%s/%s", disk, attribute);
}

static unsigned long long read_number(const char *disk, const char *attribute)
{
	unsigned long long number = 0;

	chario_sys_read_number(&number, CHARIO_DISK_CLASS "/%s/%s", disk, attribute);
	return number;
}

static bool parse_index(const char *digits, uint32_t *index)
{
	if (!*digits || strspn(digits, "0123456789") != strlen(digits) || strlen(digits) > 9)
		return false;
	*index = (uint32_t)strtoul(digits, NULL, 10);
	return true;
}

/* Is this the name of a region, and of which one? */
static bool is_region(const char *name, uint32_t *index, uint32_t *number)
{
	const size_t prefix = strlen(NAME_PREFIX);
	const char *mark = strrchr(name, 'p');
	char digits[16];

	if (!mark || strncmp(name, NAME_PREFIX, prefix) != 0 || mark < name + prefix ||
	    (size_t)snprintf(digits, sizeof(digits), "%.*s", (int)(mark - name - (ptrdiff_t)prefix),
			     name + prefix) >= sizeof(digits))
		return false;
	return parse_index(digits, index) && parse_index(mark + 1, number);
}

static bool is_disk(const char *name, uint32_t *index)
{
	size_t prefix = strlen(NAME_PREFIX);

	return !strncmp(name, NAME_PREFIX, prefix) && parse_index(name + prefix, index);
}

/* Read the major and minor number that the node of a disk or region must have. */
static int read_number_of_node(dev_t *number, const char *name)
{
	unsigned int major, minor;
	char text[CHARIO_SYS_TEXT];
	int err = chario_sys_read(text, sizeof(text), CHARIO_DISK_CLASS "/%s/dev", name);

	if (err)
		return err;
	if (sscanf(text, "%u:%u", &major, &minor) != 2)
		return -EPROTO;
	*number = makedev(major, minor);
	return 0;
}

int chario_disk_check_node(const char *path)
{
	const char folder[] = "/dev/";
	char place[PATH_MAX];
	const char *name = place + strlen(folder);
	struct stat status;
	uint32_t index, region;
	dev_t number;
	int err = chario_sys_stat(&status, path);

	if (!err)
		err = chario_sys_resolve(place, "%s", path);
	if (err)
		return err;
	if (strncmp(place, folder, strlen(folder)) != 0 ||
	    (!is_disk(name, &index) && !is_region(name, &index, &region)))
		return 0;
	err = read_number_of_node(&number, name);
	if (!err)
		return S_ISCHR(status.st_mode) && status.st_rdev == number ? 0 : -ENOTBLK;
	/* Without such a disk, a plain file at its path is one that a program left there. */
	if (!chario_sys_exists(CHARIO_DISK_CLASS "/%s", name) && S_ISREG(status.st_mode))
		return -ENOTBLK;
	return 0;
}

static void read_disk(struct chario_list_disk *disk, uint32_t index)
{
	char folder[64];

	*disk = (struct chario_list_disk){ .index = index };
	snprintf(disk->name, sizeof(disk->name), NAME_PREFIX "%u", index);
	snprintf(disk->path, sizeof(disk->path), "/dev/%s", disk->name);
	snprintf(folder, sizeof(folder), CHARIO_DISK_CLASS "/%s/device", disk->name);
	disk->node_error = -chario_disk_check_node(disk->path);
	chario_pci_address_of(disk->address, sizeof(disk->address), folder);
	disk->namespace_id = (uint32_t)read_number(disk->name, "nsid");
	disk->capacity_bytes = read_number(disk->name, "size");
	disk->logical_block_bytes = (uint32_t)read_number(disk->name, "logical_block_size");
	disk->nr_queues = (uint32_t)read_number(disk->name, "queue_count");
	read_text(disk->backend, sizeof(disk->backend), disk->name, "backend");
	read_text(disk->state, sizeof(disk->state), disk->name, "state");
	read_text(disk->serial, sizeof(disk->serial), disk->name, "serial");
	read_text(disk->model, sizeof(disk->model), disk->name, "model");
	read_text(disk->firmware, sizeof(disk->firmware), disk->name, "firmware");
	if (read_number(disk->name, "block"))
		snprintf(disk->block, sizeof(disk->block), "/dev/%sb", disk->name);
}

int chario_list_disks(chario_list_visit *visit, void *data)
{
	struct chario_list_disk disk;
	CHARIO_NAMES(names);
	int ret = chario_sys_names(&names, CHARIO_DISK_CLASS);

	for (int i = 0; i < names.count && !ret; i++) {
		uint32_t index;

		if (!is_disk(names.entries[i]->d_name, &index))
			continue;
		read_disk(&disk, index);
		if (disk.backend[0])
			ret = visit(&disk, data);
	}
	return ret;
}

/* Read a region; one that is going is left with a length of 0. */
static void read_region(struct chario_list_region *region, uint32_t disk, uint32_t number)
{
	*region = (struct chario_list_region){ .number = number };
	snprintf(region->name, sizeof(region->name), NAME_PREFIX "%up%u", disk, number);
	snprintf(region->path, sizeof(region->path), "/dev/%s", region->name);
	region->node_error = -chario_disk_check_node(region->path);
	region->offset = read_number(region->name, "start");
	region->bytes = read_number(region->name, "size");
	region->nr_open = (uint32_t)read_number(region->name, "open");
}

int chario_regions_list(uint32_t index, chario_region_visit *visit, void *data)
{
	struct chario_list_region region;
	CHARIO_NAMES(names);
	int ret = chario_sys_names(&names, CHARIO_DISK_CLASS);

	for (int i = 0; i < names.count && !ret; i++) {
		uint32_t disk, number;

		if (!is_region(names.entries[i]->d_name, &disk, &number) || disk != index)
			continue;
		read_region(&region, disk, number);
		if (region.bytes)
			ret = visit(&region, data);
	}
	return ret;
}

struct search {
	const char *serial;
	char *path;
	unsigned int nr_found;
};

static int match_serial(const struct chario_list_disk *disk, void *data)
{
	struct search *search = data;

	if (disk->serial[0] && !strcmp(disk->serial, search->serial)) {
		search->nr_found++;
		chario_sys_copy(search->path, PATH_MAX, disk->path);
	}
	return 0;
}

int chario_disk_path(char path[PATH_MAX], const char *name)
{
	struct search search = { .serial = name, .path = path };
	uint32_t index, number;
	int err;

	if (!*name)
		return -EINVAL;
	if (strlen(name) >= PATH_MAX)
		return -ENAMETOOLONG;
	if (strchr(name, '/')) {
		strcpy(path, name);
		return 0;
	}
	if (is_region(name, &index, &number) && chario_sys_exists(CHARIO_DISK_CLASS "/%s", name)) {
		snprintf(path, PATH_MAX, "/dev/%s", name);
		return 0;
	}
	/* A serial number may be all digits: the index of a disk comes first. */
	if (is_disk(name, &index) || parse_index(name, &index)) {
		snprintf(path, PATH_MAX, "/dev/" NAME_PREFIX "%u", index);
		if (chario_sys_exists(CHARIO_DISK_CLASS "/" NAME_PREFIX "%u", index))
			return 0;
	}
	err = chario_list_disks(match_serial, &search);
	if (err)
		return err;
	if (search.nr_found != 1)
		return search.nr_found ? -ENOTUNIQ : -ENODEV;
	return 0;
}
