// SPDX-License-Identifier: GPL-2.0-only
/*
 * The hot path of an I/O queue: prep, post, kick, reap.
 */
#include "nvme.h"
#include "table.h"
#include "trace.h"
#include "types/buffer.h"

/**
 * struct back - the back end's part of a command
 * @dptr: data pointer of its NVMe command
 * @sent_again: RESENT, and the identifier with which the command was sent again
 */
struct back {
	union nvme_data_ptr dptr;
	u32 sent_again;
};

#define RESENT	BIT(16)

static struct back *back_of(struct chario_command *cmd)
{
	return (struct back *)cmd->back;
}

static void nvme_prep(struct chario_queue *q, struct chario_command *cmd)
{
	const struct chario_nvme_queue *nq = to_nvme_queue(q);

	if (unlikely(cmd->req->op == CHARIO_OP_DISCARD))
		chario_nvme_prp_fill_ranges(nq, cmd);
	else
		chario_nvme_prp_build(nq, cmd, &back_of(cmd)->dptr);
}

/*
 * An identifier is a tag (bits 0 to 9) and a generation (bits 10 to 15), which grows
 * with each completion and each reset.  A completion that comes twice, or an abort that
 * comes late, has an old generation and ends nothing.  Generations repeat after 64
 * commands of a tag.
 */
#define NEXT_ID	CHARIO_NVME_MAX_DEPTH

static __always_inline struct chario_command *
command_of(const struct chario_nvme_queue *nq, u32 id)
{
	return chario_queue_command(&nq->core, id & nq->tag_mask);
}

/*
 * The last word of a completion contains the identifier, and above it the status, whose
 * lowest bit is the phase.  It is read once and in one piece, so that a drive that
 * changes an entry meanwhile cannot change what has been checked.
 */
static_assert(offsetof(struct nvme_completion, command_id) == 12 &&
	      offsetof(struct nvme_completion, status) == 14);

static __always_inline const __le32 *last_word(const struct nvme_completion *cqe)
{
	return (const __le32 *)cqe + 3;
}

static __always_inline u32 read_end(const struct nvme_completion *cqe)
{
	return le32_to_cpu(READ_ONCE(*last_word(cqe)));
}

/*
 * The CHARIO_CONTROL_* bits are the topmost bits of the control field of a read or
 * write.
 */
#define CONTROL_SHIFT	14

static_assert(CHARIO_CONTROL_FUA << CONTROL_SHIFT == NVME_RW_FUA);
static_assert(CHARIO_CONTROL_LIMITED_RETRY << CONTROL_SHIFT == NVME_RW_LR);

static const u8 opcodes[CHARIO_NR_OPS] = {
	[CHARIO_OP_READ] = nvme_cmd_read,
	[CHARIO_OP_WRITE] = nvme_cmd_write,
	[CHARIO_OP_FLUSH] = nvme_cmd_flush,
	[CHARIO_OP_DISCARD] = nvme_cmd_dsm,
	[CHARIO_OP_WRITE_ZEROES] = nvme_cmd_write_zeroes,
};

static __always_inline void ring_submission(struct chario_nvme_queue *nq)
{
	/*
	 * The trace comes first, because another CPU may handle the interrupt at once.
	 */
	trace_doorbell(&nq->core, 0);
	/* writel() orders the entries before the doorbell. */
	writel(nq->tail, nq->sq_doorbell);
	nq->rung = nq->tail;
	nq->core.sq_doorbells++;
}

static void nvme_kick(struct chario_queue *q)
{
	struct chario_nvme_queue *nq = to_nvme_queue(q);

	if (nq->tail != nq->rung)
		ring_submission(nq);
}

/* The values that all commands of a request share. */
struct common {
	u64 block_shift;
	u32 nsid;
	u16 control;
	u8 opcode;
};

static __always_inline struct common get_common(const struct chario_request *req)
{
	const struct chario_disk *disk = req->disk;

	return (struct common) {
		.block_shift = disk->block_shift,
		.nsid = disk->namespace_id,
		.control = req->control,
		.opcode = opcodes[req->op],
	};
}

