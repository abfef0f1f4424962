// SPDX-License-Identifier: GPL-2.0-only
/*
 * The drive operations for the core's recovery, which disable and enable a controller,
 * see &struct chario_drive_ops.
 */
#include <linux/jiffies.h>

#include "nvme.h"

/* Called by watchdogs: one register read finds a drive that has gone or failed. */
static enum chario_drive_health nvme_check(struct chario_drive *drive)
{
	return chario_nvme_ctrl_health(to_nvme(drive));
}

/* Recovery may notice a failed link before the PCI core has called error_detected(). */
static bool nvme_may_recover(struct chario_drive *drive)
{
	struct chario_nvme *ctrl = to_nvme(drive);

	if (ctrl->pdev->error_state == pci_channel_io_frozen)
		chario_nvme_link_failed(ctrl);
	else if (chario_nvme_ctrl_is_gone(ctrl))
		chario_drive_give_up(drive, -ENODEV);
	else
		return true;
	return false;
}

static int nvme_abort(struct chario_drive *drive, struct chario_queue *q, u16 id)
{
	return chario_nvme_admin_abort(to_nvme(drive), to_nvme_queue(q)->qid,
				       id);
}

/**
 * chario_nvme_disable() - disable a controller and its admin queue
 * @ctrl: the controller
 *
 * Return: see chario_nvme_ctrl_disable().
 */
int chario_nvme_disable(struct chario_nvme *ctrl)
{
	int ret;

	chario_nvme_admin_close(ctrl);
	ret = chario_nvme_ctrl_disable(ctrl);
	if (!ret)
		chario_nvme_admin_forget(ctrl);
	return ret;
}

/**
 * chario_nvme_enable() - enable a controller and its admin queue
 * @ctrl: a disabled controller
 *
 * Return: see chario_nvme_ctrl_enable().
 */
int chario_nvme_enable(struct chario_nvme *ctrl)
{
	int ret;

	chario_nvme_admin_reset(ctrl);
	ret = chario_nvme_ctrl_enable(ctrl);
	if (!ret)
		chario_nvme_admin_open(ctrl);
	return ret;
}

static int nvme_disable(struct chario_drive *drive)
{
	struct chario_nvme *ctrl = to_nvme(drive);
	int ret = chario_nvme_disable(ctrl);

	if (!ret)
		chario_nvme_queues_forget(ctrl);
	return ret;
}

static int create_queues(struct chario_nvme *ctrl)
{
	unsigned int granted = ctrl->nr_planned;
	int ret = chario_nvme_admin_set_queues(ctrl, &granted);

	if (!ret && granted < ctrl->drive.nr_queues)
		ret = -ENOSPC;
	/* The check keeps commands for one drive from being posted to another. */
	if (!ret)
		ret = chario_nvme_identity_check(ctrl, ctrl->identify_page);
	return ret ?: chario_nvme_queues_create(ctrl);
}

/*
 * Enables the controller; one time limit bounds all admin commands of a reset together.
 */
static int nvme_enable(struct chario_drive *drive)
{
	struct chario_nvme *ctrl = to_nvme(drive);
	int ret;

	ret = chario_nvme_enable(ctrl);
	if (ret)
		return ret;
	ctrl->admin.deadline = jiffies +
			       msecs_to_jiffies(chario_nvme_admin_timeout_ms());
	ctrl->admin.has_deadline = true;
	ret = create_queues(ctrl);
	ctrl->admin.has_deadline = false;
	return ret;
}

static void nvme_cut_off(struct chario_drive *drive)
{
	pci_clear_master(to_nvme(drive)->pdev);
}

/* Requests events and pins again, which a reset has undone. */
static void nvme_resumed(struct chario_drive *drive)
{
	struct chario_nvme *ctrl = to_nvme(drive);

	chario_nvme_event_restart(ctrl);
	queue_work(system_unbound_wq, &ctrl->power.work);
}

/* A reset waits for CSTS.RDY twice, until it is clear and until it is set. */
static void nvme_bounds(const struct chario_drive *drive,
			struct chario_drive_bounds *bounds)
{
	const struct chario_nvme *ctrl = to_nvme(drive);

	bounds->abort_ms = chario_nvme_admin_timeout_ms();
	bounds->reset_ms = 2 * ctrl->ready_ms + chario_nvme_admin_timeout_ms();
}

static void nvme_free_queue(struct chario_queue *q)
{
	kfree(to_nvme_queue(q));
}

const struct chario_drive_ops chario_nvme_drive_ops = {
	.check		= nvme_check,
	.may_recover	= nvme_may_recover,
	.abort		= nvme_abort,
	.disable	= nvme_disable,
	.enable		= nvme_enable,
	.cut_off	= nvme_cut_off,
	.resumed	= nvme_resumed,
	.bounds		= nvme_bounds,
	.make_block_queues = chario_nvme_queues_make_block,
	.free_queue	= nvme_free_queue,
};
