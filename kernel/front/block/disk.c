// SPDX-License-Identifier: GPL-2.0-only
/*
 * The block disk of a disk: made when a user asks for it, and taken away when a user asks
 * for that, or with the disk.
 */
#include <linux/blkdev.h>
#include <linux/delay.h>
#include <linux/mutex.h>

#include "base/workers.h"
#include "drive/drive.h"
#include "front/block/block.h"
#include "types/queue.h"

/* A worker that has read partitions closes the disk some ticks later, and udev reads it, too. */
#define CLOSE_TRIES	20
#define CLOSE_PAUSE_MS	10

static int block_open(CHARIO_COMPAT_OPENED)
{
	const struct chario_disk *disk = chario_compat_opened->private_data;

	/* See chario_block_disable(). */
	if (READ_ONCE(disk->block_leaves) || chario_claims_forbid_open(disk))
		return -ENXIO;
	return 0;
}

static const struct block_device_operations operations = {
	.owner	= THIS_MODULE,
	.open	= block_open,
};

/* Fill in what the block layer has to know to make requests that are one command each. */
static void fill_limits(const struct chario_disk *disk, struct queue_limits *limits)
{
	const struct chario_queue *q = disk->drive->queues[0];

	limits->logical_block_size = disk->block_mask + 1;
	/* File systems take a write of a physical block for one that is not torn. */
	limits->physical_block_size =
		rounddown_pow_of_two(min(disk->physical_block_bytes,
					 max(disk->atomic_write_bytes,
					     disk->block_mask + 1)));
	limits->io_min = disk->physical_block_bytes;
	limits->io_opt = disk->optimal_write_bytes;
	limits->max_hw_sectors = disk->max_command_bytes >> SECTOR_SHIFT;
	limits->chunk_sectors = disk->split.boundary_bytes >> SECTOR_SHIFT;
	limits->max_segments = min(disk->max_segments, q->max_pages);
	limits->max_segment_size = disk->segment_bytes ?: UINT_MAX;
	limits->virt_boundary_mask = disk->seam_mask;
	limits->dma_alignment = disk->dma_mask;
	if (disk->discard_ranges) {
		limits->max_hw_discard_sectors =
			min_not_zero(disk->discard_bytes >> SECTOR_SHIFT, (u64)UINT_MAX);
		limits->max_discard_segments =
			min_t(u32, disk->discard_ranges,
			      q->max_pages * sizeof(struct chario_segment) /
				      sizeof(struct chario_disk_range));
		limits->discard_granularity =
			max(disk->deallocate_alignment_bytes, disk->block_mask + 1);
		/* Nothing is cut to a limit below it. */
		if (limits->max_hw_discard_sectors <
		    limits->discard_granularity >> SECTOR_SHIFT)
			limits->discard_granularity = disk->block_mask + 1;
	}
	limits->max_write_zeroes_sectors = disk->zeroes_bytes >> SECTOR_SHIFT;
}

/* From here on the disk is asked to try again, see try_again(). */
static void enter(struct chario_disk *disk, struct chario_tags *tags,
		  struct gendisk *block)
{
	spin_lock_irq(&tags->lock);
	WRITE_ONCE(disk->block, block);
	list_add(&disk->block_node, &tags->disks);
	spin_unlock_irq(&tags->lock);
}

static void leave(struct chario_disk *disk, struct chario_tags *tags)
{
	spin_lock_irq(&tags->lock);
	list_del(&disk->block_node);
	WRITE_ONCE(disk->block, NULL);
	spin_unlock_irq(&tags->lock);
}

static int publish(void *argument)
{
	struct gendisk *block = argument;
	struct chario_disk *disk = block->private_data;

	return device_add_disk(&disk->dev, block, NULL);
}

/*
 * Make and publish the block disk.  Its partitions are read, which the cgroup of the caller need
 * not allow.  Under drive->block_lock.
 */
static int make(struct chario_disk *disk, struct chario_tags *tags)
{
	struct queue_limits limits = { };
	struct gendisk *block;
	int ret;

	/* The page cache of a block device cannot have such blocks, Linux 6.1 does not look. */
	if (disk->block_mask >= PAGE_SIZE)
		return -EOPNOTSUPP;
	fill_limits(disk, &limits);
	block = chario_compat_alloc_disk(&tags->set, &limits, disk->features, disk);
	if (IS_ERR(block))
		return PTR_ERR(block);
	snprintf(block->disk_name, sizeof(block->disk_name), "chardisk%db",
		 disk->index);
	block->fops = &operations;
	block->private_data = disk;
	set_capacity(block, disk->capacity_bytes >> SECTOR_SHIFT);
	set_disk_ro(block, disk->features & CHARIO_FEATURE_READ_ONLY);
	ret = chario_follow_enter(block);
	if (ret)
		goto err_put;
	enter(disk, tags, block);
	ret = chario_workers_run(publish, block);
	if (ret)
		goto err_leave;
	return 0;

err_leave:
	leave(disk, tags);
	chario_follow_leave();
err_put:
	put_disk(block);
	return ret;
}

