// SPDX-License-Identifier: GPL-2.0-only
/*
 * A disk, which is made of a namespace; disks.c makes one of each.
 */
#include <linux/bitops.h>
#include <linux/log2.h>
#include <linux/sizes.h>

#include "memory/cmb.h"
#include "nvme.h"
#include "types/backend.h"

static void disk_release(struct chario_disk *disk)
{
	chario_nvme_put(to_nvme(disk->drive));
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

/**
 * chario_nvme_disk_refusal() - tell why a namespace cannot be driven
 * @ctrl: an identified controller
 * @id: Identify data of the namespace
 *
 * Return: the reason, for the log; or NULL.
 */
const char *chario_nvme_disk_refusal(const struct chario_nvme *ctrl,
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
static void fill_in_wishes(struct chario_disk *disk,
			   const struct nvme_id_ns *id, u32 shift)
{
	if (!(id->nsfeat & NVME_NS_FEAT_IO_OPT))
		return;
	disk->physical_block_bytes = blocks_to_bytes(id->npwg, shift);
	disk->write_alignment_bytes = blocks_to_bytes(id->npwa, shift);
	disk->deallocate_alignment_bytes = blocks_to_bytes(id->npda, shift);
	disk->optimal_write_bytes = blocks_to_bytes(id->nows, shift);
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

/*
 * Does the drive take Deallocate in Write Zeroes, and do such blocks read as zeros
 * (DLFEAT, NVM Command Set 1.0 4.1.5.1)?
 */
static bool zeroes_may_discard(const struct nvme_id_ns *id)
{
	return (id->dlfeat & 7) == 1 && (id->dlfeat & BIT(3));
}

static void disk_fill_in(struct chario_disk *disk, const struct chario_nvme *ctrl,
			 u32 nsid, const struct nvme_id_ns *id)
{
	u32 shift = id->lbaf[nvme_lbaf_index(id->flbas)].ds;

	disk->capacity_bytes = le64_to_cpu(id->nsze) << shift;
	disk->namespace_id = nsid;
	fill_in_wishes(disk, id, shift);
	disk->atomic_write_bytes = disk_atomic_write_bytes(ctrl, id, shift);
	disk->cmb = ctrl->cmb;
	chario_nvme_identity_name(ctrl, nsid, id, disk);
	strscpy(disk->serial, ctrl->serial, sizeof(disk->serial));
	strscpy(disk->model, ctrl->model, sizeof(disk->model));
	strscpy(disk->firmware, ctrl->firmware, sizeof(disk->firmware));
}

/**
 * chario_nvme_disk_create() - make the disk of a namespace
 * @ctrl: a controller with live queues
 * @nsid: identifier of the namespace
 * @id: Identify data of the namespace, which can be driven
 *
 * Return: the disk, which has been prepared but not published; or an ERR_PTR: EINVAL, with
 * a message in the log, if its limits contradict each other; ENOMEM; ENOSPC if all numbers
 * of disks are taken.
 */
struct chario_disk *chario_nvme_disk_create(struct chario_nvme *ctrl, u32 nsid,
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
		.discard_ranges = min(ctrl->discard_ranges,
				      chario_nvme_prp_max_ranges(chario_nvme_queue_at(ctrl, 0))),
		.discard_bytes = (u64)ctrl->discard_blocks << shift,
		.zeroes_bytes = min_t(u64, ctrl->zeroes_bytes,
				      round_down(min_t(u64, U32_MAX, (u64)SZ_64K << shift),
						 1U << shift)),
		.zeroes_may_discard = zeroes_may_discard(id),
		.features = CHARIO_FEATURE_FUA |
			(ctrl->write_cache ? CHARIO_FEATURE_WRITE_CACHE : 0) |
			(id->nsattr & NVME_NS_ATTR_RO ?
			 CHARIO_FEATURE_READ_ONLY : 0),
	};
	struct chario_disk *disk;
	int ret;

	disk = chario_disk_create(chario_nvme_has_tables() ? &nvme_backend :
				  &nvme_backend_without_tables,
				  &ctrl->drive, &ctrl->pdev->dev);
	if (IS_ERR(disk))
		return disk;
	chario_nvme_get(ctrl);
	disk_fill_in(disk, ctrl, nsid, id);
	ret = chario_disk_configure(disk, &limits);
	if (!ret)
		ret = chario_disk_prepare(disk);
	if (ret) {
		put_device(&disk->dev);
		return ERR_PTR(ret);
	}
	return disk;
}
