// SPDX-License-Identifier: GPL-2.0-only
/*
 * The admin queue: one command at a time, by interrupt, with a time limit.
 *
 * A command that does not come back keeps its identifier, and the page that it
 * may write to, until the controller has been disabled.
 */
#include <linux/dma-mapping.h>
#include <linux/interrupt.h>
#include <linux/jiffies.h>
#include <linux/module.h>

#include "nvme.h"

static unsigned int admin_timeout_ms = 5000;
module_param(admin_timeout_ms, uint, 0644);
MODULE_PARM_DESC(admin_timeout_ms, "Longest wait for an admin command, ms (default 5000)");

/**
 * chario_nvme_admin_timeout_ms() - longest wait for an admin command
 */
unsigned int chario_nvme_admin_timeout_ms(void)
{
	return clamp_t(unsigned int, READ_ONCE(admin_timeout_ms), 100, 600000);
}

/**
 * chario_nvme_admin_init() - make the admin queue
 * @ctrl: the controller
 *
 * Return: 0 or ENOMEM.
 */
int chario_nvme_admin_init(struct chario_nvme *ctrl)
{
	struct chario_nvme_admin *admin = &ctrl->admin;
	struct device *dev = &ctrl->pdev->dev;
	unsigned int i;

	mutex_init(&admin->mutex);
	raw_spin_lock_init(&admin->lock);
	admin->phase = 1;
	for (i = 0; i < ARRAY_SIZE(admin->slots); i++)
		init_completion(&admin->slots[i].done);
	admin->sqes = dma_alloc_coherent(dev, CHARIO_NVME_ADMIN_DEPTH *
					 sizeof(*admin->sqes), &admin->sq_dma,
					 GFP_KERNEL);
	admin->cqes = dma_alloc_coherent(dev, CHARIO_NVME_ADMIN_DEPTH *
					 sizeof(*admin->cqes), &admin->cq_dma,
					 GFP_KERNEL);
	admin->page = dma_alloc_coherent(dev, NVME_IDENTIFY_DATA_SIZE,
					 &admin->page_dma, GFP_KERNEL);
	if (!admin->sqes || !admin->cqes || !admin->page) {
		chario_nvme_admin_deinit(ctrl);
		return -ENOMEM;
	}
	return 0;
}

/**
 * chario_nvme_admin_deinit() - free the admin queue
 * @ctrl: disabled, or gone and its bus mastering off
 */
void chario_nvme_admin_deinit(struct chario_nvme *ctrl)
{
	struct chario_nvme_admin *admin = &ctrl->admin;
	struct device *dev = &ctrl->pdev->dev;

	if (admin->page)
		dma_free_coherent(dev, NVME_IDENTIFY_DATA_SIZE, admin->page,
				  admin->page_dma);
	if (admin->cqes)
		dma_free_coherent(dev, CHARIO_NVME_ADMIN_DEPTH *
				  sizeof(*admin->cqes), admin->cqes,
				  admin->cq_dma);
	if (admin->sqes)
		dma_free_coherent(dev, CHARIO_NVME_ADMIN_DEPTH *
				  sizeof(*admin->sqes), admin->sqes,
				  admin->sq_dma);
	admin->page = NULL;
	admin->cqes = NULL;
	admin->sqes = NULL;
}

/**
 * chario_nvme_admin_reset() - begin anew
 * @ctrl: disabled
 */
void chario_nvme_admin_reset(struct chario_nvme *ctrl)
{
	struct chario_nvme_admin *admin = &ctrl->admin;
	unsigned long flags;
	unsigned int i;

	raw_spin_lock_irqsave(&admin->lock, flags);
	memset(admin->cqes, 0, CHARIO_NVME_ADMIN_DEPTH * sizeof(*admin->cqes));
	admin->tail = 0;
	admin->head = 0;
	admin->phase = 1;
	for (i = 0; i < ARRAY_SIZE(admin->slots); i++)
		admin->slots[i].busy = false;
	raw_spin_unlock_irqrestore(&admin->lock, flags);
}

