// SPDX-License-Identifier: GPL-2.0-only
/*
 * I/O queues: made once, created on the controller (again after each reset),
 * and the hot path: prep, post, kick, reap.
 */
#include <linux/dma-mapping.h>
#include <linux/interrupt.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "nvme.h"
#include "trace.h"

static unsigned int queue_depth = 256;
module_param(queue_depth, uint, 0444);
MODULE_PARM_DESC(queue_depth, "Entries of an I/O queue (2 to 1024, default 256), bounded by the drive");

static unsigned int max_command_kib = 128;
module_param(max_command_kib, uint, 0444);
MODULE_PARM_DESC(max_command_kib, "Largest device command, KiB (default 128), bounded by the drive");

static int poll_queues = -1;
module_param(poll_queues, int, 0444);
MODULE_PARM_DESC(poll_queues, "Queues for polling (default -1: one per CPU), as far as the drive grants them");

static union nvme_data_ptr *dptr_of(struct chario_command *cmd)
{
	return (union nvme_data_ptr *)cmd->back;
}

static int nvme_prep(struct chario_queue *q, struct chario_command *cmd)
{
	chario_nvme_prp_build(to_nvme_queue(q), cmd, dptr_of(cmd));
	return 0;
}

static const u8 opcodes[CHARIO_NR_OPS] = {
	[CHARIO_OP_READ] = nvme_cmd_read,
	[CHARIO_OP_WRITE] = nvme_cmd_write,
	[CHARIO_OP_FLUSH] = nvme_cmd_flush,
};

static __always_inline void kick_nvme_queue(struct chario_nvme_queue *nq)
{
	if (nq->tail == nq->rung)
		return;
	/* writel() orders the entries before the doorbell. */
	writel(nq->tail, nq->sq_doorbell);
	nq->rung = nq->tail;
	nq->core.sq_doorbells++;
	trace_doorbell(&nq->core, 0);
}

static void nvme_kick(struct chario_queue *q)
{
	kick_nvme_queue(to_nvme_queue(q));
}

/*
 * Built in place.  What is not written here is zero in every command of ours:
 * the ring has been cleared once.  A flush has no blocks and no memory.
 */
static void nvme_post(struct chario_queue *q, struct chario_command *cmd,
		      bool kick)
{
	struct chario_nvme_queue *nq = to_nvme_queue(q);
	struct nvme_rw_command *sqe = &nq->sqes[nq->tail].rw;
	const struct chario_request *req = cmd->req;
	const struct chario_device *cio = req->cio;
	u32 blocks = cmd->bytes >> cio->block_shift;

	sqe->opcode = opcodes[req->op];
	sqe->command_id = cmd->tag;
	sqe->nsid = cpu_to_le32(cio->namespace_id);
	if (likely(!chario_queue_must_prep(q, cmd))) {
		sqe->dptr.prp1 = blocks ? cpu_to_le64(cmd->segments->addr) : 0;
		sqe->dptr.prp2 = 0;
	} else {
		sqe->dptr = *dptr_of(cmd);
	}
	sqe->slba = cpu_to_le64(cmd->disk_offset >> cio->block_shift);
	sqe->length = cpu_to_le16(blocks ? blocks - 1 : 0);
	sqe->control = cpu_to_le16(req->fua ? NVME_RW_FUA : 0);
	if (++nq->tail == nq->entries)
		nq->tail = 0;
	if (kick)
		kick_nvme_queue(nq);
}

/* Where the next completion comes, and what tells that it is there. */
static void show_sign(struct chario_nvme_queue *nq)
{
	nq->core.sign_value = cpu_to_le16(nq->phase);
	WRITE_ONCE(nq->core.sign, &nq->cqes[nq->head].status);
}

/* The drive has answered with an error status: say so. */
static int report(struct chario_nvme_queue *nq, u16 status,
		  const struct chario_command *cmd)
{
	dev_err_ratelimited(&nq->ctrl->pdev->dev,
			    "%s: %s at byte %llu, %u bytes: status 0x%03x, %s\n",
			    dev_name(&cmd->req->cio->dev),
			    cmd->req->op == CHARIO_OP_READ ? "read" :
			    cmd->req->op == CHARIO_OP_WRITE ? "write" : "flush",
			    cmd->disk_offset, cmd->bytes, status & 0x7ff,
			    chario_nvme_status_text(status));
	return chario_nvme_status_errno(status);
}

