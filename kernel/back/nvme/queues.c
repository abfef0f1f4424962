// SPDX-License-Identifier: GPL-2.0-only
/*
 * The I/O queues of a controller: made once, created on the controller, also after each
 * reset, and taken down.
 */
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/sched/mm.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "base/range.h"
#include "nvme.h"

static int queue_depth = 256;
chario_range_param(queue_depth, 2, CHARIO_NVME_MAX_DEPTH, 0444);
MODULE_PARM_DESC(queue_depth, "Entries of an I/O queue (2 to 1024, default 256), bounded by the drive");

static int max_command_kib = 512;
chario_range_param(max_command_kib, 4, 2048, 0444);
MODULE_PARM_DESC(max_command_kib, "Largest device command that a disk can be set to, KiB (4 to 2048, default 512), bounded by the drive; each queue has memory for it");

static int poll_queues = -1;
chario_range_param(poll_queues, -1, U16_MAX, 0444);
MODULE_PARM_DESC(poll_queues, "Queues for polling (0 to 65535, default -1: one per CPU), one per CPU at most, as far as the drive grants them");

static int private_queues = 4;
chario_range_param(private_queues, 0, 64, 0444);
MODULE_PARM_DESC(private_queues, "Queues that open files can have for themselves (0 to 64, default 4), as far as the drive grants them");

/**
 * chario_nvme_queues_max_bytes() - the largest command that a slot can hold, in bytes
 * @ctrl: a controller whose page size is known
 *
 * A PRP list is limited to one page of the controller.
 */
u32 chario_nvme_queues_max_bytes(const struct chario_nvme *ctrl)
{
	u64 list_limit = (1ULL << ctrl->page_shift) / sizeof(__le64)
			 << ctrl->page_shift;

	return min_t(u64, max_command_kib * SZ_1K, list_limit);
}

/**
 * chario_nvme_queues_nr_private() - the number of queues to set aside for open files
 *
 * Return: the number that is requested; the drive may grant fewer.
 */
unsigned int chario_nvme_queues_nr_private(void)
{
	return private_queues;
}

static unsigned int nr_poll_wanted(void)
{
	unsigned int cpus = num_possible_cpus();

	return poll_queues < 0 ? cpus : min_t(unsigned int, poll_queues, cpus);
}

/*
 * Plans the number of shared queues with an interrupt, of shared queues, and of all
 * queues that are made now.  Those of the block side are requested too, because that can
 * be done only once, and are made when they are used: one for each CPU at least, or none.
 */
static int plan_queues(struct chario_nvme *ctrl, unsigned int *nr_irq,
		       unsigned int *nr_shared, unsigned int *nr_queues)
{
	unsigned int cpus = num_possible_cpus();
	unsigned int poll = nr_poll_wanted();
	unsigned int most = cpus + poll + chario_nvme_queues_nr_private();
	int ret;

	*nr_queues = min(most + cpus + poll, ctrl->max_queues);
	ret = chario_nvme_admin_set_queues(ctrl, nr_queues);
	if (ret)
		return ret;
	ctrl->nr_block = *nr_queues >= most + cpus ? *nr_queues - most : 0;
	*nr_queues = min(*nr_queues, most);
	ctrl->nr_planned = *nr_queues + ctrl->nr_block;
	*nr_shared = min(*nr_queues, cpus + poll);
	/*
	 * If there are too few, interrupts come first, but one queue is polled where
	 * two fit.
	 */
	if (*nr_shared > cpus)
		*nr_irq = cpus;
	else if (poll && *nr_shared > 1)
		*nr_irq = *nr_shared - 1;
	else
		*nr_irq = *nr_shared;
	return 0;
}

static int init_rings(struct chario_nvme *ctrl, struct chario_nvme_queue *nq)
{
	struct device *dev = &ctrl->pdev->dev;

	nq->sqes = dma_alloc_coherent(dev, ctrl->depth * sizeof(*nq->sqes),
				      &nq->sq_dma, GFP_KERNEL);
	nq->cqes = dma_alloc_coherent(dev, ctrl->depth * sizeof(*nq->cqes),
				      &nq->cq_dma, GFP_KERNEL);
	nq->lists = dma_alloc_coherent(dev, nq->core.max_depth * nq->list_bytes,
				       &nq->list_dma, GFP_KERNEL);
	if (!nq->sqes || !nq->cqes || !nq->lists)
		return -ENOMEM;
	chario_nvme_queue_rewind(nq);
	return 0;
}