/* One completion; a command that it ends is noted in @ended. */
static bool reap_one(struct chario_nvme_admin *admin, unsigned long *ended)
{
	struct nvme_completion *cqe = &admin->cqes[admin->head];
	u16 status = le16_to_cpu(READ_ONCE(cqe->status));
	struct chario_nvme_admin_slot *slot;

	if ((status & 1) != admin->phase)
		return false;
	/* The rest of the entry is not read before its phase bit. */
	dma_rmb();
	if (cqe->command_id < ARRAY_SIZE(admin->slots)) {
		slot = &admin->slots[cqe->command_id];
		slot->status = status >> 1;
		slot->result = le32_to_cpu(cqe->result.u32);
		slot->busy = false;
		*ended |= BIT(cqe->command_id);
	}
	if (++admin->head == CHARIO_NVME_ADMIN_DEPTH) {
		admin->head = 0;
		admin->phase ^= 1;
	}
	return true;
}

/* Whoever is woken may disable the controller: the doorbell is rung before. */
static bool reap(struct chario_nvme *ctrl)
{
	struct chario_nvme_admin *admin = &ctrl->admin;
	unsigned long flags, ended = 0;
	unsigned int tag;
	bool any = false;

	raw_spin_lock_irqsave(&admin->lock, flags);
	while (reap_one(admin, &ended))
		any = true;
	if (any)
		writel(admin->head, chario_nvme_doorbell(ctrl, 1));
	for_each_set_bit(tag, &ended, ARRAY_SIZE(admin->slots))
		complete(&admin->slots[tag].done);
	raw_spin_unlock_irqrestore(&admin->lock, flags);
	return any;
}

static irqreturn_t handle_irq(int irq, void *data)
{
	return reap(data) ? IRQ_HANDLED : IRQ_NONE;
}

/**
 * chario_nvme_admin_request_irq() - listen to the controller
 * @ctrl: has its vectors
 *
 * Return: 0 or -errno.
 */
int chario_nvme_admin_request_irq(struct chario_nvme *ctrl)
{
	int ret;

	ret = request_irq(pci_irq_vector(ctrl->pdev, 0), handle_irq,
			  IRQF_SHARED, "chario-admin", ctrl);
	ctrl->admin.irq_requested = !ret;
	return ret;
}

/**
 * chario_nvme_admin_free_irq() - undo chario_nvme_admin_request_irq()
 * @ctrl: the controller
 */
void chario_nvme_admin_free_irq(struct chario_nvme *ctrl)
{
	if (ctrl->admin.irq_requested)
		free_irq(pci_irq_vector(ctrl->pdev, 0), ctrl);
	ctrl->admin.irq_requested = false;
}

static struct chario_nvme_admin_slot *submit(struct chario_nvme *ctrl,
					     struct nvme_command *c)
{
	struct chario_nvme_admin *admin = &ctrl->admin;
	struct chario_nvme_admin_slot *slot = NULL;
	unsigned long flags;
	unsigned int i;

	raw_spin_lock_irqsave(&admin->lock, flags);
	for (i = 0; i < ARRAY_SIZE(admin->slots) && !slot; i++) {
		if (admin->slots[i].busy)
			continue;
		slot = &admin->slots[i];
		slot->busy = true;
		reinit_completion(&slot->done);
		c->common.command_id = i;
		admin->sqes[admin->tail] = *c;
		if (++admin->tail == CHARIO_NVME_ADMIN_DEPTH)
			admin->tail = 0;
		writel(admin->tail, chario_nvme_doorbell(ctrl, 0));
	}
	raw_spin_unlock_irqrestore(&admin->lock, flags);
	return slot;
}

