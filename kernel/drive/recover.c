// SPDX-License-Identifier: GPL-2.0-only
/*
 * Recovery: a command does not come back from the device.
 *
 * Most callers have been told already (ETIMEDOUT at the deadline), and their memory is
 * quarantined; with CHARIO_DUTY_LET_GO they still wait.  It remains to make the device
 * let go of the memory:
 *
 *   1. abort each overdue command, wait up to CHARIO_DRIVE_ABORT_MS;
 *   2. reset: disable the device, enable it, post again the commands in flight whose
 *      request has not been given up; once more if the device reports meanwhile that
 *      it has failed again, and there is time;
 *   3. give up: keep the device off memory; everything in flight ends with EIO
 *      (ENODEV if the device has gone), and so does every later call.
 *
 * The first step is skipped for a device that cannot abort, and where the watchdog has
 * seen that the device has failed.  A device that has gone is given up at once.
 *
 * The bound: CHARIO_DRIVE_ABORT_MS + the longest wait for the answer to an abort +
 * the longest reset.
 */
#include <linux/delay.h>
#include <linux/device.h>
#include <linux/jiffies.h>

#include "base/workers.h"
#include "drive/drive.h"
#include "queue/queue.h"

/**
 * chario_drive_remove() - end recovery before a drive is taken away
 * @drive: the drive
 *
 * No command goes to the device any more.  The watchdogs, which could request recovery,
 * end with the queues.
 *
 * Return: true if the drive had been given up.
 */
bool chario_drive_remove(struct chario_drive *drive)
{
	bool dead;

	mutex_lock(&drive->lock);
	dead = drive->state == CHARIO_DRIVE_DEAD;
	WRITE_ONCE(drive->state, CHARIO_DRIVE_REMOVING);
	chario_drive_freeze(drive);
	mutex_unlock(&drive->lock);
	return dead;
}

/* Returns 0 if a caller may talk with the device, else -errno; under drive->lock. */
static int find_hindrance(const struct chario_drive *drive)
{
	if (drive->state == CHARIO_DRIVE_RECOVERING)
		return -EAGAIN;
	if (drive->state != CHARIO_DRIVE_LIVE)
		return -ENODEV;
	/* Recovery waits for the lock: a silent device is not asked anything before. */
	return READ_ONCE(drive->reset_wanted) ? -EAGAIN : 0;
}

/**
 * chario_drive_lock_live() - take drive->lock of a drive that works
 * @drive: the drive
 *
 * Return: 0 with the lock held.  Else without the lock: EAGAIN while the drive is
 * being recovered, or will be; ENODEV if it has been given up or removed; EINTR on
 * a fatal signal.
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
 * chario_drive_state_name() - return the name of a drive's state, for people
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

static const struct chario_command *
find_overdue(const struct chario_queue *q, unsigned int *tag)
{
	for (; *tag < q->depth; (*tag)++) {
		const struct chario_command *cmd;

		cmd = chario_queue_command(q, *tag);
		if (cmd->state == CHARIO_COMMAND_POSTED && cmd->req->overdue)
			return cmd;
	}
	return NULL;
}

/* Find the next overdue command from @tag on and its identifier; false if none. */
static bool next_overdue(struct chario_queue *q, unsigned int *tag, u16 *id)
{
	const struct chario_command *cmd;
	unsigned long flags;

	raw_spin_lock_irqsave(&q->lock, flags);
	cmd = find_overdue(q, tag);
	if (cmd)
		*id = cmd->id;
	raw_spin_unlock_irqrestore(&q->lock, flags);
	return cmd;
}

static bool any_overdue(const struct chario_drive *drive)
{
	unsigned int i, tag;
	u16 id;

	for (i = 0; i < drive->nr_queues; i++) {
		tag = 0;
		if (next_overdue(drive->queues[i], &tag, &id))
			return true;
	}
	return false;
}

