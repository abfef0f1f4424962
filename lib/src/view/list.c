// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The views of this process.
 *
 * Two views with the same memory would each use up the changes that the other has to find.
 * Two views of the same part of an area would overwrite each other's blocks; several views of
 * a part are harmless only if the area is open for reading.
 */
#include "view/list.h"

#include <errno.h>

#include "store/area-inner.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct chario_view *views;

static bool overlaps(uint64_t first, size_t first_bytes, uint64_t second, size_t second_bytes)
{
	return first < second + second_bytes && second < first + first_bytes;
}

/* Two buffers may be the same memory, which only their addresses for the CPU can tell. */
static bool share_memory(const struct chario_view *one, const struct chario_view *other)
{
	if (one->memory && other->memory)
		return overlaps((uintptr_t)one->memory, one->bytes, (uintptr_t)other->memory,
				other->bytes);
	return one->buffer == other->buffer &&
	       overlaps(one->buffer_offset, one->bytes, other->buffer_offset, other->bytes);
}

static bool share_area(const struct chario_view *one, const struct chario_view *other)
{
	return one->area == other->area && one->area->use != AREA_READ &&
	       overlaps(one->offset, one->bytes, other->offset, other->bytes);
}

int chario_view_list_add(struct chario_view *view)
{
	CHARIO_LOCK(&lock);
	for (const struct chario_view *other = views; other; other = other->next)
		if (share_memory(view, other) || share_area(view, other))
			return -EBUSY;
	view->next = views;
	views = view;
	return 0;
}

void chario_view_list_remove(struct chario_view *view)
{
	struct chario_view **at = &views;

	CHARIO_LOCK(&lock);
	while (*at != view)
		at = &(*at)->next;
	*at = view->next;
}
