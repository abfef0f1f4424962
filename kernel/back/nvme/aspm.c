// SPDX-License-Identifier: GPL-2.0-only
/*
 * The power management of the link (ASPM), which is turned off in the link control registers
 * of both ends.  pci_disable_link_state() is not used, because nothing undoes it.
 */
#include "nvme.h"

#define LINK_BITS	(PCI_EXP_LNKCTL_ASPMC | PCI_EXP_LNKCTL_CLKREQ_EN)

static struct pci_dev *link_end(struct chario_nvme *ctrl, int end)
{
	return end ? pci_upstream_bridge(ctrl->pdev) : ctrl->pdev;
}

/**
 * chario_nvme_aspm_pin() - turn the link's power management off
 * @ctrl: the controller
 *
 * The drive's end comes first (PCI Express Base 5.4.1.4).
 *
 * Context: may sleep; under power.lock.
 */
void chario_nvme_aspm_pin(struct chario_nvme *ctrl)
{
	struct chario_nvme_power *power = &ctrl->power;
	int end;

	power->link_status = 0;
	for (end = 0; end < 2; end++) {
		struct pci_dev *pdev = link_end(ctrl, end);
		u16 now = 0;

		if (!pdev)
			continue; /* GCOVR_EXCL_LINE: QEMU keeps what is written */
		pcie_capability_read_word(pdev, PCI_EXP_LNKCTL, &now);
		if (!power->link_off)
			power->link_before[end] = now & LINK_BITS;
		pcie_capability_clear_word(pdev, PCI_EXP_LNKCTL, LINK_BITS);
		pcie_capability_read_word(pdev, PCI_EXP_LNKCTL, &now);
		if (now & LINK_BITS)
			power->link_status = -EIO; /* GCOVR_EXCL_LINE: QEMU keeps what is written */
	}
	power->link_off = true;
}

/**
 * chario_nvme_aspm_restore() - undo chario_nvme_aspm_pin(), if that has been called
 * @ctrl: the controller
 *
 * Context: may sleep; under power.lock.
 */
void chario_nvme_aspm_restore(struct chario_nvme *ctrl)
{
	struct chario_nvme_power *power = &ctrl->power;
	int end;

	for (end = 1; end >= 0 && power->link_off; end--) {
		struct pci_dev *pdev = link_end(ctrl, end);

		if (pdev)
			pcie_capability_set_word(pdev, PCI_EXP_LNKCTL,
						 power->link_before[end]);
	}
	power->link_off = false;
}
