// SPDX-License-Identifier: GPL-2.0-only
/*
 * Claims: the block side changes nothing in a part of the disk whose node is open for
 * writing, and a node is not opened for writing while the block side uses its part.
 *
 * A claim holds the partitions of the block disk that its part touches, as a mount does:
 * who wants them for himself gets EBUSY, on either side.  Those who do not ask for that,
 * such as dd, are refused request by request, whichever block device they write to.
 *
 * A node without a partition, for the partition table has been changed, holds the whole
 * block disk.
 */
#include <linux/blkdev.h>
#include <linux/rculist.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "base/workers.h"
#include "front/block/block.h"
#include "queue/queue.h"
#include "types/drive.h"
#include "types/node.h"

/**
 * struct chario_claim - a part of a disk that a node has claimed
 * @entry: entry in the list of the claims of the disk
 * @rcu: the claim is freed when no request is being held against it any more
 * @first: byte offset of the part on the disk
 * @end: byte offset behind it
 * @held: block devices that are held, as chario_compat_hold_block() returns them
 * @nr_held: number of block devices that are held
 * @has_told: 1 if the administrator has been told of a refused request
 */
struct chario_claim {
	struct list_head entry;
	struct rcu_head rcu;
	u64 first;
	u64 end;
	void **held;
	unsigned int nr_held;
	int has_told;
};

static bool touches(const struct chario_claim *claim, sector_t sector, u64 bytes)
{
	u64 pos = (u64)sector << SECTOR_SHIFT;

	return pos < claim->end && pos + bytes > claim->first;
}

/* Tell the administrator of the first change that is refused. */
static void warn(const struct chario_disk *disk, struct chario_claim *claim,
		 const struct bio *bio)
{
	if (!xchg(&claim->has_told, 1))
		dev_warn(&disk->dev,
			 "a change of %u bytes at %llu on the block disk was refused: a character disk is open for writing there\n",
			 bio->bi_iter.bi_size,
			 (u64)bio->bi_iter.bi_sector << SECTOR_SHIFT);
}

/**
 * chario_claim_forbids_bio() - tell if a bio would change a part that is claimed
 * @disk: the disk
 * @bio: a bio that changes what is on the disk
 *
 * Context: any.
 */
bool chario_claim_forbids_bio(const struct chario_disk *disk, const struct bio *bio)
{
	struct chario_claim *claim;
	bool forbids = false;

	rcu_read_lock();
	list_for_each_entry_rcu(claim, &disk->claims, entry)
		if (touches(claim, bio->bi_iter.bi_sector, bio->bi_iter.bi_size)) {
			forbids = true;
			warn(disk, claim, bio);
		}
	rcu_read_unlock();
	return forbids;
}

/**
 * chario_claim_forbids() - tell if a request would change a part that is claimed
 * @disk: the disk
 * @rq: a request that changes what is on the disk
 *
 * A claim waits for the end of requests that are tried again: they were sent before it.
 *
 * Context: any.
 */
bool chario_claim_forbids(const struct chario_disk *disk, struct request *rq)
{
	const struct chario_block_request *note = blk_mq_rq_to_pdu(rq);
	const struct bio *bio;

	if (note->tries)
		return false;
	__rq_for_each_bio(bio, rq)
		if (chario_claim_forbids_bio(disk, bio))
			return true;
	return false;
}

/*
 * Finds the next partition from index @index on that a claim touches.  Returns its number,
 * or 0 if there is none.
 */
static dev_t next_partition(struct gendisk *block, const struct chario_claim *claim,
			    unsigned long *index)
{
	struct block_device *part;
	dev_t devt = 0;

	rcu_read_lock();
	xa_for_each_start(&block->part_tbl, *index, part, *index)
		if (touches(claim, part->bd_start_sect, bdev_nr_bytes(part))) {
			devt = part->bd_dev;
			break;
		}
	rcu_read_unlock();
	return devt;
}

