// SPDX-License-Identifier: GPL-2.0-only
/*
 * Private queues: queue pairs that one open file requests, and that no other file uses.
 *
 * Their memory, identifiers and vectors are set aside when the drive is bound.  A queue
 * is created on the controller when a file takes it, because its depth, interrupt and
 * priority are known only then.
 */
#include <linux/capability.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/sched/isolation.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "base/workers.h"
#include "nvme.h"
#include "types/backend.h"

static struct chario_nvme_queue *find_free(struct chario_nvme *ctrl)
{
	unsigned int i;

	for (i = 0; i < ctrl->drive.nr_queues; i++) {
		struct chario_nvme_queue *nq = chario_nvme_queue_at(ctrl, i);

		if (nq->core.use == CHARIO_QUEUE_PRIVATE && !nq->taken)
			return nq;
	}
	return NULL;
}

static void set_up(struct chario_nvme_queue *nq,
		   const struct chario_queue_create *args)
{
	unsigned int most = nq->ctrl->depth - 1;

	nq->core.polled = args->flags & CHARIO_QUEUE_POLL;
	chario_queue_set_depth(&nq->core, args->depth ?
			       clamp(args->depth, 1U, most) : most);
	nq->entries = nq->core.depth + 1;
	nq->priority = (args->flags & CHARIO_QUEUE_URGENT) &&
		       chario_nvme_ctrl_has_priorities(nq->ctrl) ?
			       NVME_SQ_PRIO_URGENT : NVME_SQ_PRIO_MEDIUM;
	chario_nvme_queue_reset(nq);
}

/* Is this CPU free of isolcpus and nohz_full? */
static bool is_housekeeping(int cpu)
{
	return housekeeping_cpu(cpu, HK_TYPE_DOMAIN) &&
	       housekeeping_cpu(cpu, HK_TYPE_TICK);
}

/* May the caller direct interrupts to this CPU?  A cpuset bounds where it runs. */
static bool may_disturb(int cpu)
{
	return (is_housekeeping(cpu) &&
		cpumask_test_cpu(cpu, &current->cpus_mask)) ||
	       capable(CAP_SYS_NICE);
}

/*
 * Returns the CPU that takes the interrupt, or -EPERM.  Without a request it is that of
 * the caller, or another one if the caller may not direct interrupts there.
 */
static int pick_cpu(const struct chario_queue_create *args)
{
	int here = raw_smp_processor_id(), cpu;

	if (args->flags & CHARIO_QUEUE_POLL)
		return here;
	if (args->cpu >= 0)
		return may_disturb(args->cpu) ? args->cpu : -EPERM;
	if (may_disturb(here))
		return here;
	for_each_cpu_and(cpu, cpu_online_mask, &current->cpus_mask)
		if (is_housekeeping(cpu))
			return cpu;
	for_each_online_cpu(cpu)
		if (is_housekeeping(cpu))
			return cpu;
	return here;
}

/* Fills in the result. */
static void private_tell(const struct chario_nvme_queue *nq, int cpu,
			 struct chario_queue_create *args)
{
	args->id = nq->qid;
	args->depth = nq->core.depth;
	/* An interrupt that other queues share stays on its CPU. */
	args->cpu = !nq->core.polled && nq->own_vector ? cpu : -1;
	args->granted = (nq->core.polled ? CHARIO_QUEUE_POLL : 0) |
			(nq->priority == NVME_SQ_PRIO_URGENT ?
				 CHARIO_QUEUE_URGENT : 0);
}

static int bring_up(struct chario_nvme *ctrl, struct chario_nvme_queue *nq,
		    int cpu)
{
	int ret = chario_nvme_queue_request_irq(nq, cpu);

	if (ret)
		return ret;
	ret = chario_nvme_admin_create(ctrl, nq);
	if (ret) {
		/* The controller may have the queue nevertheless, until a reset. */
		if (ret == -ETIMEDOUT || ret == -ECANCELED)
			chario_drive_recover_wanted(&ctrl->drive, true);
		chario_nvme_queue_free_irq(nq);
		return ret;
	}
	WRITE_ONCE(nq->created, true);
	chario_queue_replay(&nq->core);
	nq->taken = true;
	return 0;
}

