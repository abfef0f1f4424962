// SPDX-License-Identifier: GPL-2.0-only
/*
 * Partitions that are made while there are claims: the claims that they touch hold them.
 *
 * The kernel tells of each new block device before it can be opened, under locks that opening
 * takes, so that a worker holds it a moment later.  Until then a claim that had no partition
 * holds the whole block disk; where other partitions are held, somebody may be quicker, and
 * has what he writes refused.  The worker tries again until the partition is held, or is gone,
 * or the claim has ended.
 */
#include <linux/blkdev.h>
#include <linux/device/class.h>
#include <linux/mutex.h>

#include "base/workers.h"
#include "front/block/block.h"

static int added(CHARIO_COMPAT_ADDED)
{
	struct block_device *part = dev_to_bdev(dev);
	struct chario_disk *disk;

	if (!bdev_is_partition(part) ||
	    part->bd_disk->queue->mq_ops != &chario_block_ops)
		return 0;
	disk = part->bd_disk->private_data;
	get_device(&disk->dev);
	/* The work is brought forward if it waits for another try. */
	if (mod_delayed_work(chario_workqueue, &disk->claims_work, 0))
		put_device(&disk->dev);
	return 0;
}

static DEFINE_MUTEX(lock); /* users */
static struct class_interface interface = { .add_dev = added };
static unsigned int users;

/**
 * chario_follow_enter() - be told of partitions that are made
 * @block: a block disk that is being made
 *
 * Context: may sleep.
 * Return: 0 or -errno.
 */
int chario_follow_enter(struct gendisk *block)
{
	int ret = 0;

	mutex_lock(&lock);
	if (!users) {
		interface.class = disk_to_dev(block)->class;
		ret = class_interface_register(&interface);
	}
	users += !ret;
	mutex_unlock(&lock);
	return ret;
}

/**
 * chario_follow_leave() - undo chario_follow_enter()
 *
 * Context: may sleep.
 */
void chario_follow_leave(void)
{
	mutex_lock(&lock);
	if (!--users)
		class_interface_unregister(&interface);
	mutex_unlock(&lock);
}