/*
 * Aborts are ours alone.  One that has reached a command that nobody has given
 * up was meant for the last owner of its tag: the command is sent again.
 */
static bool is_mistaken_abort(u16 status, const struct chario_command *cmd)
{
	return (status & 0x7ff) == NVME_SC_ABORT_REQ && !cmd->req->orphaned;
}

/* A completion that is not a plain success, or of no command in flight. */
static noinline void reap_odd(struct chario_nvme_queue *nq, u16 tag, u16 status)
{
	struct chario_command *cmd;
	int error;

	if (tag >= nq->core.depth)
		goto err_stray;
	cmd = chario_queue_command(&nq->core, tag);
	if (cmd->state != CHARIO_COMMAND_POSTED)
		goto err_stray;
	if (is_mistaken_abort(status, cmd)) {
		/* A replay posts it where the queue is not live. */
		if (nq->core.state == CHARIO_QUEUE_LIVE)
			nvme_post(&nq->core, cmd, true);
		return;
	}
	error = report(nq, status, cmd);
	trace_reap(cmd, error);
	chario_complete_command(&nq->core, cmd, error);
	return;

err_stray:
	dev_err_ratelimited(&nq->ctrl->pdev->dev,
			    "queue %u: completion of command %u, which is not in flight\n",
			    nq->qid, tag);
}

static __always_inline void reap_one(struct chario_nvme_queue *nq, u16 tag,
				     u16 status)
{
	struct chario_command *cmd = chario_queue_command(&nq->core, tag);

	if (unlikely(tag >= nq->core.depth || (status & 0x7ff) ||
		     cmd->state != CHARIO_COMMAND_POSTED)) {
		reap_odd(nq, tag, status);
		return;
	}
	trace_reap(cmd, 0);
	chario_complete_command(&nq->core, cmd, 0);
}

/*
 * The completion doorbell is rung when a request has ended, so that a request
 * of several commands costs one; and when half of the ring is used, so that
 * the controller never waits for us; and always for an interrupt pin, which
 * stays raised until then.
 */
static __always_inline void ring_completion(struct chario_nvme_queue *nq)
{
	struct chario_queue *q = &nq->core;

	if (!nq->unrung || !nq->created)
		return;
	if (!q->ended && !nq->level && nq->unrung < nq->entries / 2)
		return;
	writel(nq->head, nq->cq_doorbell);
	nq->unrung = 0;
	q->ended = false;
	q->cq_doorbells++;
}

static unsigned int nvme_reap(struct chario_queue *q)
{
	struct chario_nvme_queue *nq = to_nvme_queue(q);
	unsigned int count;

	for (count = 0; count < CHARIO_REAP_BATCH; count++) {
		struct nvme_completion *cqe = &nq->cqes[nq->head];
		u16 status = le16_to_cpu(READ_ONCE(cqe->status));

		if ((status & 1) != nq->phase)
			break;
		/* The rest of the entry is not read before its phase bit. */
		dma_rmb();
		reap_one(nq, cqe->command_id, status >> 1);
		if (++nq->head == nq->entries) {
			nq->head = 0;
			nq->phase ^= 1;
		}
	}
	nq->unrung += count;
	show_sign(nq);
	ring_completion(nq);
	return count;
}

/* From the watchdog: one register read finds a drive that has gone or failed. */
static void nvme_check(struct chario_queue *q)
{
	struct chario_nvme *ctrl = to_nvme_queue(q)->ctrl;
	u32 csts;

	if (READ_ONCE(ctrl->state) != CHARIO_NVME_LIVE)
		return;
	csts = readl(ctrl->bar + NVME_REG_CSTS);
	/* All ones when it has gone; not ready when it has lost itself. */
	if (unlikely((csts & NVME_CSTS_CFS) || !(csts & NVME_CSTS_RDY)))
		chario_nvme_recover_wanted(ctrl, true);
}

static void nvme_expired(struct chario_queue *q)
{
	chario_nvme_recover_wanted(to_nvme_queue(q)->ctrl, false);
}

