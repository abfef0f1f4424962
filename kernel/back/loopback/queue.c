// SPDX-License-Identifier: GPL-2.0-only
/*
 * The queue operations for the core, which calls them under the queue's lock.
 */
#include "loopback.h"

/**
 * loopback_queue_add() - add a command at the tail of a ring
 * @ring: the ring
 * @tag: tag of the command
 *
 * Context: under the queue's lock.
 */
void loopback_queue_add(struct loopback_ring *ring, u16 tag)
{
	ring->tags[ring->tail++ % LOOPBACK_DEPTH] = tag;
}

/**
 * loopback_queue_take() - take a command from a ring
 * @lq: the queue
 * @ring: one of its rings
 * @newest: take the newest command rather than the oldest
 *
 * Context: under the queue's lock.
 * Return: the command; NULL when the ring is empty.
 */
struct chario_command *loopback_queue_take(struct loopback_queue *lq,
					   struct loopback_ring *ring,
					   bool newest)
{
	unsigned int at;

	if (ring->head == ring->tail)
		return NULL;
	at = newest ? --ring->tail : ring->head++;
	return chario_queue_command(&lq->core, ring->tags[at % LOOPBACK_DEPTH]);
}

/**
 * loopback_queue_reset() - let the device forget all commands
 * @lq: queue whose device has been stopped
 */
void loopback_queue_reset(struct loopback_queue *lq)
{
	raw_spin_lock_irq(&lq->core.lock);
	lq->posted.head = lq->posted.tail;
	lq->ended.head = lq->ended.tail;
	bitmap_zero(lq->lost, LOOPBACK_DEPTH);
	lq->stopped = false;
	raw_spin_unlock_irq(&lq->core.lock);
}

static void loopback_kick(struct chario_queue *q)
{
	struct loopback_queue *lq = to_loopback_queue(q);

	if (!lq->stopped && lq->posted.head != lq->posted.tail)
		queue_work(to_loopback(q->drive)->workers, &lq->work);
}

static void loopback_post(struct chario_queue *q, struct chario_command *cmd,
			  bool kick)
{
	loopback_queue_add(&to_loopback_queue(q)->posted, cmd->tag);
	if (kick)
		loopback_kick(q);
}

/**
 * loopback_queue_end() - end a command that the device has finished
 * @lq: the queue
 * @cmd: the command
 * @error: 0 or -errno
 *
 * Context: any but under the queue's lock.
 */
void loopback_queue_end(struct loopback_queue *lq, struct chario_command *cmd,
			int error)
{
	unsigned long flags;

	if (lq->core.ops->submit) {
		chario_queue_end(&lq->core, cmd, error);
		return;
	}
	raw_spin_lock_irqsave(&lq->core.lock, flags);
	lq->errors[cmd->tag] = error;
	loopback_queue_add(&lq->ended, cmd->tag);
	raw_spin_unlock_irqrestore(&lq->core.lock, flags);
	chario_queue_reap(&lq->core);
}

static unsigned int loopback_reap(struct chario_queue *q)
{
	struct loopback_queue *lq = to_loopback_queue(q);
	struct chario_command *cmd;
	unsigned int count = 0;

	while (count < CHARIO_REAP_BATCH) {
		cmd = loopback_queue_take(lq, &lq->ended, false);
		if (!cmd)
			break;
		chario_complete_reaped(q, cmd, lq->errors[cmd->tag]);
		count++;
	}
	return count;
}

const struct chario_queue_ops loopback_queue_ops = {
	.post	= loopback_post,
	.kick	= loopback_kick,
	.reap	= loopback_reap,
};
