/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory that counts as locked: see memory/locked.c.
 */
#ifndef CHARIO_TYPES_LOCKED_H
#define CHARIO_TYPES_LOCKED_H

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

#endif /* CHARIO_TYPES_LOCKED_H */
