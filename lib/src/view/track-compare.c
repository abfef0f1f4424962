// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Checksums of blocks: XXH3 of 64 bits, from libxxhash.
 *
 * The sum of a block is that of its content when it was written last.  The sum is taken just
 * before the write and again when the write has ended: if both differ, either content may be
 * on the disk, and the block counts as changed again.  So a change during the write is not
 * lost, unless it is undone before the write has ended.
 *
 * A change is missed if both contents have the same sum, which happens to one change in 2^64.
 * XXH3 is no cryptographic hash: a program that chooses both contents can make it happen.
 */
#include "view/track.h"

#include <errno.h>
#include <stdlib.h>

#include <xxhash.h>

static uint64_t sum_of(const struct chario_view *view, size_t block)
{
	return XXH3_64bits(view->memory + block * CHARIO_STORE_BLOCK, CHARIO_STORE_BLOCK);
}

static int start(struct chario_view *view)
{
	view->track = calloc(view->dirty->nr_blocks, sizeof(uint64_t));
	return view->track ? 0 : -ENOMEM;
}

static void take_sums(struct chario_view *view, size_t first, size_t end)
{
	uint64_t *sums = view->track;

	for (size_t block = first; block < end; block++)
		sums[block] = sum_of(view, block);
}

static void compare(struct chario_view *view, size_t first, size_t end)
{
	const uint64_t *sums = view->track;

	for (size_t block = first; block < end; block++) {
		if (!chario_dirty_test(view->dirty, block) && sum_of(view, block) != sums[block])
			chario_dirty_set(view->dirty, block, block + 1);
	}
}

static int forget(struct chario_view *view)
{
	take_sums(view, 0, view->dirty->nr_blocks);
	return 0;
}

static int collect(struct chario_view *view)
{
	compare(view, 0, view->dirty->nr_blocks);
	return 0;
}

static void stop(struct chario_view *view)
{
	free(view->track);
}

const struct chario_track_ops chario_track_compare = {
	.kind = CHARIO_TRACKING_COMPARE,
	.needs_memory = true,
	.start = start,
	.forget = forget,
	.collect = collect,
	.before_write = take_sums,
	.after_write = compare,
	.stop = stop,
};
