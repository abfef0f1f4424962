// SPDX-License-Identifier: GPL-2.0-only
/*
 * Recovery: a command does not come back.
 *
 * The caller has been told already (ETIMEDOUT at its deadline); its memory is
 * quarantined.  What is left to do is to make the controller let go of it:
 *
 *   1. abort each expired command, wait up to CHARIO_NVME_ABORT_MS;
 *   2. reset: disable the controller, enable it, create the queues, post what
 *      is in flight and not expired again; once more where the controller says
 *      meanwhile that it has failed again, and there is time;
 *   3. give up: switch off bus mastering, so that the drive can touch no
 *      memory; everything in flight ends with EIO, and so does every later
 *      call.
 *
 * A drive that has gone, and one that says that it has failed (CSTS.CFS), skip
 * the first step.
 *
 * A link that has failed is the PCI core's: it resets the link and calls
 * slot_reset().  Where it cannot, it says so to nobody: link_work finds the drive
 * then, and revives it, or gives it up.
 *
 * The bound: CHARIO_NVME_ABORT_MS + the longest wait of an abort command + the
 * longest wait for CSTS.RDY, twice + the longest wait of an admin command, which
 * bounds all commands of the reset together.
 */
#include <linux/delay.h>
#include <linux/jiffies.h>

#include "nvme.h"

/* By then the PCI core has begun to reset a link that has failed. */
#define LINK_LOOK_MS	5000

/* It waits a minute for a device behind a link that it has reset. */
#define LINK_LIMIT_MS	70000

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

/*
 * The next expired command of a queue, from @tag on, and its identifier; false
 * when none is.
 */
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

static bool any_expired(struct chario_nvme *ctrl)
{
	unsigned int i, tag;
	u16 id;

	for (i = 0; i < ctrl->nr_queues; i++) {
		tag = 0;
		if (next_expired(ctrl->core_queues[i], &tag, &id))
			return true;
	}
	return false;
}

static int abort_queue(struct chario_nvme *ctrl, struct chario_nvme_queue *nq,
		       unsigned long end)
{
	unsigned int tag;
	u16 id;
	int ret;

	for (tag = 0; next_expired(&nq->core, &tag, &id); tag++) {
		if (time_after(jiffies, end))
			return -ETIMEDOUT;
		ret = chario_nvme_admin_abort(ctrl, nq->qid, id);
		if (ret)
			return ret;
		ctrl->aborts++;
	}
	return 0;
}

/* 0 when every expired command has come back. */
static int abort_expired(struct chario_nvme *ctrl)
{
	unsigned long end = jiffies + msecs_to_jiffies(CHARIO_NVME_ABORT_MS);
	unsigned int i;
	int ret;

	for (i = 0; i < ctrl->nr_queues; i++) {
		ret = abort_queue(ctrl, ctrl->queues[i], end);
		if (ret)
			return ret;
	}
	while (any_expired(ctrl)) {
		if (time_after(jiffies, end))
			return -ETIMEDOUT;
		msleep(20);
		for (i = 0; i < ctrl->nr_queues; i++)
			chario_queue_reap(ctrl->core_queues[i]);
	}
	return 0;
}

static int bring_up(struct chario_nvme *ctrl)
{
	unsigned int granted = ctrl->nr_queues;
	int ret;

	chario_nvme_admin_reset(ctrl);
	ret = chario_nvme_ctrl_enable(ctrl);
	if (ret)
		return ret;
	ctrl->admin.deadline = jiffies +
			       msecs_to_jiffies(chario_nvme_admin_timeout_ms());
	ctrl->admin.has_deadline = true;
	ret = chario_nvme_admin_set_queues(ctrl, &granted);
	if (!ret && granted < ctrl->nr_queues)
		ret = -ENOSPC;
	/* Nothing of what was asked of one drive is posted to another. */
	if (!ret)
		ret = chario_nvme_identity_check(ctrl, ctrl->identify_page);
	if (!ret)
		ret = chario_nvme_queues_create(ctrl);
	ctrl->admin.has_deadline = false;
	return ret;
}

