// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A check of the table: both copies of each block, and the entries in them.
 */
#include "store/check.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/**
 * struct pair - both copies of a block
 * @number: number of the block
 * @copies: copies in memory
 * @read: whether each copy can be read
 * @good: whether each copy is good
 */
struct pair {
	uint64_t number;
	const struct store_table *copies[2];
	bool read[2];
	bool good[2];
};

/* Place in the buffer of a second pair, while the first one is at 0. */
#define OTHER_PAIR (2 * CHARIO_STORE_BLOCK)

/* Read a pair to a place in the buffer with room for two blocks. */
static int pull_pair(struct chario_check *check, uint64_t place, uint64_t number, struct pair *pair)
{
	const struct store_header *header = &check->store.header;

	pair->number = number;
	for (unsigned int copy = 0; copy < 2; copy++) {
		uint64_t at = place + copy * CHARIO_STORE_BLOCK;
		void *memory = check->store.pool.memory + at;
		int err = chario_check_pull(check, at, chario_table_offset(header, number, copy),
					    &pair->read[copy]);

		if (err)
			return err;
		pair->copies[copy] = memory;
		pair->good[copy] =
			chario_block_is_good(memory, STORE_MAGIC_TABLE, header->head.uuid, number);
	}
	return 0;
}

/* Choose the copy that readers use.  Returns NULL if both are damaged. */
static const struct store_table *choose(const struct chario_check *check, const struct pair *pair)
{
	return chario_table_choose(&check->store.header, pair->number, pair->copies[0],
				   pair->copies[1]);
}

static bool is_newer(const struct store_entry *entry)
{
	return entry->fields.flags & STORE_ENTRY_AREA && entry->fields.flags & ~STORE_ENTRY_FLAGS;
}

int chario_check_refrain(struct chario_check *check)
{
	for (uint64_t number = 0; number < check->store.header.nr_blocks && check->flags;
	     number++) {
		const struct store_table *table;
		struct pair pair;
		int err = pull_pair(check, OTHER_PAIR, number, &pair);

		if (err)
			return err;
		table = choose(check, &pair);
		for (unsigned int i = 0; table && i < STORE_ENTRIES; i++)
			if (is_newer(&table->entries[i]))
				check->flags = 0;
	}
	return 0;
}

static int report_copy(struct chario_check *check, const struct pair *pair, unsigned int copy)
{
	struct chario_finding finding = {
		.damage = pair->good[copy] ? CHARIO_DAMAGE_BEHIND : CHARIO_DAMAGE_BLOCK,
		.severity = CHARIO_SEVERITY_REPAIRABLE,
		.copy = copy + 1,
		.block = pair->number,
		.offset = chario_table_offset(&check->store.header, pair->number, copy),
	};
	const char *which = copy ? "second" : "first";
	/* A write that was interrupted leaves a copy that can be read. */
	const bool interrupted = pair->read[copy] &&
				 (pair->number == check->interrupted ||
				  chario_note_is_logged(&check->store, pair->number));
	int err;

	/* The next change repairs the block that an interruption of the last one left. */
	if (interrupted)
		finding.severity = CHARIO_SEVERITY_NOTE;
	err = chario_check_repair(check, &finding, pair->copies[!copy]);
	if (err)
		return err;
	return chario_check_report(check, &finding,
				   "the %s copy of block %" PRIu64 " of the table is %s%s", which,
				   pair->number,
				   pair->good[copy] ? "older than the other" : "damaged",
				   interrupted ? ": a change was interrupted" : "");
}

static int put_copies(struct chario_check *check, const struct store_table *table)
{
	struct chario_store *store = &check->store;
	const uint64_t number = table->head.number;
	int err = chario_block_put(store, chario_table_offset(&store->header, number, 0), table);

	if (err)
		return err;
	return chario_block_put(store, chario_table_offset(&store->header, number, 1), table);
}

/*
 * Write both copies of a block: the copy that readers use, if one is good.  Otherwise write
 * an empty block, which counts as used, so that readers also look at the blocks behind it;
 * but behind a block that has never been used, it counts as never used.
 */
