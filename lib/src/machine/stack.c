// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The devices of a drive and what stands on them.  See machine/stack.h.
 */
#include "machine/stack.h"

#include <chario/list.h>
#include <chario/region.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine/pci.h"
#include "system/sys.h"

#define BLOCK "/sys/class/block"

static int add(struct chario_stack *stack, const char *name, const char *below, bool whole)
{
	size_t size = ((size_t)stack->nr_devices + 1) * sizeof(*stack->devices);
	struct chario_stack_device *devices = realloc(stack->devices, size);
	struct chario_stack_device *device;

	if (!devices)
		return -ENOMEM;
	stack->devices = devices;
	device = &devices[stack->nr_devices++];
	*device = (struct chario_stack_device){ .whole = whole };
	chario_sys_copy(device->name, sizeof(device->name), name);
	chario_sys_copy(device->below, sizeof(device->below), below);
	if (chario_sys_read(device->number, sizeof(device->number), BLOCK "/%s/dev", name))
		device->number[0] = '\0';
	return 0;
}

/* A folder that cannot be listed has no names, unless there was no memory to list it. */
static int excuse(int err)
{
	return err == -ENOMEM ? err : 0;
}

/* Add the partitions of one device, which are its sub-folders. */
static int add_partitions(struct chario_stack *stack, const char *name)
{
	CHARIO_NAMES(names);
	int err = excuse(chario_sys_names(&names, BLOCK "/%s", name));

	for (int i = 0; i < names.count && !err; i++)
		if (chario_sys_exists(BLOCK "/%s/%s/partition", name, names.entries[i]->d_name))
			err = add(stack, names.entries[i]->d_name, "", false);
	return err;
}

static int add_holders(struct chario_stack *stack, const char *name)
{
	CHARIO_NAMES(names);
	int err = excuse(chario_sys_names(&names, BLOCK "/%s/holders", name));

	for (int i = 0; i < names.count && !err; i++)
		if (!chario_stack_find(stack, names.entries[i]->d_name))
			err = add(stack, names.entries[i]->d_name, name, false);
	return err;
}

/* A loop device holds its device without being one of its holders. */
static int add_loops(struct chario_stack *stack)
{
	const struct chario_stack_device *found;
	char path[PATH_MAX];
	CHARIO_NAMES(names);
	int err = excuse(chario_sys_names(&names, BLOCK));

	for (int i = 0; i < names.count && !err; i++) {
		const char *name = names.entries[i]->d_name;

		if (chario_sys_read(path, sizeof(path), BLOCK "/%s/loop/backing_file", name) ||
		    chario_stack_find(stack, name))
			continue;
		found = chario_stack_find_path(stack, path);
		if (found) {
			/* add() may move what found points to. */
			chario_sys_copy(path, sizeof(path), found->name);
			err = add(stack, name, path, false);
		}
	}
	return err;
}

/* Add all devices that stand on those of the stack, also on those that are added. */
static int climb(struct chario_stack *stack)
{
	char name[sizeof(stack->devices->name)];
	int err = 0, height, reached = 0;

	do {
		height = stack->nr_devices;
		for (; reached < stack->nr_devices && !err; reached++) {
			chario_sys_copy(name, sizeof(name), stack->devices[reached].name);
			err = add_partitions(stack, name);
			if (!err)
				err = add_holders(stack, name);
		}
		if (!err)
			err = add_loops(stack);
	} while (!err && stack->nr_devices > height);
	return err;
}

/*
 * Find the name of the namespace that users open.  With multipath the controller has a hidden
 * path device, nvme0c1n1: subsystem 0, controller 1, namespace 1.  Users open the head, nvme0n1.
 */
static void name_head(char *head, size_t size, const char *path_device)
{
	unsigned int subsystem, controller, namespace;
	int used = 0;

	if (sscanf(path_device, "nvme%uc%un%u%n", &subsystem, &controller, &namespace, &used) ==
		    3 &&
	    !path_device[used])
		snprintf(head, size, "nvme%un%u", subsystem, namespace);
	else
		chario_sys_copy(head, size, path_device);
}

