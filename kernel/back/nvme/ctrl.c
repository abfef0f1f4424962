// SPDX-License-Identifier: GPL-2.0-only
/*
 * The controller's registers: enable, disable, shut down (3.5, 3.6).
 */
#include <linux/delay.h>
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/jiffies.h>

#include "nvme.h"

/* CAP.AMS: weighted round robin with urgent priority class (3.1.4.1). */
#define CAP_AMS_WRRU	BIT_ULL(17)

/* A register of a device that has gone reads as all ones. */
#define ALL_ONES	(~0U)

static u32 read_status(struct chario_nvme *ctrl)
{
	return readl(ctrl->bar + NVME_REG_CSTS);
}

/**
 * chario_nvme_ctrl_is_gone() - check if the drive has been pulled out
 * @ctrl: the controller
 *
 * Some bridges answer for an absent device with another value than all ones, so the
 * configuration space is read too.
 *
 * Context: any.
 */
bool chario_nvme_ctrl_is_gone(struct chario_nvme *ctrl)
{
	return read_status(ctrl) == ALL_ONES ||
	       !pci_device_is_present(ctrl->pdev);
}

/**
 * chario_nvme_doorbell() - address of a doorbell
 * @ctrl: the controller
 * @n: number of the doorbell: 2y for submission queue y, 2y + 1 for completion queue y
 */
u32 __iomem *chario_nvme_doorbell(struct chario_nvme *ctrl, unsigned int n)
{
	return ctrl->bar + NVME_REG_DBS + n * ctrl->doorbell_bytes;
}

/**
 * chario_nvme_ctrl_has_failed() - check if the controller reports a fatal status
 *	(3.1.4.6)
 * @ctrl: a controller that has not gone
 *
 * Context: any.
 */
bool chario_nvme_ctrl_has_failed(struct chario_nvme *ctrl)
{
	return read_status(ctrl) & NVME_CSTS_CFS;
}

/**
 * chario_nvme_ctrl_health() - the health that the controller reports
 * @ctrl: the controller
 *
 * This reads one register if the controller is well.
 *
 * Context: any.
 */
enum chario_drive_health chario_nvme_ctrl_health(struct chario_nvme *ctrl)
{
	u32 csts = read_status(ctrl);

	if (likely((csts & NVME_CSTS_RDY) && !(csts & NVME_CSTS_CFS)))
		return CHARIO_DRIVE_WELL;
	if (chario_nvme_ctrl_is_gone(ctrl))
		return CHARIO_DRIVE_GONE;
	return csts & NVME_CSTS_CFS ? CHARIO_DRIVE_FAILED :
				      CHARIO_DRIVE_NOT_READY;
}

/*
 * Waits for CSTS & mask == want.  Returns 0, ENODEV, EIO (fatal status) or ETIMEDOUT.
 */
static int wait_status(struct chario_nvme *ctrl, u32 mask, u32 want,
		       unsigned int ms, bool fatal_ends)
{
	unsigned long end = jiffies + msecs_to_jiffies(ms) + 1;

	for (;;) {
		bool last = time_after(jiffies, end);
		u32 csts = read_status(ctrl);

		if (csts == ALL_ONES)
			return -ENODEV;
		if ((csts & mask) == want)
			return 0;
		if (fatal_ends && (csts & NVME_CSTS_CFS))
			return -EIO;
		if (last)
			return chario_nvme_ctrl_is_gone(ctrl) ? -ENODEV :
								-ETIMEDOUT;
		usleep_range(500, 1000);
	}
}

/* Returns the longer of CAP.TO and, if the drive has it, CRTO (3.1.4.1, 3.1.4.21). */
static unsigned int ready_ms(struct chario_nvme *ctrl)
{
	unsigned int units = NVME_CAP_TIMEOUT(ctrl->cap);

	if (ctrl->cap & NVME_CAP_CRMS_CRWMS) {
		u32 crto = readl(ctrl->bar + NVME_REG_CRTO);

		units = max_t(unsigned int, units, NVME_CRTO_CRWMT(crto));
	}
	return (units + 1) * 500;
}

static int check_capabilities(struct chario_nvme *ctrl)
{
	struct device *dev = &ctrl->pdev->dev;
	unsigned int mps_min = NVME_CAP_MPSMIN(ctrl->cap) + 12;

	if (!(NVME_CAP_CSS(ctrl->cap) & NVME_CAP_CSS_NVM)) {
		dev_err(dev, "refused: no NVM command set (CAP.CSS)\n");
		return -ENODEV;
	}
	if (mps_min > PAGE_SHIFT) {
		dev_err(dev, "refused: memory pages of at least %lu bytes, the kernel has %lu (CAP.MPSMIN)\n",
			1UL << mps_min, PAGE_SIZE);
		return -ENODEV;
	}
	/*
	 * This is the smallest page: behind an IOMMU, addresses keep their offset only
	 * in pages of the IOMMU, which may be smaller than those of the kernel.
	 */
	ctrl->page_shift = mps_min;
	if ((int)ctrl->max_queues < 1) {
		/* GCOVR_EXCL_START: QEMU has no BAR so small */
		dev_err(dev, "refused: BAR 0 is too small for the doorbells (CAP.DSTRD)\n");
		return -ENODEV;
		/* GCOVR_EXCL_STOP */
	}
	if (NVME_CAP_MQES(ctrl->cap) < 1) {
		dev_err(dev, "refused: queues of a single entry (CAP.MQES)\n");
		return -ENODEV;
	}
	return 0;
}

