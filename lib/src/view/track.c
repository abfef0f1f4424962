// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * What the kinds of tracking that know pages have in common.
 */
#include "view/track.h"

#include <unistd.h>

size_t chario_track_page_bytes(const struct chario_view *view)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (view->bytes + page - 1) / page * page;
}

void chario_track_found(struct chario_view *view, uintptr_t start, uintptr_t end)
{
	uintptr_t memory = (uintptr_t)view->memory;
	size_t first = (start - memory) / CHARIO_STORE_BLOCK;
	size_t last = (end - memory) / CHARIO_STORE_BLOCK;

	/* The last page may be longer than what is left of the view. */
	if (last > view->dirty->nr_blocks)
		last = view->dirty->nr_blocks;
	chario_dirty_set(view->dirty, first, last);
}
