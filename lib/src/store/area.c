// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * An open area: its locks and its entry of the table.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "device/ops.h"
#include "store/area-inner.h"
#include "system/sys.h"

#define AREA_INFO_MIN offsetof(struct chario_area_info, name)

/*
 * Attempts to open or publish an area while others use, rename, remove or create areas of its name.
 * PAUSE_MS lies between those that found it in use.
 */
#define OPEN_ATTEMPTS 100
#define PAUSE_MS      1

/* Copy the data of an item of the index. */
static void take_item(struct chario_area *area, const struct store_item *item)
{
	area->slot = item->slot;
	area->fields = item->fields;
	memcpy(area->name, item->name, chario_label_bytes(item->name) + 1);
}

static int find_item(struct chario_area *area)
{
	const struct store_item *item = chario_index_find(&area->store->index, area->name);

	if (!item)
		return -ENOENT;
	take_item(area, item);
	return 0;
}

/* Look up an area that is to be written to, when no change is under way. */
static int look_up_alone(struct chario_area *area)
{
	int err = chario_change_begin(area->store);

	if (err)
		return err;
	STORE_CHANGED(area->store);
	return find_item(area);
}

/*
 * Look up the area's name in the present table.  A copy that is newer than the other one may
 * become unreadable, so nothing is written to the place that it names before both are alike.
 */
static int look_up(struct chario_area *area)
{
	struct chario_store *store = area->store;
	int err = chario_store_enter(store);
	bool waits;

	if (err)
		return err;
	waits = store->unfinished && area->use != AREA_READ;
	if (!waits)
		err = find_item(area);
	pthread_mutex_unlock(&store->mutex);
	return waits ? look_up_alone(area) : err;
}

static void unlock(const struct chario_area *area)
{
	chario_lock_drop(area->lock_fd, chario_lock_users(area->slot));
	chario_lock_drop(area->lock_fd, chario_lock_writer(area->slot));
}

/* Take the locks of a use against other users, or none. */
static int lock_out(const struct chario_area *area)
{
	int err = chario_lock_try(area->lock_fd, chario_lock_users(area->slot),
				  area->use == AREA_ALONE);

	if (!err && area->use == AREA_WRITE)
		err = chario_lock_try(area->lock_fd, chario_lock_writer(area->slot), true);
	if (err)
		unlock(area);
	return err;
}

/*
 * Take the fence as well, if the area is to be written, or give up all locks.  With the fence, no
 * live process writes to the area; @wait makes the call wait for writes that a dead process has
 * begun.
 */
static int raise_fence(const struct chario_area *area, bool wait)
{
	const struct chario_device *device = area->store->device;
	uint64_t fence = STORE_FENCE_AREAS + area->slot;
	int err = 0;

	if (area->use != AREA_READ)
		err = wait ? chario_fence_take(device, fence, true) :
			     chario_fence_try(device, fence, true);
	if (err)
		unlock(area);
	return err;
}

/*
 * The area that was locked must still have the name afterwards.  A caller whose area is removed
 * after the look-up holds, for a moment, the locks of its slot, which may belong to a new area by
 * now.  So EBUSY is retried.
 */
static int lock_by_name(struct chario_area *area)
{
	for (int i = 0; i < OPEN_ATTEMPTS; i++) {
		uint64_t slot, id;
		int err = look_up(area);

		if (err)
			return err;
		err = lock_out(area);
		if (err == -EBUSY) {
			chario_sys.sleep_ms(PAUSE_MS);
			continue;
		}
		if (!err)
			err = raise_fence(area, true);
		if (err)
			return err;
		slot = area->slot;
		id = area->fields.id;
		err = look_up(area);
		if (!err && area->slot == slot && area->fields.id == id)
			return 0;
		area->slot = slot;
		if (area->use != AREA_READ)
			chario_fence_drop(area->store->device, STORE_FENCE_AREAS + slot);
		unlock(area);
		if (err)
			return err;
	}
	return -EBUSY;
}

/* Make an area without locks; drop() undoes it. */
static int make(struct chario_store *store, enum area_use use, struct chario_area **area)
{
	struct chario_area *made = calloc(1, sizeof(*made));
	int fd = made ? chario_lock_open(store->device, use != AREA_READ) : -ENOMEM;

	if (fd < 0) {
		free(made);
		return fd;
	}
	made->lock_fd = fd;
	made->store = store;
	made->use = use;
	pthread_mutex_init(&made->mutex, NULL);
	*area = made;
	return 0;
}

static void drop(struct chario_area *area, bool has_locks)
{
	chario_lock_close(area->lock_fd, has_locks);
	pthread_mutex_destroy(&area->mutex);
	free(area);
}

