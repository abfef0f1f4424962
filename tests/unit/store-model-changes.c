// SPDX-License-Identifier: MIT
/*
 * Random changes of a store and of its model.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include <chario/area.h>

#include "log-device.h"
#include "store-model-inner.h"

#define NAMES   12
#define STOPPED 77

static void choose_name(char *name, uint64_t *random)
{
	snprintf(name, CHARIO_STORE_NAME_MAX, "area-%u", (unsigned int)log_below(random, NAMES));
}

/* Mostly of some sectors, at times of any length. */
static uint64_t choose_bytes(uint64_t *random)
{
	static const uint64_t limits[] = { 4096, 8192, 32768, MODEL_BYTES };
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
	return model_wrong("%s gives %d, not %d", what, is, should);
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

int model_fill(struct model *model, struct chario_store *store, size_t count)
{
	int err = 0;

	for (size_t i = 0; i < count && !err; i++) {
		struct model_area *area = &model->areas[i];

		area->tag = ++model->tags;
		area->info.bytes = 1;
		snprintf(area->info.name, sizeof(area->info.name), "small-%zu", i);
		err = chario_store_create(store, area->info.name, 1, 0);
		if (!err)
			err = learn(store, area);
	}
	return err;
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

static int replace_area(struct model *model, struct chario_store *store, uint64_t *random)
{
	struct model_area *area = choose_area(model, random), *old;
	char name[CHARIO_STORE_NAME_MAX + 1];
	int err;

	if (!area)
		return 0;
	choose_name(name, random);
	old = model_find(model, name);
	err = chario_store_replace(store, area->info.name, name);
	if ((!err || err == -EIO) && old != area) {
		if (old && !area->info.attributes[0])
			memcpy(area->info.attributes, old->info.attributes,
			       sizeof(area->info.attributes));
		if (old)
			old->info.bytes = 0;
		strcpy(area->info.name, name);
	}
	return expect("replacing", err, 0);
}

static int exchange_areas(struct model *model, struct chario_store *store, uint64_t *random)
{
	struct model_area *one = choose_area(model, random), *two = choose_area(model, random);
	char name[CHARIO_STORE_NAME_MAX + 1];
	int err;

	if (!one)
		return 0;
	err = chario_store_exchange(store, one->info.name, two->info.name);
	if (one != two && (!err || err == -EIO)) {
		strcpy(name, one->info.name);
		strcpy(one->info.name, two->info.name);
		strcpy(two->info.name, name);
	}
	return expect("exchanging", err, 0);
}

/* A key gets a value of any length that fits behind any name, or goes. */
static int set_attribute(struct model *model, struct chario_store *store, uint64_t *random)
{
	struct model_area *area = choose_area(model, random);
	char changes[CHARIO_STORE_NAME_MAX + 1] = "key";
	int err;

	if (!area)
		return 0;
	if (log_below(random, 4)) {
		changes[3] = '=';
		memset(changes + 4, 'a' + (int)log_below(random, 26), log_below(random, 240));
	}
	err = chario_store_set_attributes(store, area->info.name, changes);
	if (!err || err == -EIO)
		memset(area->info.attributes, 0, sizeof(area->info.attributes));
	if ((!err || err == -EIO) && changes[3])
		strcpy(area->info.attributes, changes);
	return expect("setting an attribute", err, 0);
}

/* What an area loses at its end is not there when it grows again. */
static void cut_area(struct model_area *area, uint64_t bytes)
{
	area->info.bytes = bytes;
	if (area->info.filled_bytes > bytes)
		area->info.filled_bytes = bytes;
	for (size_t i = model_sectors(area); i < MODEL_SECTORS; i++)
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

	return (*steps)-- ? 0 : STOPPED;
}

static int take_moving(const struct chario_area_info *info, void *data)
{
	const char **name = data;
	static char moving[CHARIO_STORE_NAME_MAX + 1];

	if (!(info->flags & CHARIO_AREA_MOVING))
		return 0;
	*name = strcpy(moving, info->name);
	return 1;
}

/* An area to be in the way: what lies in two pieces is the most awkward. */
static int open_some(struct model *model, struct chario_store *store, uint64_t *random,
		     struct chario_area **area)
{
	struct model_area *some = choose_area(model, random);
	const char *name = some ? some->info.name : NULL;
	int err = chario_store_each(store, take_moving, &name);

	*area = NULL;
	return err < 0 || !name ? err : chario_area_open(store, name, O_RDONLY, area);
}

/* At times it is ended, at times an area is open meanwhile. */
static int defrag(struct model *model, struct chario_store *store, uint64_t *random)
{
	uint64_t steps = log_below(random, 3) ? log_below(random, 6) : UINT64_MAX;
	struct chario_area *area = NULL;
	int err = 0;

	if (log_below(random, 2))
		err = open_some(model, store, random, &area);
	if (!err)
		err = chario_store_defrag(store, stop, &steps);
	chario_area_close(area);
	return err == STOPPED ? 0 : expect("defragmenting", err, 0);
}

static ssize_t write_sectors(struct chario_area *open, const struct model_area *area, size_t first,
			     size_t count, uint16_t number)
{
	static unsigned char memory[MODEL_BYTES];

	for (size_t i = 0; i < count; i++) {
		uint64_t words[MODEL_SECTOR / 8];

		model_fill_sector(words, area->tag, first + i, number);
		memcpy(memory + i * MODEL_SECTOR, words, MODEL_SECTOR);
	}
	return chario_area_write(open, memory, count * MODEL_SECTOR, first * MODEL_SECTOR);
}

static int write_open(struct model *model, struct chario_area *open, struct model_area *area,
		      uint64_t *random)
{
	size_t nr_sectors = model_sectors(area);
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

static int sync_open(struct model *model, struct chario_area *open, struct model_area *area,
		     uint64_t *random)
{
	int err = chario_area_sync(open);

	if (!err)
		memcpy(area->durable, area->latest, sizeof(area->durable));
	return expect("syncing", err, 0);
}

/* As a copy does that may be interrupted. */
static int fill_open(struct model *model, struct chario_area *open, struct model_area *area,
		     uint64_t *random)
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

	if (!area || !model_sectors(area))
		return 0;
	err = chario_area_open(store, area->info.name, O_RDWR, &open);
	if (err)
		return expect("opening", err, 0);
	err = how(model, open, area, random);
	chario_area_close(open);
	return err;
}

int model_change(struct model *model, struct chario_store *store, uint64_t *random)
{
	uint64_t number = log_below(random, 100);

	if (number < 20)
		return create(model, store, random);
	if (number < 24)
		return rename_area(model, store, random);
	if (number < 28)
		return replace_area(model, store, random);
	if (number < 32)
		return exchange_areas(model, store, random);
	if (number < 36)
		return set_attribute(model, store, random);
	if (number < 42)
		return resize(model, store, random);
	if (number < 50)
		return remove_area(model, store, random);
	if (number < 59)
		return defrag(model, store, random);
	if (number < 78)
		return use(model, store, random, write_open);
	if (number < 90)
		return use(model, store, random, sync_open);
	return use(model, store, random, fill_open);
}