/*
 * Fills in a command in the ring.  All other fields are zero in every command of this
 * driver, because the ring has been cleared once.
 */
static __always_inline void fill_entry(struct nvme_rw_command *sqe,
				       const struct common *common,
				       const struct chario_command *cmd,
				       u32 bytes)
{
	sqe->opcode = common->opcode;
	sqe->command_id = (__force u16)cpu_to_le16(cmd->id);
	sqe->nsid = cpu_to_le32(common->nsid);
	sqe->slba = cpu_to_le64(cmd->disk_offset >> common->block_shift);
	sqe->length = cpu_to_le16((bytes >> common->block_shift) - 1);
	sqe->control = cpu_to_le16(common->control << CONTROL_SHIFT);
}

static __always_inline void advance(struct chario_nvme_queue *nq, bool kick)
{
	if (++nq->tail == nq->entries)
		nq->tail = 0;
	if (kick)
		ring_submission(nq);
}

static struct chario_command *nvme_post_slices(struct chario_queue *q,
					       struct chario_command *cmd)
{
	struct chario_nvme_queue *nq = to_nvme_queue(q);
	const struct chario_nvme_table *table = cmd->req->buffer->back;
	const struct nvme_command *end = &nq->sqes[nq->entries];
	const struct common common = get_common(cmd->req);
	struct nvme_command *sqe = &nq->sqes[nq->tail];
	unsigned int room = CHARIO_POST_BATCH;

	do {
		cmd->state = CHARIO_COMMAND_POSTED;
		trace_post(q, cmd, 0);
		fill_entry(&sqe->rw, &common, cmd, cmd->bytes);
		chario_nvme_table_look_up(table, nq, cmd, &sqe->rw.dptr);
		if (++sqe == end)
			sqe = nq->sqes;
		cmd = cmd->next;
	} while (cmd && --room);
	nq->tail = sqe - nq->sqes;
	return cmd;
}

static noinline void post_slice(struct chario_nvme_queue *nq,
				struct chario_command *cmd, bool kick)
{
	const struct common common = get_common(cmd->req);
	struct nvme_rw_command *sqe = &nq->sqes[nq->tail].rw;

	fill_entry(sqe, &common, cmd, cmd->bytes);
	chario_nvme_table_look_up(cmd->req->buffer->back, nq, cmd, &sqe->dptr);
	advance(nq, kick);
}

/* Deallocate, of Write Zeroes (NVM Command Set 1.0 3.2.8). */
#define WZ_DEALLOCATE	BIT(9)

/*
 * Fills in what is different in a command that moves no bytes of a caller: a flush has no
 * blocks, a discard has its ranges in the list of its slot, and its number of ranges in
 * place of the first block (NVM Command Set 1.0 3.2.3).
 */
static noinline void fill_other(const struct chario_nvme_queue *nq,
				const struct chario_command *cmd,
				struct nvme_rw_command *sqe)
{
	memset(&sqe->dptr, 0, sizeof(sqe->dptr));
	switch (cmd->req->op) {
	case CHARIO_OP_FLUSH:
		sqe->length = 0;
		break;
	case CHARIO_OP_DISCARD:
		sqe->slba = cpu_to_le64((cmd->nr_ranges - 1) |
					(u64)NVME_DSMGMT_AD << 32);
		sqe->length = 0;
		sqe->dptr.prp1 = cpu_to_le64(nq->list_dma +
					     cmd->tag * nq->list_bytes);
		break;
	case CHARIO_OP_WRITE_ZEROES:
		if (cmd->req->control & CHARIO_CONTROL_MAY_DISCARD)
			sqe->control |= cpu_to_le16(WZ_DEALLOCATE);
		break;
	}
}

/* Posts a command that has been prepared, by its segments. */
static __always_inline void post_segments(struct chario_nvme_queue *nq,
					  struct chario_command *cmd, bool kick)
{
	const struct common common = get_common(cmd->req);
	struct nvme_rw_command *sqe = &nq->sqes[nq->tail].rw;
	const u32 bytes = cmd->bytes;

