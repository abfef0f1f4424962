// SPDX-License-Identifier: GPL-2.0-only
/*
 * The workqueues of the module, see workers.h.
 */
#include <linux/container_of.h>
#include <linux/errno.h>
#include <linux/workqueue.h>

#include "base/workers.h"

struct workqueue_struct *chario_workqueue;
struct workqueue_struct *chario_put_workqueue;
struct workqueue_struct *chario_submit_workqueue;
struct workqueue_struct *chario_recover_workqueue;
struct workqueue_struct *chario_mixed_workqueue;

static void destroy(struct workqueue_struct *workers)
{
	if (workers)
		destroy_workqueue(workers);
}

/**
 * chario_workers_init() - make the workers
 *
 * Return: 0 or ENOMEM.
 */
int chario_workers_init(void)
{
	chario_workqueue = alloc_workqueue("chario", WQ_UNBOUND, 0);
	chario_put_workqueue = alloc_workqueue("chario_put", WQ_UNBOUND, 0);
	chario_submit_workqueue = alloc_workqueue("chario_submit",
						  WQ_UNBOUND | WQ_HIGHPRI |
						  WQ_MEM_RECLAIM, 0);
	chario_recover_workqueue = alloc_workqueue("chario_recover",
						   WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	chario_mixed_workqueue = alloc_workqueue("chario_mixed",
						 WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (chario_workqueue && chario_put_workqueue && chario_submit_workqueue &&
	    chario_recover_workqueue && chario_mixed_workqueue)
		return 0;
	chario_workers_exit();
	return -ENOMEM;
}

/**
 * struct errand - a function that a worker runs for somebody who waits
 * @work: the work
 * @function: the function
 * @argument: argument of the function
 * @result: return value of the function
 */
struct errand {
	struct work_struct work;
	int (*function)(void *argument);
	void *argument;
	int result;
};

static void run_errand(struct work_struct *work)
{
	struct errand *errand = container_of(work, struct errand, work);

	errand->result = errand->function(errand->argument);
}

/**
 * chario_workers_run() - run a function that must not depend on the rights of the caller
 * @function: the function.  What it opens is opened by a worker, whose cgroup allows all
 *	devices
 * @argument: argument of the function
 *
 * Context: may sleep; not from work of the workqueue that runs the function.
 * Return: what the function returns.
 */
int chario_workers_run(int (*function)(void *argument), void *argument)
{
	struct errand errand = { .function = function, .argument = argument };

	INIT_WORK_ONSTACK(&errand.work, run_errand);
	queue_work(chario_workqueue, &errand.work);
	flush_work(&errand.work);
	destroy_work_on_stack(&errand.work);
	return errand.result;
}

/**
 * chario_workers_exit() - wait for all work, and destroy the workqueues
 */
void chario_workers_exit(void)
{
	/* Work in the first queue may still release disks that were closed just now. */
	destroy(chario_workqueue);
	destroy(chario_put_workqueue);
	destroy(chario_submit_workqueue);
	destroy(chario_recover_workqueue);
	destroy(chario_mixed_workqueue);
}
