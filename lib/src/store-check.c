// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Look for damage of a store, and put right what is safe.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store-inner.h"

/**
 * struct check - a check that is under way
 * @store: open for reading, or for writing where it repairs; its index is filled
 *	as blocks are looked at
 * @capacity: of the disk
 * @flags: CHARIO_CHECK_* bits
 * @visit: is called for each damage
 * @data: is handed to it
 * @left: damages that are left, but for notes
 * @unused: a block that has never been used has been seen
 * @interrupted: number of a block that was being changed; UINT64_MAX for none
 */
struct check {
	struct chario_store store;
	uint64_t capacity;
	unsigned int flags;
	chario_finding_visit *visit;
	void *data;
	int left;
	bool unused;
	uint64_t interrupted;
};

static const char *const names[] = {
	[CHARIO_DAMAGE_HEADER] = "header",   [CHARIO_DAMAGE_HEADERS] = "headers",
	[CHARIO_DAMAGE_BLOCK] = "block",     [CHARIO_DAMAGE_BLOCKS] = "blocks",
	[CHARIO_DAMAGE_BEHIND] = "behind",   [CHARIO_DAMAGE_CHANGES] = "changes",
	[CHARIO_DAMAGE_ENTRY] = "entry",     [CHARIO_DAMAGE_RANGE] = "range",
	[CHARIO_DAMAGE_OVERLAP] = "overlap", [CHARIO_DAMAGE_NAME] = "name",
	[CHARIO_DAMAGE_MOVE] = "move",
};

const char *chario_damage_name(uint32_t damage)
{
	return damage < sizeof(names) / sizeof(names[0]) ? names[damage] : NULL;
}

static void describe(struct chario_finding *finding, const char *format, ...)
	__attribute__((__format__(__printf__, 2, 3)));

static void describe(struct chario_finding *finding, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(finding->text, sizeof(finding->text), format, args);
	va_end(args);
}

static int report(struct check *check, struct chario_finding *finding)
{
	finding->size = sizeof(*finding);
	if (finding->severity > CHARIO_SEVERITY_NOTE && !finding->repaired)
		check->left++;
	return check->visit(finding, check->data);
}

static bool repairs(const struct check *check)
{
	return check->flags & CHARIO_CHECK_REPAIR;
}

/* Write a block of 4096 bytes that is given. */
static int put_block(struct check *check, uint64_t offset, const void *block)
{
	const uint64_t at = STORE_BUFFER - CHARIO_STORE_BLOCK;

	memmove(check->store.memory + at, block, CHARIO_STORE_BLOCK);
	return chario_store_push(&check->store, at, offset, CHARIO_STORE_BLOCK,
				 CHARIO_TRANSFER_FUA);
}

/* A block of the medium that cannot be read is damaged like any other. */
static int pull_block(struct check *check, uint64_t at, uint64_t offset)
{
	int err = chario_store_pull(&check->store, at, offset, CHARIO_STORE_BLOCK);

	if (err == -EIO || err == -EILSEQ || err == -ENODATA) {
		memset(check->store.memory + at, 0, CHARIO_STORE_BLOCK);
		return 0;
	}
	return err;
}

/* headers */

static bool is_header(const void *block)
{
	return ((const struct store_head *)block)->magic == STORE_MAGIC_HEADER;
}

static bool is_good_header(const void *block)
{
	const struct store_header *header = block;

	return chario_block_is_good(block, STORE_MAGIC_HEADER, header->head.uuid, 0) &&
	       chario_layout_is_sane(header);
}

/* The second copy stands at the end of the store, or is not of this place. */
static bool is_good_second(const void *block, uint64_t offset)
{
	const struct store_header *header = block;

	return is_good_header(block) && header->capacity_bytes == offset + CHARIO_STORE_BLOCK;
}

static int report_header(struct check *check, unsigned int copy, uint64_t offset)
{
	struct chario_finding finding = {
		.damage = CHARIO_DAMAGE_HEADER,
		.severity = CHARIO_SEVERITY_REPAIRABLE,
		.copy = copy + 1,
		.offset = offset,
	};
	int err;

	describe(&finding, "the %s copy of the header is damaged", copy ? "second" : "first");
	if (repairs(check)) {
		err = put_block(check, offset, &check->store.header);
		if (err)
			return err;
		finding.repaired = 1;
	}
	return report(check, &finding);
}

static int report_headers(struct check *check)
{
	struct chario_finding finding = {
		.damage = CHARIO_DAMAGE_HEADERS,
		.severity = CHARIO_SEVERITY_LOSS,
	};

	describe(&finding, "both copies of the header are damaged: the store cannot be opened");
	return report(check, &finding);
}

