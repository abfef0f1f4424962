// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Create, rename, remove: each changes one entry of the table.
 */
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "store/area-inner.h"

/* The table has what users call files: what would surprise there is refused here. */
static int check_name(const char *name)
{
	size_t length = strnlen(name, CHARIO_STORE_NAME_MAX + 1);

	if (length > CHARIO_STORE_NAME_MAX)
		return -ENAMETOOLONG;
	if (!length || memchr(name, '/', length) || !strcmp(name, ".") || !strcmp(name, ".."))
		return -EINVAL;
	return 0;
}

static int make_id(uint64_t *id)
{
	do {
		if (getrandom(id, sizeof(*id), 0) != sizeof(*id))
			return -EIO;
	} while (!*id);
	return 0;
}

static int place_entry(struct chario_store *store, struct store_entry *entry, uint64_t *slot)
{
	if (chario_index_find(&store->index, entry->name))
		return -EEXIST;
	*slot = chario_index_free_slot(&store->index);
	if (*slot == store->index.nr_slots)
		return -EMFILE;
	return chario_index_find_hole(&store->index, &store->header, entry->fields.allocated_bytes,
				      &entry->fields.offset);
}

int chario_store_create(struct chario_store *store, const char *name, uint64_t bytes,
			unsigned int flags)
{
	struct store_entry entry = { .fields.flags = STORE_ENTRY_AREA };
	uint64_t slot;
	int err = check_name(name);

	if (err)
		return err;
	if (!bytes || flags & ~CHARIO_CREATE_FILLING)
		return -EINVAL;
	if (bytes > store->header.capacity_bytes)
		return store->writable ? -ENOSPC : -EROFS;
	strcpy(entry.name, name);
	entry.fields.bytes = bytes;
	entry.fields.allocated_bytes = chario_store_round_up(bytes, CHARIO_STORE_BLOCK);
	entry.fields.created_ns = entry.fields.changed_ns = chario_store_now();
	if (flags & CHARIO_CREATE_FILLING)
		entry.fields.flags |= STORE_ENTRY_FILLING;
	err = make_id(&entry.fields.id);
	if (!err)
		err = chario_change_begin(store);
	if (err)
		return err;
	err = place_entry(store, &entry, &slot);
	if (!err)
		err = chario_change_entry(store, slot, &entry);
	chario_change_end(store);
	return err;
}

static int rename_item(struct chario_store *store, const char *name, const char *new_name)
{
	const struct store_item *item = chario_index_find(&store->index, name);
	struct store_entry entry;

	if (!item)
		return -ENOENT;
	if (!strcmp(name, new_name))
		return 0;
	if (chario_index_find(&store->index, new_name))
		return -EEXIST;
	chario_change_copy(item, &entry);
	memset(entry.name, 0, sizeof(entry.name));
	strcpy(entry.name, new_name);
	entry.fields.changed_ns = chario_store_now();
	return chario_change_entry(store, item->slot, &entry);
}

int chario_store_rename(struct chario_store *store, const char *name, const char *new_name)
{
	int err = check_name(new_name);

	if (!err)
		err = chario_change_begin(store);
	if (err)
		return err;
	err = rename_item(store, name, new_name);
	chario_change_end(store);
	return err;
}

int chario_store_remove(struct chario_store *store, const char *name)
{
	struct chario_area *area;
	int err = chario_area_open_for(store, name, AREA_ALONE, &area);

	if (err)
		return err;
	err = chario_change_begin(store);
	if (!err) {
		err = chario_area_item(area) ? chario_change_entry(store, area->slot, NULL) :
					       -EUCLEAN;
		chario_change_end(store);
	}
	chario_area_close(area);
	return err;
}
