/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The blocks of a view that have changed: one bit each.
 *
 * Bits are set and cleared atomically, one word at a time, so that a thread may mark a block
 * while another flushes.  A flush clears a bit before it reads the block, and a program sets
 * it after it has changed the block: so the flush reads every change whose bit it clears.
 */
#ifndef CHARIO_DIRTY_H
#define CHARIO_DIRTY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/**
 * struct chario_dirty - bits of blocks
 * @nr_blocks: number of blocks
 * @words: bits of the blocks, in order
 */
struct chario_dirty {
	size_t nr_blocks;
	atomic_ulong words[];
};

/* Create the bits of clean blocks, all in populated memory.  Returns NULL without memory. */
struct chario_dirty *chario_dirty_create(size_t nr_blocks);
void chario_dirty_destroy(struct chario_dirty *dirty);

/* Set or clear the bits of blocks @first to @end - 1; of none if both are equal. */
void chario_dirty_set(struct chario_dirty *dirty, size_t first, size_t end);
void chario_dirty_clear(struct chario_dirty *dirty, size_t first, size_t end);

bool chario_dirty_test(const struct chario_dirty *dirty, size_t block);
size_t chario_dirty_count(const struct chario_dirty *dirty);

/*
 * Find the next run of changed blocks at or behind *@end, and set *@first and *@end to its
 * bounds.  Returns false if there is none.
 */
bool chario_dirty_next(const struct chario_dirty *dirty, size_t *first, size_t *end);

#endif /* CHARIO_DIRTY_H */
