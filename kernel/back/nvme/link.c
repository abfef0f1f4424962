// SPDX-License-Identifier: GPL-2.0-only
/*
 * A link that has failed is the PCI core's: it resets the link and calls
 * slot_reset().  Where it cannot, it says so to nobody: link_work finds the drive
 * then, and resets it, or gives it up.
 */
#include <linux/jiffies.h>

#include "nvme.h"

/* By then the PCI core has begun to reset a link that has failed. */
#define LOOK_MS		5000

/* The PCI core waits a minute for a device behind a link that it has reset. */
#define LIMIT_MS	70000

static void look_later(struct chario_nvme *ctrl)
{
	/* Not while the machine is suspended. */
	mod_delayed_work(system_freezable_wq, &ctrl->link_work,
			 msecs_to_jiffies(LOOK_MS));
}

/**
 * chario_nvme_link_failed() - post nothing until the link has been reset
 * @ctrl: live, under drive.lock
 */
void chario_nvme_link_failed(struct chario_nvme *ctrl)
{
	dev_warn(&ctrl->pdev->dev,
		 "the link has failed; calls wait until it has been reset\n");
	chario_drive_hold(&ctrl->drive);
	ctrl->link_deadline = jiffies + msecs_to_jiffies(LIMIT_MS);
	look_later(ctrl);
}

/**
 * chario_nvme_link_restore() - give the device back the addresses that a reset of
 * the link has taken
 * @pdev: the device
 */
void chario_nvme_link_restore(struct pci_dev *pdev)
{
	pci_restore_state(pdev);
	/* Restoring uses the state up. */
	pci_save_state(pdev);
}

/**
 * chario_nvme_link_is_up() - the link has been reset, and the device with it
 * @ctrl: under drive.lock, not dead
 *
 * Return: as chario_drive_reset().
 */
int chario_nvme_link_is_up(struct chario_nvme *ctrl)
{
	chario_nvme_link_restore(ctrl->pdev);
	pci_set_master(ctrl->pdev);
	return chario_drive_reset(&ctrl->drive);
}

static void look(struct chario_nvme *ctrl)
{
	if (ctrl->drive.state != CHARIO_DRIVE_RECOVERING)
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

	mutex_lock(&ctrl->drive.lock);
	if (ours)
		look(ctrl);
	else if (ctrl->drive.state == CHARIO_DRIVE_RECOVERING)
		look_later(ctrl);
	mutex_unlock(&ctrl->drive.lock);
	if (ours)
		device_unlock(&ctrl->pdev->dev);
}
