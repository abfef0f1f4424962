// SPDX-License-Identifier: GPL-2.0-only
/*
 * Identify: what the controller and its namespaces are (5.17).
 */
#include <linux/ctype.h>
#include <linux/dma-mapping.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "nvme.h"

/* As chario_nvme_admin_exchange(). */
static int ask(struct chario_nvme *ctrl, u8 cns, u32 nsid, void *to,
	       size_t bytes, struct chario_nvme_admin_answer *answer)
{
	struct nvme_command c = { };

	c.identify.opcode = nvme_admin_identify;
	c.identify.nsid = cpu_to_le32(nsid);
	c.identify.cns = cns;
	return chario_nvme_admin_exchange(ctrl, &c, to, bytes, answer);
}

/* 0 or as chario_nvme_admin_exchange(), or the errno of the status. */
static int identify(struct chario_nvme *ctrl, u8 cns, u32 nsid, void *to,
		    size_t bytes)
{
	struct chario_nvme_admin_answer answer;
	int ret = ask(ctrl, cns, nsid, to, bytes, &answer);

	return ret ?: chario_nvme_status_errno(answer.status);
}

/* Fixed-width ASCII, padded with spaces, becomes a clean string. */
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

/* MDTS counts in the smallest memory page of the controller; 0: no limit. */
static u32 transfer_limit(const struct chario_nvme *ctrl, u8 mdts)
{
	unsigned int shift = mdts + NVME_CAP_MPSMIN(ctrl->cap) + 12;

	return mdts && shift < 31 ? 1U << shift : 1U << 31;
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
	ctrl->abort_limit = id->acl + 1;
	ctrl->power_states = id->npss + 1;
	ctrl->autonomous = id->apsta & 1;
	ctrl->health.warning_k = le16_to_cpu(id->wctemp);
	ctrl->health.critical_k = le16_to_cpu(id->cctemp);
	/* RTD3 entry latency, microseconds: what a clean shutdown needs. */
	ctrl->shutdown_ms = clamp_t(u32, le32_to_cpu(id->rtd3e) / 1000,
				    5000, 60000);
	ctrl->max_command_bytes = min3(transfer_limit(ctrl, id->mdts),
				       (u32)min_t(size_t, SZ_1G,
						  dma_max_mapping_size(dev)),
				       chario_nvme_queues_max_bytes(ctrl));
	return 0;
}

/**
 * chario_nvme_identify_ctrl() - what is it, and what are its limits?
 * @ctrl: enabled
 *
 * Return: 0; ENODEV when it cannot be driven, said in the log; or as
 * chario_nvme_admin_run(), ENOMEM.
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
	kfree(id);
	return ret;
}

/**
 * chario_nvme_identify_again() - is it the controller that it was?
 * @ctrl: identified before
 * @id: room for the answer, of which nothing is kept
 *
 * Serial and model number are compared; its firmware may be another one.
 *
 * Return: 0; ENODEV when it is not, said in the log; or as
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

/**
 * chario_nvme_identify_list() - the active namespaces
 * @ctrl: identified
 * @nsids: gets their identifiers
 * @max: room in @nsids, up to 1024
 *
 * Controllers of version 1.0 have no list: all identifiers are tried then.
 *
 * Return: how many; or as chario_nvme_admin_run(), ENOMEM.
 */
int chario_nvme_identify_list(struct chario_nvme *ctrl, u32 *nsids,
			      unsigned int max)
{
	__le32 *list = kzalloc(NVME_IDENTIFY_DATA_SIZE, GFP_KERNEL);
	unsigned int i;
	int ret;

	if (!list)
		return -ENOMEM;
	ret = identify(ctrl, NVME_ID_CNS_NS_ACTIVE_LIST, 0, list,
		       NVME_IDENTIFY_DATA_SIZE);
	if (ret == -EOPNOTSUPP) {
		for (i = 0; i < min(max, ctrl->nn); i++)
			nsids[i] = i + 1;
		ret = i;
	} else if (!ret) {
		for (i = 0; i < max && list[i]; i++)
			nsids[i] = le32_to_cpu(list[i]);
		ret = i;
	}
	kfree(list);
	return ret;
}

/**
 * chario_nvme_identify_ns() - what a namespace is
 * @ctrl: identified
 * @nsid: its identifier
 * @id: gets the answer
 * @status: gets that of the answer, for chario_nvme_status_errno()
 *
 * Return: 0 when the controller has answered, or as
 * chario_nvme_admin_exchange().
 */
int chario_nvme_identify_ns(struct chario_nvme *ctrl, u32 nsid,
			    struct nvme_id_ns *id, u16 *status)
{
	struct chario_nvme_admin_answer answer = { };
	int ret = ask(ctrl, NVME_ID_CNS_NS, nsid, id, sizeof(*id), &answer);

	*status = answer.status;
	return ret;
}
