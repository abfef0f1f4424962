// SPDX-License-Identifier: GPL-2.0-only
/*
 * Edges: grains that are being changed in part, see edge.h.
 *
 * A writer and an edge meet under the lock of the writer's queue: either the
 * writer sees the edge when it hands its command over, or the edge sees the
 * command on the queue, and waits until it has ended.
 */
#include <linux/jiffies.h>
#include <linux/wait.h>

#include "queue/edge.h"
#include "queue/medium.h"
#include "queue/queue.h"

/*
 * Count patchers, which are obstacles on all disks of the medium.  A disk that joins
 * takes over the number; a disk that has left keeps its count, because it has an
 * obstacle for good.  Posting needs no barrier: it reads @obstacles under the lock of
 * its queue, and chario_edge_lock() takes the lock of each queue after the count was
 * raised.
 */
static void count_patchers(struct chario_medium *medium, int more)
{
	struct chario_disk *disk;

	down_read(&medium->lock);
	atomic_add(more, &medium->patchers);
	list_for_each_entry(disk, &medium->disks, medium_node)
		atomic_add(more, &disk->obstacles);
	up_read(&medium->lock);
}

/**
 * chario_edge_enable() - allow edges on the medium of a disk
 * @disk: the disk
 */
void chario_edge_enable(struct chario_disk *disk)
{
	count_patchers(disk->medium, 1);
}

/**
 * chario_edge_disable() - undo chario_edge_enable()
 * @disk: the disk
 */
void chario_edge_disable(struct chario_disk *disk)
{
	count_patchers(disk->medium, -1);
}

static bool edge_try_enter(struct chario_edge *edge)
{
	struct chario_medium *medium = edge->medium;
	const struct chario_edge *other;
	unsigned long flags;
	bool free = true;

	raw_spin_lock_irqsave(&medium->edges_lock, flags);
	list_for_each_entry(other, &medium->edges, node)
		if (other->pos == edge->pos)
			free = false;
	if (free)
		list_add(&edge->node, &medium->edges);
	raw_spin_unlock_irqrestore(&medium->edges_lock, flags);
	return free;
}

static bool edge_is_clear(struct chario_queue *q, const struct chario_edge *edge)
{
	unsigned long flags;
	unsigned int tag;
	bool clear = true;

	raw_spin_lock_irqsave(&q->lock, flags);
	chario_queue_for_each_busy(q, tag) {
		struct chario_command *cmd = chario_queue_command(q, tag);

		if (chario_command_is_with_device(cmd) && chario_medium_overlaps(edge, cmd))
			clear = false;
	}
	raw_spin_unlock_irqrestore(&q->lock, flags);
	return clear;
}

/* Returns a queue whose device has a write of the grain, with its disk held; or NULL. */
static struct chario_queue *find_writer(const struct chario_edge *edge,
					struct chario_disk **holder)
{
	struct chario_medium *medium = edge->medium;
	struct chario_queue *found = NULL;
	struct chario_disk *disk;
	unsigned int i;

	down_read(&medium->lock);
	list_for_each_entry(disk, &medium->disks, medium_node) {
		for (i = 0; i < disk->drive->nr_queues && !found; i++)
			if (!edge_is_clear(disk->drive->queues[i], edge))
				found = disk->drive->queues[i];
		if (found)
			break;
	}
	if (found)
		*holder = to_chario_disk(get_device(&disk->dev));
	up_read(&medium->lock);
	return found;
}

/* Time between two checks that the waiter's own disk is still there, jiffies. */
#define LOOK	(HZ / 5)

/*
 * Wait until writes of the grain that disks of the medium have handed over have ended.
 * Disks come and go meanwhile; a disk that leaves has ended its commands before.
 */
static int wait_clear(const struct chario_edge *edge,
		      const struct chario_disk *disk, unsigned long expires)
{
	struct chario_disk *holder;
	struct chario_queue *q;

	while ((q = find_writer(edge, &holder))) {
		bool is_others = holder != disk;
		long left = chario_jiffies_left(expires);

		if (is_others && READ_ONCE(disk->removed))
			left = -ENODEV;
		else if (!wait_event_timeout(q->slot_wait, edge_is_clear(q, edge),
					     is_others ? min(left, LOOK) : left) &&
			 time_after_eq(jiffies, expires))
			left = -ETIMEDOUT;
		put_device(&holder->dev);
		if (left < 0)
			return left;
	}
	return 0;
}

/**
 * chario_edge_lock() - keep other writes of a grain from the device
 * @edge: edge of the caller
 * @disk: the disk
 * @pos: byte offset of the grain
 * @expires: jiffies at which to give up
 *
 * Context: may sleep, even after a fatal signal; between chario_edge_enable() and
 * chario_edge_disable().
 * Return: 0; ETIMEDOUT; ENODEV if the disk has gone while another disk with the same
 * grain had a write of it.  The removal of the disk waits for the caller's commands, so
 * the caller must not wait for the other disk.
 */
int chario_edge_lock(struct chario_edge *edge, struct chario_disk *disk,
		     u64 pos, unsigned long expires)
{
	long left = chario_jiffies_left(expires);
	bool entered;
	int ret;

	edge->medium = disk->medium;
	edge->pos = pos;
	left = wait_event_timeout(edge->medium->edges_wait,
				  (entered = edge_try_enter(edge)) ||
				  READ_ONCE(disk->removed), left);
	if (!entered)
		return left ? -ENODEV : -ETIMEDOUT;
	ret = wait_clear(edge, disk, expires);
	if (ret)
		chario_edge_unlock(edge);
	return ret;
}

/**
 * chario_edge_unlock() - undo chario_edge_lock()
 * @edge: a locked edge
 */
void chario_edge_unlock(struct chario_edge *edge)
{
	struct chario_medium *medium = edge->medium;
	const struct chario_disk *disk;
	unsigned long flags;
	unsigned int i;

	raw_spin_lock_irqsave(&medium->edges_lock, flags);
	list_del(&edge->node);
	raw_spin_unlock_irqrestore(&medium->edges_lock, flags);
	wake_up_all(&medium->edges_wait);
	down_read(&medium->lock);
	list_for_each_entry(disk, &medium->disks, medium_node)
		for (i = 0; i < disk->drive->nr_queues; i++)
			chario_queue_release_held(disk->drive->queues[i]);
	up_read(&medium->lock);
}
