// SPDX-License-Identifier: GPL-2.0-only
/*
 * The workqueues of the module, see workers.h.
 */
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