static int abort_queue(struct chario_drive *drive, struct chario_queue *q,
		       unsigned long end)
{
	unsigned int tag;
	u16 id;
	int ret;

	for (tag = 0; next_overdue(q, &tag, &id); tag++) {
		if (time_after(jiffies, end))
			return -ETIMEDOUT;
		ret = drive->ops->abort(drive, q, id);
		if (ret)
			return ret;
		drive->aborts++;
	}
	return 0;
}

/* Abort all overdue commands; returns 0 if they have come back. */
static int abort_overdue(struct chario_drive *drive)
{
	unsigned long end = jiffies + msecs_to_jiffies(CHARIO_DRIVE_ABORT_MS);
	unsigned int i;
	int ret;

	for (i = 0; i < drive->nr_queues; i++) {
		ret = abort_queue(drive, drive->queues[i], end);
		if (ret)
			return ret;
	}
	while (any_overdue(drive)) {
		if (time_after(jiffies, end))
			return -ETIMEDOUT;
		msleep(20);
		for (i = 0; i < drive->nr_queues; i++)
			chario_queue_reap(drive->queues[i]);
	}
	return 0;
}

static enum chario_drive_health recover_get_health(struct chario_drive *drive)
{
	return drive->ops->check ? drive->ops->check(drive) : CHARIO_DRIVE_WELL;
}

static int try_reset(struct chario_drive *drive)
{
	int ret;

	if (!drive->ops->disable)
		return -EIO;
	chario_drive_freeze(drive);
	ret = drive->ops->disable(drive);
	return ret ?: drive->ops->enable(drive);
}

/* Returns the latest time, in jiffies, to begin a second try within the bound. */
static unsigned long second_try_by(const struct chario_drive *drive)
{
	struct chario_drive_bounds bounds;

	drive->ops->bounds(drive, &bounds);
	return jiffies + msecs_to_jiffies(CHARIO_DRIVE_ABORT_MS +
					  bounds.abort_ms);
}

/* Reset the device, and once more if it has failed again while it came up. */
static int reset(struct chario_drive *drive, unsigned long second)
{
	int ret = try_reset(drive);
	enum chario_drive_health health;

	if (!ret || ret == -ENODEV || time_after_eq(jiffies, second))
		return ret;
	health = recover_get_health(drive);
	if (health == CHARIO_DRIVE_GONE)
		return -ENODEV;
	if (health == CHARIO_DRIVE_FAILED)
		ret = try_reset(drive);
	return ret;
}

/**
 * chario_drive_cut_off() - keep the device off memory for good, end its commands
 * @drive: the drive, under drive->lock; its back end has a cut_off()
 * @error: result of commands in flight and of later calls, -errno
 */
void chario_drive_cut_off(struct chario_drive *drive, int error)
{
	unsigned int i;

	WRITE_ONCE(drive->state, CHARIO_DRIVE_DEAD);
	chario_drive_freeze(drive);
	drive->ops->cut_off(drive);
	for (i = 0; i < drive->nr_queues; i++)
		chario_queue_fail(drive->queues[i], error);
}

/**
 * chario_drive_give_up() - cut off a lost device, and log that
 * @drive: the drive, under drive->lock
 * @error: result of commands in flight and of later calls, -errno
 */
void chario_drive_give_up(struct chario_drive *drive, int error)
{
	chario_drive_cut_off(drive, error);
	dev_err(drive->dev, "%s\n", error == -ENODEV ?
		"the drive has gone; calls give ENODEV" :
		"the drive does not come up again; it is kept off memory, calls give EIO; unbind it and power-cycle it");
}

/* Continue after a reset if @error is 0, else give up. */
static int go_on(struct chario_drive *drive, int error)
{
	if (error) {
		chario_drive_give_up(drive, error == -ENODEV ? error : -EIO);
		return error;
	}
	WRITE_ONCE(drive->reset_wanted, false);
	WRITE_ONCE(drive->state, CHARIO_DRIVE_LIVE);
	if (drive->ops->resumed)
		drive->ops->resumed(drive);
	return 0;
}

static int revive(struct chario_drive *drive, unsigned long second)
{
	int ret;

	if (drive->ops->disable)
		dev_warn_ratelimited(drive->dev, "resetting the controller\n");
	ret = reset(drive, second);
	if (!ret)
		drive->resets++;
	ret = go_on(drive, ret);
	if (!ret)
		dev_warn_ratelimited(drive->dev, "the controller is up again\n");
	return ret;
}