/* Takes a queue, under drive.lock. */
static struct chario_queue *private_take(struct chario_nvme *ctrl,
					 struct chario_queue_create *args, int cpu)
{
	struct chario_nvme_queue *nq = find_free(ctrl);
	int ret;

	if (!nq)
		return ERR_PTR(-ENOSPC);
	set_up(nq, args);
	ret = bring_up(ctrl, nq, cpu);
	if (ret)
		return ERR_PTR(ret == -ECANCELED ? -EAGAIN : ret);
	private_tell(nq, cpu, args);
	queue_work(system_unbound_wq, &ctrl->power.work);
	return &nq->core;
}

/**
 * chario_nvme_private_take() - take a queue for one open file
 * @disk: the disk
 * @args: wanted queue; filled in with the granted one
 *
 * Return: the live queue, until chario_nvme_private_give(); EAGAIN while the drive is
 * being recovered, or is about to be; ENOSPC when all queues are taken; EPERM when the
 * caller may not direct interrupts to that CPU; ENODEV; EINTR on a fatal signal; or an
 * error of chario_nvme_admin_run().
 */
struct chario_queue *
chario_nvme_private_take(struct chario_disk *disk,
			 struct chario_queue_create *args)
{
	struct chario_nvme *ctrl = to_nvme(disk->drive);
	struct chario_queue *q;
	int cpu = pick_cpu(args), ret;
	unsigned int flags;

	if (cpu < 0)
		return ERR_PTR(cpu);
	ret = chario_drive_lock_live(&ctrl->drive);
	if (ret)
		return ERR_PTR(ret);
	/* Recovery takes this lock: no allocation under it waits for what this drive writes. */
	flags = memalloc_noio_save();
	q = private_take(ctrl, args, cpu);
	memalloc_noio_restore(flags);
	mutex_unlock(&ctrl->drive.lock);
	return q;
}

/*
 * Deletes a queue; one that the controller does not delete is stuck until the reset
 * that is requested here.
 */
static void delete(struct chario_nvme *ctrl, struct chario_nvme_queue *nq)
{
	chario_queue_freeze(&nq->core);
	WRITE_ONCE(nq->created, false);
	nq->stuck = chario_nvme_admin_delete(ctrl, nq);
	if (nq->stuck)
		chario_drive_recover_wanted(&ctrl->drive, true);
}

/*
 * Takes an idle queue down, under drive.lock.  Returns false when this must be tried
 * again, because the drive is being recovered or is about to be.  A queue of a drive
 * that has been given up stays as it is.
 */
static bool take_down(struct chario_nvme *ctrl, struct chario_nvme_queue *nq)
{
	if (ctrl->drive.state == CHARIO_DRIVE_RECOVERING)
		return false;
	if (ctrl->drive.state != CHARIO_DRIVE_LIVE)
		return true;
	if (nq->created)
		delete(ctrl, nq);
	if (nq->stuck)
		return false;
	chario_nvme_queue_free_irq(nq);
	nq->taken = false;
	return true;
}

static bool try_take_down(struct chario_nvme *ctrl,
			  struct chario_nvme_queue *nq)
{
	bool done;

	mutex_lock(&ctrl->drive.lock);
	done = take_down(ctrl, nq);
	mutex_unlock(&ctrl->drive.lock);
	return done;
}

static void private_give_back(struct work_struct *work)
{
	struct chario_nvme_queue *nq = container_of(work,
						    struct chario_nvme_queue,
						    give_work);
	struct chario_nvme *ctrl = nq->ctrl;

	/* Recovery ends a command that the drive does not give back. */
	while (!chario_queue_is_idle(&nq->core) || !try_take_down(ctrl, nq))
		msleep(20);
	chario_nvme_put(ctrl);
}

/**
 * chario_nvme_private_give() - release a queue whose file has been closed
 * @disk: the disk
 * @q: the queue; the file has no call in flight
 */
void chario_nvme_private_give(struct chario_disk *disk,
			      struct chario_queue *q)
{
	struct chario_nvme_queue *nq = to_nvme_queue(q);

	chario_nvme_get(nq->ctrl);
	INIT_WORK(&nq->give_work, private_give_back);
	queue_work(chario_workqueue, &nq->give_work);
}
