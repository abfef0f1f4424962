// SPDX-License-Identifier: GPL-2.0-only
/*
 * Recovery: a command does not come back.
 *
 * The caller has been told already (ETIMEDOUT at its deadline); its memory is
 * quarantined.  What is left to do is to make the device let go of it:
 *
 *   1. abort each expired command, wait up to CHARIO_DRIVE_ABORT_MS;
 *   2. reset: disable the device, enable it, post what is in flight and not
 *      expired again; once more where the device says meanwhile that it has
 *      failed again, and there is time;
 *   3. give up: keep the device off memory; everything in flight ends with EIO,
 *      and so does every later call.
 *
 * A device that has gone, and one that says that it has failed, skip the first
 * step; so does one that cannot abort.
 *
 * The bound: CHARIO_DRIVE_ABORT_MS + the longest wait for the answer to an abort +
 * the longest reset.
 */
#include <linux/delay.h>
#include <linux/device.h>
#include <linux/jiffies.h>

#include "core/drive.h"
#include "core/queue.h"

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

static const struct chario_command *
find_expired(const struct chario_queue *q, unsigned int *tag)
{
	for (; *tag < q->depth; (*tag)++) {
		const struct chario_command *cmd;

		cmd = chario_queue_command(q, *tag);
		if (cmd->state == CHARIO_COMMAND_POSTED && cmd->req->overdue)
			return cmd;
	}
	return NULL;
}

/* Find the next expired command of a queue, from @tag on, and its identifier. */
static bool next_expired(struct chario_queue *q, unsigned int *tag, u16 *id)
{
	const struct chario_command *cmd;
	unsigned long flags;

	raw_spin_lock_irqsave(&q->lock, flags);
	cmd = find_expired(q, tag);
	if (cmd)
		*id = cmd->id;
	raw_spin_unlock_irqrestore(&q->lock, flags);
	return cmd;
}

