// SPDX-License-Identifier: GPL-2.0-only
/*
 * The PCI device: probe, remove, and the callbacks of the PCI core.
 *
 * The driver has no table of devices: it binds only to devices for which an
 * administrator has named it in driver_override.
 */
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "back/back.h"
#include "memory/cmb.h"
#include "nvme.h"

/*
 * The time in milliseconds that removal waits for calls in flight before it cuts them
 * off.
 */
#define REMOVE_WAIT_MS	1000

/*
 * The time in milliseconds that a drive gets for its commands before it is reset or
 * shut down.
 */
#define SETTLE_MS	1000

/* Tells if the drive still has the address that Linux has given its registers. */
static bool has_address(struct pci_dev *pdev)
{
	unsigned long flags = pci_resource_flags(pdev, 0);
	struct pci_bus_region region;
	u32 bar = 0;

	/* Virtual functions and fixed addresses (Enhanced Allocation) are not told by a BAR. */
	if (pdev->is_virtfn || flags & IORESOURCE_PCI_FIXED || !(flags & IORESOURCE_MEM))
		return true;
	pcibios_resource_to_bus(pdev->bus, &region, &pdev->resource[0]);
	pci_read_config_dword(pdev, PCI_BASE_ADDRESS_0, &bar);
	return (bar & (u32)PCI_BASE_ADDRESS_MEM_MASK) == lower_32_bits(region.start);
}

static int map_registers(struct chario_nvme *ctrl)
{
	struct pci_dev *pdev = ctrl->pdev;
	int ret;

	/*
	 * Linux does not give back to a drive without a driver what a reset of its link has
	 * taken away.  The saved state is that of the last time that the drive was bound.
	 */
	if (!has_address(pdev))
		pci_restore_state(pdev);
	if (!has_address(pdev)) {
		dev_err(&pdev->dev, "refused: its address was lost in a reset: remove it, and rescan its bus (remove, rescan in sysfs)\n");
		return -ENODEV;
	}
	ret = pci_enable_device_mem(pdev);
	if (ret)
		return ret;
	ret = pci_request_mem_regions(pdev, "chario");
	if (ret)
		goto err_disable;
	if (pci_resource_len(pdev, 0) < NVME_REG_DBS + SZ_4K) {
		dev_err(&pdev->dev, "refused: BAR 0 is too small\n");
		ret = -ENODEV;
		goto err_release;
	}
	ctrl->bar = pci_ioremap_bar(pdev, 0);
	if (!ctrl->bar) {
		ret = -ENOMEM;
		goto err_release;
	}
	return 0;

err_release:
	pci_release_mem_regions(pdev);
err_disable:
	pci_disable_device(pdev);
	return ret;
}

static void unmap_registers(struct chario_nvme *ctrl)
{
	iounmap(ctrl->bar);
	ctrl->bar = NULL;
	pci_release_mem_regions(ctrl->pdev);
	pci_disable_device(ctrl->pdev);
}

static int set_up_dma(struct chario_nvme *ctrl)
{
	struct device *dev = &ctrl->pdev->dev;
	int ret;

	ret = dma_set_mask_and_coherent(dev, DMA_BIT_MASK(64));
	/* GCOVR_EXCL_START: x86-64 grants every DMA mask */
	if (ret)
		ret = dma_set_mask_and_coherent(dev, DMA_BIT_MASK(32));
	if (ret)
		return ret;
	/* GCOVR_EXCL_STOP */
	/* Bounce buffers must keep the offset in a page, which PRP entries need. */
	dma_set_min_align_mask(dev, (1U << ctrl->page_shift) - 1);
	dma_set_max_seg_size(dev, UINT_MAX);
	pci_set_master(ctrl->pdev);
	return 0;
}

/*
 * Requests a vector for the admin queue, two for each CPU (calls, and the block side) and
 * one for each private queue; fewer are shared.
 */
