// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* NVMe controllers on the PCI bus, with any driver or none. */
#include <chario/drive.h>
#include <chario/list.h>

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "machine/disk.h"
#include "machine/pci.h"
#include "system/sys.h"

/* PCI Code and ID Assignment Specification: mass storage, NVM, NVMe. */
#define CLASS_NVME "0x010802"

/* Size in bytes of the first version of struct chario_drive. */
#define DRIVE_MIN 140

/* Returns whether a text is a PCI address with its domain, such as "0000:01:00.0". */
static bool is_address(const char *text)
{
	unsigned int domain, bus, slot, function;
	int used = 0;

	return sscanf(text, "%x:%x:%x.%x%n", &domain, &bus, &slot, &function, &used) == 4 &&
	       !text[used] && strspn(text, "0123456789abcdefABCDEF:.") == strlen(text) &&
	       bus <= 0xff && slot <= 0x1f && function <= 7;
}

/* Take the last address in a path such as /sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/nvme. */
int chario_pci_address_of(char *address, size_t size, const char *folder)
{
	char path[PATH_MAX], *part, *rest;

	chario_sys_copy(address, size, "");
	if (chario_sys_resolve(path, "%s", folder))
		return -ENODEV;
	for (part = strtok_r(path, "/", &rest); part; part = strtok_r(NULL, "/", &rest))
		if (is_address(part))
			chario_sys_copy(address, size, part);
	return *address ? 0 : -ENOTTY;
}

void chario_pci_driver_of(char *driver, size_t size, const char *address)
{
	char path[PATH_MAX];
	int err = chario_sys_resolve(path, CHARIO_PCI_DEVICES "/%s/driver", address);

	chario_sys_copy(driver, size, err ? "" : strrchr(path, '/') + 1);
}

static bool is_nvme(const char *address)
{
	char class[CHARIO_SYS_TEXT];

	return !chario_sys_read(class, sizeof(class), CHARIO_PCI_DEVICES "/%s/class", address) &&
	       !strcmp(class, CLASS_NVME);
}

static void read_controller(struct chario_drive *drive)
{
	const char *controller;
	CHARIO_NAMES(names);

	chario_sys_names(&names, CHARIO_PCI_DEVICES "/%s/nvme", drive->address);
	if (!names.count)
		return;
	controller = names.entries[0]->d_name;
	chario_sys_copy(drive->controller, sizeof(drive->controller), controller);
	chario_sys_read(drive->serial, sizeof(drive->serial), "/sys/class/nvme/%s/serial",
			controller);
	chario_sys_read(drive->model, sizeof(drive->model), "/sys/class/nvme/%s/model", controller);
}

static int copy_identity(const struct chario_list_disk *disk, void *data)
{
	struct chario_drive *drive = data;

	if (strcmp(disk->address, drive->address))
		return 0;
	chario_sys_copy(drive->serial, sizeof(drive->serial), disk->serial);
	chario_sys_copy(drive->model, sizeof(drive->model), disk->model);
	return 1;
}

static int read_drive(struct chario_drive *drive, const char *address)
{
	*drive = (struct chario_drive){ .size = sizeof(*drive) };
	if (!chario_sys_exists(CHARIO_PCI_DEVICES "/%s", address))
		return -ENODEV;
	if (!is_nvme(address))
		return -ENOTTY;
	chario_sys_copy(drive->address, sizeof(drive->address), address);
	chario_pci_driver_of(drive->driver, sizeof(drive->driver), address);
	if (strcmp(drive->driver, CHARIO_PCI_DRIVER))
		read_controller(drive);
	else
		chario_list_disks(copy_identity, drive);
	return 0;
}

int chario_drive_each(chario_drive_visit *visit, void *data)
{
	struct chario_drive drive;
	CHARIO_NAMES(names);
	int ret = chario_sys_names(&names, CHARIO_PCI_DEVICES);

	for (int i = 0; i < names.count && !ret; i++)
		if (!read_drive(&drive, names.entries[i]->d_name))
			ret = visit(&drive, data);
	return ret;
}

/*
 * Find the drive behind the head of a multipath namespace.  The head is in
 * /sys/devices/virtual/nvme-subsystem/nvme-subsysN, beside links to its controllers, and belongs
 * to no PCI device.
 */
