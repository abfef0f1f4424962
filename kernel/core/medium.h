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
#include "core/device.h"
#include "core/request.h"

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

/**
 * struct chario_edge - a block that is being changed in part; lives on the
 *	stack of who does it
 * @node: on the list of its medium
 * @medium: of the disk
 * @pos: byte offset of the block on the disk
 */
struct chario_edge {
	struct list_head node;
	struct chario_medium *medium;
	u64 pos;
};

/* core/medium.c */
int chario_medium_join(struct chario_device *cio, const char *name);
void chario_medium_leave(struct chario_device *cio);
void chario_medium_put(struct chario_device *cio);
bool chario_medium_meets_edge(const struct chario_command *cmd);

/* Does a command write the block of an edge? */
static inline bool chario_medium_overlaps(const struct chario_edge *edge,
					  const struct chario_command *cmd)
{
	const struct chario_request *req = cmd->req;

	return req->op == CHARIO_OP_WRITE &&
	       req->cio->medium == edge->medium &&
	       cmd->disk_offset <= edge->pos &&
	       cmd->disk_offset + cmd->bytes > edge->pos;
}

/**
 * chario_medium_holds() - must a command wait for an edge?
 * @cmd: wants to be handed to the device
 *
 * Context: under the lock of its queue.
 * Return: as chario_medium_meets_edge().
 */
static inline bool chario_medium_holds(const struct chario_command *cmd)
{
	return cmd->req->op == CHARIO_OP_WRITE &&
	       atomic_read(&cmd->req->cio->medium->patchers) &&
	       chario_medium_meets_edge(cmd);
}

#endif /* CHARIO_CORE_MEDIUM_H */