static int get_vectors(struct chario_nvme *ctrl)
{
	int ret = pci_alloc_irq_vectors(ctrl->pdev, 1,
					1 + 2 * num_possible_cpus() +
					chario_nvme_queues_nr_private(),
					PCI_IRQ_ALL_TYPES);

	if (ret < 0)
		return ret;
	ctrl->nr_vectors = ret;
	ctrl->level = !ctrl->pdev->msi_enabled && !ctrl->pdev->msix_enabled;
	return chario_nvme_admin_request_irq(ctrl);
}

static void put_vectors(struct chario_nvme *ctrl)
{
	chario_nvme_admin_free_irq(ctrl);
	pci_free_irq_vectors(ctrl->pdev);
}

/* Resets the controller and brings its queues up. */
static int pci_start(struct chario_nvme *ctrl)
{
	int ret;

	ret = chario_nvme_disable(ctrl);
	if (ret) {
		dev_err(&ctrl->pdev->dev, "the controller cannot be disabled\n");
		return ret;
	}
	ret = chario_nvme_enable(ctrl);
	if (ret) {
		dev_err(&ctrl->pdev->dev, "%s\n", ret == -EIO ?
			"the controller reports that it has failed (CSTS.CFS)" :
			"the controller does not become ready (CSTS.RDY)");
		return ret;
	}
	ret = chario_nvme_identify_ctrl(ctrl);
	if (ret)
		return ret;
	ret = chario_nvme_queues_init(ctrl);
	if (ret)
		return ret;
	ret = chario_nvme_queues_start(ctrl);
	if (ret)
		return ret;
	return chario_nvme_queues_create(ctrl);
}

/*
 * Tells the drive that it may lose power, when it has finished its commands (3.6.1).
 * Queues with unfinished commands are not deleted, because the drive would first answer
 * each command with an error.
 */
static int shut_down(struct chario_nvme *ctrl)
{
	chario_nvme_power_restore(ctrl);
	chario_drive_freeze(&ctrl->drive);
	if (chario_drive_settle(&ctrl->drive, SETTLE_MS))
		chario_nvme_queues_delete(ctrl);
	return chario_nvme_ctrl_shutdown(ctrl);
}

/*
 * Undoes pci_start(), from whatever point that has reached.  Afterwards the drive cannot
 * access memory and nobody uses a queue.
 */
static void pci_stop(struct chario_nvme *ctrl, bool polite)
{
	struct pci_dev *pdev = ctrl->pdev;
	bool dead = chario_drive_remove(&ctrl->drive);

	/*
	 * The link of the drive is being reset, and slot_reset() will find no driver.
	 */
	if (polite && pdev->error_state == pci_channel_io_frozen) {
		chario_nvme_link_restore(pdev);
		polite = false;
	}
	if (polite && !dead && !chario_nvme_ctrl_is_gone(ctrl)) {
		if (shut_down(ctrl))
			dev_warn(&ctrl->pdev->dev, "no clean shutdown\n");
	}
	chario_nvme_power_detach(ctrl);
	chario_nvme_health_detach(ctrl);
	if (chario_nvme_disable(ctrl) == -ETIMEDOUT)
		dev_err(&ctrl->pdev->dev,
			"the controller cannot be disabled; bus mastering goes off\n");
	pci_clear_master(ctrl->pdev);
	chario_nvme_queues_stop(ctrl);
	cancel_work_sync(&ctrl->drive.recover_work);
	cancel_delayed_work_sync(&ctrl->link_work);
	cancel_delayed_work_sync(&ctrl->block_work);
	chario_nvme_report_stop(ctrl);
}

/*
 * The file is that of Linux's driver: drives need not report namespaces that come and go.  It is
 * no attribute of the driver, because remove() has to end first what its writers wait for.
 */
static ssize_t rescan_controller_store(struct device *dev, struct device_attribute *attr,
				       const char *buf, size_t count)
{
	return chario_nvme_event_rescan(dev_get_drvdata(dev)) ?: count;
}

static DEVICE_ATTR_WO(rescan_controller);