static int forget(struct chario_check *check, const struct pair *pair)
{
	const struct store_table *good = choose(check, pair);
	struct store_table table;

	if (good)
		table = *good;
	else
		chario_table_make_empty(&check->store.header, pair->number,
					check->unused == UINT64_MAX ? chario_store_now() : 0,
					&table);
	return put_copies(check, &table);
}

static int report_lost(struct chario_check *check, const struct pair *pair, const char *what)
{
	const unsigned int both = CHARIO_CHECK_REPAIR | CHARIO_CHECK_FORGET;
	struct chario_finding finding = {
		.damage = CHARIO_DAMAGE_BLOCKS,
		.severity = CHARIO_SEVERITY_LOSS,
		.block = pair->number,
		.offset = chario_table_offset(&check->store.header, pair->number, 0),
	};
	int err = 0;

	if ((check->flags & both) == both) {
		err = forget(check, pair);
		finding.repaired = !err;
	}
	if (!finding.repaired && chario_note_is_logged(&check->store, pair->number))
		check->stuck = true;
	return err ? err :
		     chario_check_report(check, &finding, "block %" PRIu64 " of the table: %s",
					 pair->number, what);
}

/* Mark unused blocks as used, so that the used blocks behind them are checked. */
static int close_gap(struct chario_check *check, uint64_t end)
{
	int err = 0;

	for (uint64_t number = check->unused; number < end && !err; number++) {
		const struct store_table *found;
		struct store_table table;
		struct pair pair;

		err = pull_pair(check, OTHER_PAIR, number, &pair);
		found = err ? NULL : choose(check, &pair);
		if (!found || found->head.sequence)
			continue;
		table = *found;
		table.head.sequence = chario_store_now();
		chario_block_seal(&table);
		err = put_copies(check, &table);
	}
	if (!err)
		check->unused = UINT64_MAX;
	return err;
}

static int report_gap(struct chario_check *check, uint64_t number)
{
	struct chario_finding finding = {
		.damage = CHARIO_DAMAGE_GAP,
		.severity = CHARIO_SEVERITY_REPAIRABLE,
		.block = number,
		.offset = chario_table_offset(&check->store.header, number, 0),
	};
	const uint64_t unused = check->unused;
	int err = 0;

	if (check->flags & CHARIO_CHECK_REPAIR) {
		err = close_gap(check, number);
		finding.repaired = !err;
	}
	if (err)
		return err;
	return chario_check_report(check, &finding,
				   "block %" PRIu64 " of the table: used, but not looked at, for "
				   "one before it (%" PRIu64 ") never was",
				   number, unused);
}

/* A finding about an area, whose entry is in block @number of the table. */
static struct chario_finding make_finding(enum chario_damage damage, enum chario_severity severity,
					  uint64_t number, const struct store_entry *entry)
{
	struct chario_finding finding = {
		.damage = damage,
		.severity = severity,
		.block = number,
		.offset = entry->fields.offset,
	};

	memcpy(finding.name, entry->name, sizeof(finding.name) - 1);
	return finding;
}

/* An older release cannot tell it from damage; so it is not said to be any. */
static int report_newer(struct chario_check *check, uint64_t number,
			const struct store_entry *entry)
{
	struct chario_finding finding =
		make_finding(CHARIO_DAMAGE_NEWER, CHARIO_SEVERITY_UNKNOWN, number, entry);

	return chario_check_report(check, &finding,
				   "an area of block %" PRIu64 " is of a newer release of CharIO "
				   "than this one",
				   number);
}

static int report_entry(struct chario_check *check, uint64_t number,
			const struct store_entry *entry, const char *fault)
{
	struct chario_finding finding =
		make_finding(CHARIO_DAMAGE_ENTRY, CHARIO_SEVERITY_LOSS, number, entry);

	if (strstr(fault, "outside"))
		finding.damage = CHARIO_DAMAGE_RANGE;
	return chario_check_report(check, &finding, "an area of block %" PRIu64 " cannot be: %s",
				   number, fault);
}

