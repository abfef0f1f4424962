// SPDX-License-Identifier: MIT
#include "store-model.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <chario/area.h>

#include "log-device.h"

#define NAMES      12
#define MOST_BYTES (MODEL_SECTORS * MODEL_SECTOR)
#define STOPPED    77

static int wrong(const char *format, ...) __attribute__((__format__(__printf__, 1, 2)));

static int wrong(const char *format, ...)
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

/* Sectors of an area that are whole. */
static size_t sectors_of(const struct model_area *area)
{
	return (size_t)(area->info.bytes / MODEL_SECTOR);
}

/* what a sector holds */

static void fill_sector(uint64_t *words, uint32_t tag, size_t sector, uint16_t number)
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

	fill_sector(should, tag, sector, number);
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
			return wrong("sector %zu of \"%s\" is of write %d, not of %u to %u", i,
				     low->info.name, number, low->durable[i], high->latest[i]);
	}
	return 0;
}

/* Every sector must be of a write between the two. */
static int check_content(struct chario_store *store, const char *name, const struct model_area *low,
			 const struct model_area *high)
{
	static unsigned char memory[MOST_BYTES];
	size_t count = sectors_of(low) < sectors_of(high) ? sectors_of(low) : sectors_of(high);
	struct chario_area *area;
	struct chario_buffer *buffer;
	size_t blocks = (count * MODEL_SECTOR + 4095) / 4096 * 4096;
	ssize_t got;
	int err;

	if (!count)
		return 0;
	err = chario_buffer_register(chario_store_device(store), memory, blocks, 0, &buffer);
	if (err)
		return wrong("no buffer: %d", err);
	err = chario_area_open(store, name, O_RDONLY, &area);
	got = err ? err : chario_area_read_buffer(area, buffer, 0, blocks, 0, 0);
	if (!err)
		chario_area_close(area);
	chario_buffer_free(buffer);
	if (got != (ssize_t)blocks)
		return wrong("reading \"%s\" gives %zd", name, got);
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
	       !strcmp(is->name, should->name);
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
		return wrong("listing gives %d", err) == 0;
	if (!lists(step->before, &listing) && !lists(step->after, &listing)) {
		show_all(step, &listing);
		return wrong("the table is neither the old nor the new one") == 0;
	}
	for (size_t i = 0; i < listing.count && !err; i++) {
		const struct model_area *low = find_same(step->before, &listing.infos[i]);
		const struct model_area *high = find_same(step->after, &listing.infos[i]);

		if (low && high)
			err = check_content(store, listing.infos[i].name, low, high);
	}
	return !err;
}

/* changes */

static void choose_name(char *name, uint64_t *random)
{
	snprintf(name, CHARIO_STORE_NAME_MAX, "area-%u", (unsigned int)log_below(random, NAMES));
}

/* Mostly of some sectors, at times of any length. */
static uint64_t choose_bytes(uint64_t *random)
{
	static const uint64_t limits[] = { 4096, 8192, 32768, MOST_BYTES };
	uint64_t bytes = 1 + log_below(random, limits[log_below(random, 4)]);

	return log_random(random) & 1 ? bytes : (bytes + 4095) / 4096 * 4096;
}

/* The area that a change names; a random one that exists where there is one. */
static struct model_area *choose_area(struct model *model, uint64_t *random)
{
	size_t first = log_below(random, MODEL_AREAS);

	for (size_t i = 0; i < MODEL_AREAS; i++) {
		struct model_area *area = &model->areas[(first + i) % MODEL_AREAS];

		if (area->info.bytes)
			return area;
	}
	return NULL;
}

static int expect(const char *what, int is, int should)
{
	if (is == -EIO || is == should)
		return is == -EIO ? is : 0;
	return wrong("%s gives %d, not %d", what, is, should);
}

/* What the store says of a new area: its id is not for a model to know. */
static int learn(struct chario_store *store, struct model_area *area)
{
	int err = chario_store_find(store, area->info.name, &area->info, sizeof(area->info));

	return expect("looking for a new area", err, 0);
}

static int create(struct model *model, struct chario_store *store, uint64_t *random)
{
	struct model_area *area = model->areas;
	uint64_t bytes = choose_bytes(random);
	unsigned int flags = log_below(random, 3) ? 0 : CHARIO_CREATE_FILLING;
	char name[CHARIO_STORE_NAME_MAX + 1];
	int err;

	choose_name(name, random);
	err = chario_store_create(store, name, bytes, flags);
	if (err == -ENOSPC)
		return 0;
	if (model_find(model, name))
		return expect("creating what there is", err, -EEXIST);
	while (area->info.bytes)
		area++;
	memset(area, 0, sizeof(*area));
	area->tag = ++model->tags;
	area->info.bytes = bytes;
	area->info.flags = flags ? CHARIO_AREA_FILLING : 0;
	strcpy(area->info.name, name);
	return err ? expect("creating", err, 0) : learn(store, area);
}

static int rename_area(struct model *model, struct chario_store *store, uint64_t *random)
{
	struct model_area *area = choose_area(model, random);
	char name[CHARIO_STORE_NAME_MAX + 1];
	bool taken;
	int err;

	if (!area)
		return 0;
	choose_name(name, random);
	taken = model_find(model, name) && strcmp(area->info.name, name);
	err = chario_store_rename(store, area->info.name, name);
	if (!err || (err == -EIO && !taken))
		strcpy(area->info.name, name);
	return expect("renaming", err, taken ? -EEXIST : 0);
}