static unsigned long wait_until(const struct chario_nvme_admin *admin)
{
	unsigned long until;

	until = jiffies + msecs_to_jiffies(chario_nvme_admin_timeout_ms());
	if (admin->has_deadline && time_before(admin->deadline, until))
		until = admin->deadline;
	return until;
}

/* The interrupt should wake us; a lost one costs a tenth of a second. */
static int wait_for(struct chario_nvme *ctrl,
		    struct chario_nvme_admin_slot *slot)
{
	unsigned long until = wait_until(&ctrl->admin);

	while (!wait_for_completion_timeout(&slot->done, HZ / 10 + 1)) {
		reap(ctrl);
		if (completion_done(&slot->done))
			continue;
		if (chario_nvme_ctrl_is_gone(ctrl))
			return -ENODEV;
		if (time_after(jiffies, until))
			return -ETIMEDOUT;
	}
	return 0;
}

/**
 * chario_nvme_admin_run() - run an admin command
 * @ctrl: enabled
 * @c: the command
 * @result: dword 0 of its completion, or NULL
 *
 * Context: may sleep, up to admin_timeout_ms.
 * Return: 0; ETIMEDOUT, ENODEV; the errno of the status that the controller
 * has answered with.
 */
int chario_nvme_admin_run(struct chario_nvme *ctrl, struct nvme_command *c,
			  u32 *result)
{
	struct chario_nvme_admin_slot *slot;
	int ret;

	slot = submit(ctrl, c);
	if (!slot)
		return -EBUSY;
	ret = wait_for(ctrl, slot);
	if (ret) {
		dev_err(&ctrl->pdev->dev, "admin command 0x%02x: %s\n",
			c->common.opcode, ret == -ENODEV ? "drive has gone" :
			"no answer in time");
		return ret;
	}
	if (result)
		*result = slot->result;
	return chario_nvme_status_errno(slot->status);
}

/**
 * chario_nvme_admin_identify() - Identify (5.17)
 * @ctrl: enabled
 * @cns: what is asked for
 * @nsid: namespace, or 0
 * @to: gets the answer
 * @bytes: of the answer, up to 4096
 *
 * Return: as chario_nvme_admin_run().
 */
int chario_nvme_admin_identify(struct chario_nvme *ctrl, u8 cns, u32 nsid,
			       void *to, size_t bytes)
{
	struct nvme_command c = { };
	int ret;

	c.identify.opcode = nvme_admin_identify;
	c.identify.nsid = cpu_to_le32(nsid);
	c.identify.cns = cns;
	c.identify.dptr.prp1 = cpu_to_le64(ctrl->admin.page_dma);
	mutex_lock(&ctrl->admin.mutex);
	ret = chario_nvme_admin_run(ctrl, &c, NULL);
	if (!ret)
		memcpy(to, ctrl->admin.page, bytes);
	mutex_unlock(&ctrl->admin.mutex);
	return ret;
}

static int run(struct chario_nvme *ctrl, struct nvme_command *c, u32 *result)
{
	int ret;

	mutex_lock(&ctrl->admin.mutex);
	ret = chario_nvme_admin_run(ctrl, c, result);
	mutex_unlock(&ctrl->admin.mutex);
	return ret;
}

/**
 * chario_nvme_admin_set_queues() - ask for I/O queues (5.27.1.5)
 * @ctrl: enabled
 * @nr_queues: in: wanted, out: granted pairs
 *
 * Return: as chario_nvme_admin_run().
 */
int chario_nvme_admin_set_queues(struct chario_nvme *ctrl,
				 unsigned int *nr_queues)
{
	u32 wanted = *nr_queues - 1, granted;
	struct nvme_command c = { };
	int ret;

	c.features.opcode = nvme_admin_set_features;
	c.features.fid = cpu_to_le32(NVME_FEAT_NUM_QUEUES);
	c.features.dword11 = cpu_to_le32(wanted | wanted << 16);
	ret = run(ctrl, &c, &granted);
	if (ret)
		return ret;
	*nr_queues = min3(*nr_queues, (granted & 0xffff) + 1,
			  (granted >> 16) + 1);
	return 0;
}

