/* SPDX-License-Identifier: MIT */
/*
 * Everything that can be done with a store, done with whatever is on a disk.
 */
#ifndef CHARIO_STORE_EXERCISE_H
#define CHARIO_STORE_EXERCISE_H

#include "store/area-inner.h"
#include "store-rig.h"

/* More steps than any move on such a small disk takes; who needs them hangs. */
#define MOST_STEPS 100000

static inline bool complain(const char *what, int err)
{
	printf("# %s: %d\n", what, err);
	return false;
}

/* Compute the checksums of all blocks that begin like blocks of a store. */
static inline void exercise_seal(unsigned char *image, uint64_t bytes)
{
	for (uint64_t at = 0; at + CHARIO_STORE_BLOCK <= bytes; at += CHARIO_STORE_BLOCK) {
		uint64_t magic;

		memcpy(&magic, image + at, sizeof(magic));
		if (magic == STORE_MAGIC_HEADER || magic == STORE_MAGIC_CHANGES ||
		    magic == STORE_MAGIC_CHANGES_OLD || magic == STORE_MAGIC_TABLE)
			chario_block_seal(image + at);
	}
}

/* reading */

static inline void read_area(struct chario_store *store, const char *name)
{
	struct chario_area_stream stream;
	struct chario_area_info info;
	struct chario_area *area;
	unsigned char memory[5000];

	if (chario_area_open(store, name, O_RDONLY, &area))
		return;
	chario_area_get_info(area, &info, sizeof(info));
	chario_area_get_stream(area, &stream);
	chario_area_read(area, memory, sizeof(memory), 0);
	chario_area_read(area, memory, sizeof(memory), info.bytes / 2);
	chario_area_read(area, memory, sizeof(memory), info.bytes - 1);
	chario_area_close(area);
}

static inline int visit(const struct chario_area_info *area, void *data)
{
	struct chario_store *store = data;
	struct chario_area_info found;

	chario_store_find(store, area->name, &found, sizeof(found));
	read_area(store, area->name);
	return 0;
}

static inline void read_store(struct log_disk *disk)
{
	struct chario_store_info info;
	struct chario_store *store;

	if (rig_open(disk, O_RDONLY, &store))
		return;
	chario_store_get_info(store, &info, sizeof(info));
	chario_store_each(store, visit, store);
	chario_store_close(store);
}

/* changing */

static inline void write_area(struct chario_store *store, const char *name)
{
	struct chario_area *area;

	if (chario_area_open(store, name, O_RDWR, &area))
		return;
	chario_area_write(area, "written", 7, 0);
	chario_area_set_filled(area, 1, 1);
	chario_area_sync(area);
	chario_area_close(area);
}

static inline int visit_to_change(const struct chario_area_info *area, void *data)
{
	struct chario_store *store = data;
	char name[CHARIO_STORE_NAME_MAX + 1];

	write_area(store, area->name);
	chario_store_resize(store, area->name, area->bytes + 5000);
	chario_store_resize(store, area->name, area->bytes / 2 + 1);
	snprintf(name, sizeof(name), "%.200s'", area->name);
	chario_store_rename(store, area->name, name);
	if (area->id % 3 == 0)
		chario_store_remove(store, name);
	return 0;
}

static inline int count_step(uint64_t done_bytes, uint64_t total_bytes, void *data)
{
	unsigned int *steps = data;

	return ++*steps == MOST_STEPS;
}

static inline bool change_store(struct chario_store *store)
{
	unsigned int steps = 0;
	int err;

	chario_store_create(store, "exercise", 10000, 0);
	err = chario_store_each(store, visit_to_change, store);
	if (err)
		return complain("visiting all areas gives", err);
	err = chario_store_defrag(store, count_step, &steps);
	if (err)
		return complain("defragmenting gives", err);
	chario_store_remove(store, "exercise");
	return true;
}

/* A disk without fault: all must go well. */
static inline bool change_disk(struct log_disk *disk)
{
	struct chario_store *store;
	int err = rig_open(disk, O_RDWR, &store);
	bool fine;

	if (err)
		return complain("a check finds nothing, but opening gives", err);
	fine = change_store(store);
	chario_store_close(store);
	return rig_is_clean(disk) && fine;
}

static inline bool check_disk(struct log_disk *disk, unsigned int flags, int *ret)
{
	struct rig_findings findings;

	*ret = rig_check(disk, flags, &findings);
	if (*ret >= 0 && (unsigned int)*ret != findings.bad)
		return complain("a check counts what it does not show", *ret);
	return true;
}

/*
 * Read, check, change, repair and change again.  Says what contradicts itself: a
 * store that a check finds nothing wrong with opens for writing, and what its
 * changes leave has nothing wrong either.
 */
static inline bool exercise_disk(struct log_disk *disk, uint64_t *random)
{
	static const unsigned int repairs[] = { 0, CHARIO_CHECK_REPAIR,
						CHARIO_CHECK_REPAIR | CHARIO_CHECK_FORGET };
	struct chario_store *store;
	int left;

	read_store(disk);
	/* Whoever does not check may write to what opens. */
	if (log_below(random, 4) == 0 && !rig_open(disk, O_RDWR, &store)) {
		change_store(store);
		chario_store_close(store);
	}
	for (size_t i = 0; i < 3; i++) {
		if (!check_disk(disk, repairs[i], &left))
			return false;
		if (!left)
			return change_disk(disk);
		read_store(disk);
	}
	return true;
}

#endif /* CHARIO_STORE_EXERCISE_H */