int chario_area_open_for(struct chario_store *store, const char *name, enum area_use use,
			 struct chario_area **area)
{
	struct chario_area *opened;
	int err;

	if (use != AREA_READ && !store->writable)
		return -EROFS;
	if (strlen(name) > CHARIO_STORE_NAME_MAX)
		return -ENOENT;
	err = make(store, use, &opened);
	if (err)
		return err;
	strcpy(opened->name, name);
	err = lock_by_name(opened);
	if (err)
		drop(opened, false);
	else
		*area = opened;
	return err;
}

int chario_area_seize(struct chario_store *store, const struct store_item *item,
		      struct chario_area **area)
{
	struct chario_area *seized;
	int err = make(store, AREA_ALONE, &seized);

	if (err)
		return err;
	take_item(seized, item);
	err = lock_out(seized);
	if (!err)
		err = raise_fence(seized, false);
	if (err)
		drop(seized, false);
	else
		*area = seized;
	return err;
}

int chario_area_open(struct chario_store *store, const char *name, int flags,
		     struct chario_area **area)
{
	if (flags != O_RDONLY && flags != O_RDWR)
		return -EINVAL;
	return chario_area_open_for(store, name, flags == O_RDWR ? AREA_WRITE : AREA_READ, area);
}

void chario_area_close(struct chario_area *area)
{
	bool ours;

	if (!area)
		return;
	/* The locks of a child of fork(2) belong to its parent. */
	ours = chario_pool_is_ours(&area->store->pool);
	chario_pool_destroy(&area->bounce);
	if (ours && area->use != AREA_READ)
		chario_fence_lower(area->store->device, STORE_FENCE_AREAS + area->slot);
	drop(area, ours && !area->is_confined);
}

/*
 * The confined file keeps the file of the locks open, which no other descriptor of this process
 * shares: they end with the last descriptor of the confined file.  The lock of an open store is
 * taken there as well, for the store may be closed before.
 */
int chario_area_confine(struct chario_area *area, uint32_t flags, struct chario_device **confined)
{
	const struct chario_device file = { .fd = area->lock_fd };
	int err;

	if (area->fields.flags & STORE_ENTRY_MOVING)
		return -EBUSY;
	err = chario_lock_try(area->lock_fd, STORE_LOCK_OPEN, false);
	if (!err)
		err = chario_device_confine(&file, area->fields.offset,
					    area->fields.allocated_bytes, flags, confined);
	if (!err)
		area->is_confined = true;
	return err;
}

int chario_area_get_info(const struct chario_area *area, struct chario_area_info *info, size_t size)
{
	struct chario_area_info all;

	chario_store_fill_info(&area->fields, area->name, &all);
	return chario_sys_give(info, size, &all, sizeof(all), AREA_INFO_MIN);
}

bool chario_area_has_writer(const struct chario_area *area)
{
	return chario_lock_is_held(area->lock_fd, chario_lock_writer(area->slot)) ||
	       chario_fence_is_held(area->store->device, STORE_FENCE_AREAS + area->slot);
}

/* An open area cannot be removed. */
const struct store_item *chario_area_item(const struct chario_area *area)
{
	const struct store_item *item = area->store->index.slots[area->slot];

	return item && item->fields.id == area->fields.id ? item : NULL;
}

/* Change the entry of an area to @fields, except the members that others change. */
static int change(struct chario_area *area, const struct store_fields *fields)
{
	struct chario_store *store = area->store;
	const struct store_item *item;
	struct store_entry entry;
	int err = area->use == AREA_READ ? -EROFS : chario_change_begin(store);

	if (err)
		return err;
	STORE_CHANGED(store);
	item = chario_area_item(area);
	if (!item)
		return -EUCLEAN;
	chario_change_copy(item, &entry);
	entry.fields = *fields;
	entry.fields.changed_ns = chario_store_now();
	err = chario_change_entry(store, area->slot, &entry);
	if (!err)
		area->fields = entry.fields;
	return err;
}

/* The value of @filled_bytes tells later that an area which was filled has content. */
static void end_filling(struct store_fields *fields, uint64_t filled_bytes)
{
	fields->flags &= ~STORE_ENTRY_FILLING;
	fields->filled_bytes = filled_bytes;
	fields->fill_tag = 0;
}

int chario_area_set_filled(struct chario_area *area, uint64_t bytes, uint64_t tag)
{
	struct store_fields fields = area->fields;

	if (bytes > fields.bytes || !(fields.flags & STORE_ENTRY_FILLING))
		return area->use == AREA_READ ? -EROFS : -EINVAL;
	fields.filled_bytes = bytes;
	fields.fill_tag = tag;
	if (bytes == fields.bytes)
		end_filling(&fields, bytes);
	return change(area, &fields);
}

