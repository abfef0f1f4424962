// SPDX-License-Identifier: GPL-2.0-only
/*
 * The way of a block request: it becomes a request of one command, on the slot that its
 * tag stands for, and comes back.
 *
 * The block layer gives the memory of a request away as soon as it is told of the end, so
 * it is told only when the device has let go (CHARIO_DUTY_LET_GO): a deadline begins
 * recovery.  What recovery has taken back from the device is tried again.
 */
#include <linux/jiffies.h>

#include "drive/drive.h"
#include "front/block/block.h"
#include "memory/bios.h"
#include "queue/isolation.h"
#include "queue/queue.h"
#include "trace.h"

/* Number of times that a request is begun again after recovery has taken it back. */
#define MAX_TRIES	3

/* Begin a request again after recovery; returns false if that has been tried enough. */
static bool try_again(struct request *rq)
{
	struct chario_block_request *note = blk_mq_rq_to_pdu(rq);
	struct chario_disk *disk = rq->q->queuedata;

	if (note->error != -ETIMEDOUT || note->tries == MAX_TRIES)
		return false;
	if (!note->tries++ && op_is_write(req_op(rq)))
		atomic_inc(&disk->block_retries);
	/* The block layer neither merges it with others nor loses the note. */
	rq->rq_flags |= RQF_DONTPREP;
	/* Pairs with the barrier in wait_for_earlier() in claim.c. */
	smp_wmb();
	blk_mq_requeue_request(rq, true);
	return true;
}

static noinline void forget_tries(struct request *rq, struct chario_block_request *note)
{
	struct chario_disk *disk = rq->q->queuedata;

	note->tries = 0;
	if (op_is_write(req_op(rq)))
		atomic_dec(&disk->block_retries);
}

/* Returns the status of a request that has failed; the note is that of a plain one then. */
static blk_status_t end_note(struct request *rq, struct chario_block_request *note)
{
	blk_status_t status = errno_to_blk_status(note->error);

	if (note->tries)
		forget_tries(rq, note);
	note->any = 0;
	return status;
}

/*
 * Returns whether a file system, LVM or the like may use a block disk.  What they have not
 * written yet may need reads.
 */
static bool is_used(const struct gendisk *block)
{
	return READ_ONCE(block->open_partitions) || READ_ONCE(block->part0->bd_holder);
}

/*
 * The drive is being taken away, and has not answered a read however often it was sent.  A
 * partition table is read by one read after another, while no partition is open, and the
 * removal of the block disk waits for the last of them: those that come end at once, and so do
 * those that recovery takes back.  What is still to be written is sent as ever.
 */
static noinline void end_reads(struct chario_disk *disk)
{
	struct chario_tags *tags = disk->drive->tags;
	unsigned long flags;
	bool is_first;

	spin_lock_irqsave(&tags->lock, flags);
	is_first = !disk->block_ends_reads;
	WRITE_ONCE(disk->block_ends_reads, true);
	spin_unlock_irqrestore(&tags->lock, flags);
	if (!is_first)
		return;
	/* The obstacle stays for good, as of a disk that is lost. */
	atomic_inc(&disk->obstacles);
	dev_warn(&disk->dev, "leaves, and does not answer: its block disk gets no more reads\n");
}

/* End a request that has failed, or begin it again; a read in vain may be the last one. */
static noinline void block_fail(struct request *rq)
{
	struct chario_block_request *note = blk_mq_rq_to_pdu(rq);
	struct chario_disk *disk = rq->q->queuedata;

	if (try_again(rq))
		return;
	if (note->error == -ETIMEDOUT && req_op(rq) == REQ_OP_READ &&
	    READ_ONCE(disk->drive->leaves) && !is_used(rq->q->disk))
		end_reads(disk);
	blk_mq_end_request(rq, end_note(rq, note));
}

/* The last step, on the CPU that has sent the request. */
static void block_complete(struct request *rq)
{
	struct chario_block_request *note = blk_mq_rq_to_pdu(rq);

	if (unlikely(note->error))
		block_fail(rq);
	else
		blk_mq_end_request(rq, BLK_STS_OK);
}

