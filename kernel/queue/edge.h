/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An edge: a grain that is being changed in part.  A grain is the unit in which the
 * device reads and writes, for most devices the logical block.
 *
 * To change a part of a grain, its owner reads the grain, changes it and writes it
 * back.  From before the read until after the write no other write of the grain may
 * reach the device.  A command is checked when it is handed to the device, but only
 * while a file of any size is open on the medium: otherwise callers pay for a look at
 * one word of their disk, its obstacles.  A write that meets an edge is held, as during
 * a recovery, and handed over when the edge has gone.
 */
#ifndef CHARIO_QUEUE_EDGE_H
#define CHARIO_QUEUE_EDGE_H

#include <linux/list.h>

#include "types/disk.h"
#include "types/medium.h"
#include "types/request.h"

/* queue/edge.c */
void chario_edge_enable(struct chario_disk *disk);
void chario_edge_disable(struct chario_disk *disk);
int chario_edge_lock(struct chario_edge *edge, struct chario_disk *disk,
		     u64 pos, unsigned long expires);
void chario_edge_unlock(struct chario_edge *edge);

#endif /* CHARIO_QUEUE_EDGE_H */