static int probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct chario_nvme *ctrl;
	int ret;

	if (!chario_compat_has_override(pdev)) {
		/* GCOVR_EXCL_START: named devices only */
		dev_err(&pdev->dev, "refused: not named in driver_override\n");
		return -ENODEV;
		/* GCOVR_EXCL_STOP */
	}
	ctrl = chario_nvme_create(pdev);
	if (!ctrl)
		return -ENOMEM;
	chario_nvme_disks_init(ctrl);
	ret = map_registers(ctrl);
	if (ret)
		goto err_put;
	ret = chario_nvme_ctrl_init(ctrl);
	if (ret)
		goto err_unmap;
	chario_nvme_cmb_init(ctrl);
	ret = set_up_dma(ctrl);
	if (ret)
		goto err_unmap; /* GCOVR_EXCL_LINE: x86-64 grants every DMA mask */
	ret = chario_nvme_admin_init(ctrl);
	if (ret)
		goto err_unmap;
	ret = get_vectors(ctrl);
	if (ret)
		goto err_vectors;
	ret = pci_start(ctrl);
	if (ret)
		goto err_stop;
	pci_save_state(pdev);
	ret = chario_nvme_disks_create(ctrl);
	if (ret)
		goto err_disks;
	ret = device_create_file(&pdev->dev, &dev_attr_rescan_controller);
	if (ret)
		goto err_disks; /* GCOVR_EXCL_LINE: nobody else has a file of this name */
	chario_drive_start(&ctrl->drive);
	chario_nvme_event_start(ctrl);
	/* Files that are open already may have requested pins. */
	queue_work(system_unbound_wq, &ctrl->power.work);
	return 0;

err_disks:
	chario_nvme_disks_unregister(ctrl);
err_stop:
	pci_stop(ctrl, false);
	chario_nvme_disks_put(ctrl);
err_vectors:
	put_vectors(ctrl);
	chario_nvme_admin_deinit(ctrl);
err_unmap:
	chario_cmb_revoke(ctrl->cmb);
	unmap_registers(ctrl);
err_put:
	dev_err(&pdev->dev, "not bound: error %d\n", ret);
	chario_nvme_put(ctrl);
	return ret;
}

/* Waits for the calls in flight; new calls are refused already. */
static void wait_idle(struct chario_nvme *ctrl)
{
	unsigned int ms;

	for (ms = 0; ms < REMOVE_WAIT_MS; ms += 20) {
		if (chario_drive_is_idle(&ctrl->drive) ||
		    chario_nvme_ctrl_is_gone(ctrl))
			return;
		msleep(20);
	}
}

static void remove(struct pci_dev *pdev)
{
	struct chario_nvme *ctrl = pci_get_drvdata(pdev);

	chario_nvme_disks_leave(ctrl);
	device_remove_file(&pdev->dev, &dev_attr_rescan_controller);
	/* Events are reported by the disks, and end before them. */
	chario_nvme_event_stop(ctrl);
	chario_nvme_disks_unregister(ctrl);
	wait_idle(ctrl);
	pci_stop(ctrl, true);
	chario_nvme_disks_put(ctrl);
	put_vectors(ctrl);
	chario_nvme_admin_deinit(ctrl);
	unmap_registers(ctrl);
	chario_nvme_put(ctrl);
}

/* Disables the drive before reboot and kexec, for the next kernel. */
static void shutdown(struct pci_dev *pdev) /* GCOVR_EXCL_FUNCTION: counters are lost */
{
	struct chario_nvme *ctrl = pci_get_drvdata(pdev);

	mutex_lock(&ctrl->drive.lock);
	if (ctrl->drive.state == CHARIO_DRIVE_LIVE) {
		shut_down(ctrl);
		chario_nvme_disable(ctrl);
	}
	chario_drive_cut_off(&ctrl->drive, -ENODEV);
	mutex_unlock(&ctrl->drive.lock);
}

/* Disables the controller before it loses its state, and lets calls wait. */
static void rest(struct chario_nvme *ctrl)
{
	mutex_lock(&ctrl->drive.lock);
	if (ctrl->drive.state == CHARIO_DRIVE_LIVE) {
		shut_down(ctrl);
		chario_drive_hold(&ctrl->drive);
		chario_nvme_disable(ctrl);
		chario_nvme_queues_forget(ctrl);
	}
	mutex_unlock(&ctrl->drive.lock);
}

/*
 * Brings the controller up, which posts the commands that are in flight or have been
 * held.  The PCI core has used up the saved state, which a reset of the link needs
 * again.
 */
