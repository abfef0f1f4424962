/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Isolation: the block side stands back for urgent calls, see isolation.c.
 */
#ifndef CHARIO_QUEUE_ISOLATION_H
#define CHARIO_QUEUE_ISOLATION_H

#include "types/drive.h"

/* Longest time for which the block side stands back after an urgent call, milliseconds. */
#define CHARIO_ISOLATION_MAX_MS		1000U

/* While the device takes none, it takes one block command in this time, milliseconds. */
#define CHARIO_ISOLATION_PASS_MS	20U

/* queue/isolation.c */
void chario_isolation_init(struct chario_drive *drive);
void chario_isolation_deinit(struct chario_drive *drive);
void chario_isolation_open(struct chario_drive *drive);
void chario_isolation_close(struct chario_drive *drive);
void chario_isolation_enter(struct chario_drive *drive);
void chario_isolation_exit(struct chario_drive *drive);
bool chario_isolation_admit(struct chario_drive *drive);
void chario_isolation_end(struct chario_drive *drive);

/* Returns whether block commands are counted, because files are urgent. */
static inline bool chario_isolation_is_on(const struct chario_drive *drive)
{
	return atomic_read(&drive->isolation.files);
}

#endif /* CHARIO_QUEUE_ISOLATION_H */
