// SPDX-License-Identifier: GPL-2.0-only
/*
 * Drives: made ready, started, and freed.
 */
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