	fill_entry(sqe, &common, cmd, bytes);
	if (unlikely(cmd->req->op > CHARIO_OP_WRITE)) {
		fill_other(nq, cmd, sqe);
	} else if (likely(cmd->page_offset + bytes <= nq->core.no_prep_bytes)) {
		sqe->dptr.prp1 = cpu_to_le64(cmd->segments->addr);
		sqe->dptr.prp2 = 0;
	} else {
		sqe->dptr = back_of(cmd)->dptr;
	}
	advance(nq, kick);
}

static void nvme_post(struct chario_queue *q, struct chario_command *cmd,
		      bool kick)
{
	if (cmd->req->buffer)
		post_slice(to_nvme_queue(q), cmd, kick);
	else
		post_segments(to_nvme_queue(q), cmd, kick);
}

static void nvme_post_segments(struct chario_queue *q, struct chario_command *cmd,
			       bool kick)
{
	post_segments(to_nvme_queue(q), cmd, kick);
}

/* Publishes the word whose phase bit shows that the next completion has come. */
static void show_word(struct chario_nvme_queue *nq)
{
	WRITE_ONCE(nq->core.word, (__force const u32 *)last_word(nq->head));
}

/*
 * Only recovery aborts commands.  An abort that has hit a command that is not given up
 * was meant for an earlier owner of its tag: the command is sent again, but only once,
 * since a drive that aborts it twice does so by itself.  Commands of a lost disk are
 * not sent again, because drives abort commands when a namespace is formatted.  @id is
 * the identifier that the command had.
 */
static bool is_mistaken_abort(u16 status, struct chario_command *cmd, u16 id)
{
	return (status & 0x7ff) == NVME_SC_ABORT_REQ &&
	       !chario_request_is_given_up(cmd->req) &&
	       !READ_ONCE(cmd->req->disk->removed) &&
	       back_of(cmd)->sent_again != (RESENT | id);
}

/* Sends a command again; if the queue is not live, a replay will post it. */
static void send_again(struct chario_nvme_queue *nq, struct chario_command *cmd)
{
	if (nq->core.state != CHARIO_QUEUE_LIVE)
		return;
	back_of(cmd)->sent_again = RESENT | cmd->id;
	nq->core.ops->post(&nq->core, cmd, true);
}

/* Reaps a completion that is no plain success, or that is of no command in flight. */
static noinline void reap_odd(struct chario_nvme_queue *nq, u32 end)
{
	u16 id = end, status = end >> 17;
	struct chario_command *cmd = command_of(nq, id);
	int error;

	if (cmd->id != id || cmd->state != CHARIO_COMMAND_POSTED)
		goto err_stray;
	cmd->id += NEXT_ID;
	if (is_mistaken_abort(status, cmd, id)) {
		send_again(nq, cmd);
		return;
	}
	error = chario_nvme_status_errno(status);
	if (error)
		chario_nvme_report(nq->ctrl, cmd, status);
	chario_complete_reaped(&nq->core, cmd, error);
	return;

err_stray:
	dev_err_ratelimited(&nq->ctrl->pdev->dev,
			    "queue %u: completion of command %u, which is not in flight\n",
			    nq->qid, id);
}

/*
 * Reaps a completion.  @end is its last word without the phase, which for a plain
 * success is just the identifier.
 */
static __always_inline void queue_reap_one(struct chario_nvme_queue *nq, u32 end)
{
	struct chario_command *cmd = command_of(nq, end);

	if (unlikely(cmd->id != end || cmd->state != CHARIO_COMMAND_POSTED)) {
		reap_odd(nq, end);
		return;
	}
	cmd->id += NEXT_ID;
	trace_reap(&nq->core, cmd, 0);
	chario_complete_command(&nq->core, cmd, 0);
}

/*
 * The completion doorbell is rung when a request has ended, so that a request of
 * several commands costs one doorbell; when half of the ring is used, so that the
 * controller never waits for free entries; and always for an interrupt pin, which stays
 * asserted until then.
 */
