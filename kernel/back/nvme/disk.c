// SPDX-License-Identifier: GPL-2.0-only
/*
 * The disks of a controller, one for each namespace.
 */
#include <linux/bitops.h>
#include <linux/log2.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "memory/buffer.h"
#include "memory/cmb.h"
#include "nvme.h"
#include "queue/medium.h"
#include "types/backend.h"

#define MAX_DISKS	256

static void disk_release(struct chario_device *cio)
{
	chario_nvme_put(to_nvme(cio->drive));
}

static const struct chario_backend nvme_backend = {
	.name		= "nvme",
	.release	= disk_release,
	.pin		= chario_nvme_power_pin,
	.get_pin	= chario_nvme_power_get,
	.health		= chario_nvme_health_read,
	.map_buffer	= chario_nvme_table_create,
	.unmap_buffer	= chario_nvme_table_destroy,
	.take_queue	= chario_nvme_private_take,
	.give_queue	= chario_nvme_private_give,
};

static const struct chario_backend nvme_backend_without_tables = {
	.name		= "nvme",
	.release	= disk_release,
	.pin		= chario_nvme_power_pin,
	.get_pin	= chario_nvme_power_get,
	.health		= chario_nvme_health_read,
	.take_queue	= chario_nvme_private_take,
	.give_queue	= chario_nvme_private_give,
};

/* Returns the reason why a namespace cannot be driven, or NULL. */
static const char *disk_refusal(const struct chario_nvme *ctrl,
				const struct nvme_id_ns *id)
{
	const struct nvme_lbaf *format = &id->lbaf[nvme_lbaf_index(id->flbas)];

	if (!id->nsze)
		return "it is empty or not active";
	if (le16_to_cpu(format->ms))
		return "its format has metadata; format it without (nvme format --lbaf=N)";
	if (format->ds < 9 || format->ds > 16)
		return "its block size is not supported";
	if (le64_to_cpu(id->nsze) > (u64)LLONG_MAX >> format->ds)
		return "its size is not plausible";
	if (1U << format->ds > ctrl->max_command_bytes)
		return "its blocks are larger than the largest command (MDTS)";
	return NULL;
}

/* Converts a 0's based number of blocks to bytes (NVM Command Set 1.0 4.1.5.1). */
static u32 blocks_to_bytes(__le16 blocks, u32 shift)
{
	return min_t(u64, (le16_to_cpu(blocks) + 1ULL) << shift, SZ_2G);
}

/*
 * Returns the distance of boundaries that no command crosses (NOIOB), in bytes; 0 for
 * none.
 */
static u32 boundary_bytes(const struct nvme_id_ns *id, u32 shift)
{
	return (u32)le16_to_cpu(id->noiob) << shift;
}

/* Fills in how the drive prefers writes, if it reports that. */
static void fill_in_wishes(struct chario_device *cio,
			   const struct nvme_id_ns *id, u32 shift)
{
	if (!(id->nsfeat & NVME_NS_FEAT_IO_OPT))
		return;
	cio->physical_block_bytes = blocks_to_bytes(id->npwg, shift);
	cio->write_alignment_bytes = blocks_to_bytes(id->npwa, shift);
	cio->deallocate_alignment_bytes = blocks_to_bytes(id->npda, shift);
	cio->optimal_write_bytes = blocks_to_bytes(id->nows, shift);
}

/*
 * Returns the length of a write in bytes that a power cut does not tear: at least a
 * block (NVM Command Set 1.0 2.1.4).  A namespace may have a number of its own, and
 * boundaries, of which the first is at NABO and which are NABSPF apart.  A write that
 * begins at a multiple of its length crosses none of them, and is not split at NOIOB,
 * if its length is a power of two that divides the offsets of all boundaries.
 */
static u32 disk_atomic_write_bytes(const struct chario_nvme *ctrl,
				   const struct nvme_id_ns *id, u32 shift)
{
	bool own = id->nsfeat & NVME_NS_FEAT_ATOMICS;
	u32 bytes = blocks_to_bytes(own && id->nawupf ? id->nawupf : ctrl->awupf,
				    shift);
	u32 edges = boundary_bytes(id, shift);

	if (own && id->nabspf)
		edges |= blocks_to_bytes(id->nabspf, shift) |
			 (u32)le16_to_cpu(id->nabo) << shift;
	if (!edges)
		return bytes;
	return min_t(u32, rounddown_pow_of_two(bytes), 1U << __ffs(edges));
}

static void disk_fill_in(struct chario_device *cio, const struct chario_nvme *ctrl,
			 u32 nsid, const struct nvme_id_ns *id)
{
	u32 shift = id->lbaf[nvme_lbaf_index(id->flbas)].ds;

	cio->capacity_bytes = le64_to_cpu(id->nsze) << shift;
	cio->namespace_id = nsid;
	fill_in_wishes(cio, id, shift);
	cio->atomic_write_bytes = disk_atomic_write_bytes(ctrl, id, shift);
	cio->cmb = ctrl->cmb;
	chario_nvme_identity_name(ctrl, nsid, id, cio);
	strscpy(cio->serial, ctrl->serial, sizeof(cio->serial));
	strscpy(cio->model, ctrl->model, sizeof(cio->model));
	strscpy(cio->firmware, ctrl->firmware, sizeof(cio->firmware));
}

