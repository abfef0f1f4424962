/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A region: a range of a disk with a node of its own, /dev/chardiskNpM, which is used like a
 * disk.
 *
 * A region is a partition of CharIO's type in a GPT.  "chario region" makes it, and tells the
 * module, which knows ranges only.  While a region is open for writing, nothing on the block
 * disk can write to it, and what the block disk has mounted cannot be opened for writing.
 */
#ifndef CHARIO_REGION_H
#define CHARIO_REGION_H

#include <stddef.h>
#include <stdint.h>

#include <chario/device.h>

#ifdef __cplusplus
extern "C" {
#endif

/* GPT partition type of a region. */
#define CHARIO_REGION_TYPE "62D1C4A5-5B0E-4C2C-9A3F-1C4A7D9E6B08"

/**
 * struct chario_list_region - a region that a disk has
 * @number: number M of chardiskNpM
 * @node_error: 0 if @path is the node of the region; ENOENT, ENOTBLK: see
 *	&struct chario_list_disk
 * @offset: offset of its first byte on the disk, in bytes
 * @bytes: length of the region in bytes
 * @name: "chardiskNpM"
 * @path: "/dev/chardiskNpM"
 * @nr_open: number of open files of the region
 *
 * The library makes the struct and may add members at its end.
 */
struct chario_list_region {
	uint32_t number;
	int32_t node_error;
	uint64_t offset;
	uint64_t bytes;
	char name[32];
	char path[40];
	uint32_t nr_open;
};

/**
 * typedef chario_region_visit - function called for each region of a disk
 * @region: the region; belongs to the library, valid until the visit returns
 * @data: argument of the list
 *
 * Return: 0 to go on; anything else ends the list and is its result.
 */
typedef int chario_region_visit(const struct chario_list_region *region, void *data);

/**
 * chario_regions_list() - visit the regions of a disk in the order of their numbers
 * @index: number N of the disk
 * @visit: function called for each region
 * @data: argument of @visit
 *
 * No right to the disk is needed.
 *
 * Context: may sleep; @visit runs in the calling thread.
 * Return: 0, also when there is no region and no such disk; the result of @visit when it is
 * not 0; -ENOMEM, -EACCES when sysfs may not be read.
 */
int chario_regions_list(uint32_t index, chario_region_visit *visit, void *data);

/**
 * chario_regions_set() - replace the regions of a disk
 * @device: an open disk, not a region of it; it may be open for reading only
 * @regions: the new regions, see &struct chario_region
 * @count: number of regions, 0 to CHARIO_REGIONS_MAX
 *
 * A region that keeps its number, offset and length stays as it is, open or not.  The
 * partition table is neither read nor written.
 *
 * Context: may sleep.
 * Return: 0; -EPERM without CAP_SYS_ADMIN; -EINVAL if @device is not all of a disk, or a
 * region is not on the disk, not whole blocks, or overlaps another one; -EBUSY if a region
 * that would change or go is open, and then all stay; -ENOSPC, -ENOMEM; -ENODEV when the disk
 * has been removed; -ENOTTY if the module is too old or @device is no character disk.
 */
int chario_regions_set(const struct chario_device *device, const struct chario_region *regions,
		       uint32_t count);

#ifdef __cplusplus
}
#endif

#endif /* CHARIO_REGION_H */
