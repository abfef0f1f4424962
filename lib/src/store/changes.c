// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Changes of the table: those of other processes, and changing an entry.
 *
 * A process has the table in memory.  Behind the header stands a note: the number of
 * changes so far, and the blocks of the last ones.  A writer makes the note's sequence
 * number odd before a change of the table, and even afterwards.  A reader reads the note at
 * each look-up, and then reads the blocks that have changed since its last look.  While the
 * number is odd, a change is under way or its writer died: readers then read the blocks
 * that it may concern at each look-up, and no reader waits.
 *
 * The beginning of a change is made durable before the change: if a power cut or a kill
 * tears a block, it is known to be of this change, and the next change makes both copies of
 * that block good before it touches another.  The end of a change need not be durable.
 */
#include <errno.h>
#include <string.h>

#include "store/inner.h"

/* Attempts to read the table while others change it, before the result is accepted. */
#define LOAD_ATTEMPTS 20

/* Blocks of one copy that are read at a time. */
#define BATCH (STORE_BUFFER / CHARIO_STORE_BLOCK / 2)

static bool is_taken(const struct store_item *item, const struct store_entry *entry)
{
	size_t bytes = chario_label_bytes(item->name);

	return !memcmp(&item->fields, &entry->fields, sizeof(item->fields)) &&
	       chario_label_bytes(entry->name) == bytes && !memcmp(item->name, entry->name, bytes);
}

/* Remove the items that differ from a block's present entries. */
static void drop_block(struct chario_store *store, uint64_t number, const struct store_table *table)
{
	for (unsigned int i = 0; i < STORE_ENTRIES; i++) {
		uint64_t slot = number * STORE_ENTRIES + i;
		const struct store_item *item = store->index.slots[slot];

		if (item && !is_taken(item, &table->entries[i]))
			chario_index_remove(&store->index, slot);
	}
}

/* Add a valid entry of a good block to the index. */
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

static int take_block(struct chario_store *store, uint64_t number, const struct store_table *found)
{
	struct store_table table = *found;

	chario_note_overlay(store, number, &table);
	drop_block(store, number, &table);
	for (unsigned int i = 0; i < STORE_ENTRIES; i++) {
		int err = take_entry(store, number * STORE_ENTRIES + i, &table.entries[i]);

		if (err)
			return err;
	}
	return 0;
}

/**
 * struct load - the findings while the table is read
 * @end: number behind the last block that has ever been used: slots are given lowest
 *	first
 * @good: true if a block was good
 * @unread: error of the blocks that could not be read; 0 if there are none
 */
struct load {
	bool end;
	bool good;
	int unread;
};

/* Load one block of a batch. */
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

/* A block that cannot be read is lost like a damaged one. */
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

/* A disk without any readable block is an error, not a store without areas. */
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

static int count_overlap(const struct store_place *one, const struct store_place *other, void *data)
{
	struct chario_store *store = data;

	(void)one;
	(void)other;
	store->nr_damaged++;
	return 0;
}

/* On an error the index keeps its old content. */
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
	return chario_index_each_overlap(&store->index, count_overlap, store);
}

/*
 * Returns whether the table is known without the note.  A note that cannot be read may have
 * the only copy of a change that has happened: a store that is only read shows what there
 * is, unless the log is known, and any other one must not act on half a change.
 */
static bool is_known_without(const struct chario_store *store, int err)
{
	return err == -EUCLEAN ||
	       (chario_pool_is_damage(err) && !store->writable && !store->nr_logged);
}

/*
 * Read the sequence number and the first change that may be under way; both are 0 without a
 * good note.
 */
static int read_sequence(struct chario_store *store, uint64_t *sequence, uint64_t *first)
{
	int err = chario_note_read(store);

	*sequence = err ? 0 : chario_note_sequence(store);
	*first = err ? 0 : chario_note_first(store);
	return is_known_without(store, err) ? 0 : err;
}

/*
 * Load the whole table.  Blocks that others write during the read look damaged; an area
 * that others remove and create elsewhere is found twice; an area that they replace may be
 * missed.  So the result counts only if no change has begun meanwhile.  Damage counts if it
 * is found three times in the same way.
 */
int chario_store_load(struct chario_store *store)
{
	uint64_t sequence, first = 0, before = UINT64_MAX;
	unsigned int same = 0;
	int err = 0;

	store->seen = 0;
	for (int attempt = 0; attempt < LOAD_ATTEMPTS; attempt++) {
		err = read_sequence(store, &sequence, &first);
		same = sequence == before ? same + 1 : 0;
		if (err || same == 2 || (same && !store->nr_damaged))
			break;
		before = sequence;
		err = load_all(store);
		if (err)
			break;
	}
	/* Changes under way at the start may have been read in their old state. */
	if (!err)
		store->seen = 2 * first;
	return err;
}

