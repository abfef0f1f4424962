// SPDX-License-Identifier: GPL-2.0-only
/*
 * The slots of a queue: the memory of its commands, taken and given back.
 */
#include <linux/bitmap.h>
#include <linux/jiffies.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "memory/pages.h"
#include "queue/queue.h"

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

/**
 * chario_slots_deinit() - free the memory of a queue
 * @q: a queue without callers inside
 */
void chario_slots_deinit(struct chario_queue *q)
{
	kvfree(q->commands);
	kvfree(q->order);
	bitmap_free(q->busy);
}

/**
 * chario_slots_init() - make all the memory that a queue will ever need
 * @q: the queue, with ops and dma_dev set
 * @depth: number of commands
 * @command_bytes: largest length of a command in bytes
 * @node: NUMA node, or NUMA_NO_NODE
 *
 * Return: 0 or ENOMEM.
 */
int chario_slots_init(struct chario_queue *q, unsigned int depth,
		      u32 command_bytes, int node)
{
	size_t bytes = ALIGN(sizeof(struct chario_command) +
			     q->ops->command_bytes, 8);
	size_t page_bytes = sizeof(struct chario_segment) +
			    sizeof(struct page *);

	q->depth = depth;
	q->max_depth = depth;
	q->first_lent = depth;
	/* One more, because memory need not begin with a page. */
	q->max_pages = PFN_UP(command_bytes) + 1;
	q->has_lists = chario_map_wants_list(q->dma_dev);
	q->maps_slowly = q->has_lists;
	if (q->has_lists) {
		bytes += sizeof(struct sg_table);
		page_bytes += sizeof(struct scatterlist);
	}
	q->stride = ALIGN(bytes + q->max_pages * page_bytes, SMP_CACHE_BYTES);
	q->busy = bitmap_zalloc(round_up(depth, BITS_PER_LONG), GFP_KERNEL);
	q->order = kvcalloc(depth, sizeof(*q->order), GFP_KERNEL);
	q->commands = kvzalloc_node(array_size(roundup_pow_of_two(depth),
					       q->stride),
				    GFP_KERNEL, node);
	if (!q->busy || !q->order || !q->commands) {
		chario_slots_deinit(q); /* GCOVR_EXCL_LINE: kvzalloc() tries twice */
		return -ENOMEM; /* GCOVR_EXCL_LINE: kvzalloc() tries twice */
	}
	chario_queue_set_depth(q, depth);
	lay_out_commands(q);
	return 0;
}

/**
 * chario_queue_set_segment_bytes() - set the largest length of a segment
 * @q: a queue without commands
 * @segment_bytes: the length in bytes, a multiple of the page size; 0 for no limit
 */
void chario_queue_set_segment_bytes(struct chario_queue *q, u32 segment_bytes)
{
	q->segment_pages = segment_bytes >> PAGE_SHIFT;
	q->maps_slowly = q->has_lists || segment_bytes;
}

/**
 * chario_queue_set_depth() - set the number of commands of a queue
 * @q: an idle queue that nobody else uses
 * @depth: number of commands, 1 to the depth of chario_queue_init()
 */
void chario_queue_set_depth(struct chario_queue *q, unsigned int depth)
{
	unsigned int bits = round_up(q->max_depth, BITS_PER_LONG);

	q->depth = depth;
	q->first_lent = depth;
	bitmap_zero(q->busy, bits);
	bitmap_set(q->busy, depth, bits - depth);
}

/* Take a command into @cmd, or an error; returns whether the wait is over. */
static bool is_got(struct chario_queue *q, struct chario_command **cmd)
{
	*cmd = chario_queue_try_get(q);
	return *cmd != ERR_PTR(-EAGAIN);
}

/**
 * chario_queue_get() - take a command, waiting for a free one
 * @q: the queue
 * @expires: jiffies at which to give up
 * @killable: true if a fatal signal ends the wait
 *
 * Return: the command; ETIMEDOUT, EINTR on a fatal signal, or the queue's
 * error if it is dead.
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

/**
 * chario_queue_is_idle() - tell if no command is in use
 * @q: the queue
 */
bool chario_queue_is_idle(const struct chario_queue *q)
{
	unsigned int tag;

	chario_queue_for_each_busy(q, tag)
		if (tag < q->first_lent ||
		    READ_ONCE(chario_queue_command(q, tag)->state) !=
			    CHARIO_COMMAND_IDLE)
			return false;
	return true;
}

/* Make the slots from @first up to @end free for calls again. */
static void slots_take_back(struct chario_queue *q, unsigned int first, unsigned int end)
{
	unsigned int tag;

	for (tag = first; tag < end; tag++)
		clear_bit_unlock(tag, q->busy);
	/* Pairs with the barrier in prepare_to_wait(). */
	smp_mb__after_atomic();
	wake_up_all(&q->slot_wait);
}

/**
 * chario_slots_lend() - keep slots for the block side
 * @q: the queue; calls in flight keep the slots that they have until they end
 * @first: index of the first slot to lend; those behind it are lent as well
 *
 * A lent slot counts as taken for good, so that no call gets it.  Whether the device has
 * its command is told by the state of the command alone.
 *
 * Context: may sleep, for as long as the deadline of a call and recovery take.
 * Return: 0; EINTR on a fatal signal.
 */
int chario_slots_lend(struct chario_queue *q, unsigned int first)
{
	unsigned int tag;

	for (tag = first; tag < q->depth; tag++) {
		if (wait_event_killable(q->slot_wait,
					!test_and_set_bit(tag, q->busy))) {
			slots_take_back(q, first, tag);
			return -EINTR;
		}
		/* The buffer of its last call can be destroyed while the slot is lent. */
		WRITE_ONCE(chario_queue_command(q, tag)->own.buffer, NULL);
	}
	WRITE_ONCE(q->first_lent, first);
	/* A task that waits for an idle queue has counted these slots. */
	wake_up_all(&q->slot_wait);
	return 0;
}

/**
 * chario_slots_take_back() - undo chario_slots_lend()
 * @q: the queue; the block side has no request in flight on it
 */
void chario_slots_take_back(struct chario_queue *q)
{
	unsigned int first = q->first_lent;

	WRITE_ONCE(q->first_lent, q->depth);
	slots_take_back(q, first, q->depth);
}