static int report_name(struct chario_check *check, uint64_t number, const struct store_entry *entry)
{
	struct chario_finding finding =
		make_finding(CHARIO_DAMAGE_NAME, CHARIO_SEVERITY_LOSS, number, entry);

	strcpy(finding.other, entry->name);
	return chario_check_report(check, &finding,
				   "two areas have the same name; the second is not found by it");
}

static int report_move(struct chario_check *check, uint64_t number, const struct store_entry *entry)
{
	struct chario_finding finding =
		make_finding(CHARIO_DAMAGE_MOVE, CHARIO_SEVERITY_NOTE, number, entry);

	return chario_check_report(check, &finding,
				   "a move was interrupted; defrag completes it, or takes it back");
}

static int check_entry(struct chario_check *check, uint64_t slot, const struct store_entry *entry)
{
	uint64_t number = slot / STORE_ENTRIES;
	const char *fault;
	int ret;

	if (!(entry->fields.flags & STORE_ENTRY_AREA))
		return 0;
	if (is_newer(entry))
		return report_newer(check, number, entry);
	fault = chario_entry_fault(&check->store.header, entry);
	if (fault)
		return report_entry(check, number, entry, fault);
	ret = chario_index_add(&check->store.index, slot, entry);
	if (ret == -EEXIST)
		ret = report_name(check, number, entry);
	if (!ret && entry->fields.flags & STORE_ENTRY_MOVING)
		ret = report_move(check, number, entry);
	return ret;
}

static int check_entries(struct chario_check *check, uint64_t number,
			 const struct store_table *table)
{
	struct store_table copy = *table;
	int ret = 0;

	chario_note_overlay(&check->store, number, &copy);
	for (unsigned int i = 0; i < STORE_ENTRIES && !ret; i++)
		ret = check_entry(check, number * STORE_ENTRIES + i, &copy.entries[i]);
	return ret;
}

static int compare_copies(struct chario_check *check, const struct pair *pair, unsigned int newer)
{
	if (!memcmp(pair->copies[0], pair->copies[1], sizeof(*pair->copies[0])))
		return 0;
	if (pair->copies[0]->head.sequence == pair->copies[1]->head.sequence)
		return report_lost(check, pair, "both copies are good, and differ");
	return report_copy(check, pair, !newer);
}

static int check_pair(struct chario_check *check, const struct pair *pair)
{
	const bool *good = pair->good;
	unsigned int newer = !good[0];
	int ret = 0;

	if (good[0] && good[1] && pair->copies[1]->head.sequence > pair->copies[0]->head.sequence)
		newer = 1;
	if (!good[0] && !good[1])
		return report_lost(check, pair,
				   "both copies are damaged, the areas there are lost");
	if (!pair->copies[newer]->head.sequence && check->unused == UINT64_MAX)
		check->unused = pair->number;
	else if (pair->copies[newer]->head.sequence && check->unused != UINT64_MAX)
		ret = report_gap(check, pair->number);
	if (ret)
		return ret;
	if (good[0] && good[1])
		ret = compare_copies(check, pair, newer);
	else
		ret = report_copy(check, pair, !newer);
	return ret ? ret : check_entries(check, pair->number, pair->copies[newer]);
}

int chario_check_table(struct chario_check *check)
{
	int ret = 0;

	check->unused = UINT64_MAX;
	for (uint64_t number = 0; number < check->store.header.nr_blocks && !ret; number++) {
		struct pair pair;

		ret = pull_pair(check, 0, number, &pair);
		if (!ret)
			ret = check_pair(check, &pair);
	}
	return ret;
}

static int report_overlap(const struct store_place *one, const struct store_place *two, void *data)
{
	struct chario_finding finding = {
		.damage = CHARIO_DAMAGE_OVERLAP,
		.severity = CHARIO_SEVERITY_LOSS,
		.block = two->item->slot / STORE_ENTRIES,
		.offset = two->offset,
	};

	strcpy(finding.name, one->item->name);
	strcpy(finding.other, two->item->name);
	return chario_check_report(data, &finding, "two areas have the same bytes of the disk");
}

int chario_check_overlaps(struct chario_check *check)
{
	return chario_index_each_overlap(&check->store.index, report_overlap, check);
}