static __always_inline void ring_completion(struct chario_nvme_queue *nq)
{
	struct chario_queue *q = &nq->core;

	if (!nq->unrung || !nq->created)
		return;
	if (!q->ended && !nq->level && nq->unrung < nq->entries / 2)
		return;
	writel(nq->head - nq->cqes, nq->cq_doorbell);
	nq->unrung = 0;
	q->ended = false;
	q->cq_doorbells++;
}

/* Flips the phase when the ring begins again, and returns the new one. */
static u32 turn(struct chario_queue *q)
{
	q->word_value ^= (__force u32)cpu_to_le32(CHARIO_NVME_PHASE);
	return le32_to_cpu((__force __le32)q->word_value);
}

static unsigned int nvme_reap(struct chario_queue *q)
{
	struct chario_nvme_queue *nq = to_nvme_queue(q);
	struct nvme_completion *cqe = nq->head;
	u32 phase = le32_to_cpu((__force __le32)q->word_value);
	unsigned int count;

	for (count = 0; count < CHARIO_REAP_BATCH; count++) {
		u32 end = read_end(cqe) ^ phase;

		if (end & CHARIO_NVME_PHASE)
			break;
		/*
		 * Data that the drive has written before the phase bit are read after
		 * it.
		 */
		dma_rmb();
		queue_reap_one(nq, end);
		if (++cqe == nq->cqes_end) {
			cqe = nq->cqes;
			phase = turn(q);
		}
	}
	nq->head = cqe;
	nq->unrung += count;
	show_word(nq);
	ring_completion(nq);
	return count;
}

const struct chario_queue_ops chario_nvme_queue_ops = {
	.command_bytes	= sizeof(struct back),
	.prep		= nvme_prep,
	.post		= nvme_post,
	.post_slices	= nvme_post_slices,
	.kick		= nvme_kick,
	.reap		= nvme_reap,
};

/* Operations of a queue whose buffers have no tables: all commands have segments. */
const struct chario_queue_ops chario_nvme_queue_ops_without_tables = {
	.command_bytes	= sizeof(struct back),
	.prep		= nvme_prep,
	.post		= nvme_post_segments,
	.kick		= nvme_kick,
	.reap		= nvme_reap,
};

/**
 * chario_nvme_queue_irq() - the interrupt handler of a queue
 * @irq: number of the interrupt
 * @data: &struct chario_nvme_queue
 *
 * Return: IRQ_NONE when another queue or device raised the interrupt.
 */
irqreturn_t chario_nvme_queue_irq(int irq, void *data)
{
	struct chario_nvme_queue *nq = data;

	if (chario_queue_irq(&nq->core))
		return IRQ_HANDLED;
	/* A caller that spins may have reaped the completion before. */
	if (nq->level && nq->core.reaped == nq->reaped_at_irq)
		return IRQ_NONE;
	nq->reaped_at_irq = nq->core.reaped;
	return IRQ_HANDLED;
}

/*
 * Starts new generations, so that a completion from before the reset ends no command.
 */
static void renew_ids(struct chario_nvme_queue *nq)
{
	unsigned int tag;

	for (tag = 0; tag < nq->core.max_depth; tag++) {
		struct chario_command *cmd = chario_queue_command(&nq->core,
								  tag);

		cmd->id = ((cmd->id + NEXT_ID) & ~nq->tag_mask) | tag;
	}
}

/**
 * chario_nvme_queue_reset() - empty the rings, after the controller has forgotten them
 * @nq: a frozen queue
 */
void chario_nvme_queue_reset(struct chario_nvme_queue *nq)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&nq->core.lock, flags);
	renew_ids(nq);
	memset(nq->sqes, 0, nq->entries * sizeof(*nq->sqes));
	memset(nq->cqes, 0, nq->entries * sizeof(*nq->cqes));
	chario_nvme_queue_rewind(nq);
	nq->core.word_mask = (__force u32)cpu_to_le32(CHARIO_NVME_PHASE);
	show_word(nq);
	raw_spin_unlock_irqrestore(&nq->core.lock, flags);
}