static int pci_wake(struct chario_nvme *ctrl,
		    int (*revive)(struct chario_drive *drive))
{
	int ret = 0;

	mutex_lock(&ctrl->drive.lock);
	if (ctrl->drive.state == CHARIO_DRIVE_RECOVERING)
		ret = revive(&ctrl->drive);
	if (!ret)
		pci_save_state(ctrl->pdev);
	mutex_unlock(&ctrl->drive.lock);
	return ret;
}

static int suspend(struct device *dev)
{
	rest(dev_get_drvdata(dev));
	return 0;
}

static int resume(struct device *dev)
{
	return pci_wake(dev_get_drvdata(dev), chario_drive_resume);
}

static DEFINE_SIMPLE_DEV_PM_OPS(pm_ops, suspend, resume);

static pci_ers_result_t error_detected(struct pci_dev *pdev,
				       pci_channel_state_t state)
{
	struct chario_nvme *ctrl = pci_get_drvdata(pdev);
	bool lost = state == pci_channel_io_perm_failure;

	if (state == pci_channel_io_normal)
		return PCI_ERS_RESULT_CAN_RECOVER;
	mutex_lock(&ctrl->drive.lock);
	if (lost && ctrl->drive.state != CHARIO_DRIVE_DEAD)
		chario_drive_give_up(&ctrl->drive, -ENODEV); /* GCOVR_EXCL_LINE: EEH only */
	else if (!lost && ctrl->drive.state == CHARIO_DRIVE_LIVE)
		chario_nvme_link_failed(ctrl);
	mutex_unlock(&ctrl->drive.lock);
	return lost ? PCI_ERS_RESULT_DISCONNECT : PCI_ERS_RESULT_NEED_RESET;
}

/*
 * Resets the controller after a reset of its link.  A drive that has been given up
 * stays so, without bus mastering; only its addresses are restored, for the next
 * driver.
 */
static pci_ers_result_t slot_reset(struct pci_dev *pdev)
{
	struct chario_nvme *ctrl = pci_get_drvdata(pdev);
	int ret = -ENODEV;

	mutex_lock(&ctrl->drive.lock);
	if (ctrl->drive.state != CHARIO_DRIVE_DEAD) {
		ret = chario_nvme_link_is_up(ctrl);
	} else {
		chario_nvme_link_restore(pdev);
		pci_clear_master(pdev);
	}
	mutex_unlock(&ctrl->drive.lock);
	return ret ? PCI_ERS_RESULT_DISCONNECT : PCI_ERS_RESULT_RECOVERED;
}

/* An administrator resets the function, by its file in sysfs. */
static void reset_prepare(struct pci_dev *pdev)
{
	rest(pci_get_drvdata(pdev));
}

static void reset_done(struct pci_dev *pdev)
{
	pci_wake(pci_get_drvdata(pdev), chario_drive_reset);
}

static const struct pci_error_handlers error_handlers = {
	.error_detected	= error_detected,
	.slot_reset	= slot_reset,
	.reset_prepare	= reset_prepare,
	.reset_done	= reset_done,
};

/* The table is empty on purpose, see the top of this file. */
static const struct pci_device_id no_ids[] = { { } };

static struct pci_driver driver = {
	.name		= "chario",
	.id_table	= no_ids,
	.probe		= probe,
	.remove		= remove,
	.shutdown	= shutdown,
	.err_handler	= &error_handlers,
	.driver.pm	= pm_sleep_ptr(&pm_ops),
};

/**
 * chario_nvme_init() - register the driver
 *
 * Return: 0 or -errno.
 */
int chario_nvme_init(void)
{
	int ret = chario_nvme_irq_init();

	if (ret)
		return ret; /* GCOVR_EXCL_LINE: hotplug states never run out */
	ret = pci_register_driver(&driver);
	if (ret)
		chario_nvme_irq_exit();
	return ret;
}

/**
 * chario_nvme_exit() - unregister the driver, and release all drives
 */
void chario_nvme_exit(void)
{
	pci_unregister_driver(&driver);
	chario_nvme_irq_exit();
}
