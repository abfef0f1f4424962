// SPDX-License-Identifier: GPL-2.0-only
/*
 * The structure of a controller: its creation, reference count and end.
 */
#include <linux/slab.h>

#include "memory/cmb.h"
#include "nvme.h"

static void free_ctrl(struct kref *ref)
{
	struct chario_nvme *ctrl = container_of(ref, struct chario_nvme, ref);

	chario_drive_deinit(&ctrl->drive);
	chario_nvme_power_deinit(ctrl);
	chario_cmb_put(ctrl->cmb);
	kfree(ctrl);
}

/**
 * chario_nvme_get() - take a reference to a controller
 * @ctrl: the controller
 */
void chario_nvme_get(struct chario_nvme *ctrl)
{
	kref_get(&ctrl->ref);
}

/**
 * chario_nvme_put() - drop a reference to a controller
 * @ctrl: the controller, freed with the last reference
 */
void chario_nvme_put(struct chario_nvme *ctrl)
{
	kref_put(&ctrl->ref, free_ctrl);
}

/**
 * chario_nvme_create() - make the structure of a controller
 * @pdev: PCI device of the controller
 *
 * Return: the controller, until chario_nvme_put(); or NULL.
 */
struct chario_nvme *chario_nvme_create(struct pci_dev *pdev)
{
	struct chario_nvme *ctrl;

	ctrl = kzalloc_node(sizeof(*ctrl), GFP_KERNEL, dev_to_node(&pdev->dev));
	if (!ctrl)
		return NULL;
	kref_init(&ctrl->ref);
	ctrl->pdev = pdev;
	chario_drive_init(&ctrl->drive, &chario_nvme_drive_ops, &pdev->dev);
	chario_nvme_report_init(ctrl);
	chario_nvme_power_init(ctrl);
	chario_nvme_health_init(ctrl);
	chario_nvme_event_init(ctrl);
	INIT_DELAYED_WORK(&ctrl->link_work, chario_nvme_link_check);
	pci_set_drvdata(pdev, ctrl);
	return ctrl;
}
