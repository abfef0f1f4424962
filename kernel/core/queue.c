// SPDX-License-Identifier: GPL-2.0-only
/*
 * Queues: slots, reaping, and what recovery does with them.
 */
#include <linux/bitmap.h>
#include <linux/jiffies.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/sort.h>

#include "core/pages.h"
#include "core/device.h"
#include "core/queue.h"
#include "trace.h"

/* A word that never tells of a completion. */
static const u32 no_word;

/**
 * chario_queue_drop_word() - no completion word tells of completions any more
 * @q: the queue
 *
 * The memory of the former word may be freed one RCU grace period later.
 */
void chario_queue_drop_word(struct chario_queue *q)
{
	WRITE_ONCE(q->word, &no_word);
	q->word_value = 1;
	q->word_mask = ~0U;
}

static void lay_out_commands(struct chario_queue *q)
{
	size_t head = sizeof(struct chario_command) + q->ops->command_bytes;
	unsigned int tag;

	for (tag = 0; tag < q->depth; tag++) {
		struct chario_command *cmd = chario_queue_command(q, tag);

		cmd->tag = tag;
		cmd->segments = (void *)cmd + ALIGN(head, 8);
		cmd->pages = (void *)&cmd->segments[q->max_pages];
	}
}

static void free_memory(struct chario_queue *q)
{
	kvfree(q->commands);
	kvfree(q->order);
	bitmap_free(q->busy);
}

/**
 * chario_queue_init() - make a queue with all the memory it will ever need
 * @q: zeroed
 * @ops: the back end's part
 * @dma_dev: device that does the DMA, or NULL
 * @depth: number of commands, 1 to 65535
 * @max_pages: pages that one command can hold
 * @polled: the device sends no interrupt for this queue
 * @node: NUMA node, or NUMA_NO_NODE
 *
 * The queue is FROZEN until chario_queue_replay().
 *
 * Return: 0 or ENOMEM.
 */
int chario_queue_init(struct chario_queue *q,
		      const struct chario_queue_ops *ops,
		      struct device *dma_dev, unsigned int depth,
		      unsigned int max_pages, bool polled, int node)
{
	size_t bytes = ALIGN(sizeof(struct chario_command) +
			     ops->command_bytes, 8);
	size_t page_bytes = sizeof(struct chario_segment) +
			    sizeof(struct page *);

	q->ops = ops;
	q->dma_dev = dma_dev;
	q->depth = depth;
	q->max_pages = max_pages;
	q->polled = polled;
	q->state = CHARIO_QUEUE_FROZEN;
	chario_queue_drop_word(q);
	q->has_lists = chario_map_wants_list(dma_dev);
	if (q->has_lists) {
		bytes += sizeof(struct sg_table);
		page_bytes += sizeof(struct scatterlist);
	}
	q->stride = ALIGN(bytes + max_pages * page_bytes, SMP_CACHE_BYTES);
	raw_spin_lock_init(&q->lock);
	init_waitqueue_head(&q->slot_wait);
	timer_setup(&q->timer, chario_watch, 0);
	init_llist_head(&q->dirty);
	INIT_WORK(&q->dirty_work, chario_complete_dirty);
	INIT_WORK(&q->submit_work, chario_submit_held);
	chario_plug_init(q);

	q->busy = bitmap_zalloc(round_up(depth, BITS_PER_LONG), GFP_KERNEL);
	q->order = kvcalloc(depth, sizeof(*q->order), GFP_KERNEL);
	q->commands = kvzalloc_node(array_size(roundup_pow_of_two(depth),
					       q->stride),
				    GFP_KERNEL, node);
	if (!q->busy || !q->order || !q->commands) {
		free_memory(q);
		return -ENOMEM;
	}
	q->max_depth = depth;
	chario_queue_set_depth(q, depth);
	lay_out_commands(q);
	return 0;
}

/**
 * chario_queue_set_depth() - how many commands a queue takes from now on
 * @q: idle, nobody else uses it
 * @depth: 1 to that of chario_queue_init()
 */
