// SPDX-License-Identifier: GPL-2.0-only
/*
 * Drives: their queues, and the state that all their disks share.
 */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/slab.h>

#include "core/drive.h"
#include "core/queue.h"

/**
 * chario_drive_init() - get a drive ready
 * @drive: zeroed, in the back end's own structure
 * @ops: what its device can do
 * @dev: whose messages those of recovery are; may be set later, before
 *	chario_drive_start()
 *
 * The drive is RECOVERING until chario_drive_start(): recovery does nothing before.
 */
void chario_drive_init(struct chario_drive *drive,
		       const struct chario_drive_ops *ops, struct device *dev)
{
	drive->ops = ops;
	drive->dev = dev;
	drive->state = CHARIO_DRIVE_RECOVERING;
	mutex_init(&drive->lock);
	INIT_WORK(&drive->recover_work, chario_drive_recover);
}

/**
 * chario_drive_deinit() - free the queues of a drive
 * @drive: its queues have been failed and drained, or never used; no disk refers
 *	to it
 */
void chario_drive_deinit(struct chario_drive *drive)
{
	/* A caller that polls may have asked for it until it closed its disk. */
	cancel_work_sync(&drive->recover_work);
	while (drive->nr_queues) {
		struct chario_queue *q = drive->queues[--drive->nr_queues];

		chario_queue_deinit(q);
		drive->ops->free_queue(q);
	}
	kfree(drive->queues);
}

/**
 * chario_drive_make_room() - for pointers to the queues of a drive
 * @drive: has none yet
 * @nr_queues: how many there will be at most
 *
 * Return: 0 or ENOMEM.
 */
int chario_drive_make_room(struct chario_drive *drive, unsigned int nr_queues)
{
	drive->queues = kcalloc(nr_queues, sizeof(*drive->queues), GFP_KERNEL);
	return drive->queues ? 0 : -ENOMEM;
}

/**
 * chario_drive_add_queue() - one more queue, behind the others
 * @drive: has room for it, and no disk yet
 * @q: initialised; stays until the last disk of the drive has been released
 */
void chario_drive_add_queue(struct chario_drive *drive, struct chario_queue *q)
{
	q->drive = drive;
	drive->queues[drive->nr_queues++] = q;
}

/**
 * chario_drive_start() - the device is up, its disks have been registered
 * @drive: RECOVERING, its queues live
 *
 * Calls on its disks may have been late before: recovery looks for them now.
 */
void chario_drive_start(struct chario_drive *drive)
{
	WRITE_ONCE(drive->state, CHARIO_DRIVE_LIVE);
	chario_drive_recover_wanted(drive, false);
}

/**
 * chario_drive_remove() - recovery does nothing any more
 * @drive: about to be taken away
 *
 * The watchdogs, which could ask for recovery, end with the queues.
 *
 * Return: true when the drive had been given up.
 */
bool chario_drive_remove(struct chario_drive *drive)
{
	bool dead;

	mutex_lock(&drive->lock);
	dead = drive->state == CHARIO_DRIVE_DEAD;
	WRITE_ONCE(drive->state, CHARIO_DRIVE_REMOVING);
	mutex_unlock(&drive->lock);
	return dead;
}

/* What stands between a caller and the device; under drive->lock. */
static int find_hindrance(const struct chario_drive *drive)
{
	if (drive->state == CHARIO_DRIVE_RECOVERING)
		return -EAGAIN;
	if (drive->state != CHARIO_DRIVE_LIVE)
		return -ENODEV;
	/* Recovery waits for the lock: nobody asks a silent device before it. */
	return READ_ONCE(drive->reset_wanted) ? -EAGAIN : 0;
}

/**
 * chario_drive_lock_live() - take drive->lock to talk with a device that is well
 * @drive: the drive
 *
 * Return: 0, then the lock is held; else it is not: EAGAIN while the drive is being
 * recovered, or will be; ENODEV when it has been given up or removed; EINTR on a
 * fatal signal.
 */
int chario_drive_lock_live(struct chario_drive *drive)
{
	int ret;

	if (mutex_lock_killable(&drive->lock))
		return -EINTR;
	ret = find_hindrance(drive);
	if (ret)
		mutex_unlock(&drive->lock);
	return ret;
}

/**
 * chario_drive_state_name() - the state of a drive, for people
 * @drive: the drive
 */
const char *chario_drive_state_name(const struct chario_drive *drive)
{
	switch (READ_ONCE(drive->state)) {
	case CHARIO_DRIVE_LIVE:
		return "live";
	case CHARIO_DRIVE_RECOVERING:
		return "recovering";
	default:
		return "dead";
	}
}

/**
 * chario_drive_freeze() - post no command from now on
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
 * chario_drive_is_idle() - is no command in use?
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

/* Has the device a command of a queue? */
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
 * chario_drive_settle() - let the device finish what it has
 * @drive: frozen
 * @ms: how long to wait, milliseconds
 *
 * Return: true when the device has finished, false when time is up.
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
