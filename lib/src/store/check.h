/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A check of a store from the inside.
 *
 * store/check.c		its life, and the headers
 * store/check-table.c	the table and its entries
 */
#ifndef CHARIO_STORE_CHECK_H
#define CHARIO_STORE_CHECK_H

#include "store/inner.h"

/**
 * struct chario_check - a check that is under way
 * @store: open for reading, or for writing where it repairs; its index is filled
 *	as blocks are looked at
 * @capacity: of the disk
 * @flags: CHARIO_CHECK_* bits
 * @visit: is called for each damage
 * @data: is handed to it
 * @left: damages that are left, but for notes
 * @unused: the first block that has never been used; UINT64_MAX for none
 * @interrupted: number of a block that was being changed, the last one of several;
 *	UINT64_MAX for none
 * @stuck: a block of the log is lost, so that it cannot be finished
 * @unread: a block could not be read
 * @headless: there is no header, and nothing to make one from, which has been reported
 */
struct chario_check {
	struct chario_store store;
	uint64_t capacity;
	unsigned int flags;
	chario_finding_visit *visit;
	void *data;
	int left;
	uint64_t unused;
	uint64_t interrupted;
	bool stuck;
	bool unread;
	bool headless;
};

/* Say in words what a finding is. */
void chario_check_describe(struct chario_finding *finding, const char *format, ...)
	__attribute__((__format__(__printf__, 2, 3)));

/* Count a finding and hand it to the visitor, whose result this is. */
int chario_check_report(struct chario_check *check, struct chario_finding *finding);

/* Whether it is to repair. */
bool chario_check_repairs(const struct chario_check *check);

/* Write a block of 4096 bytes that is given. */
int chario_check_put(struct chario_check *check, uint64_t offset, const void *block);

/* Read a block to a place in the buffer; one that cannot be read is all zero. */
int chario_check_pull(struct chario_check *check, uint64_t at, uint64_t offset);

/* Repair nothing where the table has an entry of a later release; after the headers. */
int chario_check_refrain(struct chario_check *check);

/* Look at all blocks of the table and their entries. */
int chario_check_table(struct chario_check *check);

/* Look for areas that have the same bytes of the disk; after the table. */
int chario_check_overlaps(struct chario_check *check);

#endif /* CHARIO_STORE_CHECK_H */
