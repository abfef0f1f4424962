/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A queue: command slots, and the way to the device and back.
 *
 * There is one queue per CPU and completion mode if the drive grants them, so that
 * no lock or counter here is shared between CPUs on the hot path.  All memory that
 * a command needs is in its slot before the first call.
 *
 * State of a queue
 *
 *   LIVE    commands go to the device
 *   FROZEN  the device is being recovered: commands are held, and posted by
 *           chario_queue_replay()
 *   DEAD    commands end at once with the queue's error; final
 */
#ifndef CHARIO_TYPES_QUEUE_H
#define CHARIO_TYPES_QUEUE_H

#include <linux/blkdev.h>
#include <linux/jiffies.h>
#include <linux/llist.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "types/request.h"

/* Longest time between two looks of the watchdog with commands in flight, jiffies. */
#define CHARIO_WATCH_INTERVAL	(HZ / 4)

/* Largest number of completions that are reaped in one section under the lock. */
#define CHARIO_REAP_BATCH	32

/* Largest number of commands that are posted in one section under the lock. */
#define CHARIO_POST_BATCH	32

enum chario_queue_use {
	CHARIO_QUEUE_SHARED,	/* calls of all files */
	CHARIO_QUEUE_PRIVATE,	/* calls of one open file at a time */
	CHARIO_QUEUE_BLOCK,	/* requests of the block side */
};

enum chario_queue_state {
	CHARIO_QUEUE_LIVE,
	CHARIO_QUEUE_FROZEN,
	CHARIO_QUEUE_DEAD,
};

