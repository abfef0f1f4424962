/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A node: a part of a disk as programs open it.  /dev/chardiskN is a node for all of the
 * disk, /dev/chardiskNpM one for a region of it.
 *
 * A node that is open for writing claims its part, see front/block/claim.c.
 */
#ifndef CHARIO_TYPES_NODE_H
#define CHARIO_TYPES_NODE_H

#include <linux/cdev.h>
#include <linux/list.h>

struct chario_claim;
struct chario_disk;
struct device;

/**
 * struct chario_node - a part of a disk as programs open it
 * @cdev: character device
 * @dev: device of the node; an open file holds a reference, and by it one to @disk
 * @disk: the disk
 * @first: byte offset of the part on the disk
 * @bytes: length of the part in bytes
 * @number: number of the region, 0 for the whole disk
 * @entry: entry in the list of the nodes of @disk
 * @files: number of open files; under disk->files_lock
 * @leaves: true if the node is being taken away, and not to be opened; under disk->files_lock
 * @writers: number of files that may write; under disk->node_lock
 * @claim: claim of @writers, or NULL; under disk->node_lock
 */
struct chario_node {
	struct cdev cdev;
	struct device *dev;
	struct chario_disk *disk;
	u64 first;
	u64 bytes;
	u32 number;
	struct list_head entry;
	unsigned int files;
	bool leaves;
	unsigned int writers;
	struct chario_claim *claim;
};

#endif /* CHARIO_TYPES_NODE_H */
