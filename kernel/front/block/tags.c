// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tags of a drive's block disks, and the slots that they stand for.
 *
 * Where the drive grants queues for the block side alone, their slots are all lent to
 * it.  Else it gets the upper half of the slots of each shared queue, so that neither
 * side can take what the other needs.
 */
#include <linux/slab.h>

#include "drive/drive.h"
#include "front/block/block.h"
#include "queue/queue.h"

/* Returns the queues of a drive for a use and a way to complete, entered in @to. */
static unsigned int find_queues(const struct chario_drive *drive, unsigned int use,
				bool polled, struct chario_queue **to)
{
	unsigned int i, count = 0;

	for (i = 0; i < drive->nr_queues; i++) {
		struct chario_queue *q = drive->queues[i];

		if (q->use == use && q->polled == polled)
			to[count++] = q;
	}
	return count;
}

/* Choose the queues, of which one at least completes by interrupt. */
static int choose_queues(struct chario_tags *tags)
{
	struct chario_drive *drive = tags->drive;
	int own = 0;

	if (drive->ops->make_block_queues)
		own = drive->ops->make_block_queues(drive);
	if (own < 0)
		return own;
	tags->queues = kcalloc(drive->nr_queues, sizeof(*tags->queues), GFP_KERNEL);
	if (!tags->queues)
		return -ENOMEM;
	if (!own) {
		tags->nr_irq = find_queues(drive, CHARIO_QUEUE_SHARED, false,
					   tags->queues);
		return 0;
	}
	tags->nr_irq = find_queues(drive, CHARIO_QUEUE_BLOCK, false, tags->queues);
	tags->nr_poll = find_queues(drive, CHARIO_QUEUE_BLOCK, true,
				    tags->queues + tags->nr_irq);
	return 0;
}

static void take_back(struct chario_tags *tags, unsigned int count)
{
	while (count--)
		chario_slots_take_back(tags->queues[count]);
}

static int lend(struct chario_tags *tags)
{
	unsigned int i;
	int ret;

	for (i = 0; i < tags->nr_irq + tags->nr_poll; i++) {
		struct chario_queue *q = tags->queues[i];

		ret = chario_slots_lend(q, q->use == CHARIO_QUEUE_SHARED ?
						   DIV_ROUND_UP(q->depth, 2) : 0);
		if (ret) {
			take_back(tags, i);
			return ret;
		}
		if (q->use == CHARIO_QUEUE_BLOCK)
			q->seen = chario_block_seen;
	}
	return 0;
}

static int make_set(struct chario_tags *tags)
{
	const struct chario_queue *q = tags->queues[0];
	struct blk_mq_tag_set *set = &tags->set;

	set->ops = &chario_block_ops;
	set->driver_data = tags;
	set->nr_hw_queues = tags->nr_irq + tags->nr_poll;
	set->nr_maps = tags->nr_poll ? HCTX_MAX_TYPES : 1;
	set->queue_depth = q->depth - q->first_lent;
	set->cmd_size = sizeof(struct chario_block_request);
	set->numa_node = NUMA_NO_NODE;
	/*
	 * A CPU goes off line without waiting for the requests of its queue, as for a device
	 * above others: interrupts move to another CPU.  When the machine falls asleep the
	 * device has lost power by then, and requests in flight are sent again on waking up.
	 */
	set->flags = CHARIO_COMPAT_SHOULD_MERGE | BLK_MQ_F_STACKING;
	/* The device may sleep when it takes a command. */
	if (q->ops->submit)
		set->flags |= BLK_MQ_F_BLOCKING;
	return blk_mq_alloc_tag_set(set);
}

/* Send what was turned away, see queue/isolation.h. */
static void try_again(struct chario_drive *drive)
{
	struct chario_tags *tags = drive->tags;
	const struct chario_disk *disk;
	unsigned long flags;

	spin_lock_irqsave(&tags->lock, flags);
	list_for_each_entry(disk, &tags->disks, block_node)
		blk_mq_run_hw_queues(disk->block->queue, true);
	spin_unlock_irqrestore(&tags->lock, flags);
}

static int tags_init(struct chario_tags *tags)
{
	int ret = chario_mixed_init(&tags->mixed) ?: choose_queues(tags);

	if (ret)
		return ret;
	/* Calls change a part of a block with two commands at a time, see front/patch.c. */
	if (tags->queues[0]->use == CHARIO_QUEUE_SHARED && tags->queues[0]->depth < 3)
		return -EOPNOTSUPP;
	ret = lend(tags);
	if (ret)
		return ret;
	ret = make_set(tags);
	if (ret)
		take_back(tags, tags->nr_irq + tags->nr_poll);
	return ret;
}

/**
 * chario_tags_get() - find or make the tags of a drive
 * @drive: the drive
 *
 * Context: may sleep; under drive->block_lock.
 * Return: the tags, until chario_tags_put(), or an ERR_PTR: ENOMEM; EOPNOTSUPP if the
 * drive takes too few commands at a time to share them; EINTR on a fatal signal; an error of
 * the back end.
 */
struct chario_tags *chario_tags_get(struct chario_drive *drive)
{
	struct chario_tags *tags = drive->tags;
	int ret;

	if (tags) {
		tags->users++;
		return tags;
	}
	tags = kzalloc(sizeof(*tags), GFP_KERNEL);
	if (!tags)
		return ERR_PTR(-ENOMEM);
	tags->drive = drive;
	tags->users = 1;
	spin_lock_init(&tags->lock);
	INIT_LIST_HEAD(&tags->disks);
	ret = tags_init(tags);
	if (ret) {
		chario_mixed_deinit(&tags->mixed);
		kfree(tags->queues);
		kfree(tags);
		return ERR_PTR(ret);
	}
	drive->tags = tags;
	/* Pairs with smp_load_acquire() in ask(): who is to try again finds the tags. */
	smp_store_release(&drive->isolation.try_again, try_again);
	return tags;
}

/**
 * chario_tags_put() - let go of tags, whose slots calls get again after the last
 * @tags: the tags; the block disk of the caller is no more
 *
 * Context: as chario_tags_get().
 */
void chario_tags_put(struct chario_tags *tags)
{
	if (--tags->users)
		return;
	WRITE_ONCE(tags->drive->isolation.try_again, NULL);
	WRITE_ONCE(tags->drive->isolation.turned_away, false);
	timer_delete_sync(&tags->drive->isolation.timer);
	chario_mixed_deinit(&tags->mixed);
	tags->drive->tags = NULL;
	blk_mq_free_tag_set(&tags->set);
	take_back(tags, tags->nr_irq + tags->nr_poll);
	kfree(tags->queues);
	kfree(tags);
}
