// SPDX-License-Identifier: GPL-2.0-only
/*
 * Commands for a device that may sleep or allocate when it takes one: they are
 * submitted outside the lock of their queue.
 *
 * While a command is being submitted it belongs to its submitter.  A context that
 * freezes or fails the queue meanwhile leaves it alone, and the submitter looks at
 * the queue again afterwards.  For an edge, the device already has the command.
 * Commands that waited for an edge or for the end of a recovery are submitted by a
 * worker, because the contexts that release them must not sleep.
 */
#include <linux/delay.h>
#include <linux/jiffies.h>

#include "base/workers.h"
#include "queue/medium.h"
#include "queue/queue.h"
#include "trace.h"
#include "types/disk.h"

/* Act on the result of a submission; under q->lock. */
static void look_again(struct chario_queue *q, struct chario_command *cmd,
		       int error)
{
	if (cmd->state == CHARIO_COMMAND_ENDED) {
		chario_complete_reaped(q, cmd, cmd->error);
	} else if (q->state == CHARIO_QUEUE_DEAD) {
		chario_complete_command(q, cmd, q->dead_error);
	} else if (error) {
		chario_complete_reaped(q, cmd, error);
	} else {
		cmd->state = CHARIO_COMMAND_POSTED;
		/*
		 * Recovery ignores commands that are being submitted: the watchdog asks
		 * for it again.  A frozen queue is replayed, which ends what is overdue.
		 */
		if (q->state == CHARIO_QUEUE_LIVE)
			cmd->req->overdue = false;
	}
}

/**
 * chario_submit() - hand a command to the device
 * @q: a live queue of a back end that submits
 * @cmd: a command in flight that no edge holds up
 *
 * Context: process; under q->lock, taken with interrupts on, which is released
 * meanwhile.
 */
void chario_submit(struct chario_queue *q, struct chario_command *cmd)
{
	int error;

	cmd->state = CHARIO_COMMAND_SUBMITTING;
	cmd->req->started = jiffies;
	q->submitting++;
	trace_post(q, cmd, 0);
	raw_spin_unlock_irq(&q->lock);
	error = q->ops->submit(q, cmd);
	raw_spin_lock_irq(&q->lock);
	q->submitting--;
	look_again(q, cmd, error);
}

/**
 * chario_submit_later() - let a worker submit the commands that are held
 * @q: a queue of a back end that submits
 *
 * Context: any.
 */
void chario_submit_later(struct chario_queue *q)
{
	queue_work(chario_submit_workqueue, &q->submit_work);
}

/* Returns the oldest held command with no edge in its way, or NULL; under q->lock. */
static struct chario_command *find_held(struct chario_queue *q)
{
	struct chario_command *found = NULL;
	unsigned int tag;

	if (q->state != CHARIO_QUEUE_LIVE)
		return NULL;
	chario_queue_for_each_busy(q, tag) {
		struct chario_command *cmd = chario_queue_command(q, tag);

		if (cmd->state != CHARIO_COMMAND_HELD || chario_medium_holds(cmd))
			continue;
		if (!found || chario_command_is_before(cmd, found))
			found = cmd;
	}
	return found;
}

/* Submit a command that was held, or end it; under q->lock, released meanwhile. */
static void submit_one(struct chario_queue *q, struct chario_command *cmd)
{
	int error = chario_queue_end_error(cmd);

	if (error)
		chario_complete_command(q, cmd, error);
	else
		chario_submit(q, cmd);
}

/**
 * chario_submit_held() - submit the commands that are held
 * @work: submit_work of a queue
 */
void chario_submit_held(struct work_struct *work)
{
	struct chario_queue *q = container_of(work, struct chario_queue,
					      submit_work);
	struct chario_request *done;
	struct chario_command *cmd;

	do {
		raw_spin_lock_irq(&q->lock);
		cmd = find_held(q);
		if (cmd)
			submit_one(q, cmd);
		done = chario_queue_take_done(q);
		raw_spin_unlock_irq(&q->lock);
		chario_complete_list(q, done);
	} while (cmd);
}

/**
 * chario_submit_wait() - wait until no command is being submitted
 * @q: a frozen queue, on which no submission begins
 *
 * Context: may sleep.
 */
void chario_submit_wait(struct chario_queue *q)
{
	while (READ_ONCE(q->submitting))
		usleep_range(100, 200);
}

/**
 * chario_queue_end() - end a submitted command that the device is done with
 * @q: queue of the command
 * @cmd: the command; its ops->submit() need not have returned
 * @error: 0 or -errno
 *
 * Context: any but under q->lock.
 */
void chario_queue_end(struct chario_queue *q, struct chario_command *cmd,
		      int error)
{
	struct chario_request *done;
	unsigned long flags;

	raw_spin_lock_irqsave(&q->lock, flags);
	if (cmd->state == CHARIO_COMMAND_SUBMITTING) {
		cmd->state = CHARIO_COMMAND_ENDED;
		cmd->error = error;
	} else if (cmd->state == CHARIO_COMMAND_POSTED) {
		chario_complete_reaped(q, cmd, error);
	}
	q->reaped++;
	done = chario_queue_take_done(q);
	raw_spin_unlock_irqrestore(&q->lock, flags);
	chario_complete_list(q, done);
}

/**
 * chario_submit_kick() - do nothing: ops->kick() of a back end that submits
 * @q: the queue
 */
void chario_submit_kick(struct chario_queue *q)
{
}

/**
 * chario_submit_reap() - do nothing: ops->reap() of a back end that submits, whose
 * commands end by chario_queue_end()
 * @q: the queue
 *
 * Return: 0.
 */
unsigned int chario_submit_reap(struct chario_queue *q)
{
	return 0;
}
