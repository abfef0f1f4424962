// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The areas of a store in memory: by slot, by name, by place.
 *
 * A look-up by name costs the logarithm of the number of areas; adding or removing an area
 * and looking for a hole pass once over an array of 24 bytes an area.
 */
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "store/inner.h"

int chario_index_init(struct store_index *index, uint64_t nr_slots)
{
	memset(index, 0, sizeof(*index));
	index->slots = calloc(nr_slots, sizeof(*index->slots));
	if (!index->slots)
		return -ENOMEM;
	index->nr_slots = nr_slots;
	return 0;
}

static void leave(void *item)
{
	(void)item;
}

void chario_index_deinit(struct store_index *index)
{
	tdestroy(index->names, leave);
	for (uint64_t slot = 0; slot < index->nr_slots; slot++)
		free(index->slots[slot]);
	free(index->slots);
	free(index->places);
	memset(index, 0, sizeof(*index));
}

/* The tree holds names, each inside its item. */
static int compare_names(const void *one, const void *two)
{
	return strcmp(one, two);
}

static struct store_item *item_of(const char *name)
{
	return (struct store_item *)(uintptr_t)(name - offsetof(struct store_item, name));
}

struct store_item *chario_index_find(const struct store_index *index, const char *name)
{
	char *const *node = tfind(name, &index->names, compare_names);

	return node ? item_of(*node) : NULL;
}

