// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Gather all free space in one hole: areas move towards the start of the disk, in the order
 * of their places.
 *
 * A long area with a small hole before it would slide in small steps, each with two changes
 * of the table and a flush.  If another hole is long enough, the area moves there; if that is
 * behind the area, it comes back when its turn comes again.
 *
 * An area with a block that cannot be copied stays in its place, and those behind it move up
 * to it.
 */
#include <errno.h>
#include <stdlib.h>

#include "store/area-inner.h"
#include "store/move.h"

#define SHORT_DISTANCE (1ULL << 20)
#define MANY_STEPS     16

/* Returns the bytes of an area that a move under way has still to copy. */
static uint64_t rest_of(const struct store_place *place)
{
	const struct store_fields *fields = &place->item->fields;

	return place->offset == fields->offset ? place->bytes - fields->moved_bytes : 0;
}

/* Returns the bytes left to copy, as if no area were open. */
static uint64_t count_bytes(const struct chario_store *store)
{
	uint64_t end = store->header.data_offset, bytes = 0;

	for (size_t i = 0; i < store->index.nr_places; i++) {
		const struct store_place *place = &store->index.places[i];
		uint64_t target = chario_store_round_up(end, store->header.alignment_bytes);

		end = place->offset + place->bytes;
		if (place->item->fields.flags & STORE_ENTRY_MOVING) {
			bytes += rest_of(place);
		} else if (target < place->offset) {
			bytes += place->bytes;
			end = target + place->bytes;
		}
	}
	return bytes;
}

static uint64_t choose_target(const struct chario_store *store, const struct store_place *place,
			      uint64_t target)
{
	uint64_t distance = place->offset - target;

	if (distance < SHORT_DISTANCE && place->bytes >= MANY_STEPS * distance)
		chario_index_find_hole(&store->index, &store->header, place->bytes, &target);
	return target;
}

/* Lock an area and begin to move it.  Returns -EBUSY if anybody has it open. */
static int begin(struct store_move *move, const struct store_place *place, uint64_t target,
		 struct chario_area **area)
{
	int err = chario_area_seize(move->store, place->item, area);

	if (err)
		return err;
	move->slot = place->item->slot;
	if (place->item->fields.flags & STORE_ENTRY_MOVING)
		return 0;
	target = choose_target(move->store, place, target);
	return chario_move_begin(move->store, move->slot, target);
}

/*
 * Begin to move the next area.  Leaves @area unset if none is left.  Space before @end is done:
 * what others free there must not make defrag begin again and again.
 */
static int begin_next(struct store_move *move, const bool *stays, uint64_t *end,
		      struct chario_area **area)
{
	const struct store_header *header = &move->store->header;
	const struct store_index *index = &move->store->index;

	for (size_t i = 0; i < index->nr_places; i++) {
		const struct store_place *place = &index->places[i];
		bool moving = place->item->fields.flags & STORE_ENTRY_MOVING;
		uint64_t target = chario_store_round_up(*end, header->alignment_bytes);
		int err;

		if ((moving || place->offset > target) && !stays[place->item->slot]) {
			err = begin(move, place, target, area);
			if (err != -EBUSY)
				return err;
		}
		*end = MAX(*end, place->offset + place->bytes);
	}
	return 0;
}

static int move_next(struct store_move *move, const bool *stays, uint64_t *end, bool *moved)
{
	struct chario_area *area CHARIO_SCOPED(chario_area_leave) = NULL;
	int ret = chario_change_begin(move->store);

	*moved = false;
	if (ret)
		return ret;
	if (!move->total_bytes)
		move->total_bytes = count_bytes(move->store);
	ret = begin_next(move, stays, end, &area);
	chario_change_end(move->store);
	*moved = area;
	return ret || !area ? ret : chario_move_run(move);
}

/* Tell the caller of an area that stays, unless it has been lost meanwhile. */
static int tell(const struct store_move *move, chario_area_visit *visit)
{
	struct chario_store *store = move->store;
	struct chario_area_info info;
	const struct store_item *item;
	int err = visit ? chario_store_enter(store) : 0;

	if (err || !visit)
		return err;
	item = store->index.slots[move->slot];
	if (item)
		chario_store_fill_info(&item->fields, item->name, &info);
	pthread_mutex_unlock(&store->mutex);
	return item ? visit(&info, move->data) : 0;
}

static int defrag(struct store_move *move, chario_area_visit *visit, bool *stays)
{
	uint64_t end = move->store->header.data_offset;
	bool moved, all = true;
	int ret;

	do {
		ret = move_next(move, stays, &end, &moved);
		if (!ret && moved && move->course != MOVE_FORTH) {
			stays[move->slot] = true;
			all = false;
			ret = tell(move, visit);
		}
	} while (moved && !ret);
	return ret || all || visit ? ret : -EIO;
}

int chario_store_defrag_report(struct chario_store *store, chario_store_progress *progress,
			       chario_area_visit *visit, void *data)
{
	struct store_move move = { .store = store, .progress = progress, .data = data };
	bool *stays = calloc(store->header.nr_blocks * STORE_ENTRIES, sizeof(*stays));
	int ret = stays ? defrag(&move, visit, stays) : -ENOMEM;

	free(stays);
	return ret;
}

int chario_store_defrag(struct chario_store *store, chario_store_progress *progress, void *data)
{
	return chario_store_defrag_report(store, progress, NULL, data);
}
