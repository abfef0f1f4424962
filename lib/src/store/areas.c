// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Create, rename, replace, exchange and remove areas; each is one change of the table. */
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "store/area-inner.h"

/* Attempts to look up a name that others take or give up meanwhile. */
#define REPLACE_ATTEMPTS 100

/* Areas have names like files; names that would surprise a user of files are refused here. */
int chario_store_check_name(const char *name)
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
	int err = chario_store_check_name(name);

	if (err)
		return err;
	if (flags & ~CHARIO_CREATE_FILLING)
		return -EINVAL;
	/* Programs of the first release take an area of no bytes for damage. */
	if (!bytes && !chario_store_has_log(store))
		return -EOPNOTSUPP;
	if (bytes > store->header.capacity_bytes)
		return store->writable ? -ENOSPC : -EROFS;
	strcpy(entry.name, name);
	entry.fields.bytes = bytes;
	entry.fields.allocated_bytes = chario_store_extent(bytes);
	entry.fields.created_ns = entry.fields.changed_ns = chario_store_now();
	if (flags & CHARIO_CREATE_FILLING)
		entry.fields.flags |= STORE_ENTRY_FILLING;
	err = make_id(&entry.fields.id);
	if (!err)
		err = chario_change_begin(store);
	if (err)
		return err;
	STORE_CHANGED(store);
	err = place_entry(store, &entry, &slot);
	return err ? err : chario_change_entry(store, slot, &entry);
}

int chario_store_rename(struct chario_store *store, const char *name, const char *new_name)
{
	const struct store_item *item;
	struct store_entry entry;
	int err = chario_store_check_name(new_name);

	if (!err)
		err = chario_change_begin(store);
	if (err)
		return err;
	STORE_CHANGED(store);
	item = chario_index_find(&store->index, name);
	if (!item)
		return -ENOENT;
	if (!strcmp(name, new_name))
		return 0;
	if (chario_index_find(&store->index, new_name))
		return -EEXIST;
	err = chario_store_give_name(item, new_name, NULL, &entry);
	return err ? err : chario_change_entry(store, item->slot, &entry);
}

int chario_store_give_name(const struct store_item *item, const char *name,
			   const struct store_item *old, struct store_entry *entry)
{
	char attributes[CHARIO_STORE_NAME_MAX + 1];

	chario_change_copy(item, entry);
	entry->fields.changed_ns = chario_store_now();
	if (!chario_label_attributes(item->name, attributes) && old)
		chario_label_attributes(old->name, attributes);
	return chario_label_make(entry->name, name, attributes, "");
}

static int replace_item(struct chario_store *store, const char *name, const struct chario_area *old)
{
	struct store_entry entry;
	struct store_change changes[] = { { .entry = &entry }, { .slot = old->slot } };
	const struct store_item *item;
	int err = chario_change_begin(store);

	if (err)
		return err;
	STORE_CHANGED(store);
	item = chario_index_find(&store->index, name);
	if (!item)
		return -ENOENT;
	if (!chario_area_item(old))
		return -EUCLEAN;
	changes[0].slot = item->slot;
	err = chario_store_give_name(item, old->name, chario_area_item(old), &entry);
	return err ? err : chario_change_entries(store, changes, 2);
}

static int replace(struct chario_store *store, const char *name, const char *new_name)
{
	struct chario_area *old CHARIO_SCOPED(chario_area_leave) = NULL;
	int err = chario_area_open_for(store, new_name, AREA_ALONE, &old);

	/* No area has the name, but another process may take it before the rename. */
	if (err == -ENOENT)
		return chario_store_rename(store, name, new_name);
	return err ? err : replace_item(store, name, old);
}

int chario_store_replace(struct chario_store *store, const char *name, const char *new_name)
{
	struct chario_area_info info;
	int err = chario_store_check_name(new_name);

	if (!err)
		err = chario_store_find(store, name, &info, sizeof(info));
	if (err || !strcmp(name, new_name))
		return err ? err : store->writable ? 0 : -EROFS;
	err = -EEXIST;
	for (int i = 0; i < REPLACE_ATTEMPTS && err == -EEXIST; i++)
		err = replace(store, name, new_name);
	return err;
}

int chario_store_exchange(struct chario_store *store, const char *name, const char *other)
{
	struct store_entry entries[2];
	struct store_change changes[] = { { .entry = &entries[0] }, { .entry = &entries[1] } };
	const struct store_item *one, *two;
	int err = chario_change_begin(store);

	if (err)
		return err;
	STORE_CHANGED(store);
	one = chario_index_find(&store->index, name);
	two = chario_index_find(&store->index, other);
	if (!one || !two)
		return -ENOENT;
	if (one == two)
		return 0;
	changes[0].slot = one->slot;
	changes[1].slot = two->slot;
	err = chario_store_give_name(one, other, NULL, &entries[0]);
	if (!err)
		err = chario_store_give_name(two, name, NULL, &entries[1]);
	return err ? err : chario_change_entries(store, changes, 2);
}

int chario_area_remove(struct chario_area *area)
{
	struct chario_store *store = area->store;
	int err = chario_change_begin(store);

	if (err)
		return err;
	STORE_CHANGED(store);
	return chario_area_item(area) ? chario_change_entry(store, area->slot, NULL) : -EUCLEAN;
}

int chario_store_remove(struct chario_store *store, const char *name)
{
	struct chario_area *area CHARIO_SCOPED(chario_area_leave) = NULL;
	int err = chario_area_open_for(store, name, AREA_ALONE, &area);

	return err ? err : chario_area_remove(area);
}
