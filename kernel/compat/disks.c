// SPDX-License-Identifier: GPL-2.0-only
/*
 * A block disk with its limits, which newer kernels take as a whole.
 */
#include <linux/blk-mq.h>
#include <linux/blkdev.h>

#include <chario/uapi.h>

/* "block: pass a queue_limits argument to blk_mq_alloc_disk", 6.9 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 9, 0)
static struct gendisk *alloc_disk(struct blk_mq_tag_set *set,
				  const struct queue_limits *limits, void *data)
{
	struct gendisk *disk = blk_mq_alloc_disk(set, data);
	struct request_queue *q;

	if (IS_ERR(disk))
		return disk;
	q = disk->queue;
	blk_queue_logical_block_size(q, limits->logical_block_size);
	blk_queue_physical_block_size(q, limits->physical_block_size);
	blk_queue_io_min(q, limits->io_min);
	blk_queue_io_opt(q, limits->io_opt);
	blk_queue_max_hw_sectors(q, limits->max_hw_sectors);
	blk_queue_chunk_sectors(q, limits->chunk_sectors);
	blk_queue_max_segments(q, limits->max_segments);
	blk_queue_max_segment_size(q, limits->max_segment_size);
	blk_queue_virt_boundary(q, limits->virt_boundary_mask);
	blk_queue_dma_alignment(q, limits->dma_alignment);
	blk_queue_max_discard_sectors(q, limits->max_hw_discard_sectors);
	blk_queue_max_discard_segments(q, max_t(u16, limits->max_discard_segments, 1));
	q->limits.discard_granularity = limits->discard_granularity;
	blk_queue_max_write_zeroes_sectors(q, limits->max_write_zeroes_sectors);
	blk_queue_flag_set(QUEUE_FLAG_NONROT, q);
	blk_queue_flag_clear(QUEUE_FLAG_ADD_RANDOM, q);
	return disk;
}
#else
#define alloc_disk(set, limits, data) blk_mq_alloc_disk(set, limits, data)
#endif

/**
 * chario_compat_alloc_disk() - make a block disk that is not published
 * @set: tag set of its queue
 * @limits: limits of its queue
 * @features: CHARIO_FEATURE_* bits of the disk
 * @data: queuedata of its queue
 *
 * Return: the block disk, or an ERR_PTR.
 */
struct gendisk *chario_compat_alloc_disk(struct blk_mq_tag_set *set,
					 struct queue_limits *limits, u64 features,
					 void *data)
{
	bool cache = features & CHARIO_FEATURE_WRITE_CACHE;
	bool fua = cache && (features & CHARIO_FEATURE_FUA);
	struct gendisk *disk;

/* "block: move cache control settings out of queue->flags", 6.11 */
#ifdef BLK_FEAT_WRITE_CACHE
	limits->features |= (cache ? BLK_FEAT_WRITE_CACHE : 0) |
			    (fua ? BLK_FEAT_FUA : 0);
	disk = alloc_disk(set, limits, data);
#else
	disk = alloc_disk(set, limits, data);
	if (!IS_ERR(disk))
		blk_queue_write_cache(disk->queue, cache, fua);
#endif
	return disk;
}

/*
 * "block: add blkdev_get_by_dev() variant with holder operations", 6.5; "block: replace
 * bdev_open_by_dev() handles", 6.7; "bdev: open block device as files", 6.9
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
#define open_block(devt, holder) \
	blkdev_get_by_dev(devt, FMODE_READ | FMODE_EXCL, holder)
#define close_block(held, holder) blkdev_put(held, FMODE_READ | FMODE_EXCL)
#elif LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
#define open_block(devt, holder) \
	blkdev_get_by_dev(devt, BLK_OPEN_READ, holder, NULL)
#define close_block(held, holder) blkdev_put(held, holder)
#elif LINUX_VERSION_CODE < KERNEL_VERSION(6, 9, 0)
#define open_block(devt, holder) bdev_open_by_dev(devt, BLK_OPEN_READ, holder, NULL)
#define close_block(held, holder) bdev_release(held)
#else
#define open_block(devt, holder) \
	bdev_file_open_by_dev(devt, BLK_OPEN_READ, holder, NULL)
#define close_block(held, holder) bdev_fput(held)
#endif

/**
 * chario_compat_hold_block() - open a block device for oneself
 * @devt: number of the block device
 * @holder: token of the holder; the same one may hold it several times
 *
 * Context: may sleep.
 * Return: what chario_compat_let_go_block() takes, or an ERR_PTR: EBUSY if somebody else has it
 * for himself.
 */
void *chario_compat_hold_block(dev_t devt, void *holder)
{
	return open_block(devt, holder);
}

/**
 * chario_compat_let_go_block() - undo chario_compat_hold_block()
 * @held: result of that function
 * @holder: token of the holder
 */
void chario_compat_let_go_block(void *held, void *holder)
{
	close_block(held, holder);
}
