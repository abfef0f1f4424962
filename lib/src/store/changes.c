// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * What others have changed, and how to change an entry of the table.
 *
 * A process has the table in memory.  Behind the header stands a note: how many
 * changes there have been, and in which blocks the last of them.  Who changes the
 * table makes its sequence number odd before, and even afterwards; who looks
 * something up reads the note, and reads again what has changed since it looked
 * last.  While the number is odd, a change is under way, or died: the blocks that it
 * may concern are then read at each look-up, and no reader waits.
 *
 * That a change begins is durable before it does: what a power cut or a kill tore is
 * then known to be of this change, and the next change makes both copies of that
 * block good before it touches another.  That it has ended need not be durable.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/inner.h"

#define CHANGES_OFFSET ((uint64_t)STORE_CHANGES_BLOCK * CHARIO_STORE_BLOCK)

/* Where the note is in the buffer: behind what blocks of the table need. */
#define CHANGES_AT (3 * CHARIO_STORE_BLOCK)

/* How often the table is read while others change it, before what is found counts. */
#define LOAD_ATTEMPTS 20

/* Blocks of one copy that are read at a time. */
#define BATCH (STORE_BUFFER / CHARIO_STORE_BLOCK / 2)

static struct store_changes *note(struct chario_store *store)
{
	return (struct store_changes *)(store->pool.memory + CHANGES_AT);
}

/* 0; -EUCLEAN where the note is damaged or cannot be read, which only costs time. */
static int read_note(struct chario_store *store)
{
	int err = chario_store_pull(store, CHANGES_AT, CHANGES_OFFSET, CHARIO_STORE_BLOCK);

	if (err && !chario_pool_is_damage(err))
		return err;
	if (err ||
	    !chario_block_is_good(note(store), STORE_MAGIC_CHANGES, store->header.head.uuid, 0))
		return -EUCLEAN;
	return 0;
}

static bool is_taken(const struct store_item *item, const struct store_entry *entry)
{
	return !memcmp(&item->fields, &entry->fields, sizeof(item->fields)) &&
	       !strncmp(item->name, entry->name, sizeof(entry->name));
}

/* Forget what a block says otherwise now. */
static void drop_block(struct chario_store *store, uint64_t number, const struct store_table *table)
{
	for (unsigned int i = 0; i < STORE_ENTRIES; i++) {
		uint64_t slot = number * STORE_ENTRIES + i;
		const struct store_item *item = store->index.slots[slot];

		if (item && !is_taken(item, &table->entries[i]))
			chario_index_remove(&store->index, slot);
	}
}

/* What an entry of a good block says is taken up if it can be. */
static int take_entry(struct chario_store *store, uint64_t slot, const struct store_entry *entry)
{
	int err;

	if (store->index.slots[slot] || !(entry->fields.flags & STORE_ENTRY_AREA))
		return 0;
	if (chario_entry_fault(&store->header, entry)) {
		store->nr_damaged++;
		return 0;
	}
	err = chario_index_add(&store->index, slot, entry);
	if (err != -EEXIST)
		return err;
	store->nr_damaged++;
	return 0;
}

static int take_block(struct chario_store *store, uint64_t number, const struct store_table *table)
{
	drop_block(store, number, table);
	for (unsigned int i = 0; i < STORE_ENTRIES; i++) {
		int err = take_entry(store, number * STORE_ENTRIES + i, &table->entries[i]);

		if (err)
			return err;
	}
	return 0;
}

/**
 * struct load - what has been found while the table is read
 * @end: of the part of the table that has ever been used: slots are given lowest first
 * @good: a block was
 * @unread: why some could not be read
 */
struct load {
	bool end;
	bool good;
	int unread;
};

/* One block of a batch. */
static int load_block(struct chario_store *store, uint64_t number, uint64_t at, struct load *load)
{
	const unsigned char *first = store->pool.memory + at * CHARIO_STORE_BLOCK;
	const struct store_table *table =
		chario_table_choose(&store->header, number, first, first + STORE_BUFFER / 2);

	if (!table) {
		store->nr_damaged++;
		return 0;
	}
	load->good = true;
	load->end = table->head.sequence == 0;
	return take_block(store, number, table);
}

/* What cannot be read is lost like what is damaged. */
static int load_batch(struct chario_store *store, uint64_t number, uint64_t count,
		      struct load *load)
{
	int err = chario_table_pull(store, number, count, STORE_BUFFER / 2);