/* Find the first place at or behind an offset. */
static size_t place_behind(const struct store_index *index, uint64_t offset)
{
	size_t low = 0, high = index->nr_places;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (index->places[middle].offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int make_room(struct store_index *index)
{
	struct store_place *more;
	size_t max = index->max_places ? 2 * index->max_places : 64;

	/* An area that is being moved has two places. */
	if (index->nr_places + 2 <= index->max_places)
		return 0;
	more = reallocarray(index->places, max, sizeof(*more));
	if (!more)
		return -ENOMEM;
	index->places = more;
	index->max_places = max;
	return 0;
}

static void add_place(struct store_index *index, struct store_item *item, uint64_t offset)
{
	size_t at = place_behind(index, offset);
	struct store_place *place = &index->places[at];

	memmove(place + 1, place, (index->nr_places - at) * sizeof(*place));
	place->offset = offset;
	place->bytes = item->fields.allocated_bytes;
	place->item = item;
	index->nr_places++;
}

static void remove_place(struct store_index *index, const struct store_item *item, uint64_t offset)
{
	size_t at = place_behind(index, offset);
	struct store_place *place;

	while (index->places[at].item != item)
		at++;
	place = &index->places[at];
	index->nr_places--;
	memmove(place, place + 1, (index->nr_places - at) * sizeof(*place));
}

static struct store_item *make_item(uint64_t slot, const struct store_entry *entry)
{
	size_t bytes = chario_label_bytes(entry->name);
	struct store_item *item = malloc(sizeof(*item) + bytes + 1);

	if (!item)
		return NULL;
	item->slot = slot;
	item->fields = entry->fields;
	memcpy(item->name, entry->name, bytes);
	item->name[bytes] = '\0';
	return item;
}

int chario_index_add(struct store_index *index, uint64_t slot, const struct store_entry *entry)
{
	struct store_item *item;
	char **node;

	if (make_room(index))
		return -ENOMEM;
	item = make_item(slot, entry);
	if (!item)
		return -ENOMEM;
	node = tsearch(item->name, &index->names, compare_names);
	if (!node) {
		free(item);
		return -ENOMEM;
	}
	index->slots[slot] = item;
	index->nr_items++;
	add_place(index, item, item->fields.offset);
	if (item->fields.flags & STORE_ENTRY_MOVING)
		add_place(index, item, item->fields.move_offset);
	return *node == item->name ? 0 : -EEXIST;
}

void chario_index_remove(struct store_index *index, uint64_t slot)
{
	struct store_item *item = index->slots[slot];

	if (!item)
		return;
	/* The second area with the same name is not in the tree. */
	if (chario_index_find(index, item->name) == item)
		tdelete(item->name, &index->names, compare_names);
	remove_place(index, item, item->fields.offset);
	if (item->fields.flags & STORE_ENTRY_MOVING)
		remove_place(index, item, item->fields.move_offset);
	index->slots[slot] = NULL;
	index->nr_items--;
	index->first_free = MIN(index->first_free, slot);
	free(item);
}

uint64_t chario_index_free_slot(struct store_index *index)
{
	while (index->first_free < index->nr_slots && index->slots[index->first_free])
		index->first_free++;
	return index->first_free;
}

int chario_index_each_overlap(const struct store_index *index, store_overlap_visit *visit,
			      void *data)
{
	const struct store_place *last = NULL;
	int ret = 0;

	for (size_t i = 0; i < index->nr_places && !ret; i++) {
		const struct store_place *place = &index->places[i];

		/* The two places of an area that slides over itself may overlap. */
		if (last && place->offset < last->offset + last->bytes && place->item != last->item)
			ret = visit(last, place, data);
		if (!last || place->offset + place->bytes > last->offset + last->bytes)
			last = place;
	}
	return ret;
}

bool chario_index_next_hole(const struct store_index *index, const struct store_header *header,
			    struct store_cursor *cursor, struct store_hole *hole)
{
	cursor->end = MAX(cursor->end, header->data_offset);
	while (cursor->place <= index->nr_places) {
		uint64_t begin = chario_store_round_up(cursor->end, header->alignment_bytes);
		uint64_t next = header->second_offset;

		if (cursor->place < index->nr_places) {
			const struct store_place *place = &index->places[cursor->place];

			next = place->offset;
			cursor->end = MAX(cursor->end, next + place->bytes);
		}
		cursor->place++;
		if (next <= begin)
			continue;
		hole->offset = begin;
		hole->bytes = next - begin;
		return true;
	}
	return false;
}

int chario_index_find_hole(const struct store_index *index, const struct store_header *header,
			   uint64_t bytes, uint64_t *offset)
{
	struct store_cursor cursor = { 0 };
	uint64_t best = UINT64_MAX;
	struct store_hole hole;

	while (chario_index_next_hole(index, header, &cursor, &hole)) {
		if (hole.bytes < bytes || hole.bytes >= best)
			continue;
		best = hole.bytes;
		*offset = hole.offset;
	}
	return best == UINT64_MAX ? -ENOSPC : 0;
}

static bool lies_inside(const struct store_header *header, uint64_t offset, uint64_t bytes)
{
	return offset >= header->data_offset && offset <= header->second_offset &&
	       bytes <= header->second_offset - offset;
}

static const char *name_fault(const char *name)
{
	size_t length = strnlen(name, CHARIO_STORE_NAME_MAX + 1);

	if (!length)
		return "its name is empty";
	if (length > CHARIO_STORE_NAME_MAX)
		return "its name has no end";
	if (memchr(name, '/', length))
		return "its name has a slash";
	return NULL;
}

static const char *stream_fault(const struct store_fields *fields)
{
	if (!(fields->flags & STORE_ENTRY_STREAM))
		return NULL;
	if (!fields->segment_bytes || fields->segment_bytes % CHARIO_STORE_BLOCK ||
	    fields->segment_bytes > fields->allocated_bytes)
		return "the segments of its recording have a length that none can have";
	if (!fields->window)
		return "its recording has no window";
	return NULL;
}

static const char *range_fault(const struct store_header *header, const struct store_fields *fields)
{
	if ((!fields->bytes && !(header->read_features & STORE_FEATURE_LOG)) ||
	    !fields->allocated_bytes || fields->bytes > fields->allocated_bytes ||
	    fields->allocated_bytes % CHARIO_STORE_BLOCK)
		return "its length is one that none can have";
	if (fields->offset % CHARIO_STORE_BLOCK ||
	    !lies_inside(header, fields->offset, fields->allocated_bytes))
		return "it lies outside the space for areas";
	if (!(fields->flags & STORE_ENTRY_MOVING))
		return NULL;
	if (fields->move_offset % CHARIO_STORE_BLOCK ||
	    !lies_inside(header, fields->move_offset, fields->allocated_bytes))
		return "it is moved from outside the space for areas";
	if (fields->moved_bytes > fields->allocated_bytes ||
	    fields->moved_bytes % CHARIO_STORE_BLOCK)
		return "more of it has been moved than it has";
	/*
	 * Such a move would never end, or would overwrite bytes that are not copied yet.  Of a
	 * move towards the start of the disk the difference wraps, and is longer than any area.
	 */
	if (fields->offset - fields->move_offset < fields->allocated_bytes)
		return "it is moved over itself away from the start of the disk";
	return NULL;
}

const char *chario_entry_fault(const struct store_header *header, const struct store_entry *entry)
{
	const struct store_fields *fields = &entry->fields;
	const char *fault = name_fault(entry->name);

	if (fields->flags & ~STORE_ENTRY_FLAGS)
		return "it has flags that are not known";
	if (!fields->id)
		return "it has no id";
	if (!fault)
		fault = range_fault(header, fields);
	if (!fault && fields->flags & STORE_ENTRY_FILLING && fields->filled_bytes > fields->bytes)
		fault = "more of it has been filled than it has";
	return fault ? fault : stream_fault(fields);
}
