// SPDX-License-Identifier: GPL-2.0-only
/*
 * The page caches of the block side: each partition has one, and so has the whole block
 * disk, and what has been a partition and is still open.  What they have of a part of the
 * disk is written before the part is claimed, and dropped when a claim begins and ends.
 *
 * A partition that has been longer still has the pages that lie behind its end now
 * (BLKPG_RESIZE_PARTITION).  They would be written when it is longer again, so they are
 * dropped, too.
 */
#include <linux/blkdev.h>
#include <linux/buffer_head.h>
#include <linux/pagemap.h>

#include "front/block/block.h"

/* Number of times that changed pages are written before they are dropped as they are. */
#define MAX_WRITES	10

/**
 * struct piece - the bytes of a part of a disk that one page cache can have
 * @cache: page cache of a partition or the whole block disk; its inode is referred to
 * @bytes: length of that block device now
 * @first: offset in it of the first byte
 * @last: offset in it of the last byte
 */
struct piece {
	struct address_space *cache;
	loff_t bytes;
	loff_t first;
	loff_t last;
};

/*
 * Finds the next page cache for a part, behind the one of @piece, whose reference is dropped;
 * @piece is empty before the first.  Unlike opening a block device, that cannot fail.
 */
static bool next(struct gendisk *block, u64 first, u64 end, struct piece *piece)
{
	struct inode *inode = piece->cache ? piece->cache->host : NULL;
	struct block_device *part;
	u64 start;

	/* Any that begins before the end of the part may have been longer. */
	inode = chario_part_next(block, 0, end, inode);
	if (!inode)
		return false;
	part = I_BDEV(inode);
	start = part->bd_start_sect << SECTOR_SHIFT;
	piece->cache = inode->i_mapping;
	piece->bytes = bdev_nr_bytes(part);
	piece->first = max(first, start) - start;
	piece->last = end - start - 1;
	return true;
}

/**
 * chario_cache_write() - write what the page caches of a block disk have of a part
 * @block: the block disk
 * @first: byte offset of the part on it
 * @end: byte offset behind the part
 *
 * Those who have changed the pages are told of errors when they ask with fsync.
 *
 * Context: may sleep.
 */
void chario_cache_write(struct gendisk *block, u64 first, u64 end)
{
	struct piece piece = { };

	while (next(block, first, end, &piece))
		filemap_write_and_wait_range(piece.cache, piece.first, piece.last);
}

/*
 * A page that has been changed is written first, in vain: so whoever has changed it learns
 * from fsync that it is not on the disk.  Of bytes behind the end of a device, where nobody
 * can write now, he learns nothing.
 */
static void drop(const struct piece *piece)
{
	pgoff_t first = piece->first >> PAGE_SHIFT;
	pgoff_t last = piece->last >> PAGE_SHIFT;
	unsigned int writes;

	for (writes = 0; writes < MAX_WRITES; writes++) {
		filemap_write_and_wait_range(piece->cache, piece->first, piece->last);
		if (!invalidate_inode_pages2_range(piece->cache, first, last))
			return;
	}
	/*
	 * Somebody uses pages all the time.  The page with the end of a device that does not
	 * touch the part is his; writing it has cleared what lies behind the end.
	 */
	if (piece->first >= piece->bytes)
		first = max_t(pgoff_t, first, DIV_ROUND_UP(piece->bytes, PAGE_SIZE));
	if (first > last)
		return;
	truncate_inode_pages_range(piece->cache, (loff_t)first << PAGE_SHIFT,
				   ((loff_t)(last + 1) << PAGE_SHIFT) - 1);
	mapping_set_error(piece->cache, -EIO);
}

/**
 * chario_cache_drop() - drop what the page caches of a block disk have of a part
 * @block: the block disk
 * @first: byte offset of the part on it
 * @end: byte offset behind the part
 *
 * While the part is claimed no page can be written.  Afterwards no page is there that was
 * read or changed before, whether a program has it mapped or not; who needs one reads it
 * from the device.
 *
 * Context: may sleep.
 */
void chario_cache_drop(struct gendisk *block, u64 first, u64 end)
{
	struct piece piece = { };

	/* The kernel holds on to the buffers of a few pages that it used last. */
	invalidate_bh_lrus();
	while (next(block, first, end, &piece))
		drop(&piece);
}
