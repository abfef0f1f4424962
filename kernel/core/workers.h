/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Workers for what outlives its caller, or must not run where it is found out.
 */
#ifndef CHARIO_CORE_WORKERS_H
#define CHARIO_CORE_WORKERS_H

struct workqueue_struct;

/* Work that may wait for a drive as long as a deadline. */
extern struct workqueue_struct *chario_workqueue;

/*
 * What is given back without a wait, so that no drive holds up what another has let
 * go of.
 */
extern struct workqueue_struct *chario_put_workqueue;

/* Submits commands that were held; under memory pressure, too. */
extern struct workqueue_struct *chario_submit_workqueue;

int chario_workers_init(void);
void chario_workers_exit(void);

#endif /* CHARIO_CORE_WORKERS_H */