/**
 * struct holding - a block device that is to be held
 * @claim: the claim
 * @disk: disk of the claim
 * @devt: number of the block device
 */
struct holding {
	struct chario_claim *claim;
	struct chario_disk *disk;
	dev_t devt;
};

static int hold_one(void *argument)
{
	struct holding *holding = argument;
	struct chario_claim *claim = holding->claim;
	void *held = chario_compat_hold_block(holding->devt, holding->disk);

	if (IS_ERR(held))
		return PTR_ERR(held);
	claim->held[claim->nr_held++] = held;
	return 0;
}

/* Hold one block device.  The caller needs the rights to his node alone. */
static int hold(struct chario_claim *claim, struct chario_disk *disk, dev_t devt)
{
	struct holding holding = { .claim = claim, .disk = disk, .devt = devt };
	void **longer = krealloc_array(claim->held, claim->nr_held + 1, sizeof(*longer),
				       GFP_KERNEL);

	if (!longer)
		return -ENOMEM;
	claim->held = longer;
	return chario_workers_run(hold_one, &holding);
}

static void let_go(struct chario_claim *claim, struct chario_disk *disk)
{
	while (claim->nr_held)
		chario_compat_let_go_block(claim->held[--claim->nr_held], disk);
	kfree(claim->held);
	claim->held = NULL;
}

/* Hold the partitions that a claim touches; without any, the block disk. */
static int hold_all(struct chario_claim *claim, struct chario_disk *disk)
{
	struct gendisk *block = disk->block;
	bool is_whole = !claim->first && claim->end == disk->capacity_bytes;
	unsigned long index = 1;
	int ret = 0;
	dev_t devt;

	for (; !is_whole && !ret; index++) {
		devt = next_partition(block, claim, &index);
		if (!devt)
			break;
		ret = hold(claim, disk, devt);
		/* The partition has just been taken away. */
		if (ret == -ENXIO)
			ret = 0;
	}
	if (!ret && !claim->nr_held)
		ret = hold(claim, disk, disk_devt(block));
	if (ret)
		let_go(claim, disk);
	return ret;
}

/* Is there a block disk, and is it to stay?  Under disk->node_lock. */
static bool has_block(const struct chario_disk *disk)
{
	return disk->block && !disk->block_leaves;
}

/**
 * struct contest - a claim that begins
 * @claim: the claim
 * @disk: disk of the claim
 */
struct contest {
	const struct chario_claim *claim;
	const struct chario_disk *disk;
};

/* The ranges are in the memory of the command, which stays when the request ends. */
static bool discards(struct request *rq, const struct chario_claim *claim)
{
	struct chario_queue *q = rq->mq_hctx->driver_data;
	int tag = READ_ONCE(rq->tag);
	struct chario_command *cmd;
	unsigned int i;

	if (tag < 0)
		return false;
	cmd = chario_queue_command(q, q->first_lent + tag);
	for (i = 0; i < min_t(unsigned int, cmd->nr_ranges, q->max_pages); i++) {
		const struct chario_disk_range *range = &chario_command_ranges(cmd)[i];

		if (touches(claim, range->offset >> SECTOR_SHIFT, range->bytes))
			return true;
	}
	return false;
}

/* Does a request that the device has change what a claim wants? */
static bool contests(struct request *rq, const void *with)
{
	const struct contest *contest = with;

	if (rq->q != contest->disk->block->queue || !op_is_write(req_op(rq)))
		return false;
	if (req_op(rq) == REQ_OP_DISCARD)
		return discards(rq, contest->claim);
	return touches(contest->claim, blk_rq_pos(rq), blk_rq_bytes(rq));
}

