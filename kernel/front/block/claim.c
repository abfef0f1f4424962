// SPDX-License-Identifier: GPL-2.0-only
/*
 * Claims: the block side changes nothing in a part of the disk whose node is open for
 * writing, and a node is not opened for writing while the block side uses its part.
 *
 * A claim holds the partitions of the block disk that its part touches, as a mount does
 * (hold.c): who wants them for himself gets EBUSY, on either side.  Those who do not ask for
 * that, such as dd, are refused request by request, whichever block device they write to.
 */
#include <linux/blkdev.h>
#include <linux/rculist.h>
#include <linux/sched.h>
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
 * @holding: the part, and what is held of the block disk because of it
 * @refusal_logged: 1 if the administrator has been told of a refused request
 * @conflict_logged: true if the administrator has been told that somebody else has a partition
 */
struct chario_claim {
	struct list_head entry;
	struct rcu_head rcu;
	struct chario_holding holding;
	int refusal_logged;
	bool conflict_logged;
};

/* The time after which a claim tries again to hold a partition that it could not. */
#define HOLD_AGAIN	(2 * HZ)

static bool touches(const struct chario_claim *claim, sector_t sector, u64 bytes)
{
	u64 pos = (u64)sector << SECTOR_SHIFT;

	return pos < claim->holding.end && pos + bytes > claim->holding.first;
}

