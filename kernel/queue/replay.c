// SPDX-License-Identifier: GPL-2.0-only
/*
 * The work of recovery on the commands of a queue: they are held back, posted again,
 * or ended.
 */
#include <linux/sort.h>

#include "queue/medium.h"
#include "queue/queue.h"
#include "types/disk.h"

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

static int compare_order(const void *a, const void *b, const void *queue)
{
	const struct chario_command *one = chario_queue_command(queue, *(const u16 *)a);
	const struct chario_command *other = chario_queue_command(queue, *(const u16 *)b);

	return chario_command_is_before(one, other) ? -1 : 1;
}

/*
 * Returns whether a command is handed over again: in a replay each that is in flight,
 * else each that was held and that no edge holds up any more.
 */
static bool is_wanted(const struct chario_command *cmd, bool replay)
{
	if (replay)
		return chario_command_in_flight(cmd) &&
		       cmd->state != CHARIO_COMMAND_SUBMITTING;
	return cmd->state == CHARIO_COMMAND_HELD &&
	       (chario_queue_end_error(cmd) || !chario_medium_holds(cmd));
}

/* Sort these commands by the order of their submission.  Returns their number. */
static unsigned int sort_commands(struct chario_queue *q, bool replay)
{
	unsigned int tag, count = 0;

	chario_queue_for_each_busy(q, tag)
		if (is_wanted(chario_queue_command(q, tag), replay))
			q->order[count++] = tag;
	sort_r(q->order, count, sizeof(*q->order), compare_order, NULL, q);
	return count;
}

/*
 * Hand over commands once more.  Commands that nobody wants any more end instead, and so
 * do those of a lost disk, which may be another one by now, with blocks of another
 * length.  Under q->lock; the device has none of the commands.
 */
static void hand_over_again(struct chario_queue *q, bool replay)
{
	unsigned int count = sort_commands(q, replay), i;

	for (i = 0; i < count; i++) {
		struct chario_command *cmd = chario_queue_command(q,
								  q->order[i]);
		int error = chario_queue_end_error(cmd);

		if (error)
			chario_complete_command(q, cmd, error);
		else
			chario_queue_hand_over(q, cmd, false);
	}
	q->ops->kick(q);
}

/**
 * chario_queue_release_held() - post commands that waited for an edge that has gone
 * @q: the queue
 */
void chario_queue_release_held(struct chario_queue *q)
{
	struct chario_request *done;
	unsigned long flags;

	raw_spin_lock_irqsave(&q->lock, flags);
	if (q->state == CHARIO_QUEUE_LIVE)
		hand_over_again(q, false);
	done = chario_queue_take_done(q);
	raw_spin_unlock_irqrestore(&q->lock, flags);
	chario_complete_list(q, done);
}

/**
 * chario_queue_replay() - post all commands in flight again after a reset
 * @q: a frozen queue; the device has forgotten every command
 *
 * Commands of requests that have been given up and of lost disks end here.  The others are posted
 * again in the order of their submission: to read or write the same bytes once more
 * changes nothing.
 */
void chario_queue_replay(struct chario_queue *q)
{
	struct chario_request *done;
	unsigned long flags;

	raw_spin_lock_irqsave(&q->lock, flags);
	if (q->state == CHARIO_QUEUE_DEAD) {
		/* GCOVR_EXCL_START: one lock: dead queues are not reset */
		raw_spin_unlock_irqrestore(&q->lock, flags);
		return;
		/* GCOVR_EXCL_STOP */
	}
	q->state = CHARIO_QUEUE_LIVE;
	hand_over_again(q, true);
	done = chario_queue_take_done(q);
	raw_spin_unlock_irqrestore(&q->lock, flags);
	chario_complete_list(q, done);
	/* The owner of an edge may go on: what it waits for is held now, see submit.c. */
	if (q->ops->submit)
		wake_up_all(&q->slot_wait);
}

/**
 * chario_queue_fail() - end all commands in flight, and all later ones
 * @q: the queue
 * @error: result of these commands, -errno
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