static const struct chario_queue_ops nvme_queue_ops = {
	.command_bytes	= sizeof(union nvme_data_ptr),
	.prep		= nvme_prep,
	.post		= nvme_post,
	.kick		= nvme_kick,
	.reap		= nvme_reap,
	.check		= nvme_check,
	.expired	= nvme_expired,
};

static irqreturn_t handle_irq(int irq, void *data)
{
	struct chario_nvme_queue *nq = data;

	if (chario_queue_irq(&nq->core))
		return IRQ_HANDLED;
	/* A caller that spins may have been faster. */
	if (nq->level && nq->core.reaped == nq->reaped_at_irq)
		return IRQ_NONE;
	nq->reaped_at_irq = nq->core.reaped;
	return IRQ_HANDLED;
}

/**
 * chario_nvme_queues_max_bytes() - largest command that the slots can hold
 * @ctrl: its page size is known
 *
 * A PRP list is one page of the controller at most.
 */
u32 chario_nvme_queues_max_bytes(const struct chario_nvme *ctrl)
{
	u64 list_limit = (1ULL << ctrl->page_shift) / sizeof(__le64)
			 << ctrl->page_shift;
	u64 wanted = clamp_t(u64, max_command_kib, 4, SZ_1M) * 1024;

	return min(wanted, list_limit);
}

/* Queues that complete by interrupt, and how many in all. */
static int plan_queues(struct chario_nvme *ctrl, unsigned int *nr_irq,
		       unsigned int *nr_queues)
{
	unsigned int cpus = num_possible_cpus();
	unsigned int poll = poll_queues < 0 ? cpus :
			    min_t(unsigned int, poll_queues, cpus);
	int ret;

	*nr_queues = min(cpus + poll, ctrl->max_queues);
	ret = chario_nvme_admin_set_queues(ctrl, nr_queues);
	if (ret)
		return ret;
	/* Too few: interrupts first, but one for polling where two fit. */
	if (*nr_queues > cpus)
		*nr_irq = cpus;
	else if (poll && *nr_queues > 1)
		*nr_irq = *nr_queues - 1;
	else
		*nr_irq = *nr_queues;
	return 0;
}

static int init_rings(struct chario_nvme *ctrl, struct chario_nvme_queue *nq)
{
	struct device *dev = &ctrl->pdev->dev;

	nq->sqes = dma_alloc_coherent(dev, ctrl->depth * sizeof(*nq->sqes),
				      &nq->sq_dma, GFP_KERNEL);
	nq->cqes = dma_alloc_coherent(dev, ctrl->depth * sizeof(*nq->cqes),
				      &nq->cq_dma, GFP_KERNEL);
	nq->lists = dma_alloc_coherent(dev, nq->core.depth * nq->list_bytes,
				       &nq->list_dma, GFP_KERNEL);
	return nq->sqes && nq->cqes && nq->lists ? 0 : -ENOMEM;
}

static void deinit_rings(struct chario_nvme *ctrl, struct chario_nvme_queue *nq)
{
	struct device *dev = &ctrl->pdev->dev;

	if (nq->lists)
		dma_free_coherent(dev, nq->core.depth * nq->list_bytes,
				  nq->lists, nq->list_dma);
	if (nq->cqes)
		dma_free_coherent(dev, ctrl->depth * sizeof(*nq->cqes),
				  nq->cqes, nq->cq_dma);
	if (nq->sqes)
		dma_free_coherent(dev, ctrl->depth * sizeof(*nq->sqes),
				  nq->sqes, nq->sq_dma);
	nq->lists = NULL;
	nq->cqes = NULL;
	nq->sqes = NULL;
}