/*
 * Sets the header of the store.  Returns 0; -ENOMEDIUM where there is no trace of a
 * store; -EUCLEAN, which has been reported, where both copies are damaged.
 */
static int check_headers(struct check *check)
{
	unsigned char *first = check->store.memory, *second = first + CHARIO_STORE_BLOCK;
	struct store_header *header = &check->store.header;
	uint64_t last = check->capacity - CHARIO_STORE_BLOCK;
	int ret = pull_block(check, 0, 0);

	if (!ret && is_good_header(first))
		last = ((struct store_header *)first)->capacity_bytes - CHARIO_STORE_BLOCK;
	if (!ret && last + CHARIO_STORE_BLOCK > check->capacity)
		return -ESTALE;
	if (!ret)
		ret = pull_block(check, CHARIO_STORE_BLOCK, last);
	if (ret)
		return ret;
	if (!is_good_header(first) && !is_good_second(second, last)) {
		if (!is_header(first) && !is_header(second))
			return -ENOMEDIUM;
		ret = report_headers(check);
		return ret ? ret : -EUCLEAN;
	}
	memcpy(header, is_good_header(first) ? first : second, sizeof(*header));
	if (header->version != STORE_VERSION)
		return -EPROTO;
	if (memcmp(first, header, sizeof(*header)))
		return report_header(check, 0, 0);
	if (memcmp(second, header, sizeof(*header)))
		return report_header(check, 1, last);
	return 0;
}

static int check_note(struct check *check)
{
	const uint64_t offset = (uint64_t)STORE_CHANGES_BLOCK * CHARIO_STORE_BLOCK;
	struct chario_finding finding = {
		.damage = CHARIO_DAMAGE_CHANGES,
		.severity = CHARIO_SEVERITY_NOTE,
		.offset = offset,
	};
	const struct store_changes *changes = (const struct store_changes *)check->store.memory;
	int err = pull_block(check, 0, offset);

	check->interrupted = UINT64_MAX;
	if (err)
		return err;
	if (chario_block_is_good(changes, STORE_MAGIC_CHANGES, check->store.header.head.uuid, 0)) {
		if (!chario_changes_interrupted(changes, &check->interrupted))
			check->interrupted = UINT64_MAX;
		return 0;
	}
	describe(&finding, "the note of the last changes is damaged; the next change renews it");
	return report(check, &finding);
}

/* blocks of the table */

/**
 * struct pair - both copies of a block
 * @number: of the block
 * @copies: in memory
 * @good: which of them are
 */
struct pair {
	uint64_t number;
	const struct store_table *copies[2];
	bool good[2];
};

static int pull_pair(struct check *check, uint64_t number, struct pair *pair)
{
	const struct store_header *header = &check->store.header;

	pair->number = number;
	for (unsigned int copy = 0; copy < 2; copy++) {
		uint64_t at = copy * CHARIO_STORE_BLOCK;
		void *memory = check->store.memory + at;
		int err = pull_block(check, at, chario_table_offset(header, number, copy));

		if (err)
			return err;
		pair->copies[copy] = memory;
		pair->good[copy] =
			chario_block_is_good(memory, STORE_MAGIC_TABLE, header->head.uuid, number);
	}
	return 0;
}

/* Have one copy be like the other, where that has been asked for. */
static int repair_copy(struct check *check, const struct pair *pair, unsigned int copy,
		       struct chario_finding *finding)
{
	int err;

	if (!repairs(check))
		return 0;
	err = put_block(check, finding->offset, pair->copies[!copy]);
	finding->repaired = !err;
	return err;
}

static int report_copy(struct check *check, const struct pair *pair, unsigned int copy)
{
	struct chario_finding finding = {
		.damage = pair->good[copy] ? CHARIO_DAMAGE_BEHIND : CHARIO_DAMAGE_BLOCK,
		.severity = CHARIO_SEVERITY_REPAIRABLE,
		.copy = copy + 1,
		.block = pair->number,
		.offset = chario_table_offset(&check->store.header, pair->number, copy),
	};
	const char *which = copy ? "second" : "first";
	int err;

	/* The next change mends what a cut in the middle of the last one left. */
	if (pair->number == check->interrupted)
		finding.severity = CHARIO_SEVERITY_NOTE;
	describe(&finding, "the %s copy of block %" PRIu64 " of the table is %s%s", which,
		 pair->number, pair->good[copy] ? "older than the other" : "damaged",
		 pair->number == check->interrupted ? ": a change was interrupted" : "");
	err = repair_copy(check, pair, copy, &finding);
	return err ? err : report(check, &finding);
}

