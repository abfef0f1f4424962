// SPDX-License-Identifier: GPL-2.0-only
/*
 * The recovery from a failure of the link.  The PCI core resets the link and calls
 * slot_reset().  If it cannot, it reports that to nobody: link_work then finds the
 * drive, and resets it or gives it up.
 *
 * remove() may wait meanwhile for what only a live drive or a dead one ends: a block disk whose
 * partitions are read, or whose page cache is written.
 */
#include <linux/jiffies.h>

#include "nvme.h"

/*
 * The time in milliseconds after which the PCI core has begun to reset a failed link.
 */
#define LOOK_MS		5000

/*
 * The limit of link_work in milliseconds: the PCI core waits a minute for a device
 * behind a link that it has reset.
 */
#define LIMIT_MS	70000

static void look_later(struct chario_nvme *ctrl)
{
	/* The work does not run while the machine is suspended. */
	mod_delayed_work(system_freezable_wq, &ctrl->link_work,
			 msecs_to_jiffies(LOOK_MS));
}

/**
 * chario_nvme_link_failed() - post nothing until the link has been reset
 * @ctrl: a live controller, under drive.lock
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
 * chario_nvme_link_restore() - restore the addresses of a device after a reset of its
 *	link
 * @pdev: the device
 */
void chario_nvme_link_restore(struct pci_dev *pdev)
{
	pci_restore_state(pdev);
	/* Restoring invalidates the saved state. */
	pci_save_state(pdev);
}

/**
 * chario_nvme_link_is_up() - reset a controller after a reset of its link
 * @ctrl: a controller that is not dead, under drive.lock
 *
 * Return: see chario_drive_reset().
 */
int chario_nvme_link_is_up(struct chario_nvme *ctrl)
{
	chario_nvme_link_restore(ctrl->pdev);
	pci_set_master(ctrl->pdev);
	return chario_drive_reset(&ctrl->drive);
}

static void link_look(struct chario_nvme *ctrl)
{
	if (ctrl->drive.state != CHARIO_DRIVE_RECOVERING)
		return;
	/* A device that has been pulled out does not come back. */
	if (!pci_device_is_present(ctrl->pdev) &&
	    ctrl->pdev->error_state != pci_channel_io_perm_failure &&
	    time_before(jiffies, ctrl->link_deadline)) {
		look_later(ctrl);
		return;
	}
	/* nvme_may_recover() would take the old state for another failure. */
	if (!chario_nvme_link_is_up(ctrl))
		ctrl->pdev->error_state = pci_channel_io_normal;
}

/**
 * chario_nvme_link_check() - recover a drive whose link the PCI core has not recovered
 * @work: link_work of a controller
 *
 * The PCI core holds the device's lock while it resets the link.  A later slot_reset()
 * resets the controller once more, which does no harm.  While the drive is being unbound
 * remove() holds that lock, and may wait for what is decided here.
 */
void chario_nvme_link_check(struct work_struct *work)
{
	struct chario_nvme *ctrl = container_of(to_delayed_work(work),
						struct chario_nvme, link_work);
	bool ours = device_trylock(&ctrl->pdev->dev);

	mutex_lock(&ctrl->drive.lock);
	if (ours || READ_ONCE(ctrl->drive.leaves))
		link_look(ctrl);
	/* GCOVR_EXCL_START: QEMU's devices are there at once */
	else if (ctrl->drive.state == CHARIO_DRIVE_RECOVERING)
		look_later(ctrl);
	/* GCOVR_EXCL_STOP */
	mutex_unlock(&ctrl->drive.lock);
	if (ours)
		device_unlock(&ctrl->pdev->dev);
}
