/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The functions of a medium.
 */
#ifndef CHARIO_QUEUE_MEDIUM_H
#define CHARIO_QUEUE_MEDIUM_H

#include "types/disk.h"
#include "types/medium.h"
#include "types/request.h"

/* queue/medium.c */
int chario_medium_join(struct chario_disk *disk, const char *name);
void chario_medium_leave(struct chario_disk *disk);
void chario_medium_put(struct chario_disk *disk);
bool chario_medium_meets_edge(const struct chario_command *cmd);
bool chario_medium_discards(const struct chario_edge *edge,
			    const struct chario_command *cmd);

/* Returns whether requests of an operation change what is on the medium. */
static inline bool chario_medium_is_changed_by(enum chario_op op)
{
	return op == CHARIO_OP_WRITE || op == CHARIO_OP_DISCARD ||
	       op == CHARIO_OP_WRITE_ZEROES;
}

/* Returns whether a command changes the grain of an edge. */
static inline bool chario_medium_overlaps(const struct chario_edge *edge,
					  const struct chario_command *cmd)
{
	const struct chario_request *req = cmd->req;

	if (!chario_medium_is_changed_by(req->op) ||
	    req->disk->medium != edge->medium)
		return false;
	if (unlikely(req->op == CHARIO_OP_DISCARD))
		return chario_medium_discards(edge, cmd);
	return cmd->disk_offset <= edge->pos &&
	       cmd->disk_offset + cmd->bytes > edge->pos;
}

/**
 * chario_medium_holds() - tell if a command must wait for an edge
 * @cmd: a command that is about to be handed to the device
 *
 * Context: under the lock of its queue.
 * Return: the result of chario_medium_meets_edge(), or false at once if no file may
 * change grains in part.
 */
static inline bool chario_medium_holds(const struct chario_command *cmd)
{
	return chario_medium_is_changed_by(cmd->req->op) &&
	       atomic_read(&cmd->req->disk->medium->patchers) &&
	       chario_medium_meets_edge(cmd);
}

#endif /* CHARIO_QUEUE_MEDIUM_H */