/* What an area loses at its end is not there when it grows again. */
static void cut_area(struct model_area *area, uint64_t bytes)
{
	area->info.bytes = bytes;
	if (area->info.filled_bytes > bytes)
		area->info.filled_bytes = bytes;
	for (size_t i = sectors_of(area); i < MODEL_SECTORS; i++)
		area->durable[i] = area->latest[i] = 0;
}

static int resize(struct model *model, struct chario_store *store, uint64_t *random)
{
	struct model_area *area = choose_area(model, random);
	uint64_t bytes = choose_bytes(random);
	int err;

	if (!area)
		return 0;
	err = chario_store_resize(store, area->info.name, bytes);
	if (!err || err == -EIO)
		cut_area(area, bytes);
	return err == -ENOSPC ? 0 : expect("resizing", err, 0);
}

static int remove_area(struct model *model, struct chario_store *store, uint64_t *random)
{
	struct model_area *area = choose_area(model, random);
	int err;

	if (!area)
		return 0;
	err = chario_store_remove(store, area->info.name);
	if (!err || err == -EIO)
		area->info.bytes = 0;
	return expect("removing", err, 0);
}

/* Ends a defragmentation after some steps. */
static int stop(uint64_t done_bytes, uint64_t total_bytes, void *data)
{
	uint64_t *steps = data;

	(void)done_bytes;
	(void)total_bytes;
	return (*steps)-- ? 0 : STOPPED;
}

/* At times it is ended, at times an area is open meanwhile. */
static int defrag(struct model *model, struct chario_store *store, uint64_t *random)
{
	struct model_area *open = log_below(random, 3) ? NULL : choose_area(model, random);
	uint64_t steps = log_below(random, 3) ? log_below(random, 6) : UINT64_MAX;
	struct chario_area *area = NULL;
	int err = 0;

	if (open)
		err = chario_area_open(store, open->info.name, O_RDONLY, &area);
	if (!err)
		err = chario_store_defrag(store, stop, &steps);
	chario_area_close(area);
	return err == STOPPED ? 0 : expect("defragmenting", err, 0);
}

static ssize_t write_sectors(struct chario_area *open, const struct model_area *area, size_t first,
			     size_t count, uint16_t number)
{
	static unsigned char memory[MOST_BYTES];

	for (size_t i = 0; i < count; i++) {
		uint64_t words[MODEL_SECTOR / 8];

		fill_sector(words, area->tag, first + i, number);
		memcpy(memory + i * MODEL_SECTOR, words, MODEL_SECTOR);
	}
	return chario_area_write(open, memory, count * MODEL_SECTOR, first * MODEL_SECTOR);
}

static int write_open(struct model *model, struct chario_area *open, struct model_area *area,
		      uint64_t *random)
{
	size_t nr_sectors = sectors_of(area);
	size_t first = log_below(random, nr_sectors);
	size_t count = 1 + log_below(random, nr_sectors - first);
	uint16_t number = ++model->writes;
	ssize_t put = write_sectors(open, area, first, count, number);

	/* One that failed may have reached the disk. */
	for (size_t i = first; i < first + count; i++)
		area->latest[i] = number;
	if (put >= 0 && put != (ssize_t)(count * MODEL_SECTOR))
		return -EIO;
	return put < 0 ? expect("writing", (int)put, 0) : 0;
}

static int sync_open(struct chario_area *open, struct model_area *area)
{
	int err = chario_area_sync(open);

	if (!err)
		memcpy(area->durable, area->latest, sizeof(area->durable));
	return expect("syncing", err, 0);
}

/* As a copy does that may be interrupted. */
static int fill_open(struct chario_area *open, struct model_area *area, uint64_t *random)
{
	uint64_t bytes = log_below(random, 2) ? area->info.bytes :
						log_below(random, area->info.bytes + 1);
	uint64_t tag = log_random(random);
	int err;

	if (!(area->info.flags & CHARIO_AREA_FILLING))
		return 0;
	err = chario_area_set_filled(open, bytes, tag);
	area->info.filled_bytes = bytes;
	area->info.fill_tag = tag;
	if (bytes == area->info.bytes) {
		area->info.flags = 0;
		area->info.filled_bytes = 0;
		area->info.fill_tag = 0;
	}
	return expect("saying what is filled", err, 0);
}

static int use(struct model *model, struct chario_store *store, uint64_t *random,
	       int (*how)(struct model *model, struct chario_area *open, struct model_area *area,
			  uint64_t *random))
{
	struct model_area *area = choose_area(model, random);
	struct chario_area *open;
	int err;

	if (!area || !sectors_of(area))
		return 0;
	err = chario_area_open(store, area->info.name, O_RDWR, &open);
	if (err)
		return expect("opening", err, 0);
	err = how(model, open, area, random);
	chario_area_close(open);
	return err;
}

static int write_some(struct model *model, struct chario_area *open, struct model_area *area,
		      uint64_t *random)
{
	return write_open(model, open, area, random);
}

static int sync_some(struct model *model, struct chario_area *open, struct model_area *area,
		     uint64_t *random)
{
	(void)model;
	(void)random;
	return sync_open(open, area);
}

static int fill_some(struct model *model, struct chario_area *open, struct model_area *area,
		     uint64_t *random)
{
	(void)model;
	return fill_open(open, area, random);
}

int model_change(struct model *model, struct chario_store *store, uint64_t *random)
{
	uint64_t number = log_below(random, 100);

	if (number < 20)
		return create(model, store, random);
	if (number < 27)
		return rename_area(model, store, random);
	if (number < 40)
		return resize(model, store, random);
	if (number < 48)
		return remove_area(model, store, random);
	if (number < 58)
		return defrag(model, store, random);
	if (number < 78)
		return use(model, store, random, write_some);
	if (number < 90)
		return use(model, store, random, sync_some);
	return use(model, store, random, fill_some);
}
