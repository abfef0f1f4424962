/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A queue: command slots, and the way to the device and back.
 *
 * There is one queue per CPU and way of completion where the drive grants
 * them, so that no lock or counter here is shared between CPUs on the hot
 * path.  All memory a command needs stands in its slot before the first call.
 *
 * Life of a queue
 *
 *   LIVE    commands go to the device
 *   FROZEN  the device is being recovered: commands are held, and posted by
 *           chario_queue_replay()
 *   DEAD    commands end at once with the queue's error; final
 */
#ifndef CHARIO_CORE_QUEUE_H
#define CHARIO_CORE_QUEUE_H

#include <linux/bitops.h>
#include <linux/blkdev.h>
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/llist.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "core/request.h"

/* The watchdog of a queue looks at least so often while commands are in flight. */
#define CHARIO_WATCH_INTERVAL	(HZ / 4)

/* Completions that are taken under the lock at a time. */
#define CHARIO_REAP_BATCH	32

/* Commands that are posted under the lock at a time. */
#define CHARIO_POST_BATCH	32

enum chario_queue_state {
	CHARIO_QUEUE_LIVE,
	CHARIO_QUEUE_FROZEN,
	CHARIO_QUEUE_DEAD,
};

/**
 * struct chario_queue_ops - what a back end does for its queues
 * @command_bytes: memory of its own that the back end wants in each command
 * @prep: get ready what the device command of @cmd needs, from its segments
 *	(or pages, when the queue has no DMA device), in cmd->back.  Nobody else
 *	can see what it does: the command may have to wait for another before it
 *	is posted, or never be.  Any context that may sleep; must not wait for the
 *	device.  Cannot fail.  NULL where @no_prep_bytes says that none needs it.
 * @post: put the device command into the submission queue; when @kick is set,
 *	do what @kick does.  Under q->lock.  Called again for a replay.
 * @submit: hand the device command over, in place of @post: for a device that may
 *	sleep or allocate to take one.  The back end ends the command by
 *	chario_queue_end(), which may come before @submit has returned.  0 when the
 *	device has taken the command; EAGAIN when it has been stopped: it is called
 *	again after a reset; any other -errno ends the command.  Process context,
 *	without a lock, also from a worker; where the drive can be reset it must not
 *	wait for the device.  @kick and @reap are chario_submit_kick() and
 *	chario_submit_reap() then.
 * @post_slices: @post for CHARIO_POST_BATCH commands at most of a request whose
 *	memory is a buffer, from @cmd on; marks and traces each as POSTED, does
 *	not kick, returns the first that is left or NULL.  Under q->lock.  NULL
 *	where they are posted one by one.
 * @kick: tell the device of all that has been posted since the last kick.
 *	Under q->lock.
 * @reap: take up to CHARIO_REAP_BATCH completions, call
 *	chario_complete_command() for each; returns how many.  Under q->lock.
 * @poll: look for completions on behalf of a caller who polls, and have them reaped;
 *	returns how many.  Process context, without a lock.  NULL where the core
 *	compares the completion word, and where completions come by themselves.
 */
struct chario_queue_ops {
	size_t command_bytes;
	void (*prep)(struct chario_queue *q, struct chario_command *cmd);
	void (*post)(struct chario_queue *q, struct chario_command *cmd,
		     bool kick);
	int (*submit)(struct chario_queue *q, struct chario_command *cmd);
	struct chario_command *(*post_slices)(struct chario_queue *q,
					      struct chario_command *cmd);
	void (*kick)(struct chario_queue *q);
	unsigned int (*reap)(struct chario_queue *q);
	unsigned int (*poll)(struct chario_queue *q);
};

/**
 * struct chario_queue - a submission and completion pair
 * @ops: the back end's part
 * @drive: what it belongs to
 * @dma_dev: maps memory for the device; NULL when there is no DMA
 * @commands: @max_depth slots, @stride bytes apart; behind them others that are
 *	never taken, up to a power of two: an index can be masked
 * @stride: size of a slot with the back end's part
 * @depth: number of slots that are used
 * @max_depth: number of slots
 * @max_pages: pages that one command can hold
 * @has_lists: behind the pages of each slot there is a list for as many, by which
 *	all of its memory is mapped together
 * @word: the completion word: tells that there is a completion to be reaped, see
 *	chario_queue_is_pending(); the back end moves it on under q->lock, or never
 *	sets it
 * @word_mask: the bits of it that count
 * @word_value: what they are when there is a completion
 * @no_prep_bytes: a command that ends at most so far behind the start of the
 *	page it begins in needs no prep(); 0: all do
 * @polled: the device sends no interrupt for this queue
 * @reserved: for one open file at a time
 * @busy: bit per slot; set and cleared without the lock
 * @order: room to sort the slots in, used under @lock
 * @slot_wait: callers that wait for a slot, and chario_queue_drain()
 * @lock: protects the rings of the back end and all below
 * @state: &enum chario_queue_state
 * @dead_error: what commands end with once DEAD, else 0
 * @ended: a request has ended since the completion doorbell was last rung
 * @done: requests that ended and that nobody waits for
 * @submitted: commands that have been submitted so far; the number of the next
 * @timer: the watchdog; armed while commands are in flight
 * @timer_armed: @timer_at is valid
 * @timer_at: jiffies at which the watchdog looks next
 * @reaped: completions so far
 * @reaped_seen: the same, when the watchdog last looked
 * @submitting: commands that are being submitted
 * @submit_work: submits commands that were held, where the back end submits
 * @plug: in the plug of @plugged_by
 * @plugged_by: who rings the doorbell when it unplugs, or NULL
 * @dirty: requests that chario_complete_dirty() finishes
 * @dirty_work: runs it
 * @track: where the stages of its requests are recorded, or NULL; RCU
 * @sq_doorbells: counter
 * @cq_doorbells: counter
 * @interrupts: counter of interrupts that found a completion
 * @late_reaps: counter of completions that the watchdog had to find
 */
