// SPDX-License-Identifier: GPL-2.0-only
/*
 * The life of a drive: it is initialised, started, and freed.
 */
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "drive/drive.h"
#include "queue/isolation.h"
#include "queue/queue.h"

/**
 * chario_drive_init() - initialise a drive
 * @drive: zeroed memory in the back end's own structure
 * @ops: operations of the back end
 * @dev: device in whose name recovery writes messages; may be set later, before
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
	mutex_init(&drive->block_lock);
	INIT_WORK(&drive->recover_work, chario_drive_recover);
	chario_isolation_init(drive);
}

/**
 * chario_drive_deinit() - free the queues of a drive
 * @drive: a drive whose queues have been failed and drained, or were never used; no
 *	disk refers to it
 */
void chario_drive_deinit(struct chario_drive *drive)
{
	/* A polling caller may have requested recovery until it closed its disk. */
	cancel_work_sync(&drive->recover_work);
	chario_isolation_deinit(drive);
	while (drive->nr_queues) {
		struct chario_queue *q = drive->queues[--drive->nr_queues];

		chario_queue_deinit(q);
		drive->ops->free_queue(q);
	}
	kfree(drive->queues);
}

/**
 * chario_drive_make_room() - allocate the array of queues of a drive
 * @drive: a drive without queues
 * @nr_queues: largest number of queues
 *
 * Return: 0 or ENOMEM.
 */
int chario_drive_make_room(struct chario_drive *drive, unsigned int nr_queues)
{
	drive->queues = kcalloc(nr_queues, sizeof(*drive->queues), GFP_KERNEL);
	return drive->queues ? 0 : -ENOMEM;
}

/**
 * chario_drive_add_queue() - append a queue to the array, and give it a watchdog
 * @drive: a drive with room for it; callers exclude each other
 * @q: an initialised queue; stays until the last disk of the drive has been released
 *
 * Context: may sleep.
 */
void chario_drive_add_queue(struct chario_drive *drive, struct chario_queue *q)
{
	q->drive = drive;
	timer_setup(&q->timer, chario_watch, 0);
	INIT_WORK(&q->watch_work, chario_watch_polled);
	drive->queues[drive->nr_queues] = q;
	/* A drive with disks has readers, who see the queue before they see the number. */
	if (drive->state == CHARIO_DRIVE_LIVE)
		synchronize_rcu();
	WRITE_ONCE(drive->nr_queues, drive->nr_queues + 1);
}

/**
 * chario_drive_start() - let recovery begin its work
 * @drive: a RECOVERING drive; its queues are live and its disks have been registered
 *
 * Calls may have become late before: recovery looks for them now.
 */
void chario_drive_start(struct chario_drive *drive)
{
	WRITE_ONCE(drive->state, CHARIO_DRIVE_LIVE);
	chario_drive_recover_wanted(drive, false);
}