/* Its memory for the core stays until the last disk has been released. */
static int init_queue(struct chario_nvme *ctrl, unsigned int index)
{
	bool polled = index >= ctrl->nr_irq;
	unsigned int entries = DIV_ROUND_UP(ctrl->max_command_bytes,
					    1U << ctrl->page_shift);
	struct chario_nvme_queue *nq;
	int ret;

	nq = kzalloc_node(sizeof(*nq), GFP_KERNEL,
			  dev_to_node(&ctrl->pdev->dev));
	if (!nq)
		return -ENOMEM;
	nq->ctrl = ctrl;
	nq->qid = index + 1;
	nq->entries = ctrl->depth;
	nq->level = ctrl->level;
	nq->phase = 1;
	nq->page_mask = (1U << ctrl->page_shift) - 1;
	nq->list_bytes = roundup_pow_of_two(max(entries, 2U) * sizeof(__le64));
	if (!polled && ctrl->nr_vectors > 1)
		nq->vector = 1 + index % (ctrl->nr_vectors - 1);
	nq->sq_doorbell = chario_nvme_doorbell(ctrl, 2 * nq->qid);
	nq->cq_doorbell = chario_nvme_doorbell(ctrl, 2 * nq->qid + 1);
	ret = chario_queue_init(&nq->core, &nvme_queue_ops, &ctrl->pdev->dev,
				ctrl->depth - 1,
				PFN_UP(ctrl->max_command_bytes) + 1, polled,
				dev_to_node(&ctrl->pdev->dev));
	if (ret) {
		kfree(nq);
		return ret;
	}
	nq->core.no_prep_bytes = 1U << ctrl->page_shift;
	ctrl->queues[index] = nq;
	ctrl->core_queues[index] = &nq->core;
	ctrl->nr_queues = index + 1;
	return init_rings(ctrl, nq);
}

/**
 * chario_nvme_queues_init() - make the I/O queues
 * @ctrl: identified
 *
 * Return: 0, ENOMEM, or as chario_nvme_admin_run(); chario_nvme_queues_free()
 * and chario_nvme_queues_deinit() undo it, also when it has failed.
 */
int chario_nvme_queues_init(struct chario_nvme *ctrl)
{
	unsigned int i, nr_queues;
	int ret;

	ctrl->depth = min_t(unsigned int, clamp_t(unsigned int, queue_depth, 2,
						  1024),
			    NVME_CAP_MQES(ctrl->cap) + 1);
	ret = plan_queues(ctrl, &ctrl->nr_irq, &nr_queues);
	if (ret)
		return ret;
	ctrl->queues = kcalloc(nr_queues, sizeof(*ctrl->queues), GFP_KERNEL);
	ctrl->core_queues = kcalloc(nr_queues, sizeof(*ctrl->core_queues),
				    GFP_KERNEL);
	if (!ctrl->queues || !ctrl->core_queues)
		return -ENOMEM;
	for (i = 0; i < nr_queues && !ret; i++)
		ret = init_queue(ctrl, i);
	return ret;
}

static int request_vector(struct chario_nvme *ctrl,
			  struct chario_nvme_queue *nq)
{
	int irq = pci_irq_vector(ctrl->pdev, nq->vector);
	int ret;

	if (nq->core.polled)
		return 0;
	ret = request_irq(irq, handle_irq, IRQF_SHARED, "chario", nq);
	if (ret)
		return ret;
	nq->irq_requested = true;
	/* A hint that the administrator can override. */
	if (ctrl->nr_vectors > ctrl->nr_irq)
		irq_set_affinity_and_hint(irq, cpumask_of(nq->qid - 1));
	return 0;
}

/**
 * chario_nvme_queues_start() - listen to the I/O queues
 * @ctrl: its queues have been made
 *
 * Return: 0 or -errno.
 */
int chario_nvme_queues_start(struct chario_nvme *ctrl)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; i < ctrl->nr_queues && !ret; i++)
		ret = request_vector(ctrl, ctrl->queues[i]);
	return ret;
}

static void reset_rings(struct chario_nvme *ctrl, struct chario_nvme_queue *nq)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&nq->core.lock, flags);
	memset(nq->sqes, 0, ctrl->depth * sizeof(*nq->sqes));
	memset(nq->cqes, 0, ctrl->depth * sizeof(*nq->cqes));
	nq->tail = 0;
	nq->rung = 0;
	nq->head = 0;
	nq->phase = 1;
	nq->unrung = 0;
	nq->core.sign_mask = cpu_to_le16(1);
	show_sign(nq);
	raw_spin_unlock_irqrestore(&nq->core.lock, flags);
}

/**
 * chario_nvme_queues_create() - create the I/O queues on the controller
 * @ctrl: enabled; its queues are frozen
 *
 * What is in flight is posted again.
 *
 * Return: as chario_nvme_admin_run(); ENOSPC when the controller, after a
 * reset, grants fewer queues than before.
 */
