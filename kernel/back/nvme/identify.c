// SPDX-License-Identifier: GPL-2.0-only
/*
 * The Identify commands, which describe the controller and its namespaces (5.17).
 */
#include <linux/bits.h>
#include <linux/ctype.h>
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/jiffies.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "nvme.h"

/* Do Not Retry (3.3.3.2). */
#define STATUS_DNR	BIT(14)

#define ASK_AGAIN_MS	20

/* Is this a status of a drive that cannot answer now but may later? */
static bool may_pass(u16 status)
{
	switch (status & 0x7ff) {
	case NVME_SC_SUCCESS:
	case NVME_SC_INVALID_OPCODE:
	case NVME_SC_INVALID_FIELD:
	case NVME_SC_INVALID_NS:
	case NVME_SC_FORMAT_IN_PROGRESS:
		return false;
	default:
		return !(status & STATUS_DNR);
	}
}

/*
 * Runs an Identify command, again if the drive cannot answer, for up to the time limit
 * of one command.  Returns the results of chario_nvme_admin_exchange().
 */
static int identify_ask(struct chario_nvme *ctrl, u8 cns, u32 nsid, void *to,
			size_t bytes, struct chario_nvme_admin_answer *answer)
{
	unsigned long end = chario_nvme_admin_wait_until(ctrl);
	struct nvme_command c = { };
	int ret;

	c.identify.opcode = nvme_admin_identify;
	c.identify.nsid = cpu_to_le32(nsid);
	c.identify.cns = cns;
	for (;;) {
		ret = chario_nvme_admin_exchange(ctrl, &c, to, bytes, answer);
		if (ret || !may_pass(answer->status) ||
		    time_after(jiffies, end))
			return ret;
		msleep(ASK_AGAIN_MS);
	}
}

/* Returns the results of identify_ask(), or the errno of the status. */
static int identify(struct chario_nvme *ctrl, u8 cns, u32 nsid, void *to,
		    size_t bytes)
{
	struct chario_nvme_admin_answer answer;
	int ret = identify_ask(ctrl, cns, nsid, to, bytes, &answer);

	return ret ?: chario_nvme_status_errno(answer.status);
}

/* Copies ASCII of fixed width, padded with spaces, to a clean string. */
static void copy_text(char *to, size_t size, const char *from, size_t bytes)
{
	size_t i;

	bytes = min(bytes, size - 1);
	for (i = 0; i < bytes; i++)
		to[i] = isascii(from[i]) && isprint(from[i]) ? from[i] : ' ';
	to[bytes] = '\0';
	strim(to);
	if (to[0] == ' ')
		memmove(to, skip_spaces(to), strlen(skip_spaces(to)) + 1);
}

/*
 * Converts MDTS, whose unit is the smallest memory page of the controller; 0: no limit.
 */
static u32 transfer_limit(const struct chario_nvme *ctrl, u8 mdts)
{
	unsigned int shift = mdts + NVME_CAP_MPSMIN(ctrl->cap) + 12;

	return mdts && shift < 31 ? 1U << shift : 1U << 31;
}

static void limit_commands(struct chario_nvme *ctrl, u8 mdts)
{
	u32 drive = transfer_limit(ctrl, mdts);
	u32 dma = min_t(size_t, SZ_1G, dma_max_mapping_size(&ctrl->pdev->dev));
	u32 slots = chario_nvme_queues_max_bytes(ctrl);

	ctrl->max_command_bytes = min3(drive, dma, slots);
	if (ctrl->max_command_bytes == drive)
		ctrl->command_limit = CHARIO_COMMAND_LIMIT_DRIVE;
	else if (ctrl->max_command_bytes == dma)
		ctrl->command_limit = CHARIO_COMMAND_LIMIT_DMA;
	else
		ctrl->command_limit = CHARIO_COMMAND_LIMIT_SLOTS;
}

