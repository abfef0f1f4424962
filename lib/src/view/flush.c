// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The flush of a view.
 *
 * A view has a bit for each of its blocks.  A flush first lets the tracking of the view set
 * the bits of changed blocks.  Then, for each run of set bits, it clears the bits, writes the
 * blocks, and sets the bits of the unwritten blocks again.  This order keeps changes that are
 * made meanwhile: a change after the clearing sets its bit again.
 *
 * A run is written by one transfer.  Clean blocks between two runs are not written, however
 * few they are, so that the drive is written to as little as possible.
 *
 * After a block that the drive cannot write, the flush goes on with the blocks behind it; any
 * error but -EIO ends the flush.
 */
#include <chario/view.h>

#include <errno.h>

#include "store/area-inner.h"
#include "view/track.h"

#define BLOCK ((size_t)CHARIO_STORE_BLOCK)

/* Write a run of blocks, and move *@first behind the last block that is written whole. */
static int write_run(struct chario_view *view, size_t *first, size_t end, unsigned int flags)
{
	size_t begin = *first;
	size_t at = begin * BLOCK;
	int err;

	chario_dirty_clear(view->dirty, begin, end);
	if (view->ops->before_write)
		view->ops->before_write(view, begin, end);
	err = chario_view_move(view, chario_area_write_buffer, &at, end * BLOCK, flags);
	*first = at / BLOCK;
	chario_dirty_set(view->dirty, *first, end);
	if (view->ops->after_write)
		view->ops->after_write(view, begin, *first);
	return err;
}

/* Write all runs.  Returns the first error, even if later runs are written. */
static int write_runs(struct chario_view *view, unsigned int flags, size_t *nr_written)
{
	size_t first;
	size_t end = 0;
	int result = 0;

	while (chario_dirty_next(view->dirty, &first, &end)) {
		size_t begin = first;
		int err = write_run(view, &first, end, flags);

		*nr_written += first - begin;
		if (!err)
			continue;
		if (!result)
			result = err;
		if (err != -EIO)
			break;
		end = first + 1;
	}
	return result;
}

int chario_view_flush(struct chario_view *view, unsigned int flags, uint64_t *written_bytes)
{
	size_t nr_written = 0;
	int err;

	if (written_bytes)
		*written_bytes = 0;
	if (!chario_pool_is_ours(&view->area->store->pool))
		return -EPERM;
	if (flags & ~CHARIO_TRANSFER_FUA)
		return -EINVAL;
	if (view->area->use == AREA_READ)
		return -EROFS;
	CHARIO_LOCK(&view->lock);
	err = view->stale ? -ESTALE : view->ops->collect(view);
	if (!err)
		err = write_runs(view, flags, &nr_written);
	if (written_bytes)
		*written_bytes = nr_written * BLOCK;
	return err;
}

int chario_view_dirty_bytes(struct chario_view *view, uint64_t *bytes)
{
	int err;

	if (!chario_pool_is_ours(&view->area->store->pool))
		return -EPERM;
	CHARIO_LOCK(&view->lock);
	err = view->ops->collect(view);
	if (!err)
		*bytes = chario_dirty_count(view->dirty) * BLOCK;
	return err;
}