static void deinit_rings(struct chario_nvme *ctrl, struct chario_nvme_queue *nq)
{
	struct device *dev = &ctrl->pdev->dev;

	if (nq->lists)
		dma_free_coherent(dev, nq->core.max_depth * nq->list_bytes,
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

/* The queues that have an interrupt, or may have one, are counted for its vector. */
static unsigned int count_vectors(const struct chario_nvme *ctrl)
{
	unsigned int i, count = 0;

	for (i = 0; i < ctrl->drive.nr_queues; i++)
		count += !ctrl->drive.queues[i]->polled ||
			 ctrl->drive.queues[i]->use == CHARIO_QUEUE_PRIVATE;
	return count;
}

/*
 * Makes the next queue.  The core's part of its memory stays until the last disk is
 * released.
 */
static int init_queue(struct chario_nvme *ctrl, enum chario_queue_use use,
		      bool polled)
{
	unsigned int entries = DIV_ROUND_UP(ctrl->max_command_bytes,
					    1U << ctrl->page_shift);
	unsigned int nth_irq = count_vectors(ctrl);
	struct chario_nvme_queue *nq;
	int ret;

	nq = kzalloc_node(sizeof(*nq), GFP_KERNEL,
			  dev_to_node(&ctrl->pdev->dev));
	if (!nq)
		return -ENOMEM;
	nq->ctrl = ctrl;
	nq->qid = ctrl->drive.nr_queues + 1;
	nq->entries = ctrl->depth;
	nq->level = ctrl->level;
	nq->page_mask = (1U << ctrl->page_shift) - 1;
	nq->list_bytes = roundup_pow_of_two(max(entries, 2U) * sizeof(__le64));
	if (!polled && ctrl->nr_vectors > 1)
		nq->vector = 1 + nth_irq % (ctrl->nr_vectors - 1);
	nq->own_vector = ctrl->nr_vectors > ctrl->nr_irq &&
			 nth_irq + 1 < ctrl->nr_vectors;
	nq->sq_doorbell = chario_nvme_doorbell(ctrl, 2 * nq->qid);
	nq->cq_doorbell = chario_nvme_doorbell(ctrl, 2 * nq->qid + 1);
	ret = chario_queue_init(&nq->core, chario_nvme_has_tables() ?
				&chario_nvme_queue_ops :
				&chario_nvme_queue_ops_without_tables,
				&ctrl->pdev->dev, ctrl->depth - 1,
				ctrl->max_command_bytes, polled,
				dev_to_node(&ctrl->pdev->dev));
	if (ret) {
		kfree(nq);
		return ret;
	}
	nq->tag_mask = roundup_pow_of_two(nq->core.max_depth) - 1;
	nq->core.no_prep_bytes = 1U << ctrl->page_shift;
	nq->core.use = use;
	nq->priority = use == CHARIO_QUEUE_BLOCK ? NVME_SQ_PRIO_LOW :
						   NVME_SQ_PRIO_MEDIUM;
	ret = init_rings(ctrl, nq);
	if (ret) {
		deinit_rings(ctrl, nq);
		chario_queue_deinit(&nq->core);
		kfree(nq);
		return ret;
	}
	chario_drive_add_queue(&ctrl->drive, &nq->core);
	return 0;
}

/**
 * chario_nvme_queues_init() - make the I/O queues
 * @ctrl: an identified controller
 *
 * Return: 0; ENOMEM; or an error of chario_nvme_admin_run().  chario_nvme_queues_stop()
 * and chario_drive_deinit() undo this, also after an error.
 */
int chario_nvme_queues_init(struct chario_nvme *ctrl)
{
	unsigned int i, nr_shared, nr_queues;
	int ret;

	ctrl->depth = min_t(unsigned int, queue_depth,
			    NVME_CAP_MQES(ctrl->cap) + 1);
	ret = plan_queues(ctrl, &ctrl->nr_irq, &nr_shared, &nr_queues);
	if (ret)
		return ret;
	ret = chario_drive_make_room(&ctrl->drive, nr_queues + ctrl->nr_block);
	for (i = 0; i < nr_queues && !ret; i++)
		ret = init_queue(ctrl, i < nr_shared ? CHARIO_QUEUE_SHARED :
						       CHARIO_QUEUE_PRIVATE,
				 i >= ctrl->nr_irq && i < nr_shared);
	return ret;
}

/* Creates a queue of the block side on the controller, as @nth of them. */
static int create_block_queue(struct chario_nvme *ctrl, struct chario_nvme_queue *nq,
			      unsigned int nth)
{
	int ret;

	if (nq->created)
		return 0;
	chario_nvme_queue_reset(nq);
	ret = nq->irq ? 0 : chario_nvme_queue_request_irq(nq, nth);
	if (!ret)
		ret = chario_nvme_admin_create(ctrl, nq);
	if (ret)
		return ret;
	WRITE_ONCE(nq->created, true);
	chario_queue_replay(&nq->core);
	return 0;
}

/* Makes the queues that are missing, under drive.lock.  Returns their number or -errno. */
static int make_block_queues(struct chario_nvme *ctrl)
{
	struct chario_drive *drive = &ctrl->drive;
	unsigned int first = drive->nr_queues, i;
	int ret = 0;

	while (first && drive->queues[first - 1]->use == CHARIO_QUEUE_BLOCK)
		first--;
	while (drive->nr_queues < first + ctrl->nr_block && !ret)
		ret = init_queue(ctrl, CHARIO_QUEUE_BLOCK,
				 drive->nr_queues - first >= num_possible_cpus());
	for (i = first; i < drive->nr_queues && !ret; i++)
		ret = create_block_queue(ctrl, chario_nvme_queue_at(ctrl, i),
					 i - first);
	return ret ?: ctrl->nr_block;
}

/**
 * chario_nvme_queues_make_block() - make the queues of the block side
 * @drive: drive of a controller whose disks have been registered
 *
 * Return: see &struct chario_drive_ops.
 */
int chario_nvme_queues_make_block(struct chario_drive *drive)
{
	int ret = chario_drive_lock_live(drive);
	unsigned int flags;

	if (ret)
		return ret;
	/* Recovery takes this lock: no allocation under it waits for what this drive writes. */
	flags = memalloc_noio_save();
	ret = make_block_queues(to_nvme(drive));
	memalloc_noio_restore(flags);
	mutex_unlock(&drive->lock);
	return ret;
}

/**
 * chario_nvme_queues_start() - request the interrupts of the I/O queues
 * @ctrl: a controller whose queues have been made
 *
 * Return: 0 or -errno.
 */
int chario_nvme_queues_start(struct chario_nvme *ctrl)
{
	unsigned int i;
	int ret = 0;

	chario_nvme_irq_attach(ctrl);
	for (i = 0; i < ctrl->nr_irq && !ret; i++)
		ret = chario_nvme_queue_request_irq(chario_nvme_queue_at(ctrl, i), i);
	return ret;
}

/* Is the queue shared, or private and taken by a file? */
static bool queues_is_wanted(const struct chario_nvme_queue *nq)
{
	return nq->core.use != CHARIO_QUEUE_PRIVATE || (nq->taken && !nq->stuck);
}

/**
 * chario_nvme_queues_create() - create the I/O queues on the controller
 * @ctrl: an enabled controller with frozen queues
 *
 * Commands in flight are posted again.
 *
 * Return: see chario_nvme_admin_run().
 */
int chario_nvme_queues_create(struct chario_nvme *ctrl)
{
	unsigned int i;
	int ret;

	for (i = 0; i < ctrl->drive.nr_queues; i++) {
		struct chario_nvme_queue *nq = chario_nvme_queue_at(ctrl, i);
		bool wanted = queues_is_wanted(nq);

		chario_nvme_queue_reset(nq);
		nq->stuck = false;
		if (!wanted)
			continue;
		ret = chario_nvme_admin_create(ctrl, nq);
		if (ret)
			return ret;
		WRITE_ONCE(nq->created, true);
	}
	for (i = 0; i < ctrl->drive.nr_queues; i++)
		if (chario_nvme_queue_at(ctrl, i)->created)
			chario_queue_replay(ctrl->drive.queues[i]);
	return 0;
}

/**
 * chario_nvme_queues_delete() - delete the I/O queues on the controller
 * @ctrl: an enabled controller without commands in flight
 *
 * This ends with the first queue that cannot be deleted, because each would take a time
 * limit if the controller does not answer.
 */
void chario_nvme_queues_delete(struct chario_nvme *ctrl)
{
	unsigned int i;

	for (i = 0; i < ctrl->drive.nr_queues; i++) {
		struct chario_nvme_queue *nq = chario_nvme_queue_at(ctrl, i);

		if (!nq->created)
			continue;
		WRITE_ONCE(nq->created, false);
		if (chario_nvme_admin_delete(ctrl, nq))
			return;
	}
}

/**
 * chario_nvme_queues_forget() - note that the controller has forgotten all queues
 * @ctrl: a disabled controller
 *
 * Commands that it completed before are reaped; no doorbell is rung.
 */
void chario_nvme_queues_forget(struct chario_nvme *ctrl)
{
	unsigned int i;

	for (i = 0; i < ctrl->drive.nr_queues; i++) {
		WRITE_ONCE(chario_nvme_queue_at(ctrl, i)->created, false);
		chario_queue_reap(ctrl->drive.queues[i]);
	}
}

/**
 * chario_nvme_queues_stop() - stop the queues of a controller that does no more DMA
 * @ctrl: a controller that is disabled or has been given up
 *
 * This ends the commands in flight, waits until nobody uses a queue, and frees the
 * interrupts and the DMA memory of the PCI device.
 */
void chario_nvme_queues_stop(struct chario_nvme *ctrl)
{
	unsigned int i;

	for (i = 0; i < ctrl->drive.nr_queues; i++)
		chario_nvme_queue_free_irq(chario_nvme_queue_at(ctrl, i));
	chario_drive_drain(&ctrl->drive, -ENODEV);
	chario_nvme_irq_detach(ctrl);
	for (i = 0; i < ctrl->drive.nr_queues; i++)
		deinit_rings(ctrl, chario_nvme_queue_at(ctrl, i));
}
