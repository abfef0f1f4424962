// SPDX-License-Identifier: GPL-2.0-only
/*
 * The block devices that a claim holds, as a mount does: the partitions that its part
 * touches, or the whole block disk where no partition does.
 *
 * The table may be read again at any moment, and partitions come and go one by one.  Opening
 * a partition takes open_mutex of its disk, so that this lock cannot keep the partition in
 * the meantime.  A claim therefore looks for its partitions under open_mutex and takes a
 * reference to their inodes, so that no number is given away before it is opened; after each
 * open the claim looks again.  A partition that is held stays: reading the table again then
 * returns EBUSY, as it does while one is mounted.  Partitions that are made later are held by
 * a worker, see follow.c.
 */
#include <linux/blkdev.h>
#include <linux/slab.h>

#include "base/workers.h"
#include "front/block/block.h"

/**
 * struct chario_held - a block device that is held
 * @part: the block device
 * @opened: handle from chario_compat_hold_block()
 * @is_wanted: true if the last look has found that it is to be held
 */
struct chario_held {
	struct block_device *part;
	void *opened;
	bool is_wanted;
};

static bool is_whole(const struct chario_holding *holding, const struct chario_disk *disk)
{
	return !holding->first && holding->end == disk->capacity_bytes;
}

/* Is a block device held?  Notes that it is to be. */
static bool has(struct chario_holding *holding, const struct block_device *part)
{
	unsigned int i;

	for (i = 0; i < holding->nr; i++)
		if (holding->held[i].part == part) {
			holding->held[i].is_wanted = true;
			return true;
		}
	return false;
}

/*
 * Finds a partition that is to be held and is not.  Sets @any if one is to be held.  Returns
 * its inode, with a reference to it; NULL; or EBUSY if somebody holds a removed partition.
 * Under open_mutex.
 */
static struct inode *find_part(struct chario_holding *holding, struct chario_disk *disk,
			       bool *any)
{
	struct inode *inode = NULL;

	while ((inode = chario_part_next(disk->block, holding->first, holding->end, inode))) {
		struct block_device *part = I_BDEV(inode);

		if (part == disk->block->part0)
			continue;
		if (inode_unhashed(inode)) {
			/*
			 * The partition is in no table any more.  If the claim holds it, it
			 * stays held: others may have looked it up, too.
			 */
			if (has(holding, part) || !READ_ONCE(part->bd_holder) ||
			    part->bd_holder == disk)
				continue;
			iput(inode);
			return ERR_PTR(-EBUSY);
		}
		*any = true;
		if (!has(holding, part))
			return inode;
	}
	return NULL;
}

/*
 * Finds a block device that is to be held and is not.  Returns its inode, with a reference to
 * it; NULL if there is none; or an ERR_PTR.
 */
static struct inode *find(struct chario_holding *holding, struct chario_disk *disk)
{
	struct block_device *whole = disk->block->part0;
	struct inode *inode = NULL;
	unsigned int i;
	bool any = false;

	for (i = 0; i < holding->nr; i++)
		holding->held[i].is_wanted = false;
	mutex_lock(&disk->block->open_mutex);
	if (!is_whole(holding, disk))
		inode = find_part(holding, disk, &any);
	if (!inode && !any && !has(holding, whole))
		inode = igrab(chario_compat_block_inode(whole));
	mutex_unlock(&disk->block->open_mutex);
	return inode;
}

/* Let go of the block devices that are not to be held; of all, unless @is_chosen. */
static void let_go(struct chario_holding *holding, struct chario_disk *disk, bool is_chosen)
{
	unsigned int i, left = 0;

	for (i = 0; i < holding->nr; i++)
		if (is_chosen && holding->held[i].is_wanted)
			holding->held[left++] = holding->held[i];
		else
			chario_compat_let_go_block(holding->held[i].opened, disk);
	holding->nr = left;
	if (left)
		return;
	kfree(holding->held);
	holding->held = NULL;
}

/* Hold one block device more.  Nobody holds the whole and a partition together. */
static int hold(struct chario_holding *holding, struct chario_disk *disk,
		struct block_device *part)
{
	struct block_device *whole = disk->block->part0;
	struct chario_held *longer;
	void *opened;

	if (holding->nr && (part == whole || holding->held[0].part == whole))
		let_go(holding, disk, false);
	longer = krealloc_array(holding->held, holding->nr + 1, sizeof(*longer), GFP_KERNEL);
	if (!longer)
		return -ENOMEM;
	holding->held = longer;
	opened = chario_compat_hold_block(part->bd_dev, disk);
	if (IS_ERR(opened))
		return PTR_ERR(opened);
	longer[holding->nr++] = (struct chario_held){ .part = part, .opened = opened };
	return 0;
}

/**
 * chario_hold_follow() - hold the block devices that are to be held now, and no others
 * @holding: block devices of a claim
 * @disk: disk of the claim, with a block disk
 *
 * Context: may sleep; in a worker, which has the right to open them; under disk->node_lock.
 * Return: 0; EBUSY if somebody else holds one of them, ENXIO, ENOMEM: some may not be held then.
 */
int chario_hold_follow(struct chario_holding *holding, struct chario_disk *disk)
{
	struct inode *inode, *last = NULL;
	int ret = 0;

	for (;;) {
		inode = find(holding, disk);
		if (IS_ERR_OR_NULL(inode)) {
			ret = PTR_ERR_OR_ZERO(inode);
			break;
		}
		/* Holding this block device failed, although it is still there. */
		if (inode == last) {
			iput(inode);
			break;
		}
		ret = hold(holding, disk, I_BDEV(inode));
		iput(last);
		last = inode;
	}
	iput(last);
	if (!ret)
		let_go(holding, disk, true);
	return ret;
}

/**
 * struct taking - block devices are to be held
 * @holding: block devices of a claim
 * @disk: disk of the claim
 */
struct taking {
	struct chario_holding *holding;
	struct chario_disk *disk;
};

static int take(void *argument)
{
	const struct taking *taking = argument;
	int ret = chario_hold_follow(taking->holding, taking->disk);

	if (ret)
		chario_hold_drop(taking->holding, taking->disk);
	return ret;
}

/**
 * chario_hold_take() - hold the block devices that a claim is to hold
 * @holding: block devices of the claim, none yet
 * @disk: disk of the claim, with a block disk
 *
 * The caller needs the rights to his node alone.
 *
 * Context: may sleep; under disk->node_lock.
 * Return: 0; EBUSY if somebody else holds one of them, ENXIO, ENOMEM: nothing is held then.
 */
int chario_hold_take(struct chario_holding *holding, struct chario_disk *disk)
{
	struct taking taking = { .holding = holding, .disk = disk };

	return chario_workers_run(take, &taking);
}

/**
 * chario_hold_check() - look whether somebody else holds a removed partition of a claim
 * @holding: block devices of a claim
 * @disk: disk of the claim, with a block disk; those who come later find the claim in its list
 *
 * Context: may sleep; under disk->node_lock.
 * Return: 0 or EBUSY.
 */
int chario_hold_check(struct chario_holding *holding, struct chario_disk *disk)
{
	struct inode *inode = find(holding, disk);

	if (IS_ERR(inode))
		return PTR_ERR(inode);
	/* Partitions made since are held by the worker of follow.c. */
	iput(inode);
	return 0;
}

/**
 * chario_hold_drop() - let go of all that a claim holds
 * @holding: block devices of the claim, none afterwards
 * @disk: disk of the claim
 *
 * Context: may sleep; under disk->node_lock.
 */
void chario_hold_drop(struct chario_holding *holding, struct chario_disk *disk)
{
	let_go(holding, disk, false);
}