/**
 * struct chario_queue_ops - the operations of a back end on its queues
 * @command_bytes: bytes of memory that the back end wants in each command
 * @prep: function that prepares the device command of @cmd in cmd->back, from its
 *	segments (or from its pages, if the queue has no DMA device); not called for a
 *	flush, for a slice of a buffer that the back end has in tables, nor for what
 *	@no_prep_bytes of the queue leaves out.  The result must not be visible to
 *	anybody else: the command may have to wait for another before it is posted, or
 *	may never be posted.  Any context that may sleep; must not wait for the device.
 *	Cannot fail.  NULL if no command needs it
 * @post: function that puts the device command into the submission queue, and does
 *	the work of @kick if @kick is set.  Under q->lock.  Called again for a replay
 * @submit: function that hands the device command over, in place of @post: for a
 *	device that may sleep or allocate when it takes a command.  The back end ends
 *	the command by chario_queue_end(), which may come before @submit has returned.
 *	Returns 0 if the device has taken the command; -errno ends the command.  Not
 *	called, nor under way, while the back end disables the device or cuts it off.
 *	Process context, without a lock, also from a worker; must not wait for the
 *	device if the drive can be reset.  @kick and @reap are then
 *	chario_submit_kick() and chario_submit_reap()
 * @post_slices: function that posts up to CHARIO_POST_BATCH commands of a request on
 *	a buffer, from @cmd on; marks and traces each as POSTED, does not kick,
 *	returns the first command that is left or NULL.  Under q->lock.  NULL if
 *	commands are posted one by one
 * @kick: function that tells the device of all commands posted since the last kick.
 *	Under q->lock
 * @reap: function that takes up to CHARIO_REAP_BATCH completions, and calls
 *	chario_complete_reaped() for each; returns their number.  Under q->lock
 * @poll: function that looks for completions on behalf of a caller who polls, and has
 *	them reaped; returns their number.  Process context, without a lock.  NULL if
 *	the core compares the completion word, or if completions need no polling
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
 * @ops: operations of the back end
 * @drive: drive of the queue
 * @dma_dev: device that memory is mapped for; NULL if there is no DMA
 * @commands: @max_depth slots, @stride bytes apart.  Behind them are slots that are
 *	never taken, up to a power of two, so that an index can be masked
 * @stride: size of a slot with the memory of the back end, bytes
 * @depth: number of slots that are used
 * @max_depth: number of slots
 * @max_pages: largest number of pages of a command, and of its segments
 * @segment_pages: largest number of pages of a segment; 0 for no limit
 * @maps_slowly: true if the pages of a command need more than a look at neighbours: a
 *	list, or short segments
 * @has_lists: true if the pages of each slot are followed by a scatterlist for as
 *	many pages, by which all memory of the command is mapped together
 * @word: address of the completion word, which shows if there is a completion to
 *	reap, see chario_queue_is_pending().  The back end moves it on under q->lock,
 *	or never sets it
 * @word_mask: bits of the completion word that count
 * @word_value: value of these bits if there is a completion
 * @no_prep_bytes: a command that ends at most this many bytes behind the start of
 *	its first page needs no prep(); 0: all do
 * @polled: true if the device sends no interrupt for this queue
 * @use: &enum chario_queue_use
 * @busy: bitmap of slots that are taken; set and cleared without the lock
 * @first_lent: index of the first slot that is lent to the block side, for which its
 *	tags stand, see chario_slots_lend(); at least @depth if there is none
 * @seen: function that finishes several requests without a waiter, in place of
 *	chario_complete_seen(), which it calls with a looker of its own; or NULL.  Any
 *	context but under @lock.  Set while the queue is idle
 * @order: array in which slots are sorted, used under @lock
 * @slot_wait: wait queue for a free slot, and of chario_queue_drain()
 * @lock: lock that protects the rings of the back end, the members from @state to
 *	@reaped and @submitting; the counters are exact if they are read under it
 * @state: &enum chario_queue_state
 * @dead_error: -errno that commands end with once DEAD, else 0
 * @ended: true if a request has ended since the completion doorbell was last rung
 * @done: list of ended requests without a waiter
 * @submitted: number of requests submitted so far; the number of the next one
 * @timer: the watchdog; armed while commands are in flight
 * @timer_armed: true if @timer_at is valid
 * @timer_at: jiffies at which the watchdog looks next
 * @watch_work: the watchdog of a queue that the block side polls
 * @reaped: number of completions so far
 * @reaped_seen: value of @reaped when the watchdog last looked
 * @submitting: number of commands that are being submitted
 * @submit_work: work that submits held commands, if the back end submits
 * @plug: callback in the plug @plugged_by
 * @plugged_by: plug whose owner rings the doorbell at the end, or NULL
 * @dirty: list of requests for chario_complete_dirty()
 * @dirty_work: work that runs chario_complete_dirty()
 * @track: track that records the stages of requests, or NULL; RCU
 * @sq_doorbells: counter of submission doorbells
 * @cq_doorbells: counter of completion doorbells
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
	unsigned int segment_pages;
	bool maps_slowly;
	bool has_lists;
	bool polled;
	u8 use;
	unsigned long *busy;
	unsigned int first_lent;
	void (*seen)(struct chario_queue *q, struct chario_request *done);
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
	struct work_struct watch_work;
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

/* Returns the time left to wait; at least 1, because the deadline may just pass. */
static inline long chario_jiffies_left(unsigned long expires)
{
	return max_t(long, expires - jiffies, 1);
}

static inline struct chario_command *
chario_queue_command(const struct chario_queue *q, unsigned int tag)
{
	return q->commands + tag * q->stride;
}

/* Returns the scatterlist of a command; only if q->has_lists. */
static inline struct sg_table *
chario_queue_list(const struct chario_queue *q, const struct chario_command *cmd)
{
	return (struct sg_table *)(cmd->pages + q->max_pages);
}

/* Returns the next taken slot at or behind @tag; @depth if there is none. */
static inline unsigned int chario_queue_next_busy(const struct chario_queue *q,
						  unsigned int tag)
{
	/* Bits may change meanwhile: the caller checks the content of the slot. */
	return data_race(find_next_bit(q->busy, q->depth, tag));
}

/**
 * chario_queue_for_each_busy() - visit the slots that are taken
 * @q: the queue
 * @tag: variable of unsigned int for the number of the slot
 *
 * Slots that are taken or given back meanwhile may be visited or not.
 */
#define chario_queue_for_each_busy(q, tag)				\
	for ((tag) = chario_queue_next_busy(q, 0); (tag) < (q)->depth;	\
	     (tag) = chario_queue_next_busy(q, (tag) + 1))

#endif /* CHARIO_TYPES_QUEUE_H */
