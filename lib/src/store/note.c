// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The note of the last changes, behind the first header.
 *
 * The note has the number of changes so far and the blocks of the last ones; its sequence
 * number is odd while a change is under way.  A change of several blocks is made durable in
 * the log of the note before the first of the blocks is written.  From then on the change
 * has happened, because a reader of a block takes the entries of the log instead of those
 * of the block.  If the writer dies, the next process that changes the table writes the
 * blocks.
 */
#include <errno.h>
#include <string.h>

#include "store/inner.h"

#define NOTE_OFFSET ((uint64_t)STORE_CHANGES_BLOCK * CHARIO_STORE_BLOCK)

/* Offset of the note in the buffer, behind the room for blocks of the table. */
#define NOTE_AT (3 * CHARIO_STORE_BLOCK)

/* Attempts to read the note: it has one copy, and an error of reading may pass. */
#define READ_ATTEMPTS 3

static struct store_changes *note(struct chario_store *store)
{
	return (struct store_changes *)(store->pool.memory + NOTE_AT);
}

uint64_t chario_note_kept(const struct chario_store *store)
{
	return chario_store_has_log(store) ? STORE_CHANGES_KEPT : STORE_CHANGES_KEPT_OLD;
}

static uint64_t magic_of(const struct chario_store *store)
{
	return chario_store_has_log(store) ? STORE_MAGIC_CHANGES : STORE_MAGIC_CHANGES_OLD;
}

uint64_t chario_note_sequence(struct chario_store *store)
{
	return note(store)->head.sequence;
}

/* The numbers begin in the same place in both formats. */
uint64_t chario_note_block(struct chario_store *store, uint64_t change)
{
	return note(store)->old_numbers[change % chario_note_kept(store)];
}

static bool is_sane(struct chario_store *store)
{
	const struct store_changes *changes = note(store);

	if (!chario_store_has_log(store))
		return true;
	if (changes->nr_logged > STORE_LOGGED_MAX)
		return false;
	for (unsigned int i = 0; i < changes->nr_logged; i++)
		if (changes->log[i].slot / STORE_ENTRIES >= store->header.nr_blocks)
			return false;
	return true;
}

/* Keep the log's valid entries: the note's place in the buffer is used for other blocks, too. */
static void take_log(struct chario_store *store)
{
	const struct store_changes *changes = note(store);

	store->nr_logged = 0;
	if (!chario_store_has_log(store) || changes->head.sequence % 2 == 0)
		return;
	store->nr_logged = changes->nr_logged;
	memcpy(store->log, changes->log, sizeof(store->log));
}

static int pull_note(struct chario_store *store)
{
	int err = -EIO;

	for (int i = 0; i < READ_ATTEMPTS && chario_pool_is_damage(err); i++)
		err = chario_store_pull(store, NOTE_AT, NOTE_OFFSET, CHARIO_STORE_BLOCK);
	return err;
}

int chario_note_read(struct chario_store *store)
{
	int err = pull_note(store);

	if (err)
		return err;
	store->nr_logged = 0;
	store->unfinished = false;
	if (!chario_block_is_good(note(store), magic_of(store), store->header.head.uuid, 0) ||
	    !is_sane(store))
		return -EUCLEAN;
	store->unfinished = note(store)->head.sequence % 2;
	take_log(store);
	return 0;
}

void chario_note_make(struct chario_store *store, uint64_t sequence)
{
	struct store_changes *changes = note(store);

	memset(changes, 0, sizeof(*changes));
	changes->head.magic = magic_of(store);
	memcpy(changes->head.uuid, store->header.head.uuid, sizeof(changes->head.uuid));
	changes->head.sequence = sequence;
	store->nr_logged = 0;
}

static int write_note(struct chario_store *store, unsigned int flags)
{
	chario_block_seal(note(store));
	return chario_store_push(store, NOTE_AT, NOTE_OFFSET, CHARIO_STORE_BLOCK, flags);
}

int chario_note_renew(struct chario_store *store)
{
	chario_note_make(store, 2);
	return write_note(store, CHARIO_TRANSFER_FUA);
}

bool chario_note_is_logged(const struct chario_store *store, uint64_t number)
{
	for (unsigned int i = 0; i < store->nr_logged; i++)
		if (store->log[i].slot / STORE_ENTRIES == number)
			return true;
	return false;
}

uint64_t chario_note_first(struct chario_store *store)
{
	uint64_t first = chario_note_sequence(store) / 2;

	/* A log of b blocks counts as b changes; entries of one block are neighbours in it. */
	for (unsigned int i = 1; i < store->nr_logged; i++)
		first -= store->log[i].slot / STORE_ENTRIES !=
			 store->log[i - 1].slot / STORE_ENTRIES;
	return first;
}

void chario_note_overlay(const struct chario_store *store, uint64_t number,
			 struct store_table *table)
{
	for (unsigned int i = 0; i < store->nr_logged; i++)
		if (store->log[i].slot / STORE_ENTRIES == number)
			table->entries[store->log[i].slot % STORE_ENTRIES] = store->log[i].entry;
}

/* Record the blocks of a change, whose entries are in the order of their slots. */
static void add_blocks(struct chario_store *store, const struct store_change *changes,
		       unsigned int nr_changes)
{
	struct store_changes *written = note(store);
	uint64_t next = written->head.sequence / 2 + written->head.sequence % 2;

	for (unsigned int i = 0; i < nr_changes; i++) {
		uint64_t number = changes[i].slot / STORE_ENTRIES;

		if (i && changes[i - 1].slot / STORE_ENTRIES == number)
			continue;
		written->old_numbers[next++ % chario_note_kept(store)] = (uint32_t)number;
	}
	written->head.sequence = 2 * (next - 1) + 1;
}

static void add_log(struct chario_store *store, const struct store_change *changes,
		    unsigned int nr_changes)
{
	struct store_changes *written = note(store);

	memset(written->log, 0, sizeof(written->log));
	for (unsigned int i = 0; i < nr_changes; i++) {
		written->log[i].slot = (uint32_t)changes[i].slot;
		if (changes[i].entry)
			written->log[i].entry = *changes[i].entry;
	}
	written->nr_logged = nr_changes;
}

static void end_note(struct chario_store *store, unsigned int flags)
{
	struct store_changes *written = note(store);

	written->head.sequence += written->head.sequence % 2;
	if (chario_store_has_log(store))
		written->nr_logged = 0;
	store->nr_logged = 0;
	store->seen = write_note(store, flags) ? 0 : written->head.sequence;
}

int chario_note_begin(struct chario_store *store, const struct store_change *changes,
		      unsigned int nr_changes)
{
	const bool logs = changes[0].slot / STORE_ENTRIES !=
			  changes[nr_changes - 1].slot / STORE_ENTRIES;
	int err;

	if (logs && !chario_store_has_log(store))
		return -EOPNOTSUPP;
	add_blocks(store, changes, nr_changes);
	if (chario_store_has_log(store))
		add_log(store, changes, logs ? nr_changes : 0);
	err = write_note(store, CHARIO_TRANSFER_FUA);
	if (!err) {
		take_log(store);
		return 0;
	}
	/*
	 * The note may have reached the disk in spite of the error; it must not take effect
	 * then, not even after a power cut.
	 */
	end_note(store, CHARIO_TRANSFER_FUA);
	store->seen = 0;
	return err;
}

void chario_note_end(struct chario_store *store)
{
	end_note(store, 0);
}
