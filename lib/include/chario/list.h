/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A list: the disks of this machine, from sysfs, without opening them.
 *
 * The list needs no right to a device.
 */
#ifndef CHARIO_LIST_H
#define CHARIO_LIST_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct chario_list_disk - a disk, opened or not
 * @index: number N of chardiskN
 * @namespace_id: NVMe namespace identifier; 0 if there is none
 * @capacity_bytes: size of the disk
 * @logical_block_bytes: unit of offsets and lengths in bytes
 * @nr_queues: number of queue pairs that complete by interrupt
 * @name: "chardiskN"
 * @path: "/dev/chardiskN"
 * @address: PCI address of the drive, "0000:01:00.0"; empty if it has none
 * @backend: "nvme" or "loopback"
 * @state: "live", "recovering", "dead" or "removed"
 * @serial: serial number of the drive
 * @model: model of the drive
 * @firmware: firmware revision of the drive
 * @node_error: 0 if @path is the node of the disk; ENOENT if it is missing; ENOTBLK if
 *	another file is there, such as a plain file
 * @block: "/dev/chardiskNb" if the disk is a block device as well, else empty
 *
 * The library makes the struct and may add members at its end.  Strings end with a NUL and
 * are empty if the disk does not report them.
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
	char block[32];
};

/**
 * typedef chario_list_visit - function called for each disk of a list
 * @disk: the disk; belongs to the library, valid until the visit returns
 * @data: argument of the list
 *
 * Return: 0 to go on; anything else ends the list and is its result.
 */
typedef int chario_list_visit(const struct chario_list_disk *disk, void *data);

/**
 * chario_list_disks() - visit the disks of CharIO in the order of their index
 * @visit: function called for each disk
 * @data: argument of @visit
 *
 * A disk that disappears during the call is left out.
 *
 * Context: may sleep; @visit runs in the calling thread.
 * Return: 0, also when there is no disk; the result of @visit when it is not 0; -ENOMEM,
 * -EACCES when sysfs may not be read.
 */
int chario_list_disks(chario_list_visit *visit, void *data);

#ifdef __cplusplus
}
#endif

#endif /* CHARIO_LIST_H */