static int take_ctrl(struct chario_nvme *ctrl, const struct nvme_id_ctrl *id)
{
	struct device *dev = &ctrl->pdev->dev;

	if (id->cntrltype > NVME_CTRL_IO) {
		dev_err(dev, "refused: controller type %u does no I/O\n",
			id->cntrltype);
		return -ENODEV;
	}
	ctrl->vid = le16_to_cpu(id->vid);
	memcpy(ctrl->sn, id->sn, sizeof(ctrl->sn));
	memcpy(ctrl->mn, id->mn, sizeof(ctrl->mn));
	ctrl->has_namespace_events = le32_to_cpu(id->oaes) &
				     NVME_AEN_CFG_NS_ATTR;
	copy_text(ctrl->serial, sizeof(ctrl->serial), id->sn, sizeof(id->sn));
	copy_text(ctrl->model, sizeof(ctrl->model), id->mn, sizeof(id->mn));
	copy_text(ctrl->firmware, sizeof(ctrl->firmware), id->fr,
		  sizeof(id->fr));
	ctrl->nn = le32_to_cpu(id->nn);
	ctrl->awupf = id->awupf;
	ctrl->write_cache = id->vwc & NVME_CTRL_VWC_PRESENT;
	if (le16_to_cpu(id->oncs) & NVME_CTRL_ONCS_DSM)
		ctrl->discard_ranges = NVME_DSM_MAX_RANGES;
	/* As Linux's driver does, unless the drive tells a limit of its own. */
	if (le16_to_cpu(id->oncs) & NVME_CTRL_ONCS_WRITE_ZEROES)
		ctrl->zeroes_bytes = min(transfer_limit(ctrl, id->mdts), SZ_4M);
	ctrl->power_states = id->npss + 1;
	ctrl->autonomous = id->apsta & 1;
	ctrl->health.warning_k = le16_to_cpu(id->wctemp);
	ctrl->health.critical_k = le16_to_cpu(id->cctemp);
	/*
	 * A clean shutdown takes up to the RTD3 entry latency, which is in
	 * microseconds.
	 */
	ctrl->shutdown_ms = clamp_t(u32, le32_to_cpu(id->rtd3e) / 1000,
				    5000, 60000);
	limit_commands(ctrl, id->mdts);
	return 0;
}

/*
 * Reads the limits of commands that move no bytes (NVM Command Set 1.0 4.1.5.4), which
 * drives before version 2.0 need not know.
 */
static int take_nvm_limits(struct chario_nvme *ctrl, struct nvme_id_ctrl_nvm *id)
{
	int ret = identify(ctrl, NVME_ID_CNS_CS_CTRL, 0, id, sizeof(*id));

	if (ret)
		return ret == -ENOMEM ? ret : 0;
	if (id->dmrl && ctrl->discard_ranges)
		ctrl->discard_ranges = id->dmrl;
	/* DMRSL limits each range, DMSL a whole command: no discard is longer than either. */
	ctrl->discard_blocks = min_not_zero((u64)le32_to_cpu(id->dmrsl),
					    min_t(u64, le64_to_cpu(id->dmsl), U32_MAX));
	if (id->wzsl && ctrl->zeroes_bytes)
		ctrl->zeroes_bytes = transfer_limit(ctrl, id->wzsl);
	return 0;
}

/**
 * chario_nvme_identify_ctrl() - read the identity and limits of a controller
 * @ctrl: an enabled controller
 *
 * Return: 0; ENODEV, with a message in the log, when it cannot be driven; ENOMEM; or an
 * error of chario_nvme_admin_run().
 */
int chario_nvme_identify_ctrl(struct chario_nvme *ctrl)
{
	struct nvme_id_ctrl *id = kzalloc(sizeof(*id), GFP_KERNEL);
	int ret;

	if (!id)
		return -ENOMEM;
	ret = identify(ctrl, NVME_ID_CNS_CTRL, 0, id, sizeof(*id));
	if (!ret)
		ret = take_ctrl(ctrl, id);
	static_assert(sizeof(struct nvme_id_ctrl_nvm) == sizeof(*id));
	if (!ret && (ctrl->discard_ranges || ctrl->zeroes_bytes))
		ret = take_nvm_limits(ctrl, (void *)id);
	kfree(id);
	return ret;
}

/**
 * chario_nvme_identify_again() - check that a controller is the same as before
 * @ctrl: a controller that has been identified before
 * @id: scratch memory for the answer
 *
 * Serial and model number are compared; the firmware may have changed.
 *
 * Return: 0; ENODEV, with a message in the log, when it is another one; or an error of
 * chario_nvme_admin_run().
 */
int chario_nvme_identify_again(struct chario_nvme *ctrl,
			       struct nvme_id_ctrl *id)
{
	char serial[sizeof(ctrl->serial)];
	int ret;

	memset(id, 0, sizeof(*id));
	ret = identify(ctrl, NVME_ID_CNS_CTRL, 0, id, sizeof(*id));
	if (ret)
		return ret;
	if (!memcmp(ctrl->sn, id->sn, sizeof(id->sn)) &&
	    !memcmp(ctrl->mn, id->mn, sizeof(id->mn)))
		return 0;
	copy_text(serial, sizeof(serial), id->sn, sizeof(id->sn));
	dev_err(&ctrl->pdev->dev,
		"another drive is in the slot: its serial number is \"%s\", that of the disks was \"%s\"; unbind it and bind it again\n",
		serial, ctrl->serial);
	return -ENODEV;
}