/* Tell the administrator of the first change that is refused. */
static void warn(const struct chario_disk *disk, struct chario_claim *claim,
		 const struct bio *bio)
{
	if (!xchg(&claim->refusal_logged, 1))
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

/* Wait for the changes that were sent before a claim was listed, unless it is given up. */
static int wait_for_earlier(const struct chario_claim *claim,
			    const struct chario_disk *disk, const bool *given_up)
{
	struct contest contest = { .claim = claim, .disk = disk };
	int ret;

	chario_compat_wait_dispatch(disk->block->queue);
	do {
		ret = chario_block_wait(disk->drive->tags, contests, &contest,
					given_up);
		/* Pairs with the barrier in try_again(). */
		smp_rmb();
		if (ret || !atomic_read(&disk->block_retries))
			return ret;
		schedule_timeout_uninterruptible(1);
	} while (!READ_ONCE(*given_up));
	return -EINTR;
}

/*
 * List a claim, whose part the block side changes no more from then on.  What it has
 * changed before is written; what its page caches have afterwards is of no use.
 */
static int list_claim(struct chario_claim *claim, struct chario_disk *disk,
		      const bool *given_up)
{
	int ret;

	if (has_block(disk))
		chario_cache_write(disk->block, claim->holding.first, claim->holding.end);
	list_add_rcu(&claim->entry, &disk->claims);
	if (!has_block(disk))
		return 0;
	ret = chario_hold_check(&claim->holding, disk) ?:
	      wait_for_earlier(claim, disk, given_up);
	if (!ret)
		chario_cache_drop(disk->block, claim->holding.first, claim->holding.end);
	return ret;
}

static void unlist_claim(struct chario_claim *claim, struct chario_disk *disk)
{
	list_del_rcu(&claim->entry);
	chario_hold_drop(&claim->holding, disk);
	kfree_rcu(claim, rcu);
}

/**
 * chario_claim_take() - claim the part of a node
 * @node: a node without a claim
 * @given_up: true as soon as nobody wants the claim any more; may be NULL if there is no
 *	block disk
 *
 * Context: may sleep; in a worker if there is a block disk; under disk->node_lock.
 * Return: 0; EBUSY if somebody uses a partition that the part touches, or the whole block
 * disk; ENXIO if the block disk is being taken away; EINTR if it is given up; ENOMEM.
 */
int chario_claim_take(struct chario_node *node, const bool *given_up)
{
	struct chario_disk *disk = node->disk;
	struct chario_claim *claim = kzalloc(sizeof(*claim), GFP_KERNEL);
	int ret;

	if (!claim)
		return -ENOMEM;
	claim->holding.first = node->first;
	claim->holding.end = node->first + node->bytes;
	ret = has_block(disk) ? chario_hold_take(&claim->holding, disk) : 0;
	if (ret) {
		kfree(claim);
		return ret;
	}
	ret = list_claim(claim, disk, given_up);
	if (ret)
		unlist_claim(claim, disk);
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

	if (has_block(node->disk))
		chario_cache_drop(node->disk->block, claim->holding.first,
				  claim->holding.end);
	node->claim = NULL;
	unlist_claim(claim, node->disk);
}

static int hold_all(void *argument)
{
	struct chario_disk *disk = argument;
	struct chario_claim *claim;
	int ret = 0;

	list_for_each_entry(claim, &disk->claims, entry)
		if (!ret)
			ret = chario_hold_take(&claim->holding, disk);
	if (ret)
		chario_claims_let_go(disk);
	return ret;
}

/**
 * chario_claims_hold() - let all claims of a disk hold a block disk that is new
 * @disk: the disk
 *
 * Context: may sleep; not in work of chario_workqueue; under disk->node_lock.
 * Return: 0; EBUSY if somebody uses what is claimed; ENXIO; ENOMEM.
 */
int chario_claims_hold(struct chario_disk *disk)
{
	return chario_workers_run(hold_all, disk);
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
		chario_hold_drop(&claim->holding, disk);
}

/**
 * chario_claims_forbid_open() - tell if a removed partition in the part of a claim is about to be
 * opened exclusively
 * @disk: the disk
 *
 * That program has looked it up before the claim was taken, and the partition table has been
 * read again meanwhile: what the claim holds does not keep the program out.
 *
 * Context: under open_mutex of the block disk.
 */
bool chario_claims_forbid_open(const struct chario_disk *disk)
{
	const struct chario_claim *claim;
	const void *claiming;
	bool forbid = false;

	/*
	 * An exclusive open first sets bd_claiming of the whole disk, one open at a time.  If a
	 * claim has set it, no program is about to open anything exclusively.
	 */
	if (likely(list_empty(&disk->claims)))
		return false;
	claiming = READ_ONCE(disk->block->part0->bd_claiming);
	if (!claiming || claiming == disk)
		return false;
	rcu_read_lock();
	list_for_each_entry_rcu(claim, &disk->claims, entry)
		forbid |= chario_part_is_late(disk->block, claim->holding.first,
					      claim->holding.end);
	rcu_read_unlock();
	return forbid;
}

/**
 * chario_claims_are_holding() - tell if claims of a disk hold something of its block disk
 * @disk: the disk
 *
 * Context: under disk->node_lock.
 */
bool chario_claims_are_holding(const struct chario_disk *disk)
{
	const struct chario_claim *claim;

	list_for_each_entry(claim, &disk->claims, entry)
		if (claim->holding.nr)
			return true;
	return false;
}

/* Hold what a claim is to hold.  Returns false if that is to be tried again. */
static bool follow(struct chario_claim *claim, struct chario_disk *disk)
{
	int ret = chario_hold_follow(&claim->holding, disk);

	if (ret == -EBUSY && !claim->conflict_logged)
		dev_warn(&disk->dev,
			 "a partition was made where a character disk is open for writing, and is in use: what is written to it is refused\n");
	claim->conflict_logged = ret && (ret == -EBUSY || claim->conflict_logged);
	return !ret;
}

/* Returns false if that is to be tried again.  Under disk->node_lock. */
static bool follow_all(struct chario_disk *disk)
{
	struct chario_claim *claim;
	bool is_done = true;

	if (!has_block(disk))
		return true;
	/* First each claim drops the whole disk, so that in the second pass all get their parts. */
	list_for_each_entry(claim, &disk->claims, entry)
		chario_hold_follow(&claim->holding, disk);
	list_for_each_entry(claim, &disk->claims, entry)
		is_done &= follow(claim, disk);
	return is_done;
}

/**
 * chario_claims_follow() - hold what has become a partition since claims were taken
 * @work: @claims_work of a disk, with a reference to it, which is dropped unless the work is
 *	queued again
 *
 * A program that has been quicker keeps its partition, and changes nothing in what is claimed.
 * When that program has let go the claim holds the partition.
 *
 * Context: may sleep.
 */
void chario_claims_follow(struct work_struct *work)
{
	struct chario_disk *disk = container_of(to_delayed_work(work), struct chario_disk,
						claims_work);
	bool again;

	mutex_lock(&disk->node_lock);
	again = !follow_all(disk) &&
		queue_delayed_work(chario_workqueue, &disk->claims_work, HOLD_AGAIN);
	mutex_unlock(&disk->node_lock);
	if (!again)
		put_device(&disk->dev);
}
