// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* An open store: opening, closing, and look-ups. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "store/inner.h"
#include "system/sys.h"

/* Sizes in bytes of the first version of each struct. */
#define STORE_INFO_MIN offsetof(struct chario_store_info, max_areas)
#define AREA_INFO_MIN  offsetof(struct chario_area_info, name)

uint64_t chario_store_now(void)
{
	return chario_sys_clock(CLOCK_REALTIME);
}

/* Finish an interrupted change before anything is written; this waits for one under way. */
static int finish_change(struct chario_store *store)
{
	int err = chario_change_begin(store);

	if (!err)
		chario_change_end(store);
	return err;
}

/* Read header and table.  A damaged store cannot be opened for writing. */
static int read_store(struct chario_store *store)
{
	int err = chario_layout_read(store);

	if (!err)
		err = chario_index_init(&store->index, store->header.nr_blocks * STORE_ENTRIES);
	if (!err)
		err = chario_store_load(store);
	if (!err && store->nr_damaged && store->writable)
		err = -EUCLEAN;
	return !err && store->unfinished && store->writable ? finish_change(store) : err;
}

int chario_store_take(struct chario_store *store, bool alone, bool fenced)
{
	int err = chario_lock_try(store->lock_fd, STORE_LOCK_OPEN, alone);

	if (!err && fenced)
		err = chario_fence_take(store->device, STORE_FENCE_OPEN, alone);
	if (!err)
		err = chario_pool_create(&store->pool, store->device, STORE_BUFFER, 0);
	if (!err && !store->writable)
		err = chario_pool_copy(&store->pool);
	return err;
}

static int open_parts(struct chario_store *store)
{
	int err;

	store->lock_fd = chario_lock_open(store->device, store->writable);
	if (store->lock_fd < 0)
		return store->lock_fd;
	err = chario_store_take(store, false, store->writable);
	return err ? err : read_store(store);
}

/* Close everything but the device. */
static void close_parts(struct chario_store *store)
{
	/* The locks of a child of fork(2) belong to its parent. */
	bool ours = !store->pool.owner || chario_pool_is_ours(&store->pool);

	chario_index_deinit(&store->index);
	if (ours && store->writable)
		chario_fence_lower(store->device, STORE_FENCE_OPEN);
	chario_lock_close(store->lock_fd, ours);
	chario_pool_destroy(&store->pool);
	pthread_mutex_destroy(&store->mutex);
	pthread_mutex_destroy(&store->changing);
	free(store);
}

int chario_store_open_device(struct chario_device *device, int flags, struct chario_store **store)
{
	struct chario_store *opened;
	int err;

	if (flags != O_RDONLY && flags != O_RDWR)
		return -EINVAL;
	opened = calloc(1, sizeof(*opened));
	if (!opened)
		return -ENOMEM;
	opened->device = device;
	opened->writable = flags == O_RDWR;
	opened->lock_fd = -1;
	pthread_mutex_init(&opened->mutex, NULL);
	pthread_mutex_init(&opened->changing, NULL);
	err = open_parts(opened);
	if (err) {
		close_parts(opened);
		return err;
	}
	*store = opened;
	return 0;
}

int chario_store_open(const char *name, int flags, struct chario_store **store)
{
	struct chario_device *device;
	int err;

	if (flags != O_RDONLY && flags != O_RDWR)
		return -EINVAL;
	err = chario_device_open_any(name, flags, &device);
	if (err)
		return err;
	err = chario_store_open_device(device, flags, store);
	if (err)
		chario_device_close(device);
	return err;
}

void chario_store_close(struct chario_store *store)
{
	struct chario_device *device;

	if (!store)
		return;
	device = store->device;
	close_parts(store);
	chario_device_close(device);
}

struct chario_device *chario_store_device(const struct chario_store *store)
{
	return store->device;
}

/* Count overlapping places once: an area that slides over itself has two with bytes in common. */
static uint64_t count_used(const struct store_index *index)
{
	uint64_t end = 0, bytes = 0;

	for (size_t i = 0; i < index->nr_places; i++) {
		const struct store_place *place = &index->places[i];
		uint64_t place_end = place->offset + place->bytes;

		if (place_end <= end)
			continue;
		bytes += place_end - (place->offset > end ? place->offset : end);
		end = place_end;
	}
	return bytes;
}