struct chario_queue {
	const struct chario_queue_ops *ops;
	struct chario_drive *drive;
	struct device *dma_dev;
	void *commands;
	size_t stride;
	unsigned int depth;
	unsigned int max_depth;
	unsigned int max_pages;
	unsigned int no_prep_bytes;
	const u32 *word;
	u32 word_mask;
	u32 word_value;
	bool has_lists;
	bool polled;
	bool reserved;
	unsigned long *busy;
	u16 *order;
	wait_queue_head_t slot_wait;

	raw_spinlock_t lock ____cacheline_aligned_in_smp;
	int state;
	int dead_error;
	bool ended;
	u32 submitted;
	struct chario_request *done;
	bool timer_armed;
	unsigned long timer_at;
	struct timer_list timer;
	u64 reaped;
	u64 reaped_seen;
	u64 sq_doorbells;
	u64 cq_doorbells;
	u64 interrupts;
	u64 late_reaps;

	unsigned int submitting;
	struct work_struct submit_work;

	struct blk_plug_cb plug;
	struct blk_plug *plugged_by;

	struct llist_head dirty;
	struct work_struct dirty_work;

	struct chario_track __rcu *track;
};

/* For waits: 1 at least, for the deadline may pass while it is read. */
static inline long chario_jiffies_left(unsigned long expires)
{
	return max_t(long, expires - jiffies, 1);
}

static inline struct chario_command *
chario_queue_command(const struct chario_queue *q, unsigned int tag)
{
	return q->commands + tag * q->stride;
}

/* The list of a command; only where q->has_lists. */
static inline struct sg_table *
chario_queue_list(const struct chario_queue *q, const struct chario_command *cmd)
{
	return (struct sg_table *)(cmd->pages + q->max_pages);
}

/* The next slot at or behind @tag that is taken; @depth when there is none. */
static inline unsigned int chario_queue_next_busy(const struct chario_queue *q,
						  unsigned int tag)
{
	/* Bits come and go meanwhile: a caller looks at what is in the slot. */
	return data_race(find_next_bit(q->busy, q->depth, tag));
}

/**
 * chario_queue_for_each_busy() - visit the slots that are taken
 * @q: the queue
 * @tag: unsigned int; the number of the slot
 *
 * Slots that are taken or given back meanwhile may be visited or not.
 */
#define chario_queue_for_each_busy(q, tag)				\
	for ((tag) = chario_queue_next_busy(q, 0); (tag) < (q)->depth;	\
	     (tag) = chario_queue_next_busy(q, (tag) + 1))

static inline void chario_queue_free(struct chario_queue *q,
				     struct chario_command *cmd)
{
	cmd->state = CHARIO_COMMAND_IDLE;
	clear_bit_unlock(cmd->tag, q->busy);
}

/* Tell who waits for a slot, or for an idle queue, of those that were freed. */
static inline void chario_queue_wake(struct chario_queue *q)
{
	/* Pairs with the barrier in prepare_to_wait(). */
	smp_mb__after_atomic();
	/* Ordered by the barrier above. */
	if (unlikely(waitqueue_active(&q->slot_wait)))
		wake_up(&q->slot_wait);
}

/**
 * chario_queue_put() - give a command back
 * @q: the queue
 * @cmd: the device can no longer touch it or its memory
 *
 * Context: any but under q->lock.
 */
static inline void chario_queue_put(struct chario_queue *q,
				    struct chario_command *cmd)
{
	chario_queue_free(q, cmd);
	chario_queue_wake(q);
}

/**
 * chario_queue_put_chain() - give the commands of a request back
 * @q: the queue
 * @first: of the chain; the request that lives in it is gone afterwards
 *
 * Context: as chario_queue_put().
 */
static inline void chario_queue_put_chain(struct chario_queue *q,
					  struct chario_command *first)
{
	struct chario_command *cmd, *next;

	for (cmd = first->next; cmd; cmd = next) {
		next = cmd->next;
		chario_queue_free(q, cmd);
	}
	chario_queue_put(q, first);
}