/**
 * chario_nvme_ctrl_init() - read the capabilities of the controller
 * @ctrl: a controller with mapped registers
 *
 * Return: 0; ENODEV, with a message in the log, when it is absent or cannot be driven.
 */
int chario_nvme_ctrl_init(struct chario_nvme *ctrl)
{
	if (chario_nvme_ctrl_is_gone(ctrl)) {
		dev_err(&ctrl->pdev->dev,
			"refused: registers read all ones; is the drive powered and enabled?\n");
		return -ENODEV;
	}
	ctrl->cap = lo_hi_readq(ctrl->bar + NVME_REG_CAP);
	ctrl->doorbell_bytes = 4 << NVME_CAP_STRIDE(ctrl->cap);
	/* The first pair is that of the admin queue. */
	ctrl->max_queues = min_t(u64, U16_MAX,
				 (pci_resource_len(ctrl->pdev, 0) -
				  NVME_REG_DBS) /
				 (2 * ctrl->doorbell_bytes)) - 1;
	ctrl->ready_ms = ready_ms(ctrl);
	ctrl->shutdown_ms = 5000;
	return check_capabilities(ctrl);
}

/**
 * chario_nvme_ctrl_disable() - clear CC.EN, so that the controller forgets all commands
 * @ctrl: the controller
 *
 * Afterwards the controller does no DMA.
 *
 * Return: 0; ETIMEDOUT when the controller does not stop; ENODEV when it has gone.
 */
int chario_nvme_ctrl_disable(struct chario_nvme *ctrl)
{
	u32 cc;

	if (chario_nvme_ctrl_is_gone(ctrl))
		return -ENODEV;
	cc = readl(ctrl->bar + NVME_REG_CC);
	cc &= ~(NVME_CC_ENABLE | NVME_CC_SHN_MASK);
	writel(cc, ctrl->bar + NVME_REG_CC);
	return wait_status(ctrl, NVME_CSTS_RDY, 0, ctrl->ready_ms, false);
}

/**
 * chario_nvme_ctrl_has_priorities() - check if there is an urgent class (3.4.4)
 * @ctrl: a controller whose capabilities have been read
 *
 * Return: true if it has weighted round robin arbitration.
 */
bool chario_nvme_ctrl_has_priorities(const struct chario_nvme *ctrl)
{
	return ctrl->cap & CAP_AMS_WRRU;
}

/**
 * chario_nvme_ctrl_has_command_sets() - tell if namespaces may have other command sets
 * @ctrl: a controller whose capabilities have been read
 *
 * Return: true if namespaces of other command sets than NVM's are listed, and each
 * namespace tells its own (CAP.CSS).
 */
bool chario_nvme_ctrl_has_command_sets(const struct chario_nvme *ctrl)
{
	return NVME_CAP_CSS(ctrl->cap) & NVME_CAP_CSS_CSI;
}

/**
 * chario_nvme_ctrl_enable() - set up the admin queue and set CC.EN
 * @ctrl: a disabled controller whose admin queue has been reset
 *
 * Return: 0; ETIMEDOUT when the controller does not become ready; EIO when it reports
 * that it has failed (CSTS.CFS); ENODEV when it has gone.
 */
int chario_nvme_ctrl_enable(struct chario_nvme *ctrl)
{
	u32 aqa = CHARIO_NVME_ADMIN_DEPTH - 1;
	u32 cc = NVME_CC_SHN_NONE | NVME_CC_IOSQES | NVME_CC_IOCQES | NVME_CC_ENABLE;

	/* As with Linux's driver: namespaces that cannot be driven are seen, and named. */
	cc |= chario_nvme_ctrl_has_command_sets(ctrl) ? NVME_CC_CSS_CSI : NVME_CC_CSS_NVM;
	cc |= chario_nvme_ctrl_has_priorities(ctrl) ? NVME_CC_AMS_WRRU :
						      NVME_CC_AMS_RR;
	cc |= (ctrl->page_shift - 12) << NVME_CC_MPS_SHIFT;
	writel(aqa << 16 | aqa, ctrl->bar + NVME_REG_AQA);
	lo_hi_writeq(ctrl->admin.sq_dma, ctrl->bar + NVME_REG_ASQ);
	lo_hi_writeq(ctrl->admin.cq_dma, ctrl->bar + NVME_REG_ACQ);
	chario_nvme_cmb_enable(ctrl);
	writel(cc, ctrl->bar + NVME_REG_CC);
	return wait_status(ctrl, NVME_CSTS_RDY, NVME_CSTS_RDY, ctrl->ready_ms,
			   true);
}

/**
 * chario_nvme_ctrl_shutdown() - tell the drive that it may lose power (3.6.1)
 * @ctrl: an enabled controller whose I/O queues have been deleted
 *
 * Return: 0; ETIMEDOUT when the drive does not answer; ENODEV when it has gone.
 */
int chario_nvme_ctrl_shutdown(struct chario_nvme *ctrl)
{
	u32 cc;

	if (chario_nvme_ctrl_is_gone(ctrl))
		return -ENODEV;
	cc = readl(ctrl->bar + NVME_REG_CC) & ~NVME_CC_SHN_MASK;
	writel(cc | NVME_CC_SHN_NORMAL, ctrl->bar + NVME_REG_CC);
	return wait_status(ctrl, NVME_CSTS_SHST_MASK, NVME_CSTS_SHST_CMPLT,
			   ctrl->shutdown_ms, false);
}
