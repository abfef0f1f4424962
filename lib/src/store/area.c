// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * An open area: its locks and its entry of the table.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/area-inner.h"
#include "system/sys.h"

#define AREA_INFO_MIN offsetof(struct chario_area_info, name)

/* How often an area may be renamed or removed between looking it up and locking it. */
#define OPEN_ATTEMPTS 100

/* The entry of a name as it is now. */
static int look_up(struct chario_area *area)
{
	struct chario_store *store = area->store;
	const struct store_item *item;
	int err = chario_store_enter(store);

	if (err)
		return err;
	err = chario_store_refresh(store);
	item = err ? NULL : chario_index_find(&store->index, area->name);
	if (item) {
		area->slot = item->slot;
		area->fields = item->fields;
	} else if (!err) {
		err = -ENOENT;
	}
	pthread_mutex_unlock(&store->mutex);
	return err;
}

static int lock(const struct chario_area *area)
{
	int err = chario_lock_try(area->lock_fd, chario_lock_users(area->slot), false);

	if (err || !area->writable)
		return err;
	err = chario_lock_try(area->lock_fd, chario_lock_writer(area->slot), true);
	if (err)
		chario_lock_drop(area->lock_fd, chario_lock_users(area->slot));
	return err;
}

static void unlock(const struct chario_area *area)
{
	chario_lock_drop(area->lock_fd, chario_lock_users(area->slot));
	chario_lock_drop(area->lock_fd, chario_lock_writer(area->slot));
}

/* What was locked must still be what has the name. */
static int lock_by_name(struct chario_area *area)
{
	for (int i = 0; i < OPEN_ATTEMPTS; i++) {
		uint64_t slot, id;
		int err = look_up(area);

		if (!err)
			err = lock(area);
		if (err)
			return err;
		slot = area->slot;
		id = area->fields.id;
		err = look_up(area);
		if (!err && area->slot == slot && area->fields.id == id)
			return 0;
		area->slot = slot;
		unlock(area);
		if (err)
			return err;
	}
	return -EBUSY;
}

int chario_area_open(struct chario_store *store, const char *name, int flags,
		     struct chario_area **area)
{
	struct chario_area *opened;
	int err;

	if (flags != O_RDONLY && flags != O_RDWR)
		return -EINVAL;
	if (flags == O_RDWR && !store->writable)
		return -EROFS;
	if (strlen(name) > CHARIO_STORE_NAME_MAX)
		return -ENOENT;
	opened = calloc(1, sizeof(*opened));
	if (!opened)
		return -ENOMEM;
	opened->store = store;
	opened->writable = flags == O_RDWR;
	strcpy(opened->name, name);
	err = opened->lock_fd = chario_lock_open(store->device, opened->writable);
	if (err >= 0)
		err = lock_by_name(opened);
	if (err < 0) {
		if (opened->lock_fd >= 0)
			close(opened->lock_fd);
		free(opened);
		return err;
	}
	pthread_mutex_init(&opened->mutex, NULL);
	*area = opened;
	return 0;
}

void chario_area_close(struct chario_area *area)
{
	if (!area)
		return;
	chario_pool_destroy(&area->bounce);
	chario_lock_close(area->lock_fd, !chario_pool_check(&area->store->pool));
	pthread_mutex_destroy(&area->mutex);
	free(area);
}

int chario_area_get_info(const struct chario_area *area, struct chario_area_info *info, size_t size)
{
	struct chario_area_info all;

	chario_store_fill_info(&area->fields, area->name, &all);
	return chario_sys_give(info, size, &all, sizeof(all), AREA_INFO_MIN);
}

struct chario_device *chario_area_device(const struct chario_area *area)
{
	return area->store->device;
}

bool chario_area_has_writer(const struct chario_area *area)
{
	return chario_lock_is_held(area->lock_fd, chario_lock_writer(area->slot));
}

/*
 * The entry of an area.  Nobody removes it while it is open; NULL where its block has been
 * damaged meanwhile, or has been given up and its slot is another's.
 */
static const struct store_item *item_of(const struct chario_area *area)
{
	const struct store_item *item = area->store->index.slots[area->slot];

	return item && item->fields.id == area->fields.id ? item : NULL;
}

static int replace_fields(const struct chario_area *area, struct store_entry *entry,
			  const struct store_fields *fields)
{
	const struct store_item *item = item_of(area);

	if (!item)
		return -EUCLEAN;
	chario_change_copy(item, entry);
	entry->fields = *fields;
	entry->fields.changed_ns = chario_store_now();
	return chario_change_entry(area->store, area->slot, entry);
}

/* Change the entry of an area to what @fields says, but for what others change. */
static int change(struct chario_area *area, const struct store_fields *fields)
{
	struct chario_store *store = area->store;
	struct store_entry entry;
	int err;

	if (!area->writable)
		return -EROFS;
	err = chario_change_begin(store);
	if (err)
		return err;
	err = replace_fields(area, &entry, fields);
	chario_change_end(store);
	if (!err)
		area->fields = entry.fields;
	return err;
}

int chario_area_set_filled(struct chario_area *area, uint64_t bytes, uint64_t tag)
{
	struct store_fields fields = area->fields;

	if (bytes > fields.bytes || !(fields.flags & STORE_ENTRY_FILLING))
		return area->writable ? -EINVAL : -EROFS;
	fields.filled_bytes = bytes;
	fields.fill_tag = tag;
	if (bytes == fields.bytes) {
		fields.flags &= ~STORE_ENTRY_FILLING;
		fields.filled_bytes = 0;
		fields.fill_tag = 0;
	}
	return change(area, &fields);
}

int chario_area_set_stream(struct chario_area *area, const struct chario_area_stream *stream)
{
	struct store_fields fields = area->fields;

	fields.flags &= ~(STORE_ENTRY_FILLING | STORE_ENTRY_RING);
	fields.flags |= STORE_ENTRY_STREAM;
	if (stream->ring)
		fields.flags |= STORE_ENTRY_RING;
	fields.filled_bytes = 0;
	fields.fill_tag = 0;
	fields.session = stream->session;
	fields.segment_bytes = stream->segment_bytes;
	fields.nr_buffers = stream->nr_buffers;
	return change(area, &fields);
}

int chario_area_get_stream(struct chario_area *area, struct chario_area_stream *stream)
{
	struct chario_store *store = area->store;
	struct store_fields fields = { 0 };
	const struct store_item *item;
	int err = chario_store_enter(store);

	if (err)
		return err;
	err = chario_store_refresh(store);
	item = err ? NULL : item_of(area);
	if (item)
		fields = item->fields;
	else if (!err)
		err = -EUCLEAN;
	pthread_mutex_unlock(&store->mutex);
	if (err)
		return err;
	if (!(fields.flags & STORE_ENTRY_STREAM))
		return -ENODATA;
	*stream = (struct chario_area_stream){
		.session = fields.session,
		.segment_bytes = fields.segment_bytes,
		.nr_buffers = fields.nr_buffers,
		.ring = fields.flags & STORE_ENTRY_RING,
	};
	return 0;
}
