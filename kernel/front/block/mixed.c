// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests of which a claim forbids only some bios: the block layer merges bios of
 * neighbouring partitions, whose writers know nothing of each other.
 *
 * Such a request is taken apart.  The bios that are forbidden end; the others are
 * submitted anew, and not merged again.
 */
#include <linux/bio.h>

#include "base/workers.h"
#include "front/block/block.h"
#include "types/drive.h"

static void submit(struct work_struct *work)
{
	struct chario_mixed *mixed = container_of(work, struct chario_mixed, work);
	struct bio_list bios;
	struct bio *bio;

	spin_lock_irq(&mixed->lock);
	bios = mixed->bios;
	bio_list_init(&mixed->bios);
	spin_unlock_irq(&mixed->lock);
	while ((bio = bio_list_pop(&bios)))
		submit_bio_noacct(bio);
}

/**
 * chario_mixed_init() - initialise the bios that are to be submitted anew
 * @mixed: the bios
 */
void chario_mixed_init(struct chario_mixed *mixed)
{
	spin_lock_init(&mixed->lock);
	bio_list_init(&mixed->bios);
	INIT_WORK(&mixed->work, submit);
}

/* Nobody looks for the bio with the cookie of the request that it was in. */
static void prepare(struct bio *bio)
{
	bio->bi_opf |= REQ_NOMERGE;
	bio->bi_opf &= ~REQ_POLLED;
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
	struct chario_tags *tags = disk->drive->tags;
	struct chario_mixed *mixed = &tags->mixed;
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
		prepare(bio);
		bio_list_add(&allowed, bio);
	}
	spin_lock_irqsave(&mixed->lock, flags);
	bio_list_merge(&mixed->bios, &allowed);
	spin_unlock_irqrestore(&mixed->lock, flags);
	queue_work(chario_submit_workqueue, &mixed->work);
}