/* A head has its generic device, ng0n1, beside it and not below the controller. */
static int add_generic(struct chario_stack *stack, const char *head)
{
	char generic[sizeof(stack->devices->name)];

	snprintf(generic, sizeof(generic), "ng%s", head + strlen("nvme"));
	return chario_sys_exists("/sys/class/nvme-generic/%s", generic) ?
		       add(stack, generic, "", false) :
		       0;
}

static int add_namespaces(struct chario_stack *stack, const struct chario_drive *drive)
{
	char head[sizeof(stack->devices->name)];
	CHARIO_NAMES(names);
	int err = excuse(chario_sys_names(&names, CHARIO_PCI_DEVICES "/%s/nvme/%s", drive->address,
					  drive->controller));

	for (int i = 0; i < names.count && !err; i++) {
		const char *name = names.entries[i]->d_name;

		name_head(head, sizeof(head), name);
		if (chario_sys_exists(BLOCK "/%s/dev", head))
			err = add(stack, head, "", true);
		else if (!strncmp(name, "ng", 2))
			err = add(stack, name, "", false);
		if (!err && strcmp(head, name))
			err = add_generic(stack, head);
	}
	return err;
}

struct disks {
	struct chario_stack *stack;
	const char *address;
};

static int add_region(const struct chario_list_region *region, void *data)
{
	return add(data, region->name, "", false);
}

static int add_disk(const struct chario_list_disk *disk, void *data)
{
	struct disks *disks = data;
	char block[sizeof(disks->stack->devices->name)];
	int err;

	if (strcmp(disk->address, disks->address))
		return 0;
	err = add(disks->stack, disk->name, "", false);
	snprintf(block, sizeof(block), "%.60sb", disk->name);
	if (!err && chario_sys_exists(BLOCK "/%s/dev", block))
		err = add(disks->stack, block, "", true);
	return err ? err : chario_regions_list(disk->index, add_region, disks->stack);
}

/* A program that drives the device from user space holds its group open. */
static int add_vfio_group(struct chario_stack *stack, const struct chario_drive *drive)
{
	char path[PATH_MAX], name[64];

	if (chario_sys_resolve(path, CHARIO_PCI_DEVICES "/%s/iommu_group", drive->address))
		return 0;
	snprintf(name, sizeof(name), "vfio/%.31s", strrchr(path, '/') + 1);
	return add(stack, name, "", false);
}

int chario_stack_init(struct chario_stack *stack, const struct chario_drive *drive)
{
	struct disks disks = { .stack = stack, .address = drive->address };
	int err;

	*stack = (struct chario_stack){ 0 };
	if (!strcmp(drive->driver, CHARIO_PCI_DRIVER))
		err = chario_list_disks(add_disk, &disks);
	else if (drive->controller[0])
		err = add_namespaces(stack, drive);
	else
		err = add_vfio_group(stack, drive);
	if (!err)
		err = climb(stack);
	if (err)
		chario_stack_deinit(stack);
	return err;
}

void chario_stack_deinit(struct chario_stack *stack)
{
	free(stack->devices);
	*stack = (struct chario_stack){ 0 };
}

const struct chario_stack_device *chario_stack_find(const struct chario_stack *stack,
						    const char *name_or_number)
{
	if (!*name_or_number)
		return NULL;
	for (int i = 0; i < stack->nr_devices; i++)
		if (!strcmp(stack->devices[i].name, name_or_number) ||
		    !strcmp(stack->devices[i].number, name_or_number))
			return &stack->devices[i];
	return NULL;
}

const struct chario_stack_device *chario_stack_find_path(const struct chario_stack *stack,
							 const char *path)
{
	char resolved[PATH_MAX];

	if (strncmp(path, "/dev/", 5))
		return NULL;
	/* A device that stands on the drive may have no file any more. */
	if (chario_sys_resolve(resolved, "%s", path))
		chario_sys_copy(resolved, sizeof(resolved), path);
	if (strncmp(resolved, "/dev/", 5))
		return NULL;
	return chario_stack_find(stack, resolved + 5);
}
