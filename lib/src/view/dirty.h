/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Which blocks of a view have changed: one bit each.
 *
 * Bits are set and cleared one word at a time and atomically, so that a thread
 * may mark a block while another flushes.  Who clears a bit does so before it
 * reads the block, who sets one does so after it has written the block: whatever
 * a cleared bit stood for is in what is read then.
 */
#ifndef CHARIO_DIRTY_H
#define CHARIO_DIRTY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/**
 * struct chario_dirty - bits of blocks
 * @nr_blocks: how many
 * @words: as many blocks each as a word has bits
 */
struct chario_dirty {
	size_t nr_blocks;
	atomic_ulong words[];
};

/* All blocks clean, none of the memory left to be populated; NULL without memory. */
struct chario_dirty *chario_dirty_create(size_t nr_blocks);
void chario_dirty_destroy(struct chario_dirty *dirty);

/* Blocks from @first up to, without, @end; which may be the same. */
void chario_dirty_set(struct chario_dirty *dirty, size_t first, size_t end);
void chario_dirty_clear(struct chario_dirty *dirty, size_t first, size_t end);

bool chario_dirty_test(const struct chario_dirty *dirty, size_t block);
size_t chario_dirty_count(const struct chario_dirty *dirty);

/* The next run of changed blocks at or behind *@end; false where there is none. */
bool chario_dirty_next(const struct chario_dirty *dirty, size_t *first, size_t *end);

#endif /* CHARIO_DIRTY_H */