/* Wait for the changes that were sent before a claim was listed. */
static int wait_for_earlier(const struct chario_claim *claim,
			    const struct chario_disk *disk)
{
	struct contest contest = { .claim = claim, .disk = disk };
	int ret;

	chario_compat_wait_dispatch(disk->block->queue);
	do {
		ret = chario_block_wait(disk->drive->tags, contests, &contest);
		/* Pairs with the barrier in try_again(). */
		smp_rmb();
		if (ret || !atomic_read(&disk->block_retries))
			return ret;
		schedule_timeout_killable(1);
	} while (!fatal_signal_pending(current));
	return -EINTR;
}

/*
 * List a claim, whose part the block side changes no more from then on.  What it has
 * changed before is written; what its page caches have afterwards is of no use.
 */
static int enter(struct chario_claim *claim, struct chario_disk *disk)
{
	int ret;

	if (claim->nr_held)
		chario_cache_write(disk->block, claim->first, claim->end);
	list_add_rcu(&claim->entry, &disk->claims);
	if (!claim->nr_held)
		return 0;
	ret = wait_for_earlier(claim, disk);
	if (!ret)
		chario_cache_drop(disk->block, claim->first, claim->end);
	return ret;
}

static void leave(struct chario_claim *claim, struct chario_disk *disk)
{
	list_del_rcu(&claim->entry);
	let_go(claim, disk);
	kfree_rcu(claim, rcu);
}

/**
 * chario_claim_take() - claim the part of a node
 * @node: a node without a claim
 *
 * Context: may sleep; under disk->node_lock.
 * Return: 0; EBUSY if somebody uses a partition that the part touches, or the whole block
 * disk; EINTR on a fatal signal; ENOMEM.
 */
int chario_claim_take(struct chario_node *node)
{
	struct chario_disk *disk = node->disk;
	struct chario_claim *claim = kzalloc(sizeof(*claim), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!claim)
		return -ENOMEM;
	claim->first = node->first;
	claim->end = node->first + node->bytes;
	ret = has_block(disk) ? hold_all(claim, disk) : 0;
	if (ret) {
		kfree(claim);
		return ret;
	}
	ret = enter(claim, disk);
	if (ret)
		leave(claim, disk);
	else
		node->claim = claim;
	return ret;
}

/**
 * chario_claim_drop() - drop the claim of a node
 * @node: a node with a claim
 *
 * What the block side has cached meanwhile goes first: it may be older than the disk.
 *
 * Context: may sleep; under disk->node_lock.
 */
void chario_claim_drop(struct chario_node *node)
{
	struct chario_claim *claim = node->claim;

	if (claim->nr_held)
		chario_cache_drop(node->disk->block, claim->first, claim->end);
	node->claim = NULL;
	leave(claim, node->disk);
}

/**
 * chario_claims_hold() - let all claims of a disk hold a block disk that is new
 * @disk: the disk
 *
 * Context: may sleep; under disk->node_lock.
 * Return: 0; EBUSY if somebody uses what is claimed; ENOMEM.
 */
int chario_claims_hold(struct chario_disk *disk)
{
	struct chario_claim *claim;
	int ret = 0;

	list_for_each_entry(claim, &disk->claims, entry)
		if (!ret)
			ret = hold_all(claim, disk);
	if (ret)
		chario_claims_let_go(disk);
	return ret;
}

/**
 * chario_claims_let_go() - let the claims of a disk hold nothing of its block disk
 * @disk: the disk
 *
 * Context: may sleep; under disk->node_lock.
 */
void chario_claims_let_go(struct chario_disk *disk)
{
	struct chario_claim *claim;

	list_for_each_entry(claim, &disk->claims, entry)
		let_go(claim, disk);
}

/**
 * chario_claims_hold_any() - tell if claims of a disk hold something of its block disk
 * @disk: the disk
 *
 * Context: under disk->node_lock.
 */
bool chario_claims_hold_any(const struct chario_disk *disk)
{
	const struct chario_claim *claim;

	list_for_each_entry(claim, &disk->claims, entry)
		if (claim->nr_held)
			return true;
	return false;
}
