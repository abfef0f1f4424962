/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A medium: what a disk stands for.
 *
 * The two controllers of one drive may show the same namespace, each as a disk of
 * its own.  What must be kept apart on the medium is kept apart for all of its
 * disks.
 */
#ifndef CHARIO_CORE_MEDIUM_H
#define CHARIO_CORE_MEDIUM_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/rwsem.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include "chario.h"

/**
 * struct chario_medium - what a disk stands for, or several
 * @alive: each of its disks keeps it, also one that has gone
 * @node: on the list of all
 * @name: unique in the world; "" when it has one disk only
 * @lock: protects @disks
 * @disks: those that are there
 * @patchers: files that may change blocks in part
 * @edges_lock: protects @edges
 * @edges: blocks that are being changed in part, see core/edge.h
 * @edges_wait: an edge has gone
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

/* core/medium.c */
int chario_medium_join(struct chario_device *cio, const char *name);
void chario_medium_leave(struct chario_device *cio);
void chario_medium_put(struct chario_device *cio);

#endif /* CHARIO_CORE_MEDIUM_H */