static bool any_expired(const struct chario_drive *drive)
{
	unsigned int i, tag;
	u16 id;

	for (i = 0; i < drive->nr_queues; i++) {
		tag = 0;
		if (next_expired(drive->queues[i], &tag, &id))
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

	for (tag = 0; next_expired(q, &tag, &id); tag++) {
		if (time_after(jiffies, end))
			return -ETIMEDOUT;
		ret = drive->ops->abort(drive, q, id);
		if (ret)
			return ret;
		drive->aborts++;
	}
	return 0;
}

/* Returns 0 when every expired command has come back. */
static int abort_expired(struct chario_drive *drive)
{
	unsigned long end = jiffies + msecs_to_jiffies(CHARIO_DRIVE_ABORT_MS);
	unsigned int i;
	int ret;

	for (i = 0; i < drive->nr_queues; i++) {
		ret = abort_queue(drive, drive->queues[i], end);
		if (ret)
			return ret;
	}
	while (any_expired(drive)) {
		if (time_after(jiffies, end))
			return -ETIMEDOUT;
		msleep(20);
		for (i = 0; i < drive->nr_queues; i++)
			chario_queue_reap(drive->queues[i]);
	}
	return 0;
}

static enum chario_drive_health get_health(struct chario_drive *drive)
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

/* A second try may begin until this time, in jiffies, and is over within the bound. */
static unsigned long second_try(const struct chario_drive *drive)
{
	struct chario_drive_bounds bounds;

	drive->ops->bounds(drive, &bounds);
	return jiffies + msecs_to_jiffies(CHARIO_DRIVE_ABORT_MS +
					  bounds.abort_ms);
}

/* Reset the device once more when it fails again while it comes up. */
static int reset(struct chario_drive *drive, unsigned long second)
{
	int ret = try_reset(drive);

	if (ret && ret != -ENODEV && time_before(jiffies, second) &&
	    get_health(drive) == CHARIO_DRIVE_FAILED)
		ret = try_reset(drive);
	return ret;
}

/**
 * chario_drive_cut_off() - keep the device off memory for good, free callers
 * @drive: under drive->lock; its back end can cut it off
 * @error: what callers get from here on
 */
void chario_drive_cut_off(struct chario_drive *drive, int error)
{
	unsigned int i;

	WRITE_ONCE(drive->state, CHARIO_DRIVE_DEAD);
	drive->ops->cut_off(drive);
	for (i = 0; i < drive->nr_queues; i++)
		chario_queue_fail(drive->queues[i], error);
}

/**
 * chario_drive_give_up() - the device is lost: cut it off, and say so
 * @drive: under drive->lock
 * @error: what callers get from here on
 */
void chario_drive_give_up(struct chario_drive *drive, int error)
{
	chario_drive_cut_off(drive, error);
	dev_err(drive->dev, "%s\n", error == -ENODEV ?
		"the drive has gone; calls give ENODEV" :
		"the drive does not come up again; it is kept off memory, calls give EIO; unbind it and power-cycle it");
}

/* After a reset, and what has come of that: calls go on, or fail. */
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
 * chario_drive_hold() - something else will reset the device: calls wait
 * @drive: LIVE, under drive->lock
 *
 * chario_drive_resume() or chario_drive_reset() ends that, or chario_drive_give_up().
 */
void chario_drive_hold(struct chario_drive *drive)
{
	WRITE_ONCE(drive->state, CHARIO_DRIVE_RECOVERING);
	chario_drive_freeze(drive);
}

/**
 * chario_drive_resume() - reset a device that was put to sleep, and go on
 * @drive: held, under drive->lock
 *
 * It is what happens to every drive of a machine that sleeps: no failure, so it
 * is neither counted nor told.
 *
 * Return: 0, or why the device did not come up; the drive has been given up then.
 */
int chario_drive_resume(struct chario_drive *drive)
{
	return go_on(drive, reset(drive, second_try(drive)));
}

/**
 * chario_drive_reset() - reset a device that has failed, and go on
 * @drive: held, under drive->lock
 *
 * Return: as chario_drive_resume().
 */
int chario_drive_reset(struct chario_drive *drive)
{
	return revive(drive, second_try(drive));
}

static void recover(struct chario_drive *drive)
{
	unsigned long second = second_try(drive);
	enum chario_drive_health health;

	if (drive->ops->may_recover && !drive->ops->may_recover(drive))
		return;
	health = get_health(drive);
	if (health == CHARIO_DRIVE_GONE) {
		chario_drive_give_up(drive, -ENODEV);
		return;
	}
	if (!READ_ONCE(drive->reset_wanted)) {
		if (!any_expired(drive))
			return;
		if (drive->ops->abort && !abort_expired(drive)) {
			dev_warn_ratelimited(drive->dev,
					     "expired commands have been aborted\n");
			return;
		}
	}
	WRITE_ONCE(drive->state, CHARIO_DRIVE_RECOVERING);
	revive(drive, second);
}

/**
 * chario_drive_recover() - see the top of this file
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
 * chario_drive_recover_wanted() - something is wrong, see to it
 * @drive: the drive
 * @reset: an abort will not help
 *
 * Context: any.
 */
void chario_drive_recover_wanted(struct chario_drive *drive, bool reset)
{
	if (reset)
		WRITE_ONCE(drive->reset_wanted, true);
	queue_work(system_unbound_wq, &drive->recover_work);
}

/**
 * chario_drive_look() - is the device well, as far as it says itself?
 * @drive: the drive
 *
 * Context: softirq, a watchdog of its queues.
 */
void chario_drive_look(struct chario_drive *drive)
{
	if (READ_ONCE(drive->state) != CHARIO_DRIVE_LIVE)
		return;
	if (unlikely(get_health(drive) != CHARIO_DRIVE_WELL))
		chario_drive_recover_wanted(drive, true);
}

/**
 * chario_drive_bound_ns() - from the beginning of recovery until the drive is live
 * again or dead, at most
 * @drive: the drive
 *
 * Return: nanoseconds; 0 where there is no recovery.
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