/**
 * chario_drive_hold() - make calls wait while something else resets the device
 * @drive: a LIVE drive, under drive->lock
 *
 * chario_drive_resume(), chario_drive_reset() or chario_drive_give_up() ends the wait.
 */
void chario_drive_hold(struct chario_drive *drive)
{
	WRITE_ONCE(drive->state, CHARIO_DRIVE_RECOVERING);
	chario_drive_freeze(drive);
}

/**
 * chario_drive_resume() - reset a device that was put to sleep, and go on
 * @drive: a held drive, under drive->lock
 *
 * This happens to every drive of a machine that sleeps.  It is no failure, so it is
 * neither counted nor logged.
 *
 * Return: 0, or -errno if the device did not come up; then the drive has been given
 * up.
 */
int chario_drive_resume(struct chario_drive *drive)
{
	return go_on(drive, reset(drive, second_try_by(drive)));
}

/**
 * chario_drive_reset() - reset a device that has failed, and go on
 * @drive: a held drive, under drive->lock
 *
 * Return: as chario_drive_resume().
 */
int chario_drive_reset(struct chario_drive *drive)
{
	return revive(drive, second_try_by(drive));
}

static void recover(struct chario_drive *drive)
{
	unsigned long second = second_try_by(drive);
	enum chario_drive_health health;

	if (drive->ops->may_recover && !drive->ops->may_recover(drive))
		return;
	health = recover_get_health(drive);
	if (health == CHARIO_DRIVE_GONE) {
		chario_drive_give_up(drive, -ENODEV);
		return;
	}
	if (!READ_ONCE(drive->reset_wanted)) {
		if (!any_overdue(drive))
			return;
		if (drive->ops->abort && !abort_overdue(drive)) {
			dev_warn_ratelimited(drive->dev,
					     "expired commands have been aborted\n");
			return;
		}
	}
	WRITE_ONCE(drive->state, CHARIO_DRIVE_RECOVERING);
	revive(drive, second);
}

/**
 * chario_drive_recover() - run recovery, see the top of this file
 * @work: recover_work of a drive
 */
void chario_drive_recover(struct work_struct *work)
{
	struct chario_drive *drive = container_of(work, struct chario_drive,
						  recover_work);

	mutex_lock(&drive->lock);
	if (drive->state == CHARIO_DRIVE_LIVE && drive->ops->cut_off)
		recover(drive);
	mutex_unlock(&drive->lock);
}

/**
 * chario_drive_recover_wanted() - request recovery
 * @drive: the drive
 * @reset: true if an abort will not help
 *
 * Context: any.
 */
void chario_drive_recover_wanted(struct chario_drive *drive, bool reset)
{
	if (reset)
		WRITE_ONCE(drive->reset_wanted, true);
	queue_work(chario_recover_workqueue, &drive->recover_work);
}

/**
 * chario_drive_look() - request recovery if the device reports a failure
 * @drive: the drive
 *
 * Context: softirq, from the watchdog of a queue.
 */
void chario_drive_look(struct chario_drive *drive)
{
	if (READ_ONCE(drive->state) != CHARIO_DRIVE_LIVE)
		return;
	if (unlikely(recover_get_health(drive) != CHARIO_DRIVE_WELL))
		chario_drive_recover_wanted(drive, true);
}

/**
 * chario_drive_bound_ns() - compute the longest time of recovery
 * @drive: the drive
 *
 * Return: nanoseconds from the beginning of recovery until the drive is live again or
 * dead; 0 if there is no recovery.
 */
u64 chario_drive_bound_ns(const struct chario_drive *drive)
{
	struct chario_drive_bounds bounds;

	if (!drive->ops->cut_off)
		return 0;
	drive->ops->bounds(drive, &bounds);
	return (u64)(CHARIO_DRIVE_ABORT_MS + bounds.abort_ms +
		     bounds.reset_ms) * NSEC_PER_MSEC;
}
