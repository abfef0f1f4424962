// SPDX-License-Identifier: GPL-2.0-only
/*
 * The drive operations for the core's recovery, see &struct chario_drive_ops.
 */
#include <linux/slab.h>

#include "loopback.h"

/*
 * The longest time of a reset in milliseconds, which takes about one copy of a command.
 */
#define RESET_MS	1000

static enum chario_drive_health loopback_check(struct chario_drive *drive)
{
	return loopback_device_health();
}

/* Ends a command that the device has lost; others come back by themselves. */
static int loopback_abort(struct chario_drive *drive, struct chario_queue *q,
			  u16 id)
{
	struct loopback_queue *lq = to_loopback_queue(q);
	bool lost;

	if (!loopback_device_aborts())
		return -EOPNOTSUPP;
	raw_spin_lock_irq(&q->lock);
	lost = __test_and_clear_bit(id, lq->lost);
	raw_spin_unlock_irq(&q->lock);
	if (lost)
		loopback_queue_end(lq, chario_queue_command(q, id), -ECANCELED);
	return 0;
}

/* All queues halt before one is waited for: the bound does not grow with their number. */
static void stop_all(struct chario_drive *drive)
{
	unsigned int i;

	for (i = 0; i < drive->nr_queues; i++)
		loopback_device_halt(to_loopback_queue(drive->queues[i]));
	for (i = 0; i < drive->nr_queues; i++)
		loopback_device_stop(to_loopback_queue(drive->queues[i]));
}

static int loopback_disable(struct chario_drive *drive)
{
	unsigned int i;

	if (loopback_device_health() == CHARIO_DRIVE_GONE)
		return -ENODEV;
	stop_all(drive);
	for (i = 0; i < drive->nr_queues; i++)
		chario_queue_reap(drive->queues[i]);
	return 0;
}

static int loopback_enable(struct chario_drive *drive)
{
	unsigned int i;

	if (!loopback_device_revive())
		return loopback_device_health() == CHARIO_DRIVE_GONE ? -ENODEV :
								       -EIO;
	for (i = 0; i < drive->nr_queues; i++) {
		loopback_queue_reset(to_loopback_queue(drive->queues[i]));
		chario_queue_replay(drive->queues[i]);
	}
	return 0;
}

static void loopback_bounds(const struct chario_drive *drive,
			    struct chario_drive_bounds *bounds)
{
	bounds->abort_ms = 0;
	bounds->reset_ms = RESET_MS;
}

static void loopback_free_queue(struct chario_queue *q)
{
	kfree(to_loopback_queue(q));
}

const struct chario_drive_ops loopback_drive_ops = {
	.check		= loopback_check,
	.abort		= loopback_abort,
	.disable	= loopback_disable,
	.enable		= loopback_enable,
	.cut_off	= stop_all,
	.bounds		= loopback_bounds,
	.free_queue	= loopback_free_queue,
};