	if (chario_pool_is_damage(err)) {
		load->unread = err;
		err = 0;
	}
	for (uint64_t i = 0; i < count && !load->end && !err; i++)
		err = load_block(store, number + i, i, load);
	return err;
}

/* A disk of which nothing can be read is no store without areas. */
static int load_batches(struct chario_store *store)
{
	uint64_t nr_blocks = store->header.nr_blocks;
	struct load load = { 0 };
	int err = 0;

	for (uint64_t number = 0; number < nr_blocks && !load.end && !err; number += BATCH) {
		uint64_t count = nr_blocks - number < BATCH ? nr_blocks - number : BATCH;

		err = load_batch(store, number, count, &load);
	}
	return err || load.good ? err : load.unread;
}

/* The index of a table that cannot be read stays what it was. */
static int load_all(struct chario_store *store)
{
	struct store_index old = store->index;
	uint64_t nr_damaged = store->nr_damaged;
	int err = chario_index_init(&store->index, old.nr_slots);

	store->nr_damaged = 0;
	if (!err)
		err = load_batches(store);
	if (err) {
		chario_index_deinit(&store->index);
		store->index = old;
		store->nr_damaged = nr_damaged;
		return err;
	}
	chario_index_deinit(&old);
	store->nr_damaged += chario_index_count_overlaps(&store->index);
	return 0;
}

/* 0 where there is none that is good. */
static int read_sequence(struct chario_store *store, uint64_t *sequence)
{
	int err = read_note(store);

	*sequence = err ? 0 : note(store)->head.sequence;
	return err == -EUCLEAN ? 0 : err;
}

/*
 * Blocks that others write while they are read look damaged, and an area that they
 * remove and make again elsewhere is found twice.  What is found twice in the same
 * way, with no change in between, is damage.
 */
int chario_store_load(struct chario_store *store)
{
	uint64_t sequence, before = UINT64_MAX;
	unsigned int same = 0;
	int err = 0;

	store->seen = 0;
	for (int attempt = 0; attempt < LOAD_ATTEMPTS; attempt++) {
		err = read_sequence(store, &sequence);
		same = sequence == before ? same + 1 : 0;
		if (err || same == 2)
			break;
		before = sequence;
		err = load_all(store);
		if (err || !store->nr_damaged)
			break;
	}
	/* What was under way then may have been read in its old state. */
	if (!err)
		store->seen = before & ~1ULL;
	return err;
}

typedef int block_visit(struct chario_store *store, uint64_t number,
			const struct store_table *table);

static int visit_drop(struct chario_store *store, uint64_t number, const struct store_table *table)
{
	drop_block(store, number, table);
	return 0;
}

/* Visit the blocks that changes number @from to @to - 1 have changed. */
static int each_changed(struct chario_store *store, uint64_t from, uint64_t to, block_visit *visit)
{
	uint64_t last = UINT64_MAX;

	for (uint64_t i = from; i < to; i++) {
		uint32_t number = note(store)->numbers[i % STORE_CHANGES_KEPT];
		const struct store_table *table;
		int err;

		if (number >= store->header.nr_blocks)
			return -EUCLEAN;
		if (number == last)
			continue;
		last = number;
		err = chario_table_read(store, number, &table);
		if (!err)
			err = visit(store, number, table);
		if (err)
			return err;
	}
	return 0;
}

/*
 * Blocks are read as they are now, not as a change left them: a name that one block
 * has lost may be in one that comes before.  So all is forgotten first.
 */
static int load_changed(struct chario_store *store, uint64_t from, uint64_t to)
{
	int err = to - from > 1 ? each_changed(store, from, to, visit_drop) : 0;

	return err ? err : each_changed(store, from, to, take_block);
}

int chario_store_enter(struct chario_store *store)
{
	int err = chario_pool_check(&store->pool);

	if (!err)
		pthread_mutex_lock(&store->mutex);
	return err;
}

int chario_store_refresh(struct chario_store *store)
{
	uint64_t sequence, from = store->seen / 2, to;
	int err = read_note(store);

	if (err && err != -EUCLEAN)
		return err;
	if (err)
		return chario_store_load(store);
	sequence = note(store)->head.sequence;
	if (sequence == store->seen)
		return 0;
	/* With the one that is under way. */
	to = (sequence + 1) / 2;
	if (store->nr_damaged || !store->seen || to < from || to - from > STORE_CHANGES_KEPT)
		return chario_store_load(store);
	store->seen = 0;
	err = load_changed(store, from, to);
	if (err == -EUCLEAN || chario_pool_is_damage(err) || (!err && store->nr_damaged))
		return chario_store_load(store);
	if (!err)
		store->seen = sequence & ~1ULL;
	return err;
}