void chario_queue_set_depth(struct chario_queue *q, unsigned int depth)
{
	unsigned int bits = round_up(q->max_depth, BITS_PER_LONG);

	q->depth = depth;
	bitmap_zero(q->busy, bits);
	bitmap_set(q->busy, depth, bits - depth);
}

/**
 * chario_queue_deinit() - free the memory of a queue
 * @q: failed and drained, or never used
 */
void chario_queue_deinit(struct chario_queue *q)
{
	timer_delete_sync(&q->timer);
	flush_work(&q->dirty_work);
	free_memory(q);
}

/* Has one been free, or is there no use in waiting? */
static bool is_got(struct chario_queue *q, struct chario_command **cmd)
{
	*cmd = chario_queue_try_get(q);
	return *cmd != ERR_PTR(-EAGAIN);
}

/**
 * chario_queue_get() - take a command, wait for a free one
 * @q: the queue
 * @expires: jiffies at which to give up
 * @killable: a fatal signal ends the wait
 *
 * Return: the command; ETIMEDOUT, EINTR on a fatal signal, or the queue's
 * error when it is dead.
 */
struct chario_command *chario_queue_get(struct chario_queue *q,
					unsigned long expires, bool killable)
{
	long left = chario_jiffies_left(expires);
	struct chario_command *cmd;

	if (killable)
		left = wait_event_killable_timeout(q->slot_wait,
						   is_got(q, &cmd), left);
	else
		left = wait_event_timeout(q->slot_wait, is_got(q, &cmd), left);
	if (cmd != ERR_PTR(-EAGAIN))
		return cmd;
	return ERR_PTR(left < 0 ? -EINTR : -ETIMEDOUT);
}

/* Under q->lock. */
static inline unsigned int reap_batch(struct chario_queue *q)
{
	unsigned int count;

	/* A dead queue has no rings: its commands have been ended. */
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
 * What comes in after more than the depth of the queue has been taken brings an
 * interrupt of its own.
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
 * chario_queue_poll_for() - chario_queue_poll() on behalf of somebody
 * @q: the queue
 * @looker: who that is, for those who are told, see &struct chario_async
 *
 * Return: as chario_queue_poll().
 */
unsigned int chario_queue_poll_for(struct chario_queue *q, const void *looker)
{
	return poll(q, looker);
}

/**
 * chario_queue_irq() - the device's interrupt has arrived
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

/**
 * chario_queue_freeze() - hold commands back from now on
 * @q: the queue
 */
void chario_queue_freeze(struct chario_queue *q)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&q->lock, flags);
	if (q->state == CHARIO_QUEUE_LIVE)
		q->state = CHARIO_QUEUE_FROZEN;
	raw_spin_unlock_irqrestore(&q->lock, flags);
}

static int compare_numbers(const void *a, const void *b, const void *queue)
{
	u32 one = chario_queue_command(queue, *(const u16 *)a)->number;
	u32 other = chario_queue_command(queue, *(const u16 *)b)->number;

	/* Numbers wrap. */
	return (s32)(one - other);
}

/*
 * Sort the commands of one of two states by the order of their submission.  Returns
 * how many there are.
 */
static unsigned int sort_commands(struct chario_queue *q,
				  enum chario_command_state state,
				  enum chario_command_state other)
{
	unsigned int tag, count = 0;

	chario_queue_for_each_busy(q, tag) {
		u8 now = chario_queue_command(q, tag)->state;

		if (now == state || now == other)
			q->order[count++] = tag;
	}
	sort_r(q->order, count, sizeof(*q->order), compare_numbers, NULL, q);
	return count;
}

/*
 * Hand over what is in flight and in one of two states: not what nobody waits for,
 * and not to a disk that is another one by now, with blocks of another length
 * maybe.  Under q->lock; the device has none of it.
 */
static void hand_over_again(struct chario_queue *q,
			    enum chario_command_state state,
			    enum chario_command_state other)
{
	unsigned int count = sort_commands(q, state, other), i;