static int try_reset(struct chario_nvme *ctrl)
{
	int ret;

	chario_nvme_queues_freeze(ctrl);
	ret = chario_nvme_ctrl_disable(ctrl);
	if (ret)
		return ret;
	chario_nvme_queues_forget(ctrl);
	return bring_up(ctrl);
}

/* A second try may begin until then and is over within the bound. */
static unsigned long second_try(void)
{
	return jiffies + msecs_to_jiffies(CHARIO_NVME_ABORT_MS +
					  chario_nvme_admin_timeout_ms());
}

/* Once more for a controller that fails again while it comes up. */
static int reset(struct chario_nvme *ctrl, unsigned long second)
{
	int ret = try_reset(ctrl);

	if (ret && ret != -ENODEV && time_before(jiffies, second) &&
	    chario_nvme_ctrl_has_failed(ctrl))
		ret = try_reset(ctrl);
	return ret;
}

/**
 * chario_nvme_cut_off() - keep the drive off memory for good, free callers
 * @ctrl: the controller
 * @error: what callers get from here on
 */
void chario_nvme_cut_off(struct chario_nvme *ctrl, int error)
{
	unsigned int i;

	WRITE_ONCE(ctrl->state, CHARIO_NVME_DEAD);
	pci_clear_master(ctrl->pdev);
	for (i = 0; i < ctrl->nr_queues; i++)
		chario_queue_fail(ctrl->core_queues[i], error);
}

/**
 * chario_nvme_give_up() - the drive is lost: cut it off, and say so
 * @ctrl: the controller
 * @error: what callers get from here on
 */
void chario_nvme_give_up(struct chario_nvme *ctrl, int error)
{
	chario_nvme_cut_off(ctrl, error);
	dev_err(&ctrl->pdev->dev, "%s\n", error == -ENODEV ?
		"the drive has gone; calls give ENODEV" :
		"the drive does not come up again; bus mastering is off, calls give EIO; unbind it and power-cycle it");
}

/* After a reset, and what has come of that: calls go on, or fail. */
static int go_on(struct chario_nvme *ctrl, int error)
{
	if (error) {
		chario_nvme_give_up(ctrl, error == -ENODEV ? error : -EIO);
		return error;
	}
	WRITE_ONCE(ctrl->reset_wanted, false);
	WRITE_ONCE(ctrl->state, CHARIO_NVME_LIVE);
	chario_nvme_event_restart(ctrl);
	queue_work(system_unbound_wq, &ctrl->power.work);
	return 0;
}

static int revive(struct chario_nvme *ctrl, unsigned long second)
{
	struct device *dev = &ctrl->pdev->dev;
	int ret;

	dev_warn_ratelimited(dev, "resetting the controller\n");
	ret = reset(ctrl, second);
	if (!ret)
		ctrl->resets++;
	ret = go_on(ctrl, ret);
	if (!ret)
		dev_warn_ratelimited(dev, "the controller is up again\n");
	return ret;
}

/**
 * chario_nvme_revive() - reset the controller, or give the drive up
 * @ctrl: under recover_lock
 *
 * Return: 0, or why it did not come up.
 */
int chario_nvme_revive(struct chario_nvme *ctrl)
{
	return revive(ctrl, second_try());
}

/**
 * chario_nvme_resume() - the same for a drive that was put to sleep
 * @ctrl: under recover_lock
 *
 * It is what happens to every drive of a machine that sleeps: no failure, so it
 * is neither counted nor told.
 *
 * Return: 0, or why it did not come up.
 */
int chario_nvme_resume(struct chario_nvme *ctrl)
{
	return go_on(ctrl, reset(ctrl, second_try()));
}

static void look_later(struct chario_nvme *ctrl)
{
	/* Not while the machine is suspended. */
	mod_delayed_work(system_freezable_wq, &ctrl->link_work,
			 msecs_to_jiffies(LINK_LOOK_MS));
}

/**
 * chario_nvme_link_failed() - post nothing until the link has been reset
 * @ctrl: live, under recover_lock
 */
void chario_nvme_link_failed(struct chario_nvme *ctrl)
{
	dev_warn(&ctrl->pdev->dev,
		 "the link has failed; calls wait until it has been reset\n");
	WRITE_ONCE(ctrl->state, CHARIO_NVME_RECOVERING);
	chario_nvme_queues_freeze(ctrl);
	ctrl->link_deadline = jiffies + msecs_to_jiffies(LINK_LIMIT_MS);
	look_later(ctrl);
}

