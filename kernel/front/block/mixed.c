// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests that cannot be sent as they are.  Of some a claim forbids only a few bios: the
 * block layer merges bios of neighbouring partitions, whose writers know nothing of each
 * other.  Others discard more ranges than a command has.
 *
 * Such a request is taken apart.  The bios that are forbidden end; a clone of each other
 * one is submitted, and not merged again.
 */
#include <linux/bio.h>

#include "base/workers.h"
#include "front/block/block.h"
#include "types/drive.h"

/* Number of clones that can be made when no memory is left. */
#define MIN_CLONES	4

/* A clone, because what counts bios has counted this one.  It may wait, and is not polled. */
static void submit(struct chario_mixed *mixed, struct bio *bio)
{
	struct bio *clone = bio_alloc_clone(bio->bi_bdev, bio, GFP_NOIO, &mixed->clones);

	bio_clear_polled(clone);
	clone->bi_opf &= ~REQ_NOWAIT;
	/*
	 * Metadata does not wait for others of its cgroup (blk-iolatency): one of them is the
	 * bio itself.
	 */
	clone->bi_opf |= REQ_NOMERGE | REQ_META;
	bio_chain(clone, bio);
	submit_bio_noacct(clone);
	bio_endio(bio);
}

static void submit_all(struct work_struct *work)
{
	struct chario_mixed *mixed = container_of(work, struct chario_mixed, work);
	struct bio_list bios;
	struct bio *bio;

	spin_lock_irq(&mixed->lock);
	bios = mixed->bios;
	bio_list_init(&mixed->bios);
	spin_unlock_irq(&mixed->lock);
	while ((bio = bio_list_pop(&bios)))
		submit(mixed, bio);
}

/**
 * chario_mixed_init() - make ready for requests that are taken apart
 * @mixed: zeroed memory
 *
 * Return: 0 or ENOMEM.
 */
int chario_mixed_init(struct chario_mixed *mixed)
{
	spin_lock_init(&mixed->lock);
	bio_list_init(&mixed->bios);
	INIT_WORK(&mixed->work, submit_all);
	return bioset_init(&mixed->clones, MIN_CLONES, 0, 0);
}

/**
 * chario_mixed_deinit() - undo chario_mixed_init() when the last request has ended
 * @mixed: the memory given to that function, or zeroed memory
 *
 * Context: may sleep.
 */
void chario_mixed_deinit(struct chario_mixed *mixed)
{
	flush_work(&mixed->work);
	bioset_exit(&mixed->clones);
}

/* Nobody looks for the bio with the cookie of the request that it was in. */
static void stop_polling(struct bio *bio)
{
	bio_clear_polled(bio);
	bio->bi_cookie = BLK_QC_T_NONE;
}

/**
 * chario_mixed_take_apart() - end a request, but only those of its bios that are forbidden
 * @rq: the request, which has not been sent
 *
 * Context: any.
 */
void chario_mixed_take_apart(struct request *rq)
{
	const struct chario_disk *disk = rq->q->queuedata;
	struct chario_mixed *mixed = &disk->drive->tags->mixed;
	struct bio_list bios = BIO_EMPTY_LIST, allowed = BIO_EMPTY_LIST;
	unsigned long flags;
	struct bio *bio;

	blk_steal_bios(&bios, rq);
	blk_mq_end_request(rq, BLK_STS_OK);
	while ((bio = bio_list_pop(&bios))) {
		if (chario_claim_forbids_bio(disk, bio)) {
			bio->bi_status = errno_to_blk_status(-EBADE);
			bio_endio(bio);
			continue;
		}
		stop_polling(bio);
		bio_list_add(&allowed, bio);
	}
	spin_lock_irqsave(&mixed->lock, flags);
	bio_list_merge(&mixed->bios, &allowed);
	spin_unlock_irqrestore(&mixed->lock, flags);
	queue_work(chario_mixed_workqueue, &mixed->work);
}
