// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reaping: completions are taken from the device.
 */
#include "queue/queue.h"
#include "trace.h"

/* Completion word without a completion. */
static const u32 no_word;

/**
 * chario_queue_drop_word() - stop the use of the back end's completion word
 * @q: the queue
 *
 * The memory of the word may be freed one RCU grace period later.
 */
void chario_queue_drop_word(struct chario_queue *q)
{
	WRITE_ONCE(q->word, &no_word);
	q->word_value = 1;
	q->word_mask = ~0U;
}

/* Take up to CHARIO_REAP_BATCH completions.  Under q->lock. */
static inline unsigned int reap_batch(struct chario_queue *q)
{
	unsigned int count;

	/* A dead queue has no rings, and its commands have been ended. */
	if (unlikely(q->dead_error))
		return 0;
	count = q->ops->reap(q);
	q->reaped += count;
	return count;
}

/**
 * chario_queue_reap() - take completions
 * @q: the queue
 *
 * The loop stops when it has taken more completions than the depth of the queue:
 * later ones raise another interrupt.
 *
 * Context: any but under q->lock.
 * Return: number of commands that completed.
 */
unsigned int chario_queue_reap(struct chario_queue *q)
{
	struct chario_request *done;
	unsigned int batch, count = 0;
	unsigned long flags;

	do {
		raw_spin_lock_irqsave(&q->lock, flags);
		batch = reap_batch(q);
		done = chario_queue_take_done(q);
		raw_spin_unlock_irqrestore(&q->lock, flags);
		if (done)
			chario_complete_list(q, done);
		count += batch;
	} while (unlikely(batch == CHARIO_REAP_BATCH && count <= q->depth));
	return count;
}

static __always_inline unsigned int poll(struct chario_queue *q, const void *looker)
{
	struct chario_request *done;
	unsigned int count;

	if (!chario_queue_is_pending(q))
		return unlikely(q->ops->poll) ? q->ops->poll(q) : 0;
	raw_spin_lock_irq(&q->lock);
	count = reap_batch(q);
	done = chario_queue_take_done(q);
	raw_spin_unlock_irq(&q->lock);
	if (unlikely(done))
		chario_complete_seen(q, done, looker);
	return count;
}

/**
 * chario_queue_poll() - take completions, if there are any
 * @q: the queue
 *
 * Context: process, interrupts on.
 * Return: number of commands that completed.
 */
unsigned int chario_queue_poll(struct chario_queue *q)
{
	return poll(q, NULL);
}

/**
 * chario_queue_poll_for() - take completions on behalf of a looker
 * @q: the queue
 * @looker: the polling context, passed to callers who are told, see &struct
 *	chario_async
 *
 * Context: as chario_queue_poll().
 * Return: as chario_queue_poll().
 */
unsigned int chario_queue_poll_for(struct chario_queue *q, const void *looker)
{
	return poll(q, looker);
}

/**
 * chario_queue_irq() - take completions in an interrupt handler of the device
 * @q: the queue
 *
 * Return: number of commands that completed.
 */
unsigned int chario_queue_irq(struct chario_queue *q)
{
	unsigned int count;

	trace_irq(q, 0);
	count = chario_queue_reap(q);
	if (likely(count))
		q->interrupts++;
	return count;
}
