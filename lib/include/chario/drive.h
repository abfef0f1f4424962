/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* A drive: an NVMe controller on the PCI bus, whatever its driver is. */
#ifndef CHARIO_DRIVE_H
#define CHARIO_DRIVE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct chario_drive - an NVMe controller of this machine
 * @size: size of this struct as the library knows it
 * @address: PCI address, "0000:01:00.0"
 * @driver: name of its driver: "nvme", "chario", ...; empty when it has none
 * @controller: name given by the driver, "nvme0"; empty when there is none
 * @serial: serial number, empty when no driver reports it
 * @model: model, empty when no driver reports it
 *
 * The struct is a plain value: it holds no resource and describes the time it was made.
 * Strings end with a NUL.
 */
struct chario_drive {
	uint32_t size;
	char address[16];
	char driver[32];
	char controller[16];
	char serial[24];
	char model[48];
};

/**
 * typedef chario_drive_visit - function called for each drive
 * @drive: the drive; belongs to the library, valid until the visit returns
 * @data: argument of chario_drive_each()
 *
 * Return: 0 to go on; anything else ends the walk and is its result.
 */
typedef int chario_drive_visit(const struct chario_drive *drive, void *data);

/**
 * chario_drive_each() - visit all NVMe controllers in the order of their address
 * @visit: function called for each controller
 * @data: argument of @visit
 *
 * Context: may sleep; @visit runs in the calling thread.
 * Return: 0, also when there is none; the result of @visit when it is not 0; -ENOMEM,
 * -EACCES when sysfs may not be read.
 */
int chario_drive_each(chario_drive_visit *visit, void *data);

/**
 * chario_drive_find() - find a drive by one of its names
 * @name: a PCI address with or without its domain ("0000:01:00.0",
 *	"01:00.0"), a block device or partition of the drive ("/dev/nvme0n1",
 *	or a link to it), its controller ("nvme0"), or a disk of CharIO as
 *	chario_device_open() takes it
 * @drive: struct to fill in
 * @size: sizeof(*@drive)
 *
 * Context: may sleep.
 * Return: 0; -ENODEV when nothing has this name; -ENOTTY when the name is not that of an
 * NVMe controller on the PCI bus; -ENOTUNIQ when several drives have this serial number or
 * serve this block device (multipath); -EINVAL when @name is empty or @size is smaller than
 * the first version of the struct.
 */
int chario_drive_find(const char *name, struct chario_drive *drive, size_t size);

#ifdef __cplusplus
}
#endif

#endif /* CHARIO_DRIVE_H */
