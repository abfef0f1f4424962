/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A stack: the devices of a drive and the block devices that stand on them,
 * at any height (partitions, LVM, MD, dm-crypt, loop).
 */
#ifndef CHARIO_STACK_H
#define CHARIO_STACK_H

#include <stdbool.h>

#include <chario/drive.h>

/**
 * struct chario_stack_device - one device of a stack
 * @name: name in sysfs and below /dev
 * @number: "major:minor" of a block device, else empty
 * @below: name of the device that this one stands on; empty for a device of the drive itself
 * @whole: true for a whole namespace
 */
struct chario_stack_device {
	char name[64];
	char number[24];
	char below[64];
	bool whole;
};

/**
 * struct chario_stack - all devices of a drive
 * @devices: array of devices, lower ones first
 * @nr_devices: number of devices
 */
struct chario_stack {
	struct chario_stack_device *devices;
	int nr_devices;
};

/* Find the devices of a drive.  Returns 0, -ENOMEM or another negative errno. */
int chario_stack_init(struct chario_stack *stack, const struct chario_drive *drive);
void chario_stack_deinit(struct chario_stack *stack);

/* Returns the device with this name or this number; NULL if it is not in the stack. */
const struct chario_stack_device *chario_stack_find(const struct chario_stack *stack,
						    const char *name_or_number);

/* Returns the device at a path below /dev; NULL if it is not in the stack. */
const struct chario_stack_device *chario_stack_find_path(const struct chario_stack *stack,
							 const char *path);

#endif /* CHARIO_STACK_H */
