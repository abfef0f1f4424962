// SPDX-License-Identifier: GPL-2.0-only
/*
 * The controller memory buffer: found, told its address, enabled (8.5).
 *
 * Of the drives that have one, those are taken whose memory can hold data while
 * commands and PRP lists stay in main memory.
 */
#include <linux/io-64-nonatomic-hi-lo.h>
#include <linux/sizes.h>

#include "core/cmb.h"
#include "nvme.h"

/* Properties, 3.1.3.11 to 3.1.3.12, that <linux/nvme.h> has no names for. */
#define CMBLOC_CDPMLS	BIT(5) /* data here, PRP lists in main memory */
#define CMBLOC_CDPCILS	BIT(6) /* data here, commands in main memory */

/* What one entry of a scatterlist can say, and more than any drive has. */
#define MAX_BYTES	((u64)SZ_2G)

static const char *refusal(u32 loc, u32 sz)
{
	if (!(sz & NVME_CMBSZ_RDS) || !(sz & NVME_CMBSZ_WDS))
		return "it does not take data of reads and of writes";
	if (!(loc & CMBLOC_CDPMLS) || !(loc & CMBLOC_CDPCILS))
		return "its data need commands or PRP lists there too";
	return NULL;
}

/* Where in which BAR; 0 bytes where it is not plausible. */
static u64 place(struct pci_dev *pdev, u32 loc, u32 sz, unsigned int *bar,
		 u64 *offset)
{
	u64 unit = 1ULL << (12 + 4 * ((sz >> NVME_CMBSZ_SZU_SHIFT) &
				      NVME_CMBSZ_SZU_MASK));
	u64 bytes = unit * ((sz >> NVME_CMBSZ_SZ_SHIFT) & NVME_CMBSZ_SZ_MASK);
	u64 room;

	*bar = NVME_CMB_BIR(loc);
	*offset = unit * NVME_CMB_OFST(loc);
	if (*bar >= PCI_STD_NUM_BARS)
		return 0;
	room = pci_resource_len(pdev, *bar);
	if (*offset >= room || !PAGE_ALIGNED(*offset))
		return 0;
	return round_down(min3(bytes, room - *offset, MAX_BYTES), PAGE_SIZE);
}

/**
 * chario_nvme_cmb_init() - find the controller memory
 * @ctrl: its registers are mapped
 *
 * A drive without, or with one that cannot be used, works all the same.
 */
void chario_nvme_cmb_init(struct chario_nvme *ctrl)
{
	struct pci_dev *pdev = ctrl->pdev;
	const char *why;
	unsigned int bar;
	u64 offset, bytes;
	u32 loc, sz;

	/* Before 1.4 nobody tells the controller where it is: not safe. */
	if (!NVME_CAP_CMBS(ctrl->cap))
		return;
	writel(NVME_CMBMSC_CRE, ctrl->bar + NVME_REG_CMBMSC);
	sz = readl(ctrl->bar + NVME_REG_CMBSZ);
	loc = readl(ctrl->bar + NVME_REG_CMBLOC);
	why = refusal(loc, sz);
	bytes = place(pdev, loc, sz, &bar, &offset);
	if (why || !bytes) {
		dev_info(&pdev->dev, "controller memory is not used: %s\n",
			 why ?: "it does not lie in a BAR");
		writel(0, ctrl->bar + NVME_REG_CMBMSC);
		return;
	}
	ctrl->cmb_bus = pci_bus_address(pdev, bar) + offset;
	ctrl->cmb = chario_cmb_create(&pdev->dev,
				      pci_resource_start(pdev, bar) + offset,
				      ctrl->cmb_bus, bytes);
	if (ctrl->cmb)
		dev_info(&pdev->dev, "controller memory of %llu KiB\n",
			 bytes / SZ_1K);
}

/**
 * chario_nvme_cmb_enable() - tell the controller where its memory is
 * @ctrl: about to be enabled, perhaps again
 */
void chario_nvme_cmb_enable(struct chario_nvme *ctrl)
{
	if (ctrl->cmb)
		hi_lo_writeq(NVME_CMBMSC_CRE | NVME_CMBMSC_CMSE |
			     ctrl->cmb_bus, ctrl->bar + NVME_REG_CMBMSC);
}
