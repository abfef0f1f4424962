// SPDX-License-Identifier: GPL-2.0-only
/*
 * The way out: commands are handed to the device.
 */
#include <linux/jiffies.h>

#include "queue/medium.h"
#include "queue/queue.h"
#include "trace.h"
#include "types/disk.h"

/* Set the watchdog to a deadline that is earlier than its next look. */
static noinline void start_watch(struct chario_queue *q, unsigned long expires)
{
	unsigned long latest = jiffies + CHARIO_WATCH_INTERVAL;

	q->timer_at = time_before(expires, latest) ? expires : latest;
	q->timer_armed = true;
	mod_timer(&q->timer, q->timer_at);
}

/* Make sure that the watchdog looks at a deadline. */
static __always_inline void arm_watch(struct chario_queue *q,
				      unsigned long expires)
{
	if (unlikely(!q->timer_armed || time_before(expires, q->timer_at)))
		start_watch(q, expires);
}

static __always_inline void post_to_device(struct chario_queue *q,
					   struct chario_command *cmd, bool kick)
{
	cmd->state = CHARIO_COMMAND_POSTED;
	cmd->req->started = jiffies;
	trace_post(q, cmd, 0);
	q->ops->post(q, cmd, kick);
}

/**
 * chario_queue_hand_over() - post a command, or hold it back
 * @q: the queue
 * @cmd: a command in flight
 * @kick: true to tell the device now
 *
 * A command is held while the queue is frozen, or while an edge is on a block that it
 * writes.  A command that was posted before a reset is posted again in spite of edges:
 * the owner of the edge waits for just this command (wait_clear()).  A command that
 * has to be submitted is left to a worker.
 *
 * Context: under q->lock.
 */
void chario_queue_hand_over(struct chario_queue *q, struct chario_command *cmd,
			    bool kick)
{
	bool again = cmd->state == CHARIO_COMMAND_POSTED;

	if (unlikely(q->state == CHARIO_QUEUE_FROZEN || q->ops->submit) ||
	    (!again && chario_medium_holds(cmd))) {
		cmd->state = CHARIO_COMMAND_HELD;
		cmd->req->started = jiffies;
		if (q->ops->submit)
			chario_submit_later(q);
		else if (kick && q->state == CHARIO_QUEUE_LIVE)
			q->ops->kick(q);
		return;
	}
	post_to_device(q, cmd, kick);
}

/*
 * Post a command that something may stand in the way of, or that has to be submitted.
 * Under q->lock, which may be released meanwhile.
 */
static noinline void post_hampered(struct chario_queue *q,
				   struct chario_command *cmd, bool kick)
{
	int error = q->dead_error ?: chario_queue_end_error(cmd);

	if (error) {
		chario_complete_command(q, cmd, error);
		if (kick && q->state == CHARIO_QUEUE_LIVE)
			q->ops->kick(q);
		return;
	}
	arm_watch(q, cmd->req->expires);
	if (q->ops->submit && q->state == CHARIO_QUEUE_LIVE &&
	    !chario_medium_holds(cmd))
		chario_submit(q, cmd);
	else
		chario_queue_hand_over(q, cmd, kick);
}

/* Returns whether nothing stands between a request and the device. */
static __always_inline bool post_is_clear(const struct chario_queue *q,
					  const struct chario_request *req)
{
	return likely(q->state == CHARIO_QUEUE_LIVE && !req->orphaned &&
		      !atomic_read(&req->disk->obstacles));
}

/* Post or submit one command, or end it.  Under q->lock. */
static __always_inline void post_one(struct chario_queue *q,
				     struct chario_command *cmd, bool kick)
{
	if (!post_is_clear(q, cmd->req)) {
		post_hampered(q, cmd, kick);
		return;
	}
	arm_watch(q, cmd->req->expires);
	post_to_device(q, cmd, kick);
}

/**
 * chario_queue_post() - hand a command to the device
 * @q: the queue
 * @cmd: a prepared command
 * @kick: true to tell the device now of this and all earlier commands
 *
 * Afterwards @cmd belongs to the queue; if it is the last of its request, the
 * request may have ended already.
 *
 * Context: process, interrupts on.
 */
void chario_queue_post(struct chario_queue *q, struct chario_command *cmd,
		       bool kick)
{
	struct chario_request *done;

	raw_spin_lock_irq(&q->lock);
	cmd->req->number = q->submitted++;
	post_one(q, cmd, kick);
	done = chario_queue_take_done(q);
	raw_spin_unlock_irq(&q->lock);
	if (unlikely(done))
		chario_complete_list(q, done);
}

/*
 * Post up to CHARIO_POST_BATCH commands on a buffer, which nothing stands in the way of.
 * Returns the first that is left.  Under q->lock.
 */
static inline struct chario_command *
post_slices(struct chario_queue *q, struct chario_command *first, bool kick)
{
	struct chario_command *left;

	arm_watch(q, first->req->expires);
	first->req->started = jiffies;
	left = q->ops->post_slices(q, first);
	if (kick && !left)
		q->ops->kick(q);
	return left;
}

/* Post as many with a check of each command; returns the first left.  Under q->lock. */
static noinline struct chario_command *
post_one_by_one(struct chario_queue *q, struct chario_command *next, bool kick)
{
	unsigned int room;

	for (room = CHARIO_POST_BATCH; next && room; room--) {
		struct chario_command *cmd = next;

		next = cmd->next;
		post_one(q, cmd, kick && !next);
	}
	return next;
}

/**
 * chario_queue_post_all() - hand all commands of a request to the device
 * @q: the queue
 * @req: a request; its commands are prepared, none has been posted
 * @kick: true to tell the device after the last command
 *
 * Interrupts are off for CHARIO_POST_BATCH commands at most.
 *
 * Context: process, interrupts on.
 */
void chario_queue_post_all(struct chario_queue *q, struct chario_request *req,
			   bool kick)
{
	struct chario_command *next = req->first;
	struct chario_request *done;

	do {
		raw_spin_lock_irq(&q->lock);
		/* Unposted commands keep the request pending, so next->req is valid. */
		req = next->req;
		if (next == req->first)
			req->number = q->submitted++;
		next = req->buffer && q->ops->post_slices && post_is_clear(q, req) ?
			       post_slices(q, next, kick) :
			       post_one_by_one(q, next, kick);
		done = chario_queue_take_done(q);
		raw_spin_unlock_irq(&q->lock);
		if (unlikely(done))
			chario_complete_list(q, done); /* GCOVR_EXCL_LINE: a race decides */
	} while (next);
}

/**
 * chario_queue_kick() - tell the device of all commands that have been posted
 * @q: the queue
 */
void chario_queue_kick(struct chario_queue *q)
{
	struct chario_request *done;
	unsigned long flags;

	raw_spin_lock_irqsave(&q->lock, flags);
	if (q->state == CHARIO_QUEUE_LIVE)
		q->ops->kick(q);
	done = chario_queue_take_done(q);
	raw_spin_unlock_irqrestore(&q->lock, flags);
	chario_complete_list(q, done);
}