/**
 * chario_nvme_link_is_up() - the link has been reset, and the device with it
 * @ctrl: under recover_lock, not dead
 *
 * Return: as chario_nvme_revive().
 */
int chario_nvme_link_is_up(struct chario_nvme *ctrl)
{
	pci_restore_state(ctrl->pdev);
	/* Restoring uses the state up. */
	pci_save_state(ctrl->pdev);
	pci_set_master(ctrl->pdev);
	return chario_nvme_revive(ctrl);
}

static void look_at_link(struct chario_nvme *ctrl)
{
	if (ctrl->state != CHARIO_NVME_RECOVERING)
		return;
	if (!pci_device_is_present(ctrl->pdev) &&
	    time_before(jiffies, ctrl->link_deadline)) {
		look_later(ctrl);
		return;
	}
	/* Or it would be taken for the next failure. */
	if (!chario_nvme_link_is_up(ctrl))
		ctrl->pdev->error_state = pci_channel_io_normal;
}

/**
 * chario_nvme_link_check() - has the PCI core left a failed link at that?
 * @work: link_work of a controller
 *
 * The PCI core holds the device's lock while it resets the link.  A slot_reset()
 * that comes later still finds a controller that can be reset once more.
 */
void chario_nvme_link_check(struct work_struct *work)
{
	struct chario_nvme *ctrl = container_of(to_delayed_work(work),
						struct chario_nvme, link_work);
	bool ours = device_trylock(&ctrl->pdev->dev);

	mutex_lock(&ctrl->recover_lock);
	if (ours)
		look_at_link(ctrl);
	else if (ctrl->state == CHARIO_NVME_RECOVERING)
		look_later(ctrl);
	mutex_unlock(&ctrl->recover_lock);
	if (ours)
		device_unlock(&ctrl->pdev->dev);
}

static void recover(struct chario_nvme *ctrl)
{
	struct device *dev = &ctrl->pdev->dev;
	unsigned long second = second_try();
	int ret;

	/* We are earlier than error_detected(). */
	if (ctrl->pdev->error_state == pci_channel_io_frozen) {
		chario_nvme_link_failed(ctrl);
		return;
	}
	if (chario_nvme_ctrl_is_gone(ctrl)) {
		chario_nvme_give_up(ctrl, -ENODEV);
		return;
	}
	if (!READ_ONCE(ctrl->reset_wanted)) {
		if (!any_expired(ctrl))
			return;
		ret = abort_expired(ctrl);
		if (!ret) {
			dev_warn_ratelimited(dev, "expired commands have been aborted\n");
			return;
		}
	}
	WRITE_ONCE(ctrl->state, CHARIO_NVME_RECOVERING);
	revive(ctrl, second);
}

/**
 * chario_nvme_recover() - see the top of this file
 * @work: recover_work of a controller
 */
void chario_nvme_recover(struct work_struct *work)
{
	struct chario_nvme *ctrl = container_of(work, struct chario_nvme,
						recover_work);

	mutex_lock(&ctrl->recover_lock);
	if (ctrl->state == CHARIO_NVME_LIVE)
		recover(ctrl);
	mutex_unlock(&ctrl->recover_lock);
}

/**
 * chario_nvme_recover_wanted() - something is wrong, see to it
 * @ctrl: the controller
 * @reset: an abort will not help
 *
 * Context: any.
 */
void chario_nvme_recover_wanted(struct chario_nvme *ctrl, bool reset)
{
	if (reset)
		WRITE_ONCE(ctrl->reset_wanted, true);
	queue_work(system_unbound_wq, &ctrl->recover_work);
}

/**
 * chario_nvme_recover_bound_ns() - see &struct chario_info
 * @ctrl: the controller
 */
u64 chario_nvme_recover_bound_ns(const struct chario_nvme *ctrl)
{
	u64 ms = CHARIO_NVME_ABORT_MS + 2ULL * ctrl->ready_ms +
		 2ULL * chario_nvme_admin_timeout_ms();

	return ms * NSEC_PER_MSEC;
}
