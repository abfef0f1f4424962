// SPDX-License-Identifier: GPL-2.0-only
/*
 * The block devices of a block disk: the whole of it, its partitions, and those that have
 * been partitions.
 *
 * When the partition table is read again, every partition is taken away and made anew.  A
 * program that has looked one up just before then opens what is in no table any more, and
 * the kernel lets it: it mounts it, changes its page cache, and writes to the disk by it.
 * So the table does not tell who uses a part of the disk; the inodes of the block devices
 * do, for those stay as long as somebody uses them.
 */
#include <linux/blkdev.h>
#include <linux/fs.h>

#include "front/block/block.h"

static bool is_in(struct block_device *part, const struct gendisk *block, u64 first, u64 end)
{
	u64 start = part->bd_start_sect << SECTOR_SHIFT;

	return part->bd_disk == block && start < end && start + bdev_nr_bytes(part) > first;
}

/**
 * chario_part_next() - find the next block device of a block disk that touches a range
 * @block: the block disk
 * @first: byte offset of the range on it
 * @end: byte offset behind the range
 * @last: inode of the block device that has been found before, whose reference is
 *	dropped; NULL for the first one
 *
 * Unlike opening a block device, that cannot fail.  None that is being made is found, unless
 * open_mutex of the block disk keeps them from being made.
 *
 * Context: may sleep.
 * Return: inode of the block device, with a reference to it; NULL if there is none.
 */
struct inode *chario_part_next(struct gendisk *block, u64 first, u64 end,
			       struct inode *last)
{
	struct super_block *sb = chario_compat_block_inode(block->part0)->i_sb;
	struct inode *inode = last, *found = NULL;

	spin_lock(&sb->s_inode_list_lock);
	inode = list_prepare_entry(inode, &sb->s_inodes, i_sb_list);
	list_for_each_entry_continue(inode, &sb->s_inodes, i_sb_list)
		if (is_in(I_BDEV(inode), block, first, end)) {
			found = igrab(inode);
			if (found)
				break;
		}
	spin_unlock(&sb->s_inode_list_lock);
	iput(last);
	return found;
}

/**
 * chario_part_is_late() - tell if somebody is about to open what is no partition any more
 * @block: the block disk
 * @first: byte offset of a range on it
 * @end: byte offset behind the range
 *
 * A partition that has been taken away is referred to by those who have it open, and by those
 * who have looked it up and are about to open it.
 *
 * Context: under open_mutex of the block disk; any other.
 */
bool chario_part_is_late(const struct gendisk *block, u64 first, u64 end)
{
	struct super_block *sb = chario_compat_block_inode(block->part0)->i_sb;
	struct inode *inode;
	bool is_late = false;

	spin_lock(&sb->s_inode_list_lock);
	list_for_each_entry(inode, &sb->s_inodes, i_sb_list) {
		struct block_device *part = I_BDEV(inode);

		is_late |= is_in(part, block, first, end) && inode_unhashed(inode) &&
			   kref_read(&part->bd_device.kobj.kref) >
				   atomic_read(&part->bd_openers);
	}
	spin_unlock(&sb->s_inode_list_lock);
	return is_late;
}
