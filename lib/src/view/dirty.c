// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* The blocks of a view that have changed: one bit each. */
#include "view/dirty.h"

#include <limits.h>
#include <stdlib.h>

#define WORD_BITS (sizeof(unsigned long) * 8)

static size_t nr_words(size_t nr_blocks)
{
	return nr_blocks / WORD_BITS + 1;
}

struct chario_dirty *chario_dirty_create(size_t nr_blocks)
{
	struct chario_dirty *dirty =
		malloc(sizeof(*dirty) + nr_words(nr_blocks) * sizeof(dirty->words[0]));

	if (!dirty)
		return NULL;
	dirty->nr_blocks = nr_blocks;
	for (size_t i = 0; i < nr_words(nr_blocks); i++)
		atomic_init(&dirty->words[i], 0);
	return dirty;
}

void chario_dirty_destroy(struct chario_dirty *dirty)
{
	free(dirty);
}

/* Returns the bits from @first up to @end that are in the word of @first. */
static unsigned long mask_of(size_t first, size_t end)
{
	size_t low = first % WORD_BITS;
	size_t room = WORD_BITS - low;
	size_t bits = end - first < room ? end - first : room;

	return bits == WORD_BITS ? ULONG_MAX : ((1UL << bits) - 1) << low;
}

static size_t next_word(size_t block)
{
	return (block / WORD_BITS + 1) * WORD_BITS;
}

void chario_dirty_set(struct chario_dirty *dirty, size_t first, size_t end)
{
	for (; first < end; first = next_word(first))
		atomic_fetch_or(&dirty->words[first / WORD_BITS], mask_of(first, end));
}

void chario_dirty_clear(struct chario_dirty *dirty, size_t first, size_t end)
{
	for (; first < end; first = next_word(first))
		atomic_fetch_and(&dirty->words[first / WORD_BITS], ~mask_of(first, end));
}

bool chario_dirty_test(const struct chario_dirty *dirty, size_t block)
{
	return atomic_load(&dirty->words[block / WORD_BITS]) >> block % WORD_BITS & 1;
}

size_t chario_dirty_count(const struct chario_dirty *dirty)
{
	size_t count = 0;

	for (size_t i = 0; i < nr_words(dirty->nr_blocks); i++)
		count += (size_t)__builtin_popcountl(atomic_load(&dirty->words[i]));
	return count;
}

/* Returns the first block at or behind @block whose bit is @set, or the number of blocks. */
static size_t seek(const struct chario_dirty *dirty, size_t block, bool set)
{
	while (block < dirty->nr_blocks) {
		unsigned long word = atomic_load(&dirty->words[block / WORD_BITS]);

		word = (set ? word : ~word) >> block % WORD_BITS;
		if (word) {
			block += (size_t)__builtin_ctzl(word);
			break;
		}
		block = next_word(block);
	}
	return block < dirty->nr_blocks ? block : dirty->nr_blocks;
}

bool chario_dirty_next(const struct chario_dirty *dirty, size_t *first, size_t *end)
{
	*first = seek(dirty, *end, true);
	*end = seek(dirty, *first, false);
	return *first < dirty->nr_blocks;
}
