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

#include "front/block/block.h"

/**
 * struct chario_held - a block device that is held
 * @part: the block device
 * @opened: handle from chario_compat_hold_block(); an ERR_PTR if the device could not be held, and
 *	then the entry lasts only as long as others are being held, and has a reference to the inode
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

static struct chario_held *find_held(struct chario_holding *holding,
				     const struct block_device *part)
{
	unsigned int i;

	for (i = 0; i < holding->nr; i++)
		if (holding->held[i].part == part)
			return &holding->held[i];
	return NULL;
}

/* Notes that a block device is to be held.  Returns false if that has not been tried. */
static bool want(struct chario_holding *holding, const struct block_device *part)
{
	struct chario_held *held = find_held(holding, part);

	if (held)
		held->is_wanted = true;
	return held;
}

/*
 * Looks at a partition that is in no table any more.  If the claim holds it, it stays held:
 * others may have looked it up, too.  Returns true if somebody else holds it.
 */
static bool keep_removed(struct chario_holding *holding, const struct chario_disk *disk,
			 const struct block_device *part)
{
	struct chario_held *held = find_held(holding, part);
	const void *holder = READ_ONCE(part->bd_holder);

	if (!held || IS_ERR(held->opened))
		return holder && holder != disk;
	held->is_wanted = true;
	return false;
}

/*
 * Finds a partition that is to be held and has not been tried.  Sets @any if one is to be held,
 * and @busy if somebody else holds a removed one.  Returns its inode, with a reference to it, or
 * NULL.  Under open_mutex.
 */
static struct inode *find_part(struct chario_holding *holding, struct chario_disk *disk,
			       bool *any, bool *busy)
{
	struct inode *inode = NULL, *found = NULL;

	while ((inode = chario_part_next(disk->block, holding->first, holding->end, inode))) {
		struct block_device *part = I_BDEV(inode);

		if (part == disk->block->part0)
			continue;
		if (inode_unhashed(inode)) {
			*busy |= keep_removed(holding, disk, part);
			continue;
		}
		*any = true;
		if (!want(holding, part) && !found)
			found = igrab(inode);
	}
	return found;
}

/*
 * Finds a block device that is to be held and has not been tried.  Notes which of the others are
 * to be held, and in @busy whether somebody else holds a removed partition.  Returns its inode,
 * with a reference to it, or NULL.
 */
static struct inode *find(struct chario_holding *holding, struct chario_disk *disk, bool *busy)
{
	struct block_device *whole = disk->block->part0;
	struct inode *inode = NULL;
	unsigned int i;
	bool any = false;

	for (i = 0; i < holding->nr; i++)
		holding->held[i].is_wanted = false;
	*busy = false;
	mutex_lock(&disk->block->open_mutex);
	if (!is_whole(holding, disk))
		inode = find_part(holding, disk, &any, busy);
	if (!inode && !any && !want(holding, whole))
		inode = igrab(chario_compat_block_inode(whole));
	mutex_unlock(&disk->block->open_mutex);
	return inode;
}

/* Let go of the block devices that are not to be held; of all, unless @is_chosen. */
static void let_go(struct chario_holding *holding, struct chario_disk *disk, bool is_chosen)
{
	unsigned int i, left = 0;

	for (i = 0; i < holding->nr; i++) {
		const struct chario_held *held = &holding->held[i];

		if (IS_ERR(held->opened))
			iput(chario_compat_block_inode(held->part));
		else if (is_chosen && held->is_wanted)
			holding->held[left++] = *held;
		else
			chario_compat_let_go_block(held->opened, disk);
	}
	holding->nr = left;
	if (left)
		return;
	kfree(holding->held);
	holding->held = NULL;
}

/*
 * Hold one block device more.  Nobody holds the whole and a partition together.  The caller's
 * reference to the inode is taken over.
 */
static int hold(struct chario_holding *holding, struct chario_disk *disk, struct inode *inode)
{
	struct block_device *part = I_BDEV(inode), *whole = disk->block->part0;
	struct chario_held *longer;
	void *opened;

	if (holding->nr && (part == whole || holding->held[0].part == whole))
		let_go(holding, disk, false);
	longer = krealloc_array(holding->held, holding->nr + 1, sizeof(*longer), GFP_KERNEL);
	if (!longer) {
		iput(inode);
		return -ENOMEM;
	}
	holding->held = longer;
	opened = chario_compat_hold_block(part->bd_dev, disk);
	if (!IS_ERR(opened))
		iput(inode);
	longer[holding->nr++] = (struct chario_held){
		.part = part,
		.opened = opened,
		.is_wanted = true,
	};
	return PTR_ERR_OR_ZERO(opened);
}

/* Returns the error of a block device that is to be held and could not be, or 0. */
static int find_error(const struct chario_holding *holding)
{
	unsigned int i;

	for (i = 0; i < holding->nr; i++)
		if (holding->held[i].is_wanted && IS_ERR(holding->held[i].opened))
			return PTR_ERR(holding->held[i].opened);
	return 0;
}

/**
 * chario_hold_follow() - hold the block devices that are to be held now, and no others
 * @holding: block devices of a claim
 * @disk: disk of the claim, with a block disk
 *
 * One that cannot be held does not keep others from being held.
 *
 * Context: may sleep; in a worker, which has the right to open them; under disk->node_lock.
 * Return: 0; EBUSY if somebody else holds one of them, ENXIO, ENOMEM: some are not held then.
 */
int chario_hold_follow(struct chario_holding *holding, struct chario_disk *disk)
{
	struct inode *inode;
	bool busy = false;
	int ret = 0;

	while (ret != -ENOMEM && (inode = find(holding, disk, &busy)))
		ret = hold(holding, disk, inode);
	if (ret != -ENOMEM)
		ret = find_error(holding);
	let_go(holding, disk, true);
	return !ret && busy ? -EBUSY : ret;
}

/**
 * chario_hold_take() - hold the block devices that a claim is to hold
 * @holding: block devices of the claim, none yet
 * @disk: disk of the claim, with a block disk
 *
 * Context: may sleep; in a worker, so that who claims needs the rights to his node alone; under
 * disk->node_lock.
 * Return: 0; EBUSY if somebody else holds one of them, ENXIO, ENOMEM: nothing is held then.
 */
int chario_hold_take(struct chario_holding *holding, struct chario_disk *disk)
{
	int ret = chario_hold_follow(holding, disk);

	if (ret)
		chario_hold_drop(holding, disk);
	return ret;
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
	bool busy;

	/* Partitions made since are held by the worker of follow.c. */
	iput(find(holding, disk, &busy));
	return busy ? -EBUSY : 0;
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
