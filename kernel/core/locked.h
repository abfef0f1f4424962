/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory that counts as locked: see locked.c.
 */
#ifndef CHARIO_CORE_LOCKED_H
#define CHARIO_CORE_LOCKED_H

struct mm_struct;
struct user_struct;

/**
 * struct chario_locked - pages that count as locked
 * @user: against whose limit; NULL where there is none
 * @mm: in whose VmPin they show
 * @nr_pages: how many
 */
struct chario_locked {
	struct user_struct *user;
	struct mm_struct *mm;
	unsigned long nr_pages;
};

/* core/locked.c */
int chario_locked_charge(struct chario_locked *locked, unsigned long nr_pages);
void chario_locked_uncharge(struct chario_locked *locked);

#endif /* CHARIO_CORE_LOCKED_H */
