/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Workqueues for work that outlives its caller, or that its caller must not do.
 */
#ifndef CHARIO_BASE_WORKERS_H
#define CHARIO_BASE_WORKERS_H

struct workqueue_struct;

/* Work that may wait for a drive as long as its deadlines and recoveries last. */
extern struct workqueue_struct *chario_workqueue;

/*
 * Work that gives things back without a wait for a drive, so that no drive holds up the
 * release of another one's.
 */
extern struct workqueue_struct *chario_put_workqueue;

/* Work that submits held commands; it also runs under memory pressure. */
extern struct workqueue_struct *chario_submit_workqueue;

/* Work that recovers a drive: what has to be written to free memory may wait for it. */
extern struct workqueue_struct *chario_recover_workqueue;

/* Work that submits bios anew: it may wait for what the work above does. */
extern struct workqueue_struct *chario_mixed_workqueue;

int chario_workers_init(void);
int chario_workers_run(int (*function)(void *argument), void *argument);
void chario_workers_exit(void);

#endif /* CHARIO_BASE_WORKERS_H */