/**
 * chario_queue_take_slot() - take one more free command
 * @q: the queue; the caller has a command of it, so that it is not drained
 *
 * Return: the command; NULL when none is free.
 */
static inline struct chario_command *
chario_queue_take_slot(struct chario_queue *q)
{
	unsigned int word = 0;

	do {
		unsigned long bits = READ_ONCE(q->busy[word]);

		while (likely(~bits)) {
			unsigned int bit = ffz(bits);

			if (likely(!test_and_set_bit(bit, &q->busy[word])))
				return chario_queue_command(q, word *
							    BITS_PER_LONG + bit);
			bits |= BIT(bit);
		}
	} while (++word < BITS_TO_LONGS(q->depth));
	return NULL;
}

/**
 * chario_queue_try_get() - take a free command
 * @q: the queue
 *
 * Return: the command; EAGAIN when none is free; the queue's error when it is
 * dead.
 */
static inline struct chario_command *
chario_queue_try_get(struct chario_queue *q)
{
	struct chario_command *cmd = chario_queue_take_slot(q);

	if (unlikely(!cmd))
		return ERR_PTR(-EAGAIN);
	/* Pairs with the barrier of chario_queue_drain(). */
	if (likely(!READ_ONCE(q->dead_error)))
		return cmd;
	chario_queue_put(q, cmd);
	return ERR_PTR(READ_ONCE(q->dead_error));
}

/**
 * chario_queue_is_pending() - is there a completion to reap?
 * @q: the queue
 *
 * Without lock: a guess, but one that comes true.  Holds up the RCU grace
 * period that chario_queue_drop_word() speaks of, so that the word stays.
 *
 * Return: true when there most likely is one.
 */
static inline bool chario_queue_is_pending(const struct chario_queue *q)
{
	bool pending;

	preempt_disable();
	/* The word may be moved on at this moment: the next guess is right. */
	pending = data_race(!((READ_ONCE(*READ_ONCE(q->word)) ^
			       q->word_value) & q->word_mask));
	preempt_enable();
	return pending;
}

/* Needs the back end to prepare its device command? */
static inline bool chario_queue_must_prep(const struct chario_queue *q,
					  const struct chario_command *cmd)
{
	return cmd->page_offset + cmd->bytes > q->no_prep_bytes;
}

/* What its ended requests have left for chario_complete_list().  Under q->lock. */
static inline struct chario_request *
chario_queue_take_done(struct chario_queue *q)
{
	struct chario_request *done = q->done;

	if (unlikely(done))
		q->done = NULL;
	return done;
}

/* core/slots.c */
int chario_slots_init(struct chario_queue *q, unsigned int depth,
		      unsigned int max_pages, int node);
void chario_slots_deinit(struct chario_queue *q);
void chario_queue_set_depth(struct chario_queue *q, unsigned int depth);
struct chario_command *chario_queue_get(struct chario_queue *q,
					unsigned long expires, bool killable);
bool chario_queue_is_idle(const struct chario_queue *q);

/* core/reap.c */
unsigned int chario_queue_reap(struct chario_queue *q);
unsigned int chario_queue_poll(struct chario_queue *q);
unsigned int chario_queue_poll_for(struct chario_queue *q, const void *looker);
unsigned int chario_queue_irq(struct chario_queue *q);
void chario_queue_drop_word(struct chario_queue *q);

/* core/replay.c */
void chario_queue_freeze(struct chario_queue *q);
void chario_queue_replay(struct chario_queue *q);
void chario_queue_release_held(struct chario_queue *q);
void chario_queue_fail(struct chario_queue *q, int error);

/* core/queue.c */
int chario_queue_init(struct chario_queue *q,
		      const struct chario_queue_ops *ops,
		      struct device *dma_dev, unsigned int depth,
		      unsigned int max_pages, bool polled, int node);
void chario_queue_deinit(struct chario_queue *q);
void chario_queue_drain(struct chario_queue *q);

/* core/post.c */
void chario_queue_hand_over(struct chario_queue *q, struct chario_command *cmd,
			    bool kick);
void chario_queue_post(struct chario_queue *q, struct chario_command *cmd,
		       bool kick);
void chario_queue_post_slices(struct chario_queue *q,
			      struct chario_request *req, bool kick);
void chario_queue_kick(struct chario_queue *q);

/* core/submit.c */
void chario_submit(struct chario_queue *q, struct chario_command *cmd);
void chario_submit_later(struct chario_queue *q);
void chario_submit_held(struct work_struct *work);
void chario_submit_wait(struct chario_queue *q);
void chario_queue_end(struct chario_queue *q, struct chario_command *cmd,
		      int error);
void chario_submit_kick(struct chario_queue *q);
unsigned int chario_submit_reap(struct chario_queue *q);

/* core/plug.c */
void chario_plug_init(struct chario_queue *q);
bool chario_plug(struct chario_queue *q);

/* core/watch.c */
void chario_watch(struct timer_list *timer);
void chario_watch_expire(struct chario_queue *q);

#endif /* CHARIO_CORE_QUEUE_H */