	for (i = 0; i < count; i++) {
		struct chario_command *cmd = chario_queue_command(q,
								  q->order[i]);

		if (cmd->req->orphaned)
			chario_complete_command(q, cmd, -ECANCELED);
		else if (READ_ONCE(cmd->req->cio->removed))
			chario_complete_command(q, cmd, -ENODEV);
		else
			chario_queue_hand_over(q, cmd, false);
	}
	q->ops->kick(q);
}

/**
 * chario_queue_release_held() - an edge has gone
 * @q: the queue
 */
void chario_queue_release_held(struct chario_queue *q)
{
	struct chario_request *done;
	unsigned long flags;

	raw_spin_lock_irqsave(&q->lock, flags);
	if (q->state == CHARIO_QUEUE_LIVE)
		hand_over_again(q, CHARIO_COMMAND_HELD, CHARIO_COMMAND_HELD);
	done = chario_queue_take_done(q);
	raw_spin_unlock_irqrestore(&q->lock, flags);
	chario_complete_list(q, done);
}

/**
 * chario_queue_replay() - the device is new: post all that is in flight again
 * @q: frozen; the device has forgotten every command
 *
 * Commands of orphaned requests and of disks that have been lost are not repeated:
 * they end here.  The others are, in the order of their submission: to read or write
 * the same bytes once more changes nothing.
 */
void chario_queue_replay(struct chario_queue *q)
{
	struct chario_request *done;
	unsigned long flags;

	raw_spin_lock_irqsave(&q->lock, flags);
	if (q->state == CHARIO_QUEUE_DEAD) {
		raw_spin_unlock_irqrestore(&q->lock, flags);
		return;
	}
	q->state = CHARIO_QUEUE_LIVE;
	hand_over_again(q, CHARIO_COMMAND_POSTED, CHARIO_COMMAND_HELD);
	done = chario_queue_take_done(q);
	raw_spin_unlock_irqrestore(&q->lock, flags);
	chario_complete_list(q, done);
}

/**
 * chario_queue_fail() - the device is gone: end all that is in flight
 * @q: the queue
 * @error: what its callers and all later ones get
 *
 * The caller guarantees that the device does no more DMA.  A command that is being
 * submitted is ended by its submitter.
 */
void chario_queue_fail(struct chario_queue *q, int error)
{
	struct chario_request *done;
	unsigned long flags;
	unsigned int tag;

	raw_spin_lock_irqsave(&q->lock, flags);
	WRITE_ONCE(q->dead_error, error);
	q->state = CHARIO_QUEUE_DEAD;
	chario_queue_for_each_busy(q, tag) {
		struct chario_command *cmd = chario_queue_command(q, tag);

		if (cmd->state == CHARIO_COMMAND_POSTED ||
		    cmd->state == CHARIO_COMMAND_HELD)
			chario_complete_command(q, cmd, error);
	}
	done = chario_queue_take_done(q);
	raw_spin_unlock_irqrestore(&q->lock, flags);
	chario_complete_list(q, done);
	wake_up_all(&q->slot_wait);
}

/**
 * chario_queue_is_idle() - is every command free?
 * @q: the queue
 */
bool chario_queue_is_idle(const struct chario_queue *q)
{
	return bitmap_weight(q->busy, q->depth) == 0;
}

/* Nobody is inside, nor will come back to unplug. */
static bool is_left(const struct chario_queue *q)
{
	return chario_queue_is_idle(q) && !READ_ONCE(q->plugged_by);
}

/**
 * chario_queue_drain() - wait until nobody is inside a dead queue any more
 * @q: has been failed
 *
 * Afterwards no caller touches the back end through this queue: each has
 * either given its command back, or will find the queue dead.
 */
void chario_queue_drain(struct chario_queue *q)
{
	/* Pairs with test_and_set_bit() in chario_queue_try_get(). */
	smp_mb();
	wait_event(q->slot_wait, is_left(q));
	cancel_work_sync(&q->submit_work);
	flush_work(&q->dirty_work);
	timer_delete_sync(&q->timer);
}
