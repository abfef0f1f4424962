// SPDX-License-Identifier: GPL-2.0-only
/*
 * All queues of a drive together.
 */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/rcupdate.h>

#include "drive/drive.h"
#include "queue/queue.h"

/**
 * chario_drive_freeze() - stop the posting of commands
 * @drive: the drive
 *
 * When this returns, no command is being submitted either.
 *
 * Context: may sleep.
 */
void chario_drive_freeze(struct chario_drive *drive)
{
	unsigned int i;

	for (i = 0; i < drive->nr_queues; i++)
		chario_queue_freeze(drive->queues[i]);
	for (i = 0; i < drive->nr_queues; i++)
		chario_submit_wait(drive->queues[i]);
}

/**
 * chario_drive_is_idle() - tell if no command is in use
 * @drive: the drive
 */
bool chario_drive_is_idle(const struct chario_drive *drive)
{
	unsigned int i;

	for (i = 0; i < drive->nr_queues; i++)
		if (!chario_queue_is_idle(drive->queues[i]))
			return false;
	return true;
}

/**
 * chario_drive_drain() - end all commands, and wait until nobody is inside a queue
 * @drive: a drive whose device accesses no memory any more
 * @error: result of commands in flight and of later calls, -errno
 *
 * All queues fail before one is drained, because a caller inside one may wait for a
 * command of another, see queue/edge.c.  Afterwards the back end may free its rings and its
 * completion words.
 *
 * Context: may sleep.
 */
void chario_drive_drain(struct chario_drive *drive, int error)
{
	unsigned int i;

	for (i = 0; i < drive->nr_queues; i++)
		chario_queue_fail(drive->queues[i], error);
	for (i = 0; i < drive->nr_queues; i++)
		chario_queue_drain(drive->queues[i]);
	/* A caller may still read a completion word, or wake the waiters of a queue. */
	synchronize_rcu();
}

/* Returns whether the device has a command of a queue. */
static bool is_posted(struct chario_queue *q)
{
	bool found = false;
	unsigned int tag;

	raw_spin_lock_irq(&q->lock);
	chario_queue_for_each_busy(q, tag)
		found |= chario_command_is_with_device(chario_queue_command(q,
									    tag));
	raw_spin_unlock_irq(&q->lock);
	return found;
}

static bool any_posted(struct chario_drive *drive)
{
	bool found = false;
	unsigned int i;

	for (i = 0; i < drive->nr_queues; i++) {
		chario_queue_reap(drive->queues[i]);
		found |= is_posted(drive->queues[i]);
	}
	return found;
}

/**
 * chario_drive_settle() - let the device finish its commands
 * @drive: a frozen drive
 * @ms: time to wait, milliseconds
 *
 * Return: true if the device has finished, false if time is up.
 */
bool chario_drive_settle(struct chario_drive *drive, unsigned int ms)
{
	unsigned long end = jiffies + msecs_to_jiffies(ms);

	while (any_posted(drive)) {
		if (time_after(jiffies, end))
			return false;
		usleep_range(1000, 2000);
	}
	return true;
}
