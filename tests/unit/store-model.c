// SPDX-License-Identifier: MIT
#include "store-model-inner.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <chario/area.h>

#include "log-device.h"

int model_wrong(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	printf("# ");
	vprintf(format, args);
	printf("\n");
	va_end(args);
	return -EPROTO;
}

struct model_area *model_find(struct model *model, const char *name)
{
	for (size_t i = 0; i < MODEL_AREAS; i++)
		if (model->areas[i].info.bytes && !strcmp(model->areas[i].info.name, name))
			return &model->areas[i];
	return NULL;
}

/* The id of an area of which it is not known whether it was made is 0. */
static const struct model_area *find_same(const struct model *model,
					  const struct chario_area_info *info)
{
	for (size_t i = 0; i < MODEL_AREAS; i++) {
		const struct chario_area_info *should = &model->areas[i].info;

		if (should->bytes &&
		    (should->id == info->id || (!should->id && !strcmp(should->name, info->name))))
			return &model->areas[i];
	}
	return NULL;
}

/* what a sector holds */

void model_fill_sector(uint64_t *words, uint32_t tag, size_t sector, uint16_t number)
{
	uint64_t state = (uint64_t)tag << 32 | sector << 16 | number;

	words[0] = state;
	for (size_t i = 1; i < MODEL_SECTOR / sizeof(*words); i++)
		words[i] = log_random(&state);
}

/* The number of the write that a sector holds, -1 where it holds something else. */
static int number_of(const uint64_t *words, uint32_t tag, size_t sector)
{
	uint64_t should[MODEL_SECTOR / sizeof(*words)];
	uint16_t number = (uint16_t)words[0];

	model_fill_sector(should, tag, sector, number);
	return memcmp(words, should, MODEL_SECTOR) ? -1 : number;
}

static int check_sectors(const struct model_area *low, const struct model_area *high, size_t count,
			 const unsigned char *memory)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t words[MODEL_SECTOR / 8];
		int number;

		if (!low->durable[i] || !high->latest[i])
			continue;
		memcpy(words, memory + i * MODEL_SECTOR, MODEL_SECTOR);
		number = number_of(words, low->tag, i);
		if (number < low->durable[i] || number > high->latest[i])
			return model_wrong("sector %zu of \"%s\" is of write %d, not of %u to %u",
					   i, low->info.name, number, low->durable[i],
					   high->latest[i]);
	}
	return 0;
}

/* Every sector must be of a write between the two. */
static int check_content(struct chario_store *store, const char *name, const struct model_area *low,
			 const struct model_area *high)
{
	static unsigned char memory[MODEL_BYTES];
	size_t count = model_sectors(low) < model_sectors(high) ? model_sectors(low) :
								  model_sectors(high);
	struct chario_area *area;
	struct chario_buffer *buffer;
	size_t blocks = (count * MODEL_SECTOR + 4095) / 4096 * 4096;
	ssize_t got;
	int err;

	if (!count)
		return 0;
	err = chario_buffer_register(chario_store_device(store), memory, blocks, 0, &buffer);
	if (err)
		return model_wrong("no buffer: %d", err);
	err = chario_area_open(store, name, O_RDONLY, &area);
	got = err ? err : chario_area_read_buffer(area, buffer, 0, blocks, 0, 0);
	if (!err)
		chario_area_close(area);
	chario_buffer_free(buffer);
	if (got != (ssize_t)blocks)
		return model_wrong("reading \"%s\" gives %zd", name, got);
	return check_sectors(low, high, count, memory);
}

/* the table */

/**
 * struct listing - the areas of a store
 * @infos: of each
 * @count: how many
 */
struct listing {
	struct chario_area_info infos[MODEL_AREAS];
	size_t count;
};

static int list_area(const struct chario_area_info *info, void *data)
{
	struct listing *listing = data;

	if (listing->count == MODEL_AREAS)
		return -E2BIG;
	listing->infos[listing->count++] = *info;
	return 0;
}

static bool is_same(const struct chario_area_info *is, const struct chario_area_info *should)
{
	return is->bytes == should->bytes && (is->flags & ~CHARIO_AREA_MOVING) == should->flags &&
	       is->filled_bytes == should->filled_bytes && is->fill_tag == should->fill_tag &&
	       !strcmp(is->name, should->name) &&
	       !memcmp(is->attributes, should->attributes, sizeof(is->attributes));
}

static size_t count_areas(const struct model *model)
{
	size_t count = 0;

	for (size_t i = 0; i < MODEL_AREAS; i++)
		count += model->areas[i].info.bytes != 0;
	return count;
}

static bool lists(const struct model *model, const struct listing *listing)
{
	for (size_t i = 0; i < listing->count; i++) {
		const struct model_area *area = find_same(model, &listing->infos[i]);

		if (!area || !is_same(&listing->infos[i], &area->info))
			return false;
	}
	return listing->count == count_areas(model);
}

static void show(const char *what, const struct chario_area_info *info)
{
	printf("#   %s \"%s\" id %llx bytes %llu flags %x filled %llu at %llu\n", what, info->name,
	       (unsigned long long)info->id, (unsigned long long)info->bytes, info->flags,
	       (unsigned long long)info->filled_bytes, (unsigned long long)info->offset);
}

static void show_all(const struct model_step *step, const struct listing *listing)
{
	for (size_t i = 0; i < listing->count; i++)
		show("is", &listing->infos[i]);
	for (size_t i = 0; i < MODEL_AREAS; i++) {
		if (step->before->areas[i].info.bytes)
			show("was", &step->before->areas[i].info);
		if (step->after->areas[i].info.bytes)
			show("will be", &step->after->areas[i].info);
	}
}

bool model_holds(const struct model_step *step, struct chario_store *store)
{
	struct listing listing = { .count = 0 };
	int err = chario_store_each(store, list_area, &listing);

	if (err)
		return model_wrong("listing gives %d", err) == 0;
	if (!lists(step->before, &listing) && !lists(step->after, &listing)) {
		show_all(step, &listing);
		return model_wrong("the table is neither the old nor the new one") == 0;
	}
	for (size_t i = 0; i < listing.count && !err; i++) {
		const struct model_area *low = find_same(step->before, &listing.infos[i]);
		const struct model_area *high = find_same(step->after, &listing.infos[i]);

		if (low && high)
			err = check_content(store, listing.infos[i].name, low, high);
	}
	return !err;
}
