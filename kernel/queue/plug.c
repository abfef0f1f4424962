// SPDX-License-Identifier: GPL-2.0-only
/*
 * A plug: a task that submits many calls at once announces it, and the device is
 * told once.
 *
 * io_uring plugs the block layer for a batch, and unplugs it at the end and whenever
 * the task goes to sleep.  The module takes part with one callback for each queue,
 * made with the queue.  A second task that plugs the same queue rings its doorbell
 * at once.
 */
#include <linux/blkdev.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>

#include "queue/queue.h"

static void unplug(struct blk_plug_cb *cb, bool from_schedule)
{
	struct chario_queue *q = cb->data;

	chario_queue_kick(q);
	/* chario_queue_drain() waits for the store, chario_drive_drain() for the wake-up. */
	rcu_read_lock();
	WRITE_ONCE(q->plugged_by, NULL);
	wake_up(&q->slot_wait);
	rcu_read_unlock();
}

/**
 * chario_plug_init() - prepare the plug of a queue
 * @q: the queue
 */
void chario_plug_init(struct chario_queue *q)
{
	q->plug.callback = unplug;
	q->plug.data = q;
}

/**
 * chario_plug() - put a queue into the plug of the caller, if there is one
 * @q: the queue
 *
 * Context: process, on behalf of the caller.
 * Return: true if the doorbell may wait, because chario_queue_kick() will be called
 * when the caller unplugs.
 */
bool chario_plug(struct chario_queue *q)
{
	struct blk_plug *plug = current->plug;
	const struct blk_plug *by;

	if (!plug)
		return false;
	if (READ_ONCE(q->plugged_by) == plug)
		return true;
	by = cmpxchg(&q->plugged_by, NULL, plug);
	if (by)
		return false;
	list_add(&q->plug.list, &plug->cb_list);
	return true;
}