static struct chario_device *disk_create(struct chario_nvme *ctrl, u32 nsid,
					 const struct nvme_id_ns *id)
{
	u32 shift = id->lbaf[nvme_lbaf_index(id->flbas)].ds;
	const struct chario_limits limits = {
		.block_bytes = 1U << shift,
		.grain_bytes = 1U << shift,
		/*
		 * The number of blocks of a command has 16 bits (NVM Command Set
		 * 3.2.4).
		 */
		.command_bytes = min_t(u64, ctrl->max_command_bytes,
				       (u64)SZ_64K << shift),
		.command_limit = ctrl->command_limit,
		.boundary_bytes = boundary_bytes(id, shift),
		/* The first PRP entry is a multiple of 4 (4.1.1). */
		.dma_alignment = 4,
		/* All others begin with a page, and all but the last end with one. */
		.seam_alignment = 1U << ctrl->page_shift,
		.features = CHARIO_FEATURE_FUA |
			(ctrl->write_cache ? CHARIO_FEATURE_WRITE_CACHE : 0) |
			(id->nsattr & NVME_NS_ATTR_RO ?
			 CHARIO_FEATURE_READ_ONLY : 0),
	};
	struct chario_device *cio;
	int ret;

	cio = chario_device_create(chario_nvme_has_tables() ? &nvme_backend :
				   &nvme_backend_without_tables,
				   &ctrl->drive, &ctrl->pdev->dev);
	if (IS_ERR(cio))
		return cio;
	chario_nvme_get(ctrl);
	disk_fill_in(cio, ctrl, nsid, id);
	ret = chario_device_configure(cio, &limits);
	if (!ret)
		ret = chario_device_register(cio);
	if (ret) {
		put_device(&cio->dev);
		return ERR_PTR(ret);
	}
	dev_info(&ctrl->pdev->dev,
		 "%s: namespace %u, %llu blocks of %u bytes, commands of %u KiB (up to %u), %u queues by interrupt, %u to poll\n",
		 dev_name(&cio->dev), nsid, le64_to_cpu(id->nsze), 1U << shift,
		 cio->limits.command_bytes / 1024,
		 cio->max_command_bytes / 1024,
		 chario_device_nr_queues(cio, false),
		 chario_device_nr_queues(cio, true));
	return cio;
}

static int disk_add(struct chario_nvme *ctrl, u32 nsid, struct nvme_id_ns *id)
{
	struct chario_device *cio;
	const char *why;
	u16 status;
	int ret;

	ret = chario_nvme_identify_ns(ctrl, nsid, id, &status) ?:
	      chario_nvme_status_errno(status);
	if (ret)
		return ret;
	why = disk_refusal(ctrl, id);
	if (why) {
		dev_warn(&ctrl->pdev->dev, "namespace %u refused: %s\n", nsid,
			 why);
		return 0;
	}
	cio = disk_create(ctrl, nsid, id);
	if (IS_ERR(cio))
		return PTR_ERR(cio);
	chario_nvme_identity_note(ctrl, ctrl->nr_disks, id);
	ctrl->disks[ctrl->nr_disks++] = cio;
	return 0;
}

static int add_all(struct chario_nvme *ctrl, u32 *nsids)
{
	struct nvme_id_ns *id = kzalloc(sizeof(*id), GFP_KERNEL);
	int i, count, ret = 0;

	if (!id)
		return -ENOMEM;
	count = chario_nvme_identify_list(ctrl, nsids, MAX_DISKS);
	for (i = 0; i < count && !ret; i++)
		ret = disk_add(ctrl, nsids[i], id);
	kfree(id);
	if (count < 0)
		return count;
	if (!ret && !ctrl->nr_disks) {
		dev_err(&ctrl->pdev->dev,
			"refused: no namespace that can be driven\n");
		return -ENODEV;
	}
	return ret;
}

/**
 * chario_nvme_disks_create() - make a disk of each namespace
 * @ctrl: a controller with live queues
 *
 * Return: 0; ENODEV, with a message in the log, when no namespace can be driven;
 * ENOMEM; ENOSPC; or an error of chario_nvme_admin_run().
 */
int chario_nvme_disks_create(struct chario_nvme *ctrl)
{
	u32 *nsids = kcalloc(MAX_DISKS, sizeof(*nsids), GFP_KERNEL);
	int ret = -ENOMEM;

	ctrl->disks = kcalloc(MAX_DISKS, sizeof(*ctrl->disks), GFP_KERNEL);
	if (nsids && ctrl->disks)
		ret = chario_nvme_identity_alloc(ctrl, MAX_DISKS);
	if (!ret)
		ret = add_all(ctrl, nsids);
	kfree(nsids);
	return ret;
}

/**
 * chario_nvme_disks_unregister() - accept no new calls to the disks
 * @ctrl: the controller
 */
void chario_nvme_disks_unregister(struct chario_nvme *ctrl)
{
	unsigned int i;

	for (i = 0; i < ctrl->nr_disks; i++)
		chario_device_unregister(ctrl->disks[i]);
	chario_cmb_revoke(ctrl->cmb);
}

/**
 * chario_nvme_disks_put() - release the disks
 * @ctrl: a controller whose queues have been failed and drained; may be freed here,
 *	unless the caller holds a reference
 */
void chario_nvme_disks_put(struct chario_nvme *ctrl)
{
	while (ctrl->nr_disks) {
		struct chario_device *cio = ctrl->disks[--ctrl->nr_disks];

		chario_buffer_detach_all(cio);
		chario_medium_leave(cio);
		put_device(&cio->dev);
	}
	kfree(ctrl->disks);
	ctrl->disks = NULL;
	chario_nvme_identity_free(ctrl);
}
