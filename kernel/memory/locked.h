/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory that counts as locked: see locked.c.
 */
#ifndef CHARIO_MEMORY_LOCKED_H
#define CHARIO_MEMORY_LOCKED_H

#include "types/locked.h"

/* memory/locked.c */
int chario_locked_charge(struct chario_locked *locked, unsigned long nr_pages);
void chario_locked_uncharge(struct chario_locked *locked);

#endif /* CHARIO_MEMORY_LOCKED_H */
