/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The functions of a drive: recovery, and the watchdog that asks for it.
 */
#ifndef CHARIO_DRIVE_DRIVE_H
#define CHARIO_DRIVE_DRIVE_H

#include "types/drive.h"

/* Time that the device gets to end a command that it was asked to abort, ms. */
#define CHARIO_DRIVE_ABORT_MS	1000

/* drive/queues.c */
void chario_drive_freeze(struct chario_drive *drive);
void chario_drive_drain(struct chario_drive *drive, int error);
bool chario_drive_is_idle(const struct chario_drive *drive);
bool chario_drive_settle(struct chario_drive *drive, unsigned int ms);

/* drive/recover.c */
int chario_drive_lock_live(struct chario_drive *drive);
const char *chario_drive_state_name(const struct chario_drive *drive);
bool chario_drive_remove(struct chario_drive *drive);
void chario_drive_look(struct chario_drive *drive);
void chario_drive_recover_wanted(struct chario_drive *drive, bool reset);
void chario_drive_recover(struct work_struct *work);
void chario_drive_hold(struct chario_drive *drive);
int chario_drive_resume(struct chario_drive *drive);
int chario_drive_reset(struct chario_drive *drive);
void chario_drive_cut_off(struct chario_drive *drive, int error);
void chario_drive_give_up(struct chario_drive *drive, int error);
u64 chario_drive_bound_ns(const struct chario_drive *drive);

/* drive/drive.c */
void chario_drive_init(struct chario_drive *drive,
		       const struct chario_drive_ops *ops, struct device *dev);
void chario_drive_deinit(struct chario_drive *drive);
int chario_drive_make_room(struct chario_drive *drive, unsigned int nr_queues);
void chario_drive_add_queue(struct chario_drive *drive, struct chario_queue *q);
void chario_drive_start(struct chario_drive *drive);

/* drive/watch.c */
void chario_watch(struct timer_list *timer);
void chario_watch_polled(struct work_struct *work);
void chario_watch_expire(struct chario_queue *q);

#endif /* CHARIO_DRIVE_DRIVE_H */
