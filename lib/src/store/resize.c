// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Resize an area: in its place, or with a move to a larger hole. */
#include <errno.h>

#include "store/area-inner.h"
#include "store/move.h"

/* Returns the length in bytes that an area could have in its place. */
static uint64_t room_of(const struct chario_store *store, const struct store_item *item)
{
	const struct store_index *index = &store->index;
	uint64_t end = store->header.second_offset;

	for (size_t i = 0; i < index->nr_places; i++)
		if (index->places[i].offset > item->fields.offset && index->places[i].offset < end)
			end = index->places[i].offset;
	return end - item->fields.offset;
}

/* Results of try(). */
enum { BEGUN = 1, GOES_ON };

static int resize_in_place(struct chario_store *store, const struct store_item *item,
			   uint64_t bytes)
{
	struct store_entry entry;

	chario_change_copy(item, &entry);
	entry.fields.bytes = bytes;
	entry.fields.allocated_bytes = chario_store_extent(bytes);
	entry.fields.changed_ns = chario_store_now();
	entry.fields.filled_bytes = MIN(entry.fields.filled_bytes, bytes);
	return chario_change_entry(store, item->slot, &entry);
}

/*
 * Resize in place, or begin to move to a larger hole.  Returns BEGUN if it has begun,
 * GOES_ON if an earlier move has to end first, 0 if the area has its new length, or a
 * negative errno.
 */
static int try(struct chario_store *store, uint64_t slot, uint64_t bytes)
{
	const struct store_item *item;
	uint64_t offset;
	int err = chario_change_begin(store);

	if (err)
		return err;
	STORE_CHANGED(store);
	item = store->index.slots[slot];
	if (!item)
		return -EUCLEAN;
	if (item->fields.flags & STORE_ENTRY_MOVING)
		return GOES_ON;
	if (chario_store_extent(bytes) <= room_of(store, item))
		return resize_in_place(store, item, bytes);
	err = chario_index_find_hole(&store->index, &store->header, chario_store_extent(bytes),
				     &offset);
	if (!err)
		err = chario_move_begin(store, slot, offset);
	return err ? err : BEGUN;
}

/*
 * Repeat until the hole that one try has found is still free at the next.  An earlier move
 * may be taken back; a move of this call that is taken back has failed.
 */
static int resize(struct store_move *move, uint64_t bytes)
{
	int ret, err = 0;

	while (!err && (ret = try(move->store, move->slot, bytes)) > 0) {
		err = chario_move_run(move);
		if (!err &&
		    (move->course == MOVE_STUCK || (move->course == MOVE_BACK && ret == BEGUN)))
			err = -EIO;
	}
	return err ? err : ret;
}

int chario_store_resize(struct chario_store *store, const char *name, uint64_t bytes)
{
	struct store_move move = { .store = store };
	struct chario_area *area CHARIO_SCOPED(chario_area_leave) = NULL;
	int err;

	if (!bytes && !chario_store_has_log(store))
		return -EOPNOTSUPP;
	if (bytes > store->header.capacity_bytes)
		return store->writable ? -ENOSPC : -EROFS;
	err = chario_area_open_for(store, name, AREA_ALONE, &area);
	if (err)
		return err;
	move.slot = area->slot;
	return area->fields.flags & STORE_ENTRY_STREAM ? -EINVAL : resize(&move, bytes);
}