/*
 * Take the block disk away: what it has not written yet is written now.  Under
 * drive->block_lock.
 */
static void take_away(struct chario_disk *disk)
{
	struct gendisk *block = disk->block;

	del_gendisk(block);
	leave(disk, disk->drive->tags);
	chario_follow_leave();
	/* Partitions that claims could not hold have gone. */
	if (cancel_delayed_work(&disk->claims_work))
		put_device(&disk->dev);
	put_disk(block);
}

/*
 * Make the block disk, of which the claims of open nodes hold their parts.  Under
 * drive->block_lock.
 */
static int make_claimed(struct chario_disk *disk, struct chario_tags *tags)
{
	int ret;

	mutex_lock(&disk->node_lock);
	ret = make(disk, tags);
	if (!ret) {
		ret = chario_claims_hold(disk);
		if (ret)
			take_away(disk);
	}
	mutex_unlock(&disk->node_lock);
	return ret;
}

/* Make the block disk of a disk that has none.  Under drive->block_lock. */
static int make_first(struct chario_disk *disk)
{
	struct chario_tags *tags = chario_tags_get(disk->drive);
	int ret;

	if (IS_ERR(tags))
		return PTR_ERR(tags);
	ret = make_claimed(disk, tags);
	if (ret)
		chario_tags_put(tags);
	return ret;
}

/**
 * chario_block_enable() - make the block disk of a disk
 * @disk: a registered disk
 *
 * Context: may sleep.
 * Return: 0, also if it is there already; ENODEV if the disk has gone or is about to; EBUSY if
 * somebody was quick to use a part that is claimed; EOPNOTSUPP if its blocks are longer than a
 * page; ENOMEM; an error of chario_tags_get().
 */
int chario_block_enable(struct chario_disk *disk)
{
	int ret = 0;

	mutex_lock(&disk->drive->block_lock);
	if (READ_ONCE(disk->removed) || disk->block_leaves)
		ret = -ENODEV;
	if (ret || disk->block)
		goto out;
	/* Pairs with the barrier of the back end that is about to take the drive away. */
	smp_store_mb(disk->block_comes, true);
	ret = READ_ONCE(disk->drive->leaves) ? -ENODEV : make_first(disk);
	WRITE_ONCE(disk->block_comes, false);
out:
	mutex_unlock(&disk->drive->block_lock);
	return ret;
}

/*
 * Keep others from opening the block disk.  Returns 0; EBUSY if somebody has it open, or a
 * claim holds something of it.
 */
static int close_for_good(struct chario_disk *disk)
{
	int ret = 0;

	mutex_lock(&disk->node_lock);
	mutex_lock(&disk->block->open_mutex);
	if (disk_openers(disk->block) || chario_claims_are_holding(disk))
		ret = -EBUSY;
	else
		WRITE_ONCE(disk->block_leaves, true);
	mutex_unlock(&disk->block->open_mutex);
	mutex_unlock(&disk->node_lock);
	return ret;
}

/*
 * Keep others from opening the block disk, of which those who have read its partitions may be
 * about to close it.  Returns 0 or EBUSY.
 */
static int close_soon(struct chario_disk *disk)
{
	unsigned int tries = CLOSE_TRIES;
	int ret;

	while ((ret = close_for_good(disk)) == -EBUSY && --tries)
		msleep(CLOSE_PAUSE_MS);
	return ret;
}

/**
 * chario_block_disable() - take the block disk of a disk away, unless it is in use
 * @disk: a registered disk
 *
 * Context: may sleep; waits up to 200 ms for those who have it open.
 * Return: 0, also if there is none; EBUSY.
 */
int chario_block_disable(struct chario_disk *disk)
{
	int ret = 0;

	mutex_lock(&disk->drive->block_lock);
	if (disk->block) {
		ret = close_soon(disk);
		if (!ret) {
			take_away(disk);
			chario_tags_put(disk->drive->tags);
			/* A writer that claims sees both changes or none. */
			mutex_lock(&disk->node_lock);
			WRITE_ONCE(disk->block_leaves, false);
			mutex_unlock(&disk->node_lock);
		}
	}
	mutex_unlock(&disk->drive->block_lock);
	return ret;
}

/**
 * chario_block_remove() - take the block disk away with its disk, in use or not
 * @disk: a registered disk.  Its queues are live, so that what has not been written yet
 *	can be, or its drive has been given up
 *
 * No other is made afterwards.
 *
 * Context: may sleep.
 */
void chario_block_remove(struct chario_disk *disk)
{
	mutex_lock(&disk->drive->block_lock);
	mutex_lock(&disk->node_lock);
	WRITE_ONCE(disk->block_leaves, true);
	if (disk->block) {
		if (READ_ONCE(disk->drive->state) == CHARIO_DRIVE_DEAD)
			blk_mark_disk_dead(disk->block);
		chario_claims_let_go(disk);
		take_away(disk);
		chario_tags_put(disk->drive->tags);
	}
	mutex_unlock(&disk->node_lock);
	mutex_unlock(&disk->drive->block_lock);
}