typedef int block_visit(struct chario_store *store, uint64_t number,
			const struct store_table *table);

static int visit_drop(struct chario_store *store, uint64_t number, const struct store_table *found)
{
	struct store_table table = *found;

	chario_note_overlay(store, number, &table);
	drop_block(store, number, &table);
	return 0;
}

/* Visit the blocks that the changes from number @from to @to - 1 have touched. */
static int each_changed(struct chario_store *store, uint64_t from, uint64_t to, block_visit *visit)
{
	uint64_t last = UINT64_MAX;

	for (uint64_t i = from; i < to; i++) {
		uint64_t number = chario_note_block(store, i);
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
 * Load changed blocks in their present state, not as each change left them.  A name that
 * one block has lost may be in a block that comes earlier, so all old entries are removed
 * first.
 */
static int load_changed(struct chario_store *store, uint64_t from, uint64_t to)
{
	int err = to - from > 1 ? each_changed(store, from, to, visit_drop) : 0;

	return err ? err : each_changed(store, from, to, take_block);
}

/* Take up what has changed since @seen: -EUCLEAN where all has to be read. */
static int catch_up(struct chario_store *store, uint64_t sequence)
{
	/*
	 * The range includes a change under way.  If the number has fallen, the difference wraps
	 * and is more than a note keeps.
	 */
	const uint64_t from = store->seen / 2, to = (sequence + 1) / 2;
	const uint64_t first = chario_note_first(store);
	int err;

	if (store->nr_damaged || !store->seen || to - from > chario_note_kept(store))
		return -EUCLEAN;
	store->seen = 0;
	err = load_changed(store, from, to);
	if (!err && store->nr_damaged)
		return -EUCLEAN;
	if (!err)
		store->seen = 2 * first;
	return err;
}

/*
 * Have the index be what the table is.  @mutex is held.
 *
 * A change of several blocks between two of the reads would be taken up in part: an area that
 * is replaced then would be in neither of its slots.  So the note is read once more, where
 * there was anything to take up.
 */
static int refresh(struct chario_store *store)
{
	uint64_t before = UINT64_MAX;

	for (int attempt = 0; attempt < LOAD_ATTEMPTS; attempt++) {
		int err = chario_note_read(store);
		uint64_t sequence = chario_note_sequence(store);

		if (err)
			return is_known_without(store, err) ? chario_store_load(store) : err;
		if (sequence == store->seen)
			return 0;
		/* A change is under way, and no other has begun meanwhile. */
		if (sequence == before)
			return 0;
		err = catch_up(store, sequence);
		if (err == -EUCLEAN || chario_pool_is_damage(err))
			return chario_store_load(store);
		if (err)
			return err;
		before = sequence;
	}
	return 0;
}

int chario_store_enter(struct chario_store *store)
{
	int err;

	if (!chario_pool_is_ours(&store->pool))
		return -EPERM;
	pthread_mutex_lock(&store->mutex);
	err = refresh(store);
	if (err)
		pthread_mutex_unlock(&store->mutex);
	return err;
}

/* Count the changes that are in the same block as the first one. */
static unsigned int count_in_block(const struct store_change *changes, unsigned int nr_changes)
{
	unsigned int count = 1;

	while (count < nr_changes &&
	       changes[count].slot / STORE_ENTRIES == changes->slot / STORE_ENTRIES)
		count++;
	return count;
}

/* Write changes of one block.  @table is set to its new content. */
static int write_block(struct chario_store *store, const struct store_change *changes,
		       unsigned int nr_changes, struct store_table *table)
{
	const uint64_t number = changes->slot / STORE_ENTRIES;
	const struct store_table *old;
	int err = chario_table_read(store, number, &old);

	if (err)
		return err;
	*table = *old;
	table->head.sequence++;
	for (unsigned int i = 0; i < nr_changes; i++)
		table->entries[changes[i].slot % STORE_ENTRIES] =
			changes[i].entry ? *changes[i].entry : (struct store_entry){ 0 };
	chario_remains_leave(&store->header, table);
	chario_block_seal(table);
	return chario_table_write(store, number, table, old);
}

/* Write all blocks of the log, which stays until the note says that they are written. */
static int write_log(struct chario_store *store)
{
	struct store_change changes[STORE_LOGGED_MAX];
	struct store_table table;

	for (unsigned int i = 0; i < store->nr_logged; i++)
		changes[i] = (struct store_change){ store->log[i].slot, &store->log[i].entry };
	for (unsigned int i = 0, count; i < store->nr_logged; i += count) {
		int err;

		count = count_in_block(changes + i, store->nr_logged - i);
		err = write_block(store, changes + i, count, &table);
		/* Until all blocks have it, the change has one copy: the log. */
		if (err)
			err = write_block(store, changes + i, count, &table);
		if (err)
			return err;
	}
	return 0;
}

/*
 * Finish the change of a writer that has died.  With a log, write its blocks.  Without one,
 * the block has at least one good copy, and gets a second before the note names another
 * block.  If the newer one cannot be read, which is tried several times, the older one counts:
 * who writes finishes a change first, so only readers can have seen it.
 */
int chario_change_finish(struct chario_store *store)
{
	const uint64_t sequence = chario_note_sequence(store);
	const struct store_table *table;
	uint64_t number;
	int err;

	if (store->nr_logged)
		return write_log(store);
	number = chario_note_block(store, sequence / 2);
	if (sequence % 2 == 0 || number >= store->header.nr_blocks)
		return 0;
	err = chario_table_read_interrupted(store, number, &table);
	return err ? err : chario_table_mend(store, number, table);
}

void chario_change_end(struct chario_store *store)
{
	pthread_mutex_unlock(&store->mutex);
	chario_fence_drop(store->device, STORE_LOCK_TABLE);
	pthread_mutex_unlock(&store->changing);
}

/* Have the index be what the table is, where nothing is damaged. */
static int refresh_whole(struct chario_store *store)
{
	int err = refresh(store);

	return !err && store->nr_damaged ? -EUCLEAN : err;
}

/* Finish an interrupted change before anything is built on it.  The table is locked. */
static int finish_first(struct chario_store *store)
{
	const uint64_t seen = store->seen;
	int err = chario_note_read(store);

	if (!err)
		err = chario_change_finish(store);
	if (err)
		return err;
	chario_note_end(store);
	store->seen = seen;
	return refresh_whole(store);
}

int chario_change_begin(struct chario_store *store)
{
	int err;

	if (!store->writable)
		return -EROFS;
	/* The lock of a child of fork(2) belongs to its parent. */
	if (!chario_pool_is_ours(&store->pool))
		return -EPERM;
	pthread_mutex_lock(&store->changing);
	err = chario_fence_take_table(store->device, store->lock_fd, true);
	if (err) {
		pthread_mutex_unlock(&store->changing);
		return err;
	}
	pthread_mutex_lock(&store->mutex);
	err = refresh_whole(store);
	if (!err && store->unfinished)
		err = finish_first(store);
	if (err)
		chario_change_end(store);
	return err;
}

static int announce(struct chario_store *store, const struct store_change *changes,
		    unsigned int nr_changes)
{
	int err = chario_note_read(store);

	if (err == -EUCLEAN) {
		chario_note_make(store, chario_store_now() & ~1ULL);
		err = 0;
	} else if (!err) {
		err = chario_change_finish(store);
	}
	return err ? err : chario_note_begin(store, changes, nr_changes);
}

static int change_block(struct chario_store *store, const struct store_change *changes,
			unsigned int nr_changes)
{
	struct store_table table;
	int err = write_block(store, changes, nr_changes, &table);

	if (err) {
		/* A failed write may have reached the disk: read the table again. */
		store->seen = 0;
		return err;
	}
	chario_note_end(store);
	/* A lack of memory does not fail a durable change: the table is read again later. */
	if (take_block(store, changes->slot / STORE_ENTRIES, &table))
		store->seen = 0;
	return 0;
}

/*
 * The change has happened: if a block cannot be written now, the next writer writes it.
 * The index loads all of the blocks at once when it is refreshed.
 */
static void change_blocks(struct chario_store *store)
{
	const uint64_t seen = store->seen;

	if (!write_log(store))
		chario_note_end(store);
	store->seen = seen;
}

int chario_change_entries(struct chario_store *store, const struct store_change *changes,
			  unsigned int nr_changes)
{
	const bool swaps = changes[nr_changes - 1].slot < changes[0].slot;
	const struct store_change sorted[] = { changes[swaps], changes[nr_changes - 1 - swaps] };
	int err = announce(store, sorted, nr_changes);

	if (err)
		return err;
	if (!store->nr_logged)
		return change_block(store, sorted, nr_changes);
	change_blocks(store);
	return 0;
}

int chario_change_entry(struct chario_store *store, uint64_t slot, const struct store_entry *entry)
{
	const struct store_change change = { slot, entry };

	return chario_change_entries(store, &change, 1);
}

void chario_change_copy(const struct store_item *item, struct store_entry *entry)
{
	memset(entry, 0, sizeof(*entry));
	entry->fields = item->fields;
	memcpy(entry->name, item->name, chario_label_bytes(item->name));
}