/*
 * End a request together with others that were found with it.  On queues of the block side
 * alone those who look are block_poll() and chario_block_seen(), with a batch.
 */
static bool add_to_batch(struct request *rq, struct chario_block_request *note,
			 const void *looker)
{
	const struct chario_queue *q = rq->mq_hctx->driver_data;

	return q->use == CHARIO_QUEUE_BLOCK &&
	       blk_mq_add_to_batch(rq, (struct io_comp_batch *)looker, note->error,
				   blk_mq_end_request_batch);
}

static noinline void uncount(struct request *rq, struct chario_block_request *note)
{
	const struct chario_disk *disk = rq->q->queuedata;

	note->counted = false;
	chario_isolation_end(disk->drive);
}

/* Note the end of a request that has failed, or has been begun again, or was counted. */
static noinline void note_end(struct request *rq, struct chario_block_request *note,
			      ssize_t result)
{
	if (note->counted)
		uncount(rq, note);
	note->error = min_t(ssize_t, result, 0);
	if (!note->error && note->tries)
		forget_tries(rq, note);
}

/* The core tells of the end of a request. */
static void tell(void *who, ssize_t result, const void *looker)
{
	struct request *rq = who;
	struct chario_block_request *note = blk_mq_rq_to_pdu(rq);

	if (unlikely(result < 0 || note->any))
		note_end(rq, note, result);
	if (blk_mq_complete_request_remote(rq))
		return;
	if (!looker || !add_to_batch(rq, note, looker))
		block_complete(rq);
}

/**
 * chario_block_seen() - finish requests that have been found together
 * @q: a queue of the block side alone
 * @done: list of ended requests
 *
 * Context: any but under q->lock.
 */
void chario_block_seen(struct chario_queue *q, struct chario_request *done)
{
	DEFINE_IO_COMP_BATCH(batch);

	chario_complete_seen(q, done, &batch);
	if (batch.complete)
		batch.complete(&batch);
}

/*
 * Note the ranges of a discard, one for each bio.  Where one range is allowed, the block layer
 * merges any number of bios, but only such as continue each other.  Returns 0; E2BIG if there
 * are more ranges than are allowed, or more bytes in several: an I/O scheduler merges requests
 * without adding them up.
 */
static int fill_ranges(struct chario_command *cmd, const struct request *rq)
{
	const unsigned int most = queue_max_discard_segments(rq->q);
	const u64 most_bytes = (u64)min(rq->q->limits.max_hw_discard_sectors,
					UINT_MAX >> SECTOR_SHIFT) << SECTOR_SHIFT;
	struct chario_disk_range *ranges = chario_command_ranges(cmd);
	const struct bio *bio;
	u64 bytes = 0;

	cmd->nr_ranges = 0;
	cmd->bytes = 0;
	if (most == 1) {
		ranges->offset = blk_rq_pos(rq) << SECTOR_SHIFT;
		ranges->bytes = blk_rq_bytes(rq);
		cmd->nr_ranges = 1;
		return 0;
	}
	__rq_for_each_bio(bio, rq) {
		struct chario_disk_range *range = &ranges[cmd->nr_ranges];

		bytes += bio->bi_iter.bi_size;
		if (unlikely(cmd->nr_ranges &&
			     (cmd->nr_ranges == most || bytes > most_bytes)))
			return -E2BIG;
		range->offset = bio->bi_iter.bi_sector << SECTOR_SHIFT;
		range->bytes = bio->bi_iter.bi_size;
		cmd->nr_ranges++;
	}
	return 0;
}

/* Fill in the command for an operation that moves no bytes. */
static noinline int fill_other(struct chario_queue *q, struct chario_command *cmd,
			       struct request *rq)
{
	struct chario_request *req = &cmd->own;
	int ret;