/*
 * An empty block that counts as used, so that those behind it are looked at; or one
 * that has never been used, where it is behind such a one.
 */
static int forget(struct check *check, struct pair *pair)
{
	static struct store_table table;

	memset(&table, 0, sizeof(table));
	table.head.magic = STORE_MAGIC_TABLE;
	memcpy(table.head.uuid, check->store.header.head.uuid, sizeof(table.head.uuid));
	table.head.number = (uint32_t)pair->number;
	table.head.sequence = check->unused ? 0 : chario_store_now();
	chario_block_seal(&table);
	for (unsigned int copy = 0; copy < 2; copy++) {
		uint64_t offset = chario_table_offset(&check->store.header, pair->number, copy);
		int err = put_block(check, offset, &table);

		if (err)
			return err;
	}
	return 0;
}

static int report_lost(struct check *check, struct pair *pair, const char *what)
{
	const unsigned int both = CHARIO_CHECK_REPAIR | CHARIO_CHECK_FORGET;
	struct chario_finding finding = {
		.damage = CHARIO_DAMAGE_BLOCKS,
		.severity = CHARIO_SEVERITY_LOSS,
		.block = pair->number,
		.offset = chario_table_offset(&check->store.header, pair->number, 0),
	};
	int err = 0;

	describe(&finding, "block %" PRIu64 " of the table: %s", pair->number, what);
	if ((check->flags & both) == both) {
		err = forget(check, pair);
		finding.repaired = !err;
	}
	return err ? err : report(check, &finding);
}

static int report_entry(struct check *check, uint64_t number, const struct store_entry *entry,
			const char *fault)
{
	struct chario_finding finding = {
		.damage = CHARIO_DAMAGE_ENTRY,
		.severity = CHARIO_SEVERITY_LOSS,
		.block = number,
		.offset = entry->fields.offset,
	};

	if (strstr(fault, "outside"))
		finding.damage = CHARIO_DAMAGE_RANGE;
	memcpy(finding.name, entry->name, sizeof(finding.name) - 1);
	describe(&finding, "an area of block %" PRIu64 " cannot be: %s", number, fault);
	return report(check, &finding);
}

static int report_name(struct check *check, uint64_t number, const struct store_entry *entry)
{
	struct chario_finding finding = {
		.damage = CHARIO_DAMAGE_NAME,
		.severity = CHARIO_SEVERITY_LOSS,
		.block = number,
		.offset = entry->fields.offset,
	};

	strcpy(finding.name, entry->name);
	strcpy(finding.other, entry->name);
	describe(&finding, "two areas have the same name; the second is not found by it");
	return report(check, &finding);
}

static int report_move(struct check *check, uint64_t number, const struct store_entry *entry)
{
	struct chario_finding finding = {
		.damage = CHARIO_DAMAGE_MOVE,
		.severity = CHARIO_SEVERITY_NOTE,
		.block = number,
		.offset = entry->fields.offset,
	};

	strcpy(finding.name, entry->name);
	describe(&finding, "a move was interrupted; defrag goes on with it");
	return report(check, &finding);
}