static int find_behind_head(char *address, size_t size, const char *block)
{
	char path[PATH_MAX], folder[PATH_MAX + 64], *subsystem;
	int nr_found = 0, err;
	CHARIO_NAMES(names);

	err = chario_sys_resolve(path, "/sys/class/block/%s", block);
	if (err)
		return err;
	subsystem = strstr(path, "/nvme-subsys");
	while (subsystem && strncmp(subsystem, "/nvme-subsystem/", 16) == 0)
		subsystem = strstr(subsystem + 1, "/nvme-subsys");
	if (!subsystem)
		return -ENOTTY;
	subsystem[1 + strcspn(subsystem + 1, "/")] = '\0';

	chario_sys_names(&names, "%s", path);
	for (int i = 0; i < names.count; i++) {
		/* "nvme0" is a controller, "nvme0n1" a namespace. */
		const char *name = names.entries[i]->d_name, *number = name + 4;

		if (strncmp(name, "nvme", 4) || !isdigit((unsigned char)*number) ||
		    number[strspn(number, "0123456789")])
			continue;
		snprintf(folder, sizeof(folder), "/sys/class/nvme/%s", name);
		nr_found += !chario_pci_address_of(address, size, folder);
	}
	if (nr_found != 1)
		return nr_found ? -ENOTUNIQ : -ENOTTY;
	return 0;
}

/* Find a drive by the name of its device file, such as "nvme0n1". */
static int find_by_device(char *address, size_t size, const char *name)
{
	char folder[NAME_MAX + 32];
	int err;

	snprintf(folder, sizeof(folder), "/sys/class/block/%s", name);
	err = chario_pci_address_of(address, size, folder);
	if (err == -ENOTTY)
		return find_behind_head(address, size, name);
	if (!err)
		return 0;
	snprintf(folder, sizeof(folder), "/sys/class/nvme/%s", name);
	return chario_pci_address_of(address, size, folder);
}

static int find_by_disk(char *address, size_t size, const char *name)
{
	char path[PATH_MAX], folder[NAME_MAX + 32];
	int err = chario_disk_path(path, name);

	if (err)
		return err;
	name = strrchr(path, '/') + 1;
	if (!chario_sys_exists(CHARIO_DISK_CLASS "/%s", name))
		return -ENODEV;
	snprintf(folder, sizeof(folder), CHARIO_DISK_CLASS "/%s/device", name);
	return chario_pci_address_of(address, size, folder) ? -ENOTTY : 0;
}

/* Resolve a path to the name of a device: only names below /dev and /sys are the kernel's. */
static int resolve_device(char *name, size_t size, const char *asked)
{
	char path[PATH_MAX];
	int err = chario_sys_resolve(path, "%s", asked);

	if (err)
		return err == -ENOENT ? -ENODEV : err;
	if (strncmp(path, "/dev/", 5) && strncmp(path, "/sys/", 5))
		return -ENODEV;
	chario_sys_copy(name, size, strrchr(path, '/') + 1);
	return 0;
}

static int find_address(char *address, size_t size, const char *name)
{
	char last[NAME_MAX + 1];
	int err;

	snprintf(address, size, "0000:%.15s", name);
	if (!is_address(address))
		chario_sys_copy(address, size, name);
	if (is_address(address)) {
		for (char *c = address; *c; c++)
			*c = (char)tolower((unsigned char)*c);
		return 0;
	}

	if (strlen(name) > NAME_MAX)
		return -ENODEV;
	chario_sys_copy(last, sizeof(last), name);
	if (strchr(name, '/')) {
		err = resolve_device(last, sizeof(last), name);
		if (err)
			return err;
	}
	err = find_by_device(address, size, last);
	if (err == -ENODEV)
		err = find_by_disk(address, size, last);
	return err;
}

int chario_drive_find(const char *name, struct chario_drive *drive, size_t size)
{
	char address[32];
	struct chario_drive found;
	int err;

	if (!*name)
		return -EINVAL;
	err = find_address(address, sizeof(address), name);
	if (!err)
		err = read_drive(&found, address);
	if (err)
		return err;
	return chario_sys_give(drive, size, &found, sizeof(found), DRIVE_MIN);
}