static int create_cq(struct chario_nvme *ctrl, struct chario_nvme_queue *nq)
{
	u16 flags = NVME_QUEUE_PHYS_CONTIG;
	struct nvme_command c = { };

	if (!nq->core.polled)
		flags |= NVME_CQ_IRQ_ENABLED;
	c.create_cq.opcode = nvme_admin_create_cq;
	c.create_cq.prp1 = cpu_to_le64(nq->cq_dma);
	c.create_cq.cqid = cpu_to_le16(nq->qid);
	c.create_cq.qsize = cpu_to_le16(nq->entries - 1);
	c.create_cq.cq_flags = cpu_to_le16(flags);
	c.create_cq.irq_vector = cpu_to_le16(nq->vector);
	return run(ctrl, &c, NULL);
}

static int create_sq(struct chario_nvme *ctrl, struct chario_nvme_queue *nq)
{
	/* The controller looks at the priority where it has such (5.5). */
	u16 flags = NVME_QUEUE_PHYS_CONTIG |
		    (nq->urgent ? NVME_SQ_PRIO_URGENT : NVME_SQ_PRIO_MEDIUM);
	struct nvme_command c = { };

	c.create_sq.opcode = nvme_admin_create_sq;
	c.create_sq.prp1 = cpu_to_le64(nq->sq_dma);
	c.create_sq.sqid = cpu_to_le16(nq->qid);
	c.create_sq.qsize = cpu_to_le16(nq->entries - 1);
	c.create_sq.sq_flags = cpu_to_le16(flags);
	c.create_sq.cqid = cpu_to_le16(nq->qid);
	return run(ctrl, &c, NULL);
}

static int delete_queue(struct chario_nvme *ctrl, u8 opcode, u16 qid)
{
	struct nvme_command c = { };

	c.delete_queue.opcode = opcode;
	c.delete_queue.qid = cpu_to_le16(qid);
	return run(ctrl, &c, NULL);
}

/**
 * chario_nvme_admin_create() - create an I/O queue pair (5.4, 5.5)
 * @ctrl: enabled
 * @nq: its rings are clean
 *
 * Return: as chario_nvme_admin_run().
 */
int chario_nvme_admin_create(struct chario_nvme *ctrl,
			     struct chario_nvme_queue *nq)
{
	int ret;

	ret = create_cq(ctrl, nq);
	if (ret)
		return ret;
	ret = create_sq(ctrl, nq);
	if (ret)
		delete_queue(ctrl, nvme_admin_delete_cq, nq->qid);
	return ret;
}

/**
 * chario_nvme_admin_delete() - delete an I/O queue pair (5.6, 5.7)
 * @ctrl: enabled
 * @nq: was created
 *
 * For a tidy shutdown; what matters for safety is that the controller is
 * disabled afterwards.
 *
 * Return: as chario_nvme_admin_run().
 */
int chario_nvme_admin_delete(struct chario_nvme *ctrl,
			     struct chario_nvme_queue *nq)
{
	int ret = delete_queue(ctrl, nvme_admin_delete_sq, nq->qid);

	return ret ?: delete_queue(ctrl, nvme_admin_delete_cq, nq->qid);
}

/**
 * chario_nvme_admin_abort() - ask the controller to give up a command (5.1)
 * @ctrl: enabled
 * @qid: its queue
 * @cid: its identifier
 *
 * That the abort itself succeeds does not say that the command has ended: its
 * completion does.
 *
 * Return: as chario_nvme_admin_run().
 */
int chario_nvme_admin_abort(struct chario_nvme *ctrl, u16 qid, u16 cid)
{
	struct nvme_command c = { };

	c.abort.opcode = nvme_admin_abort_cmd;
	c.abort.sqid = cpu_to_le16(qid);
	c.abort.cid = cid;
	return run(ctrl, &c, NULL);
}