static int check_entry(struct check *check, uint64_t slot, const struct store_entry *entry)
{
	uint64_t number = slot / STORE_ENTRIES;
	const char *fault;
	int ret;

	if (!(entry->fields.flags & STORE_ENTRY_AREA))
		return 0;
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

static int check_entries(struct check *check, uint64_t number, const struct store_table *table)
{
	struct store_table copy = *table;
	int ret = 0;

	for (unsigned int i = 0; i < STORE_ENTRIES && !ret; i++)
		ret = check_entry(check, number * STORE_ENTRIES + i, &copy.entries[i]);
	return ret;
}

static int compare_copies(struct check *check, struct pair *pair, unsigned int newer)
{
	if (!memcmp(pair->copies[0], pair->copies[1], sizeof(*pair->copies[0])))
		return 0;
	if (pair->copies[0]->head.sequence == pair->copies[1]->head.sequence)
		return report_lost(check, pair, "both copies are good, and differ");
	return report_copy(check, pair, !newer);
}

static int check_pair(struct check *check, struct pair *pair)
{
	const bool *good = pair->good;
	unsigned int newer = !good[0];
	int ret;

	if (good[0] && good[1] && pair->copies[1]->head.sequence > pair->copies[0]->head.sequence)
		newer = 1;
	if (!good[0] && !good[1])
		return report_lost(check, pair, "both copies are damaged, its areas are lost");
	if (check->unused && pair->copies[newer]->head.sequence)
		return report_lost(check, pair, "it is used, and one before it never was");
	if (!pair->copies[newer]->head.sequence)
		check->unused = true;
	if (good[0] && good[1])
		ret = compare_copies(check, pair, newer);
	else
		ret = report_copy(check, pair, !newer);
	return ret ? ret : check_entries(check, pair->number, pair->copies[newer]);
}

static int check_table(struct check *check)
{
	int ret = 0;

	for (uint64_t number = 0; number < check->store.header.nr_blocks && !ret; number++) {
		struct pair pair;

		ret = pull_pair(check, number, &pair);
		if (!ret)
			ret = check_pair(check, &pair);
	}
	return ret;
}

static int report_overlap(struct check *check, const struct store_place *one,
			  const struct store_place *two)
{
	struct chario_finding finding = {
		.damage = CHARIO_DAMAGE_OVERLAP,
		.severity = CHARIO_SEVERITY_LOSS,
		.block = two->item->slot / STORE_ENTRIES,
		.offset = two->offset,
	};

	strcpy(finding.name, one->item->name);
	strcpy(finding.other, two->item->name);
	describe(&finding, "two areas have the same bytes of the disk");
	return report(check, &finding);
}

static int check_overlaps(struct check *check)
{
	const struct store_index *index = &check->store.index;
	const struct store_place *last = NULL;
	int ret = 0;

	for (size_t i = 0; i < index->nr_places && !ret; i++) {
		const struct store_place *place = &index->places[i];

		if (last && place->offset < last->offset + last->bytes && place->item != last->item)
			ret = report_overlap(check, last, place);
		if (!last || place->offset + place->bytes > last->offset + last->bytes)
			last = place;
	}
	return ret;
}

static int run(struct check *check)
{
	int ret = check_headers(check);

	if (!ret)
		ret = chario_index_init(&check->store.index,
					check->store.header.nr_blocks * STORE_ENTRIES);
	if (!ret)
		ret = check_note(check);
	if (!ret)
		ret = check_table(check);
	if (!ret)
		ret = check_overlaps(check);
	chario_index_deinit(&check->store.index);
	/* That both headers are damaged has been reported like all else. */
	return ret == -EUCLEAN ? 0 : ret;
}

/* Nobody changes the table meanwhile, and who repairs is alone with it. */
static int lock(struct check *check)
{
	int fd = chario_lock_open(check->store.device, check->store.writable);
	int err;

	if (fd < 0)
		return fd;
	check->store.lock_fd = fd;
	err = chario_lock_wait(fd, STORE_LOCK_TABLE, check->store.writable);
	if (!err && check->store.writable)
		err = chario_lock_try(fd, STORE_LOCK_OPEN, true);
	return err;
}

static int check_device(struct check *check)
{
	struct chario_info info;
	int ret = chario_device_get_info(check->store.device, &info, sizeof(info));

	if (ret)
		return ret;
	check->capacity = info.capacity_bytes / CHARIO_STORE_BLOCK * CHARIO_STORE_BLOCK;
	if (check->capacity < 2 * CHARIO_STORE_BLOCK)
		return -ENOMEDIUM;
	if (info.logical_block_bytes > CHARIO_STORE_BLOCK)
		return -EOPNOTSUPP;
	check->store.lock_fd = -1;
	ret = lock(check);
	if (!ret)
		ret = chario_buffer_pool(check->store.device, STORE_BUFFER, 0,
					 &check->store.buffer);
	if (!ret) {
		check->store.memory = chario_buffer_memory(check->store.buffer);
		ret = run(check);
		chario_buffer_free(check->store.buffer);
	}
	if (check->store.lock_fd >= 0)
		close(check->store.lock_fd);
	return ret;
}

int chario_store_check_device(struct chario_device *device, unsigned int flags,
			      chario_finding_visit *visit, void *data)
{
	struct check check = {
		.store = { .device = device, .writable = flags & CHARIO_CHECK_REPAIR },
		.flags = flags,
		.visit = visit,
		.data = data,
	};
	int ret;

	if (flags & ~(CHARIO_CHECK_REPAIR | CHARIO_CHECK_FORGET))
		return -EINVAL;
	ret = check_device(&check);
	return ret ? ret : check.left;
}

int chario_store_check(const char *name, unsigned int flags, chario_finding_visit *visit,
		       void *data)
{
	struct chario_device *device;
	int ret = chario_device_open_any(name, flags & CHARIO_CHECK_REPAIR ? O_RDWR : O_RDONLY,
					 &device);

	if (ret)
		return ret;
	ret = chario_store_check_device(device, flags, visit, data);
	chario_device_close(device);
	return ret;
}
