// SPDX-License-Identifier: GPL-2.0-only
/*
 * The life of a queue: made, drained and freed.  The work of a queue is in slots.c,
 * post.c, submit.c, plug.c, reap.c, complete.c and replay.c.
 */
#include <linux/wait.h>

#include "queue/queue.h"
#include "types/disk.h"

/**
 * chario_queue_init() - make a queue with all the memory it will ever need
 * @q: zeroed memory for the queue
 * @ops: operations of the back end
 * @dma_dev: device that does the DMA, or NULL
 * @depth: number of commands, 1 to 65535
 * @command_bytes: largest length of a command in bytes
 * @polled: true if the device sends no interrupt for this queue
 * @node: NUMA node, or NUMA_NO_NODE
 *
 * The queue is FROZEN until chario_queue_replay().
 *
 * Return: 0 or ENOMEM.
 */
int chario_queue_init(struct chario_queue *q,
		      const struct chario_queue_ops *ops,
		      struct device *dma_dev, unsigned int depth,
		      u32 command_bytes, bool polled, int node)
{
	q->ops = ops;
	q->dma_dev = dma_dev;
	q->polled = polled;
	if (!ops->prep)
		q->no_prep_bytes = UINT_MAX;
	q->state = CHARIO_QUEUE_FROZEN;
	chario_queue_drop_word(q);
	raw_spin_lock_init(&q->lock);
	init_waitqueue_head(&q->slot_wait);
	init_llist_head(&q->dirty);
	INIT_WORK(&q->dirty_work, chario_complete_dirty);
	INIT_WORK(&q->submit_work, chario_submit_held);
	chario_plug_init(q);
	return chario_slots_init(q, depth, command_bytes, node);
}

/**
 * chario_queue_deinit() - free the memory of a queue
 * @q: a queue that failed and was drained, or was never used
 */
void chario_queue_deinit(struct chario_queue *q)
{
	flush_work(&q->dirty_work);
	chario_slots_deinit(q);
}

/* Returns whether nobody is inside the queue, or will come back to unplug it. */
static bool is_deserted(const struct chario_queue *q)
{
	return chario_queue_is_idle(q) && !READ_ONCE(q->plugged_by);
}

/**
 * chario_queue_drain() - wait until nobody is inside a dead queue any more
 * @q: a queue that has been failed
 *
 * Afterwards no caller touches the back end through this queue: each has given its
 * command back, or will find the queue dead.  For one RCU grace period a caller may
 * still read the completion word, or wake those who wait for a slot.
 */
void chario_queue_drain(struct chario_queue *q)
{
	/* Pairs with test_and_set_bit() in chario_queue_try_get(). */
	smp_mb();
	wait_event(q->slot_wait, is_deserted(q));
	cancel_work_sync(&q->submit_work);
	flush_work(&q->dirty_work);
	timer_delete_sync(&q->timer);
	cancel_work_sync(&q->watch_work);
	chario_queue_drop_word(q);
}
