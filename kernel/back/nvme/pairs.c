// SPDX-License-Identifier: GPL-2.0-only
/*
 * The admin commands about I/O queue pairs and their commands.
 */
#include "nvme.h"

/**
 * chario_nvme_admin_set_queues() - request a number of I/O queues (5.27.1.5)
 * @ctrl: an enabled controller
 * @nr_queues: in: number of pairs that is wanted; out: number that is granted
 *
 * Return: see chario_nvme_admin_run().
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
	ret = chario_nvme_admin_run(ctrl, &c, &granted);
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
	return chario_nvme_admin_run(ctrl, &c, NULL);
}

static int create_sq(struct chario_nvme *ctrl, struct chario_nvme_queue *nq)
{
	/* A controller without priorities ignores this one (5.5). */
	u16 flags = NVME_QUEUE_PHYS_CONTIG | nq->priority;
	struct nvme_command c = { };

	c.create_sq.opcode = nvme_admin_create_sq;
	c.create_sq.prp1 = cpu_to_le64(nq->sq_dma);
	c.create_sq.sqid = cpu_to_le16(nq->qid);
	c.create_sq.qsize = cpu_to_le16(nq->entries - 1);
	c.create_sq.sq_flags = cpu_to_le16(flags);
	c.create_sq.cqid = cpu_to_le16(nq->qid);
	return chario_nvme_admin_run(ctrl, &c, NULL);
}

static int delete_queue(struct chario_nvme *ctrl, u8 opcode, u16 qid)
{
	struct nvme_command c = { };

	c.delete_queue.opcode = opcode;
	c.delete_queue.qid = cpu_to_le16(qid);
	return chario_nvme_admin_run(ctrl, &c, NULL);
}

/**
 * chario_nvme_admin_create() - create an I/O queue pair (5.4, 5.5)
 * @ctrl: an enabled controller
 * @nq: a queue with empty rings
 *
 * Return: see chario_nvme_admin_run(); after ETIMEDOUT or ECANCELED the controller may
 * have one queue of the pair, or both.
 */
int chario_nvme_admin_create(struct chario_nvme *ctrl,
			     struct chario_nvme_queue *nq)
{
	int ret;

	ret = create_cq(ctrl, nq);
	if (ret)
		return ret;
	ret = create_sq(ctrl, nq);
	if (!ret || ret == -ETIMEDOUT || ret == -ECANCELED)
		return ret;
	return delete_queue(ctrl, nvme_admin_delete_cq, nq->qid) ? -ETIMEDOUT :
								   ret;
}

/**
 * chario_nvme_admin_delete() - delete an I/O queue pair (5.6, 5.7)
 * @ctrl: an enabled controller
 * @nq: a queue that was created
 *
 * This is for an orderly shutdown; for safety the controller is disabled afterwards.
 *
 * Return: see chario_nvme_admin_run().
 */
int chario_nvme_admin_delete(struct chario_nvme *ctrl,
			     struct chario_nvme_queue *nq)
{
	int ret = delete_queue(ctrl, nvme_admin_delete_sq, nq->qid);

	return ret ?: delete_queue(ctrl, nvme_admin_delete_cq, nq->qid);
}

/**
 * chario_nvme_admin_abort() - ask the controller to abort a command (5.1)
 * @ctrl: an enabled controller
 * @qid: identifier of the command's submission queue
 * @cid: identifier of the command
 *
 * A successful abort does not mean that the command has ended; only its completion
 * does.
 *
 * Return: see chario_nvme_admin_run().
 */
int chario_nvme_admin_abort(struct chario_nvme *ctrl, u16 qid, u16 cid)
{
	struct nvme_command c = { };

	c.abort.opcode = nvme_admin_abort_cmd;
	c.abort.sqid = cpu_to_le16(qid);
	c.abort.cid = (__force u16)cpu_to_le16(cid);
	return chario_nvme_admin_run(ctrl, &c, NULL);
}
