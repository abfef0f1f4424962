/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A list: the disks of this machine, from sysfs, without opening them.
 *
 * No right to a device is needed for it.
 */
#ifndef CHARIO_LIST_H
#define CHARIO_LIST_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct chario_list_disk - a disk, open or not
 * @index: the N of chardiskN
 * @namespace_id: NVMe namespace identifier; 0 where there is none
 * @capacity_bytes: size of the disk
 * @logical_block_bytes: offsets and lengths are multiples of this
 * @nr_queues: queue pairs that complete by interrupt
 * @name: "chardiskN"
 * @path: "/dev/chardiskN"
 * @address: PCI address of the drive, "0000:01:00.0"; empty where it has none
 * @backend: "nvme" or "loopback"
 * @state: "live", "recovering", "dead" or "removed"
 * @serial: serial number of the drive
 * @model: model of the drive
 * @firmware: firmware revision of the drive
 * @node_error: 0 where @path is the node of the disk; ENOENT where it is missing;
 *	ENOTBLK where something else stands there, such as a plain file
 *
 * The library makes it and may add members at its end.  Strings end with a
 * NUL and are empty where the disk does not say.
 */
struct chario_list_disk {
	uint32_t index;
	uint32_t namespace_id;
	uint64_t capacity_bytes;
	uint32_t logical_block_bytes;
	uint32_t nr_queues;
	char name[24];
	char path[32];
	char address[16];
	char backend[16];
	char state[16];
	char serial[24];
	char model[48];
	char firmware[16];
	int32_t node_error;
};

/**
 * typedef chario_list_visit - what is called for each disk of a list
 * @disk: the disk; belongs to the library, valid until the visit returns
 * @data: what the caller of the list gave
 *
 * Return: 0 to go on; anything else ends the list and is its result.
 */
typedef int chario_list_visit(const struct chario_list_disk *disk, void *data);

/**
 * chario_list_disks() - visit the disks of CharIO in the order of their index
 * @visit: is called once for each disk
 * @data: is passed to @visit
 *
 * A disk that goes away meanwhile is left out.
 *
 * Context: may sleep; @visit runs in the calling thread.
 * Return: 0, also when there is no disk; what @visit returned when that was
 * not 0; -ENOMEM, -EACCES when sysfs may not be read.
 */
int chario_list_disks(chario_list_visit *visit, void *data);

#ifdef __cplusplus
}
#endif

#endif /* CHARIO_LIST_H */
