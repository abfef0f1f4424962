/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A medium: the storage that a disk stands for.
 *
 * The two controllers of one drive may show the same namespace, each as a disk of
 * its own.  Accesses that must exclude each other on the medium exclude each other
 * for all of its disks.
 */
#ifndef CHARIO_TYPES_MEDIUM_H
#define CHARIO_TYPES_MEDIUM_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/rwsem.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include "chario.h"

/**
 * struct chario_medium - the storage that one or more disks stand for
 * @alive: reference count; each of its disks holds a reference, even after it left
 * @node: entry of the list of all media
 * @name: globally unique name; "" if it has one disk only
 * @lock: lock that protects @disks
 * @disks: disks that are present
 * @patchers: number of files that may change grains in part
 * @edges_lock: lock that protects @edges
 * @edges: grains that are being changed in part, see queue/edge.h
 * @edges_wait: wait queue for the end of an edge
 */
struct chario_medium {
	struct kref alive;
	struct list_head node;
	const char *name;
	struct rw_semaphore lock; /* disks */
	struct list_head disks;
	atomic_t patchers;
	raw_spinlock_t edges_lock; /* edges */
	struct list_head edges;
	wait_queue_head_t edges_wait;
};

/**
 * struct chario_edge - a grain that is being changed in part; lives on the
 *	stack of the task that changes it
 * @node: entry of the list of its medium
 * @medium: medium of the disk
 * @pos: byte offset of the grain on the disk
 */
struct chario_edge {
	struct list_head node;
	struct chario_medium *medium;
	u64 pos;
};

#endif /* CHARIO_TYPES_MEDIUM_H */