	cmd->nr_pages = 0;
	cmd->nr_segments = 0;
	cmd->page_offset = 0;
	switch (req_op(rq)) {
	case REQ_OP_FLUSH:
		req->op = CHARIO_OP_FLUSH;
		req->control = 0;
		cmd->bytes = 0;
		cmd->disk_offset = 0;
		return 0;
	case REQ_OP_DISCARD:
		req->op = CHARIO_OP_DISCARD;
		req->control = 0;
		ret = fill_ranges(cmd, rq);
		if (!ret && q->ops->prep)
			q->ops->prep(q, cmd);
		return ret;
	case REQ_OP_WRITE_ZEROES:
		req->op = CHARIO_OP_WRITE_ZEROES;
		if (req->disk->zeroes_may_discard &&
		    !(rq->cmd_flags & REQ_NOUNMAP))
			req->control |= CHARIO_CONTROL_MAY_DISCARD;
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}

/* split -> map -> queue: fill in the command of a request. */
static __always_inline int fill(struct chario_queue *q, struct chario_command *cmd,
				struct chario_disk *disk, struct request *rq)
{
	struct chario_request *req = &cmd->own;
	enum req_op op = req_op(rq);
	int ret;

	req->control = READ_ONCE(disk->control);
	if (unlikely(rq->cmd_flags & REQ_FUA))
		req->control |= CHARIO_CONTROL_FUA;
	req->orphaned = false;
	req->overdue = false;
	req->duty = CHARIO_DUTY_LET_GO | CHARIO_DUTY_LENT;
	req->error = 0;
	req->disk = disk;
	req->origin = NULL;
	req->buffer = NULL;
	req->first = cmd;
	req->expires = jiffies + 1 + READ_ONCE(disk->deadline);
	req->pending = 1;
	req->bytes = blk_rq_bytes(rq);
	cmd->req = req;
	cmd->next = NULL;
	cmd->req_offset = 0;
	cmd->hold = CHARIO_HOLD_CALLER;
	cmd->disk_offset = blk_rq_pos(rq) << SECTOR_SHIFT;
	cmd->bytes = req->bytes;
	if (unlikely(op != REQ_OP_READ && op != REQ_OP_WRITE)) {
		trace_split(q, cmd, 0);
		return fill_other(q, cmd, rq);
	}
	req->op = op == REQ_OP_READ ? CHARIO_OP_READ : CHARIO_OP_WRITE;
	trace_split(q, cmd, 0);
	ret = chario_bios_map(q, cmd, rq);
	if (unlikely(ret))
		return ret;
	trace_map(q, cmd, 0);
	if (unlikely(chario_queue_must_prep(q, cmd)))
		q->ops->prep(q, cmd);
	trace_queue(q, cmd, 0);
	return 0;
}

/*
 * Send a request; tells the device if @kick is set.  Returns 0; EBUSY if it has to wait for
 * urgent calls, EAGAIN for room to map its memory; E2BIG if it has too many ranges; EBADE if a
 * claim forbids it; or another -errno.
 */
static __always_inline int send(struct blk_mq_hw_ctx *hctx, struct request *rq,
				bool kick)
{
	struct chario_queue *q = hctx->driver_data;
	struct chario_disk *disk = rq->q->queuedata;
	struct chario_command *cmd = chario_queue_command(q, q->first_lent + rq->tag);
	struct chario_block_request *note = blk_mq_rq_to_pdu(rq);
	int ret;

	if (op_is_write(req_op(rq)) && unlikely(!list_empty(&disk->claims)) &&
	    chario_claim_forbids(disk, rq))
		return -EBADE;
	if (unlikely(chario_isolation_is_on(disk->drive))) {
		note->counted = chario_isolation_admit(disk->drive);
		if (!note->counted)
			return -EBUSY;
	}
	ret = fill(q, cmd, disk, rq);
	if (unlikely(ret)) {
		if (note->counted)
			uncount(rq, note);
		return ret;
	}
	cmd->own.waiter = NULL;
	cmd->own.async.tell = tell;
	cmd->own.async.who = rq;
	this_cpu_inc(disk->counters->commands[cmd->own.op]);
	blk_mq_start_request(rq);
	chario_queue_post(q, cmd, kick);
	return 0;
}

/* Returns what the block layer is told of a request that has not been sent. */
static noinline blk_status_t refuse(struct request *rq, int ret)
{
	struct chario_block_request *note = blk_mq_rq_to_pdu(rq);

	/*
	 * The block layer comes again by itself: the end of the urgent calls may be told before it
	 * has put the request down, and nobody tells of room for mappings.
	 */
	if (ret == -EBUSY || ret == -EAGAIN)
		return BLK_STS_RESOURCE;
	if ((ret == -EBADE && rq->bio != rq->biotail) || ret == -E2BIG) {
		struct chario_queue *q = rq->mq_hctx->driver_data;

		chario_mixed_take_apart(rq);
		/* The request may be the last of several, for all of which the device is told. */
		chario_queue_kick(q);
		return BLK_STS_OK;
	}
	note->error = ret;
	return end_note(rq, note);
}

static blk_status_t queue_rq(struct blk_mq_hw_ctx *hctx,
			     const struct blk_mq_queue_data *bd)
{
	int ret = send(hctx, bd->rq, bd->last);

	return unlikely(ret) ? refuse(bd->rq, ret) : BLK_STS_OK;
}

/* Sends a list of requests; those that cannot be sent are left, for queue_rq(). */
static void queue_rqs(chario_compat_rqs *list)
{
	chario_compat_rqs left = { NULL };
	struct request *rq, *next;

	for (rq = rq_list_pop(list); rq; rq = next) {
		struct blk_mq_hw_ctx *hctx = rq->mq_hctx;
		bool last;

		next = rq_list_pop(list);
		last = !next || next->mq_hctx != hctx;
		if (likely(!send(hctx, rq, last)))
			continue;
		chario_compat_rqs_add(&left, rq);
		if (last)
			chario_queue_kick(hctx->driver_data);
	}
	*list = left;
}

static void commit_rqs(struct blk_mq_hw_ctx *hctx)
{
	chario_queue_kick(hctx->driver_data);
}

static int block_poll(struct blk_mq_hw_ctx *hctx, struct io_comp_batch *batch)
{
	return chario_queue_poll_for(hctx->driver_data, batch);
}

/* The watchdog of the queue looks after deadlines, and recovery ends what is late. */
static enum blk_eh_timer_return block_timeout(struct request *rq)
{
	return BLK_EH_RESET_TIMER;
}

static int init_hctx(struct blk_mq_hw_ctx *hctx, void *data, unsigned int index)
{
	const struct chario_tags *tags = data;

	hctx->driver_data = tags->queues[index];
	return 0;
}

/* CPUs have their queues as on the character side, see disk.c there. */
static void map_kind(struct blk_mq_queue_map *map, unsigned int offset,
		     unsigned int count)
{
	int cpu;

	map->queue_offset = offset;
	map->nr_queues = count;
	for_each_possible_cpu(cpu)
		map->mq_map[cpu] = offset + cpu % max(count, 1U);
}

static void map_queues(struct blk_mq_tag_set *set)
{
	const struct chario_tags *tags = set->driver_data;

	map_kind(&set->map[HCTX_TYPE_DEFAULT], 0, tags->nr_irq);
	if (set->nr_maps > HCTX_TYPE_POLL) {
		map_kind(&set->map[HCTX_TYPE_READ], 0, 0);
		map_kind(&set->map[HCTX_TYPE_POLL], tags->nr_irq, tags->nr_poll);
	}
}

const struct blk_mq_ops chario_block_ops = {
	.queue_rq	= queue_rq,
	.queue_rqs	= queue_rqs,
	.commit_rqs	= commit_rqs,
	.complete	= block_complete,
	.timeout	= block_timeout,
	.poll		= block_poll,
	.init_hctx	= init_hctx,
	.map_queues	= map_queues,
};