static void measure_holes(const struct chario_store *store, struct chario_store_info *info)
{
	struct store_cursor cursor = { 0 };
	struct store_hole hole;

	while (chario_index_next_hole(&store->index, &store->header, &cursor, &hole)) {
		uint64_t bytes = hole.bytes / CHARIO_STORE_BLOCK * CHARIO_STORE_BLOCK;

		info->nr_holes++;
		info->largest_hole_bytes = MAX(info->largest_hole_bytes, bytes);
	}
}

int chario_store_get_info(struct chario_store *store, struct chario_store_info *info, size_t size)
{
	const struct store_header *header = &store->header;
	struct chario_store_info all = {
		.size = sizeof(all),
		.version = header->version,
		.created_ns = header->created_ns,
		.capacity_bytes = header->capacity_bytes,
		.data_offset = header->data_offset,
		.data_bytes = header->second_offset - header->data_offset,
		.table_bytes = 2 * header->nr_blocks * CHARIO_STORE_BLOCK,
		.alignment_bytes = header->alignment_bytes,
		.max_areas = header->nr_blocks * STORE_ENTRIES,
	};
	int err;

	memcpy(all.uuid, header->head.uuid, sizeof(all.uuid));
	err = chario_store_enter(store);
	if (err)
		return err;
	CHARIO_HELD(&store->mutex);
	all.nr_areas = store->index.nr_items;
	all.used_bytes = count_used(&store->index);
	all.free_bytes = all.data_bytes - all.used_bytes;
	measure_holes(store, &all);
	return chario_sys_give(info, size, &all, sizeof(all), STORE_INFO_MIN);
}

static uint32_t area_flags(uint32_t flags)
{
	return (flags & STORE_ENTRY_STREAM ? CHARIO_AREA_STREAM : 0) |
	       (flags & STORE_ENTRY_FILLING ? CHARIO_AREA_FILLING : 0) |
	       (flags & STORE_ENTRY_MOVING ? CHARIO_AREA_MOVING : 0);
}

void chario_store_fill_info(const struct store_fields *fields, const char *label,
			    struct chario_area_info *info)
{
	*info = (struct chario_area_info){
		.size = sizeof(*info),
		.flags = area_flags(fields->flags),
		.id = fields->id,
		.offset = fields->offset,
		.bytes = fields->bytes,
		.allocated_bytes = fields->allocated_bytes,
		.created_ns = fields->created_ns,
		.changed_ns = fields->changed_ns,
		.filled_bytes = fields->filled_bytes,
		.fill_tag = fields->fill_tag,
	};
	strcpy(info->name, label);
	chario_label_attributes(label, info->attributes);
}

/* Copy the list, so that no lock is held while the caller uses it. */
static int copy_areas(struct chario_store *store, struct chario_area_info **infos, size_t *count)
{
	const struct store_index *index = &store->index;
	int err = chario_store_enter(store);

	if (err)
		return err;
	CHARIO_HELD(&store->mutex);
	*infos = calloc(index->nr_places + 1, sizeof(**infos));
	if (!*infos)
		return -ENOMEM;
	for (size_t i = 0; i < index->nr_places; i++) {
		const struct store_item *item = index->places[i].item;

		/* Skip the old place of an area that is being moved. */
		if (index->places[i].offset == item->fields.offset)
			chario_store_fill_info(&item->fields, item->name, &(*infos)[(*count)++]);
	}
	return 0;
}

int chario_store_each(struct chario_store *store, chario_area_visit *visit, void *data)
{
	struct chario_area_info *infos CHARIO_SCOPED(chario_scope_free) = NULL;
	size_t count = 0;
	int ret = copy_areas(store, &infos, &count);

	for (size_t i = 0; i < count && !ret; i++)
		ret = visit(&infos[i], data);
	return ret;
}

int chario_store_find(struct chario_store *store, const char *name, struct chario_area_info *info,
		      size_t size)
{
	struct chario_area_info found;
	const struct store_item *item;
	int err = chario_store_enter(store);

	if (err)
		return err;
	CHARIO_HELD(&store->mutex);
	item = chario_index_find(&store->index, name);
	if (!item)
		return -ENOENT;
	chario_store_fill_info(&item->fields, item->name, &found);
	return chario_sys_give(info, size, &found, sizeof(found), AREA_INFO_MIN);
}