int chario_nvme_queues_create(struct chario_nvme *ctrl)
{
	unsigned int i;
	int ret;

	for (i = 0; i < ctrl->nr_queues; i++) {
		reset_rings(ctrl, ctrl->queues[i]);
		ret = chario_nvme_admin_create(ctrl, ctrl->queues[i]);
		if (ret)
			return ret;
		WRITE_ONCE(ctrl->queues[i]->created, true);
	}
	for (i = 0; i < ctrl->nr_queues; i++)
		chario_queue_replay(&ctrl->queues[i]->core);
	return 0;
}

/**
 * chario_nvme_queues_freeze() - post no command from now on
 * @ctrl: the controller
 */
void chario_nvme_queues_freeze(struct chario_nvme *ctrl)
{
	unsigned int i;

	for (i = 0; i < ctrl->nr_queues; i++)
		chario_queue_freeze(ctrl->core_queues[i]);
}

/**
 * chario_nvme_queues_are_idle() - is no command in use?
 * @ctrl: the controller
 */
bool chario_nvme_queues_are_idle(const struct chario_nvme *ctrl)
{
	unsigned int i;

	for (i = 0; i < ctrl->nr_queues; i++)
		if (!chario_queue_is_idle(ctrl->core_queues[i]))
			return false;
	return true;
}

/**
 * chario_nvme_queues_delete() - delete the I/O queues on the controller
 * @ctrl: enabled, nothing in flight
 *
 * Ends with the first that cannot be deleted: a controller that is silent would
 * cost a time limit each.
 */
void chario_nvme_queues_delete(struct chario_nvme *ctrl)
{
	unsigned int i;

	for (i = 0; i < ctrl->nr_queues; i++) {
		WRITE_ONCE(ctrl->queues[i]->created, false);
		if (chario_nvme_admin_delete(ctrl, ctrl->queues[i]))
			return;
	}
}

/**
 * chario_nvme_queues_forget() - the controller knows no queue any more
 * @ctrl: disabled
 *
 * What it has completed before is taken; no doorbell is rung.
 */
void chario_nvme_queues_forget(struct chario_nvme *ctrl)
{
	unsigned int i;

	for (i = 0; i < ctrl->nr_queues; i++) {
		WRITE_ONCE(ctrl->queues[i]->created, false);
		chario_queue_reap(ctrl->core_queues[i]);
	}
}

static void free_vector(struct chario_nvme *ctrl, struct chario_nvme_queue *nq)
{
	int irq = pci_irq_vector(ctrl->pdev, nq->vector);

	if (!nq->irq_requested)
		return;
	irq_update_affinity_hint(irq, NULL);
	free_irq(irq, nq);
	nq->irq_requested = false;
}

/**
 * chario_nvme_queues_stop() - the controller does no more DMA: let go
 * @ctrl: disabled, or given up
 *
 * Ends what is in flight, waits until nobody is inside, and frees what the
 * PCI device has lent.
 */
void chario_nvme_queues_stop(struct chario_nvme *ctrl)
{
	unsigned int i;

	for (i = 0; i < ctrl->nr_queues; i++) {
		struct chario_nvme_queue *nq = ctrl->queues[i];

		free_vector(ctrl, nq);
		chario_queue_fail(&nq->core, -ENODEV);
		chario_queue_drain(&nq->core);
		chario_queue_unsign(&nq->core);
	}
	/* A caller that polls may still look at a ring. */
	synchronize_rcu();
	for (i = 0; i < ctrl->nr_queues; i++)
		deinit_rings(ctrl, ctrl->queues[i]);
}

/**
 * chario_nvme_queues_deinit() - free the queues
 * @ctrl: its queues have been stopped; no disk refers to them
 */
void chario_nvme_queues_deinit(struct chario_nvme *ctrl)
{
	while (ctrl->nr_queues) {
		struct chario_nvme_queue *nq = ctrl->queues[--ctrl->nr_queues];

		chario_queue_deinit(&nq->core);
		kfree(nq);
	}
	kfree(ctrl->core_queues);
	kfree(ctrl->queues);
}
