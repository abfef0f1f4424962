/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The internals of a check of a store.
 *
 * store/check.c		opening, closing, and the headers
 * store/check-table.c	the table and its entries
 */
#ifndef CHARIO_STORE_CHECK_H
#define CHARIO_STORE_CHECK_H

#include "store/inner.h"

/**
 * struct chario_check - a check that is under way
 * @store: store, open for writing if the check repairs; its index is filled as blocks
 *	are checked
 * @capacity: capacity of the disk in bytes
 * @flags: CHARIO_CHECK_* bits
 * @visit: function called for each damage
 * @data: argument of @visit
 * @left: number of damages left, not counting notes
 * @unused: number of the first block that has never been used; UINT64_MAX if there is
 *	none
 * @interrupted: number of the block, or of the last of several, that a change was
 *	writing; UINT64_MAX if there is none
 * @stuck: true if a block of the log is lost, so that its change cannot be finished
 * @headless: true if there is no header and none can be rebuilt, which has been
 *	reported
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
	bool headless;
};

/*
 * Describe a finding in words, count it, and hand it to the visitor.  Returns the visitor's
 * result.
 */
int chario_check_report(struct chario_check *check, struct chario_finding *finding,
			const char *format, ...) __attribute__((__format__(__printf__, 3, 4)));

/* Repair a finding by writing a block over its place, if the caller asked for repair. */
int chario_check_repair(struct chario_check *check, struct chario_finding *finding,
			const void *block);

/*
 * Read a block to a place in the buffer; a block that cannot be read becomes all zero, and
 * @is_read false.
 */
int chario_check_pull(struct chario_check *check, uint64_t at, uint64_t offset, bool *is_read);

/* Repair nothing if the table has an entry of a later release.  Call it after the headers. */
int chario_check_refrain(struct chario_check *check);

/* Check all blocks of the table and their entries. */
int chario_check_table(struct chario_check *check);

/* Look for areas that have the same bytes of the disk.  Call it after the table. */
int chario_check_overlaps(struct chario_check *check);

#endif /* CHARIO_STORE_CHECK_H */
