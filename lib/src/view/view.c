// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Views: parts of areas in buffers.  The flush is in view/flush.c.
 */
#include <chario/view.h>

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "store/area-inner.h"
#include "device/ops.h"
#include "view/track.h"
#include "view/list.h"

#define BLOCK ((size_t)CHARIO_STORE_BLOCK)

static size_t nr_blocks(const struct chario_view *view)
{
	return view->bytes / BLOCK;
}

int chario_view_sync(const struct chario_view *view, size_t at, size_t bytes,
		     enum chario_sync direction)
{
	if (!(view->buffer->flags & CHARIO_BUFFER_STREAMING))
		return 0;
	return chario_buffer_sync(view->buffer, view->buffer_offset + at, bytes, direction);
}

int chario_view_move(const struct chario_view *view, chario_view_mover *mover, size_t *at,
		     size_t end, unsigned int flags)
{
	int err = chario_view_sync(view, *at, end - *at, CHARIO_SYNC_FOR_DEVICE);

	while (!err && *at < end) {
		ssize_t done = mover(view->area, view->buffer, view->buffer_offset + *at, end - *at,
				     view->offset + *at, flags);

		if (done > 0)
			*at += (size_t)done;
		else
			err = done ? (int)done : -EIO;
	}
	return err;
}

static int read_and_forget(struct chario_view *view)
{
	size_t done = 0;
	int err = chario_view_move(view, chario_area_read_buffer, &done, view->bytes, 0);

	if (!err)
		err = chario_view_sync(view, 0, view->bytes, CHARIO_SYNC_FOR_CPU);
	if (!err)
		err = view->ops->forget(view);
	if (!err)
		chario_dirty_clear(view->dirty, 0, nr_blocks(view));
	return err;
}

static void stop_tracking(struct chario_view *view)
{
	if (view->ops->stop)
		view->ops->stop(view);
	view->track = NULL;
}

/* Load a view with one kind of tracking. */
static int load_with(struct chario_view *view, const struct chario_track_ops *ops)
{
	int err;

	if (ops->needs_memory && !view->memory)
		return -EOPNOTSUPP;
	view->ops = ops;
	err = ops->start(view);
	if (err)
		return err;
	err = read_and_forget(view);
	if (err)
		stop_tracking(view);
	return err;
}

/* Load a view with the best possible tracking; a view that is never written needs none. */
static int load_auto(struct chario_view *view)
{
	int err = -EOPNOTSUPP;

	if (view->area->use != AREA_READ) {
		err = load_with(view, &chario_track_write_protect);
		if (err == -EOPNOTSUPP)
			err = load_with(view, &chario_track_compare);
	}
	return err == -EOPNOTSUPP ? load_with(view, &chario_track_marks) : err;
}

static bool begins_inside_page(const struct chario_view *view)
{
	return (uintptr_t)view->memory % (uintptr_t)sysconf(_SC_PAGESIZE) != 0;
}

static int load(struct chario_view *view, enum chario_tracking tracking)
{
	static const struct chario_track_ops *const ways[] = {
		[CHARIO_TRACKING_MARKS] = &chario_track_marks,
		[CHARIO_TRACKING_WRITE_PROTECT] = &chario_track_write_protect,
		[CHARIO_TRACKING_COMPARE] = &chario_track_compare,
	};

	if (tracking == CHARIO_TRACKING_AUTO)
		return load_auto(view);
	if (tracking == CHARIO_TRACKING_WRITE_PROTECT && begins_inside_page(view))
		return -EINVAL;
	return load_with(view, ways[tracking]);
}

/* Check that the view is whole blocks, inside the space of the area and inside the buffer. */
static int check_place(const struct chario_view *view)
{
	struct chario_area_info info;
	size_t buffer_bytes = chario_buffer_bytes(view->buffer);
	uint64_t space;
	int err = chario_area_get_info(view->area, &info, sizeof(info));

	if (err)
		return err;
	space = (info.bytes + BLOCK - 1) / BLOCK * BLOCK;
	if (view->offset % BLOCK || view->offset > space || view->bytes > space - view->offset)
		return -EINVAL;
	if (view->buffer_offset > buffer_bytes || view->bytes > buffer_bytes - view->buffer_offset)
		return -EINVAL;
	if (view->buffer->device != view->area->store->device)
		return -EINVAL;
	return view->buffer->flags & CHARIO_BUFFER_SOURCE ? -EPERM : 0;
}

static void destroy(struct chario_view *view)
{
	pthread_mutex_destroy(&view->lock);
	chario_dirty_destroy(view->dirty);
	free(view);
}

static struct chario_view *create(struct chario_area *area, uint64_t offset, size_t bytes,
				  const struct chario_buffer *buffer, uint64_t buffer_offset)
{
	struct chario_view *view = calloc(1, sizeof(*view));
	unsigned char *memory = chario_buffer_memory(buffer);

	if (!view)
		return NULL;
	view->area = area;
	view->offset = offset;
	view->bytes = (bytes + BLOCK - 1) / BLOCK * BLOCK;
	view->buffer = buffer;
	view->buffer_offset = buffer_offset;
	view->memory = memory ? memory + buffer_offset : NULL;
	view->dirty = chario_dirty_create(nr_blocks(view));
	pthread_mutex_init(&view->lock, NULL);
	if (view->dirty)
		return view;
	destroy(view);
	return NULL;
}

/* Check a new view, add it to the views of this process, and load it. */
static int begin(struct chario_view *view, enum chario_tracking tracking)
{
	int err = check_place(view);

	if (!err)
		err = chario_view_list_add(view);
	if (err)
		return err;
	err = load(view, tracking);
	if (err)
		chario_view_list_remove(view);
	return err;
}

int chario_view_load(struct chario_area *area, uint64_t offset, size_t bytes,
		     const struct chario_buffer *buffer, uint64_t buffer_offset,
		     enum chario_tracking tracking, struct chario_view **view)
{
	struct chario_view *created;
	int err;

	if (!bytes || bytes > SIZE_MAX - BLOCK)
		return -EINVAL;
	if ((unsigned int)tracking > CHARIO_TRACKING_COMPARE)
		return -EINVAL;
	created = create(area, offset, bytes, buffer, buffer_offset);
	if (!created)
		return -ENOMEM;
	err = begin(created, tracking);
	if (err)
		destroy(created);
	else
		*view = created;
	return err;
}

int chario_view_mark(struct chario_view *view, uint64_t offset, size_t bytes)
{
	size_t first = (size_t)offset;

	if (!chario_pool_is_ours(&view->area->store->pool))
		return -EPERM;
	if (offset > view->bytes || bytes > view->bytes - first)
		return -EINVAL;
	if (bytes)
		chario_dirty_set(view->dirty, first / BLOCK, (first + bytes - 1) / BLOCK + 1);
	return 0;
}

int chario_view_reload(struct chario_view *view)
{
	int err;

	if (!chario_pool_is_ours(&view->area->store->pool))
		return -EPERM;
	CHARIO_LOCK(&view->lock);
	err = read_and_forget(view);
	view->stale = err;
	return err;
}

int chario_view_unload(struct chario_view *view, int flush)
{
	int err = 0;

	if (!view)
		return 0;
	if (!chario_pool_is_ours(&view->area->store->pool))
		return -EPERM;
	if (flush)
		err = chario_view_flush(view, 0, NULL);
	if (err)
		return err;
	stop_tracking(view);
	chario_view_list_remove(view);
	destroy(view);
	return 0;
}

enum chario_tracking chario_view_tracking(const struct chario_view *view)
{
	return view->ops->kind;
}