static void unlock(struct chario_store *store)
{
	pthread_mutex_unlock(&store->mutex);
	chario_fence_drop(store->device, STORE_LOCK_TABLE);
	pthread_mutex_unlock(&store->changing);
}

int chario_change_begin(struct chario_store *store)
{
	int err;

	if (!store->writable)
		return -EROFS;
	/* The lock of a child of fork(2) is that of its parent. */
	err = chario_pool_check(&store->pool);
	if (err)
		return err;
	pthread_mutex_lock(&store->changing);
	err = chario_fence_take_table(store->device, store->lock_fd, true);
	if (err) {
		pthread_mutex_unlock(&store->changing);
		return err;
	}
	pthread_mutex_lock(&store->mutex);
	err = chario_store_refresh(store);
	if (!err && store->nr_damaged)
		err = -EUCLEAN;
	if (err)
		unlock(store);
	return err;
}

void chario_change_end(struct chario_store *store)
{
	unlock(store);
}

/* A note that was damaged goes on with a number that nobody can have seen. */
static void make_note(struct chario_store *store)
{
	struct store_changes *changes = note(store);

	memset(changes, 0, sizeof(*changes));
	changes->head.magic = STORE_MAGIC_CHANGES;
	memcpy(changes->head.uuid, store->header.head.uuid, sizeof(changes->head.uuid));
	changes->head.sequence = chario_store_now() & ~1ULL;
}

static int write_note(struct chario_store *store, unsigned int flags)
{
	chario_block_seal(note(store));
	return chario_store_push(store, CHANGES_AT, CHANGES_OFFSET, CHARIO_STORE_BLOCK, flags);
}

bool chario_changes_interrupted(const struct store_changes *changes, uint64_t *number)
{
	const uint64_t sequence = changes->head.sequence;

	*number = changes->numbers[sequence / 2 % STORE_CHANGES_KEPT];
	return sequence % 2;
}

/*
 * Who was changing the table has died: the block has one good copy at least.  It gets
 * a second before the note says that it is another's turn.
 */
static int mend_interrupted(struct chario_store *store)
{
	const struct store_table *table;
	uint64_t number;
	int err;

	if (!chario_changes_interrupted(note(store), &number) || number >= store->header.nr_blocks)
		return 0;
	err = chario_table_read(store, number, &table);
	return err ? err : chario_table_mend(store, number, table);
}

static int announce(struct chario_store *store, uint64_t number)
{
	struct store_head *head = &note(store)->head;
	int err = read_note(store);

	if (err == -EUCLEAN) {
		make_note(store);
		err = 0;
	} else if (!err) {
		err = mend_interrupted(store);
	}
	if (err)
		return err;
	/* Odd already: the change that was interrupted counts as one. */
	head->sequence += head->sequence % 2 ? 2 : 1;
	note(store)->numbers[head->sequence / 2 % STORE_CHANGES_KEPT] = (uint32_t)number;
	return write_note(store, CHARIO_TRANSFER_FUA);
}

/* The change has been made; that others are slow to see that it has ended is no failure. */
static void settle(struct chario_store *store)
{
	note(store)->head.sequence++;
	store->seen = write_note(store, 0) ? 0 : note(store)->head.sequence;
}

static int replace(struct chario_store *store, uint64_t slot, const struct store_entry *entry)
{
	const struct store_table *old;
	struct store_table table;
	uint64_t number = slot / STORE_ENTRIES;
	int err = chario_table_read(store, number, &old);

	if (err)
		return err;
	table = *old;
	table.head.sequence++;
	table.entries[slot % STORE_ENTRIES] = entry ? *entry : (struct store_entry){ 0 };
	chario_remains_leave(&store->header, &table);
	chario_block_seal(&table);
	err = chario_table_write(store, number, &table, old);
	if (err) {
		/* A write that failed may have reached the disk: what is there counts. */
		store->seen = 0;
		return err;
	}
	settle(store);
	/* What is durable has not failed: without memory the table is read anew later. */
	if (take_block(store, number, &table))
		store->seen = 0;
	return 0;
}

int chario_change_entry(struct chario_store *store, uint64_t slot, const struct store_entry *entry)
{
	int err = announce(store, slot / STORE_ENTRIES);

	return err ? err : replace(store, slot, entry);
}

void chario_change_copy(const struct store_item *item, struct store_entry *entry)
{
	memset(entry, 0, sizeof(*entry));
	entry->fields = item->fields;
	strcpy(entry->name, item->name);
}
