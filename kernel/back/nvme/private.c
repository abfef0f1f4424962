// SPDX-License-Identifier: GPL-2.0-only
/*
 * Queues of one's own: a pair that one open file asks for, and nobody else
 * posts to.
 *
 * Their memory, their identifiers and their vectors are set aside when the
 * drive is bound.  The controller learns of one when it is taken: then its
 * depth, its interrupt and its priority are known.
 */
#include <linux/capability.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/sched/isolation.h>
#include <linux/slab.h>

#include "core/backend.h"
#include "core/workers.h"
#include "nvme.h"

static struct chario_nvme_queue *find_free(struct chario_nvme *ctrl)
{
	unsigned int i;

	for (i = 0; i < ctrl->drive.nr_queues; i++) {
		struct chario_nvme_queue *nq = chario_nvme_queue_at(ctrl, i);

		if (nq->core.reserved && !nq->taken)
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
	nq->urgent = (args->flags & CHARIO_QUEUE_URGENT) &&
		     chario_nvme_ctrl_has_priorities(nq->ctrl);
	chario_nvme_queue_reset(nq);
}

/* True unless isolcpus or nohz_full keep this CPU free. */
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
 * The CPU that takes the interrupt, or EPERM.  Without a wish it is that of the
 * caller, or another one where the caller may run there but not disturb it.
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

/* What has been granted. */
static void tell(const struct chario_nvme_queue *nq, int cpu,
		 struct chario_queue_create *args)
{
	args->id = nq->qid;
	args->depth = nq->core.depth;
	/* A vector that others share stays where it is. */
	args->cpu = !nq->core.polled && nq->own_vector ? cpu : -1;
	args->granted = (nq->core.polled ? CHARIO_QUEUE_POLL : 0) |
			(nq->urgent ? CHARIO_QUEUE_URGENT : 0);
}

static int bring_up(struct chario_nvme *ctrl, struct chario_nvme_queue *nq,
		    int cpu)
{
	int ret = chario_nvme_queue_request_irq(nq, cpu);

	if (ret)
		return ret;
	ret = chario_nvme_admin_create(ctrl, nq);
	if (ret) {
		/* The controller may have it all the same, until a reset. */
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

/* Under drive.lock. */
static struct chario_queue *take(struct chario_nvme *ctrl,
				 struct chario_queue_create *args)
{
	struct chario_nvme_queue *nq = find_free(ctrl);
	int cpu = pick_cpu(args);
	int ret;

	if (cpu < 0)
		return ERR_PTR(cpu);
	if (!nq)
		return ERR_PTR(-ENOSPC);
	set_up(nq, args);
	ret = bring_up(ctrl, nq, cpu);
	if (ret)
		return ERR_PTR(ret == -ECANCELED ? -EAGAIN : ret);
	tell(nq, cpu, args);
	queue_work(system_unbound_wq, &ctrl->power.work);
	return &nq->core;
}

/**
 * chario_nvme_private_take() - a queue for one open file
 * @cio: the disk
 * @args: what is wanted; gets what was granted
 *
 * Return: the queue, live, until chario_nvme_private_give(); EAGAIN while the
 * drive is being recovered, or will be; ENOSPC when all have been taken, EPERM when
 * the caller may not have interrupts on that CPU, ENODEV, EINTR on a fatal signal,
 * or as chario_nvme_admin_run().
 */
struct chario_queue *
chario_nvme_private_take(struct chario_device *cio,
			 struct chario_queue_create *args)
{
	struct chario_nvme *ctrl = to_nvme(cio->drive);
	struct chario_queue *q;
	int ret;

	ret = chario_drive_lock_live(&ctrl->drive);
	if (ret)
		return ERR_PTR(ret);
	q = take(ctrl, args);
	mutex_unlock(&ctrl->drive.lock);
	return q;
}

/* A queue that the controller does not delete is stuck until the reset that is asked for here. */
static void delete(struct chario_nvme *ctrl, struct chario_nvme_queue *nq)
{
	chario_queue_freeze(&nq->core);
	WRITE_ONCE(nq->created, false);
	nq->stuck = chario_nvme_admin_delete(ctrl, nq);
	if (nq->stuck)
		chario_drive_recover_wanted(&ctrl->drive, true);
}

/*
 * Under drive.lock; nothing is in flight.  False: to be tried again, while the
 * drive is being recovered or will be.  A drive that has been given up keeps it.
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

static void give_back(struct work_struct *work)
{
	struct chario_nvme_queue *nq = container_of(work,
						    struct chario_nvme_queue,
						    give_work);
	struct chario_nvme *ctrl = nq->ctrl;

	/* A command that the drive holds is ended by recovery. */
	while (!chario_queue_is_idle(&nq->core) || !try_take_down(ctrl, nq))
		msleep(20);
	chario_nvme_put(ctrl);
}

/**
 * chario_nvme_private_give() - its file has been closed
 * @cio: the disk
 * @q: the queue; the file has no call under way
 */
void chario_nvme_private_give(struct chario_device *cio,
			      struct chario_queue *q)
{
	struct chario_nvme_queue *nq = to_nvme_queue(q);

	chario_nvme_get(nq->ctrl);
	INIT_WORK(&nq->give_work, give_back);
	queue_work(chario_workqueue, &nq->give_work);
}