/*
 * Give a whole area its name, and remove @old, which has the name; @old is NULL if no area
 * has it.
 */
static int take_over(struct chario_area *area, const char *name, const struct chario_area *old,
		     struct store_entry *entry)
{
	const struct store_item *item, *old_item;
	struct store_change changes[2] = { { area->slot, entry } };
	int err = chario_change_begin(area->store);

	if (err)
		return err;
	STORE_CHANGED(area->store);
	item = chario_area_item(area);
	old_item = old ? chario_area_item(old) : NULL;
	if (!item || (old && !old_item))
		return -EUCLEAN;
	if (!old && chario_index_find(&area->store->index, name))
		return -EEXIST;
	err = chario_store_give_name(item, name, old_item, entry);
	if (err)
		return err;
	end_filling(&entry->fields, entry->fields.bytes);
	if (old)
		changes[1].slot = old->slot;
	return chario_change_entries(area->store, changes, old ? 2 : 1);
}

static int publish(struct chario_area *area, const char *name, struct store_entry *entry)
{
	struct chario_area *old CHARIO_SCOPED(chario_area_leave) = NULL;
	int err = chario_area_open_for(area->store, name, AREA_ALONE, &old);

	return err && err != -ENOENT ? err : take_over(area, name, old, entry);
}

int chario_area_publish(struct chario_area *area, const char *name)
{
	struct store_entry entry;
	int err = chario_store_check_name(name);

	if (area->use == AREA_READ)
		return -EROFS;
	if (err || !(area->fields.flags & STORE_ENTRY_FILLING) || !strcmp(name, area->name))
		return err ? err : -EINVAL;
	err = -EEXIST;
	for (int i = 0; i < OPEN_ATTEMPTS && err == -EEXIST; i++)
		err = publish(area, name, &entry);
	if (err)
		return err;
	area->fields = entry.fields;
	memcpy(area->name, entry.name, sizeof(entry.name));
	return 0;
}

int chario_area_set_stream(struct chario_area *area, const struct chario_area_stream *stream)
{
	struct store_fields fields = area->fields;

	end_filling(&fields, 0);
	fields.flags &= ~STORE_ENTRY_RING;
	fields.flags |= STORE_ENTRY_STREAM;
	if (stream->ring)
		fields.flags |= STORE_ENTRY_RING;
	fields.session = stream->session;
	fields.segment_bytes = stream->segment_bytes;
	fields.window = stream->window;
	fields.end_session = 0;
	memset(&fields.end, 0, sizeof(fields.end));
	return change(area, &fields);
}

int chario_area_end_stream(struct chario_area *area, const struct store_end *end)
{
	struct store_fields fields = area->fields;

	fields.end_session = (uint32_t)fields.session;
	fields.end = *end;
	return change(area, &fields);
}

int chario_area_continue_stream(struct chario_area *area, const struct store_end *end)
{
	struct store_fields fields = area->fields;

	fields.end = *end;
	fields.end_session = ~(uint32_t)fields.session;
	return change(area, &fields);
}

/*
 * Programs of the first release leave the end of an earlier recording in the entry.  An end that
 * was removed still tells how far the recording had come; without a ring, it stays valid for the
 * parts before it.
 */
static void fill_end(const struct store_fields *fields, struct chario_area_stream *stream)
{
	const uint32_t session = (uint32_t)fields->session;
	const bool is_end = fields->end_session && fields->end_session == session;

	stream->continued = fields->end_session == ~session;
	if ((is_end || stream->continued || !fields->end_session) && fields->end.time_ns)
		stream->reached = fields->end.segment + 1;
	if (is_end || (stream->continued && !stream->ring))
		stream->end = fields->end;
}

int chario_area_get_stream(struct chario_area *area, struct chario_area_stream *stream)
{
	struct chario_store *store = area->store;
	const struct store_fields *fields;
	const struct store_item *item;
	int err = chario_store_enter(store);

	if (err)
		return err;
	CHARIO_HELD(&store->mutex);
	item = chario_area_item(area);
	if (!item)
		return -EUCLEAN;
	fields = &item->fields;
	if (!(fields->flags & STORE_ENTRY_STREAM))
		return -ENODATA;
	*stream = (struct chario_area_stream){
		.session = fields->session,
		.segment_bytes = fields->segment_bytes,
		.window = fields->window,
		.ring = fields->flags & STORE_ENTRY_RING,
	};
	fill_end(fields, stream);
	return 0;
}
