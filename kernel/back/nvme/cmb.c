// SPDX-License-Identifier: GPL-2.0-only
/*
 * The controller memory buffer: the search for it, and its enabling (8.5).
 *
 * It is used on drives where it can hold data while commands and PRP lists stay in main
 * memory.
 */
#include <linux/io-64-nonatomic-hi-lo.h>
#include <linux/sizes.h>

#include "memory/cmb.h"
#include "nvme.h"

/* Bits of properties (3.1.3.11, 3.1.3.12) for which <linux/nvme.h> has no names. */
#define CMBLOC_CDPMLS	BIT(5) /* data in the CMB, PRP lists in main memory */
#define CMBLOC_CDPCILS	BIT(6) /* data in the CMB, commands in main memory */

/* The largest unit of size and offset, 64 GiB (3.1.3.12). */
#define MAX_UNIT	6U

/* The limit of one entry of a scatterlist, which is more than any drive has. */
#define MAX_BYTES	((u64)SZ_2G)

static const char *cmb_refusal(u32 loc, u32 sz)
{
	if (!(sz & NVME_CMBSZ_RDS) || !(sz & NVME_CMBSZ_WDS))
		return "it does not take data of reads and of writes";
	if (!(loc & CMBLOC_CDPMLS) || !(loc & CMBLOC_CDPCILS))
		return "its data need commands or PRP lists there too";
	return NULL;
}

/**
 * struct place - the place of controller memory
 * @bar: number of the BAR
 * @offset: offset of the first byte in the BAR, in bytes
 * @bytes: length in bytes
 */
struct place {
	unsigned int bar;
	u64 offset;
	u64 bytes;
};

/*
 * Returns the place that the registers name, as far as it is memory of the device; else
 * 0 bytes.
 */
static struct place cmb_find(struct pci_dev *pdev, u32 loc, u32 sz)
{
	unsigned int szu = (sz >> NVME_CMBSZ_SZU_SHIFT) & NVME_CMBSZ_SZU_MASK;
	u64 unit = 1ULL << (12 + 4 * min(szu, MAX_UNIT));
	u64 bytes = unit * ((sz >> NVME_CMBSZ_SZ_SHIFT) & NVME_CMBSZ_SZ_MASK);
	struct place place = {
		.bar = NVME_CMB_BIR(loc),
		.offset = unit * NVME_CMB_OFST(loc),
	};
	u64 room;

	if (szu > MAX_UNIT || place.bar >= PCI_STD_NUM_BARS ||
	    !(pci_resource_flags(pdev, place.bar) & IORESOURCE_MEM))
		return place;
	room = pci_resource_len(pdev, place.bar);
	if (place.offset >= room || !PAGE_ALIGNED(place.offset))
		return place;
	place.bytes = round_down(min3(bytes, room - place.offset, MAX_BYTES),
				 PAGE_SIZE);
	return place;
}

/* Does the MSI-X table whose place is in @reg overlap this place? */
static bool has_table(struct pci_dev *pdev, const struct place *place, int reg,
		      u64 bytes)
{
	u64 offset;
	u32 where;

	pci_read_config_dword(pdev, pdev->msix_cap + reg, &where);
	offset = where & PCI_MSIX_TABLE_OFFSET;
	return (where & PCI_MSIX_TABLE_BIR) == place->bar &&
	       offset < place->offset + place->bytes &&
	       place->offset < offset + bytes;
}

/* A program that can write to the vectors can raise any interrupt of the machine. */
static bool has_vectors(struct pci_dev *pdev, const struct place *place)
{
	int count = pci_msix_vec_count(pdev);

	return count > 0 &&
	       (has_table(pdev, place, PCI_MSIX_TABLE,
			  count * PCI_MSIX_ENTRY_SIZE) ||
		has_table(pdev, place, PCI_MSIX_PBA,
			  DIV_ROUND_UP(count, 64) * sizeof(u64)));
}

/*
 * Returns the number of doorbell pairs, including that of the admin queue, before this
 * place.
 */
static u64 pairs_before(const struct chario_nvme *ctrl,
			const struct place *place)
{
	if (place->bar)
		return ctrl->max_queues + 1;
	if (place->offset < NVME_REG_DBS)
		return 0;
	return (place->offset - NVME_REG_DBS) / (2 * ctrl->doorbell_bytes);
}

/* Returns the reason not to use the memory, or NULL. */
static const char *why_not(struct chario_nvme *ctrl, const struct place *place)
{
	if (!place->bytes)
		return "it does not lie in a BAR";
	if (pairs_before(ctrl, place) < 2)
		return "it lies over the registers";
	if (has_vectors(ctrl->pdev, place))
		return "it lies over the interrupt vectors";
	return NULL;
}

/**
 * chario_nvme_cmb_init() - find the controller memory
 * @ctrl: a controller with mapped registers
 *
 * A drive without controller memory, or with memory that cannot be used, works without
 * it.
 */
void chario_nvme_cmb_init(struct chario_nvme *ctrl)
{
	struct pci_dev *pdev = ctrl->pdev;
	struct place place;
	const char *why;
	u32 loc, sz;

	/*
	 * Before NVMe 1.4 a host cannot tell the controller the address of the memory,
	 * which is not safe.
	 */
	if (!NVME_CAP_CMBS(ctrl->cap))
		return;
	writel(NVME_CMBMSC_CRE, ctrl->bar + NVME_REG_CMBMSC);
	sz = readl(ctrl->bar + NVME_REG_CMBSZ);
	loc = readl(ctrl->bar + NVME_REG_CMBLOC);
	place = cmb_find(pdev, loc, sz);
	why = cmb_refusal(loc, sz) ?: why_not(ctrl, &place);
	if (why) {
		dev_info(&pdev->dev, "controller memory is not used: %s\n",
			 why);
		writel(0, ctrl->bar + NVME_REG_CMBMSC);
		return;
	}
	/* Doorbells that lie in the memory are not used. */
	ctrl->max_queues = min_t(u64, ctrl->max_queues,
				 pairs_before(ctrl, &place) - 1);
	ctrl->cmb_bus = pci_bus_address(pdev, place.bar) + place.offset;
	ctrl->cmb = chario_cmb_create(&pdev->dev,
				      pci_resource_start(pdev, place.bar) +
				      place.offset,
				      ctrl->cmb_bus, place.bytes);
	if (ctrl->cmb)
		dev_info(&pdev->dev, "controller memory of %llu KiB\n",
			 place.bytes / SZ_1K);
}

/**
 * chario_nvme_cmb_enable() - tell the controller the address of its memory
 * @ctrl: a controller that is about to be enabled, perhaps again
 */
void chario_nvme_cmb_enable(struct chario_nvme *ctrl)
{
	if (ctrl->cmb)
		hi_lo_writeq(NVME_CMBMSC_CRE | NVME_CMBMSC_CMSE |
			     ctrl->cmb_bus, ctrl->bar + NVME_REG_CMBMSC);
}
