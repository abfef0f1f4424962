// SPDX-License-Identifier: MIT
/*
 * Items: the parts of an area that are written as a whole, and what they may hold.
 *
 * All bytes of an item follow from its seat, its number and its generation.  A generation
 * is used once.  At most one write of an item is on its way: the disk holds what was sure
 * before, or what that write brings, and nothing else.
 */
#include "siege.h"

#define ODD 0x9e3779b97f4a7c15

static uint64_t cut(const struct seat *s, uint64_t block, uint64_t which)
{
	uint64_t state = block * 2 + which, half = s->block / 2;

	return which * half + 1 + random_next(&state) % (half - 2);
}

/* Where the item is on the disk. */
void item_place(const struct seat *s, uint32_t item, uint64_t *offset, uint32_t *bytes)
{
	uint64_t block = item, part = 2, ends[4];

	if (s->area == AREA_BLOCKS) {
		*offset = s->offset + (uint64_t)item * s->block;
		*bytes = s->block;
		return;
	}
	if (s->area == AREA_BYTES_ALONE) {
		block = item / 3;
		part = item % 3;
	} else if (s->area == AREA_BYTES_FIRST) {
		block = item / 2;
		part = item % 2;
	}
	ends[0] = 0;
	ends[1] = cut(s, block, 0);
	ends[2] = cut(s, block, 1);
	ends[3] = s->block;
	*offset = s->offset + block * s->block + ends[part];
	*bytes = (uint32_t)(ends[part + 1] - ends[part]);
}

static uint64_t word_of(const struct seat *s, uint32_t item, uint32_t generation, uint64_t place)
{
	uint64_t name = (uint64_t)s->number << 56 | (uint64_t)item << 32 | generation;
	uint64_t state = name;

	return place ? random_next(&state) + place * ODD : name;
}

void item_fill(const struct seat *s, uint32_t item, uint32_t generation, char *to)
{
	uint64_t first = word_of(s, item, generation, 0), base = word_of(s, item, generation, 1);
	uint64_t offset, value;
	uint32_t bytes;

	item_place(s, item, &offset, &bytes);
	for (uint32_t at = 0; at < bytes; at += 8) {
		value = at ? base + at / 8 * ODD : first;
		memcpy(to + at, &value, bytes - at < 8 ? bytes - at : 8);
	}
}

static bool holds(const struct seat *s, uint32_t item, uint32_t generation, const char *memory)
{
	uint64_t first = word_of(s, item, generation, 0), base = word_of(s, item, generation, 1);
	uint64_t offset, value;
	uint32_t bytes;

	item_place(s, item, &offset, &bytes);
	for (uint32_t at = 0; at < bytes; at += 8) {
		value = at ? base + at / 8 * ODD : first;
		if (memcmp(memory + at, &value, bytes - at < 8 ? bytes - at : 8))
			return false;
	}
	return true;
}

static _Noreturn void tell(const struct seat *s, uint32_t item, const char *memory)
{
	const struct item *known = &s->items[item];
	uint64_t offset, words[2] = { 0 };
	uint32_t bytes, whole = 0;

	item_place(s, item, &offset, &bytes);
	memcpy(words, memory, bytes < sizeof(words) ? bytes : sizeof(words));
	if (bytes >= 8 && words[0] >> 32 == ((uint64_t)s->number << 24 | item))
		whole = holds(s, item, (uint32_t)words[0], memory);
	wrong(s,
	      "item %u at %" PRIu64 " holds %016" PRIx64 " %016" PRIx64
	      " (generation %u%s); sure %u, may be %u, shown %u",
	      item, offset, words[0], words[1], (uint32_t)words[0], whole ? ", whole" : "",
	      known->sure, known->may, s->shown[item]);
}

/* Returns which generation it is. */
static uint32_t look(const struct seat *s, uint32_t item, const char *memory)
{
	const struct item *known = &s->items[item];

	if (s->shown[item]) {
		if (holds(s, item, s->shown[item], memory))
			return s->shown[item];
	} else if (holds(s, item, known->may, memory)) {
		return known->may;
	} else if (holds(s, item, known->sure, memory)) {
		return known->sure;
	}
	tell(s, item, memory);
}

void item_check(const struct seat *s, uint32_t item, const char *memory)
{
	look(s, item, memory);
}

/* Nothing is on its way: what it holds now, it holds until it is written again. */
void item_adopt(struct seat *s, uint32_t item, const char *memory)
{
	struct item *known = &s->items[item];
	uint32_t generation = look(s, item, memory);

	if (generation != known->may)
		count(&shared->tally.events[EVENT_NOT_LANDED]);
	known->sure = generation;
	known->may = generation;
}

uint32_t item_begin_write(struct seat *s, uint32_t item)
{
	uint32_t generation = ++s->shared->generation[s->number];

	__atomic_store_n(&s->items[item].may, generation, __ATOMIC_SEQ_CST);
	return generation;
}

void item_end_write(struct seat *s, uint32_t item)
{
	__atomic_store_n(&s->items[item].sure, s->items[item].may, __ATOMIC_SEQ_CST);
}

/* Memory is what stands on the disk from the first item on. */
void items_read(struct seat *s, uint32_t first, uint32_t last, const char *memory, bool adopt)
{
	uint64_t begin, offset;
	uint32_t bytes;

	item_place(s, first, &begin, &bytes);
	begin -= begin % s->block;
	for (uint32_t item = first; item <= last; item++) {
		item_place(s, item, &offset, &bytes);
		if (adopt)
			item_adopt(s, item, memory + (offset - begin));
		else
			item_check(s, item, memory + (offset - begin));
	}
}