/*
 * Copies the identifiers of a list, which ends with a 0.  An identifier that is listed
 * twice is copied once; the identifier that stands for all namespaces is left out.
 */
static int take_list(struct chario_nvme *ctrl, const __le32 *list, u32 *nsids)
{
	unsigned int i, place, count = 0;

	for (i = 0; i < CHARIO_NVME_MAX_LISTED && list[i]; i++) {
		u32 nsid = le32_to_cpu(list[i]);

		for (place = 0; place < count && nsids[place] != nsid; place++)
			;
		if (place == count && nsid != NVME_NSID_ALL)
			nsids[count++] = nsid;
		else
			dev_warn_ratelimited(&ctrl->pdev->dev,
					     "namespace %u is in the list twice, or cannot be\n",
					     nsid);
	}
	return count;
}

/**
 * chario_nvme_identify_list() - list the active namespaces
 * @ctrl: an identified controller
 * @page: scratch memory for an answer of the drive, NVME_IDENTIFY_DATA_SIZE bytes
 * @nsids: array of CHARIO_NVME_MAX_LISTED, filled with their identifiers
 *
 * Controllers of version 1.0 have no list: for them this returns all identifiers.
 *
 * Return: number of namespaces, or an error of chario_nvme_admin_run().
 */
int chario_nvme_identify_list(struct chario_nvme *ctrl, void *page, u32 *nsids)
{
	unsigned int i;
	int ret;

	memset(page, 0, NVME_IDENTIFY_DATA_SIZE);
	ret = identify(ctrl, NVME_ID_CNS_NS_ACTIVE_LIST, 0, page, NVME_IDENTIFY_DATA_SIZE);
	ctrl->lists_namespaces = ret != -EOPNOTSUPP;
	if (!ret)
		return take_list(ctrl, page, nsids);
	if (ret != -EOPNOTSUPP)
		return ret;
	for (i = 0; i < min(CHARIO_NVME_MAX_LISTED, ctrl->nn); i++)
		nsids[i] = i + 1;
	return i;
}

/**
 * chario_nvme_identify_ns() - read the description of a namespace
 * @ctrl: an identified controller
 * @nsid: identifier of the namespace
 * @id: filled in with the answer
 * @status: filled in with the status of the answer, for chario_nvme_status_errno()
 *
 * Return: 0 when the controller has answered; or an error of
 * chario_nvme_admin_exchange().
 */
int chario_nvme_identify_ns(struct chario_nvme *ctrl, u32 nsid,
			    struct nvme_id_ns *id, u16 *status)
{
	struct chario_nvme_admin_answer answer = { };
	int ret = identify_ask(ctrl, NVME_ID_CNS_NS, nsid, id, sizeof(*id), &answer);

	*status = answer.status;
	return ret;
}

static void take_descriptors(const u8 *list, struct chario_nvme_descriptors *descriptors)
{
	const struct nvme_ns_id_desc *desc;
	size_t at;

	memset(descriptors, 0, sizeof(*descriptors));
	for (at = 0; at + sizeof(*desc) + sizeof(descriptors->uuid) <= NVME_IDENTIFY_DATA_SIZE;
	     at += sizeof(*desc) + desc->nidl) {
		const u8 *value = &list[at + sizeof(*desc)];

		desc = (const void *)&list[at];
		if (!desc->nidl)
			break;
		if (desc->nidt == NVME_NIDT_CSI)
			descriptors->command_set = *value;
		else if (desc->nidt == NVME_NIDT_UUID)
			memcpy(descriptors->uuid, value, sizeof(descriptors->uuid));
	}
}

/**
 * chario_nvme_identify_descriptors() - read the descriptors of a namespace (5.17.2.3)
 * @ctrl: an identified controller
 * @nsid: identifier of the namespace
 * @page: scratch memory for the answer, NVME_IDENTIFY_DATA_SIZE bytes
 * @descriptors: filled in; unchanged if the controller does not answer this question
 *
 * Return: 0; or an error of chario_nvme_admin_exchange().
 */
int chario_nvme_identify_descriptors(struct chario_nvme *ctrl, u32 nsid, void *page,
				     struct chario_nvme_descriptors *descriptors)
{
	struct chario_nvme_admin_answer answer = { };
	int ret;

	if (readl(ctrl->bar + NVME_REG_VS) < NVME_VS(1, 3, 0) &&
	    !chario_nvme_ctrl_has_command_sets(ctrl))
		return 0;
	ret = identify_ask(ctrl, NVME_ID_CNS_NS_DESC_LIST, nsid, page,
			   NVME_IDENTIFY_DATA_SIZE, &answer);
	if (!ret && !answer.status)
		take_descriptors(page, descriptors);
	return ret;
}
