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
 * @user: user whose limit they count against; NULL if there is no limit
 * @mm: address space whose VmPin shows them
 * @nr_pages: number of pages
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
