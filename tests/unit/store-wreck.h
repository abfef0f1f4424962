/* SPDX-License-Identifier: MIT */
/*
 * A store of some areas that is damaged: on a disk in memory, what it was before, and
 * where its metadata are.
 */
#ifndef CHARIO_STORE_WRECK_H
#define CHARIO_STORE_WRECK_H

#include "store-rig.h"

#define WRECK_BYTES  (1U << 20)
#define WRECK_AREAS  25
#define WRECK_BLOCKS 5

/* Blocks of the table's copies, the note, the headers. */
#define WRECK_METADATA (2 * WRECK_BLOCKS + 3)

#define BLOCK CHARIO_STORE_BLOCK

/**
 * struct wreck - the store
 * @disk: that it is on
 * @whole: the disk without damage
 * @older: the disk before the last change of each block of the table
 * @seed: that @random began with, of the environment
 * @random: decides what is damaged
 * @findings: of the last check
 */
struct wreck {
	struct log_disk *disk;
	unsigned char *whole;
	unsigned char *older;
	uint64_t seed;
	uint64_t random;
	struct rig_findings findings;
};

/* Repair as well what costs areas. */
#define WRECK_FORGET (CHARIO_CHECK_REPAIR | CHARIO_CHECK_FORGET)

/* Claim that a check finds so much, and this damage last. */
#define WRECK_FINDS(flags, number, kind, is_as_bad)             \
	do {                                                    \
		EQUAL(wreck_check(flags), number);              \
		EQUAL(wreck.findings.last.damage, kind);        \
		EQUAL(wreck.findings.last.severity, is_as_bad); \
	} while (0)

/*
 * Longer than all of it takes under any sanitizer; against hanging for ever, and before
 * meson ends it at 300 s.
 */
#define ALARM_S 270

#define SECOND_OFFSET (WRECK_BYTES - (WRECK_BLOCKS + 1) * BLOCK)

static struct wreck wreck;

static const struct chario_store_layout wreck_layout = {
	.size = sizeof(wreck_layout),
	.max_areas = WRECK_BLOCKS * STORE_ENTRIES,
};

static inline int make_areas(struct chario_store *store)
{
	char name[24];
	int err = 0;

	for (int i = 0; i < WRECK_AREAS && !err; i++) {
		snprintf(name, sizeof(name), "area-%d", i);
		err = chario_store_create(store, name, 8000, i % 5 ? 0 : CHARIO_CREATE_FILLING);
	}
	return err;
}

/* A change of each block, so that there is an older version of it. */
static inline int change_blocks(struct chario_store *store)
{
	int err = chario_store_remove(store, "area-3");

	if (!err)
		err = chario_store_create(store, "area-3", 9000, 0);
	if (!err)
		err = chario_store_resize(store, "area-13", 100);
	return err ? err : chario_store_resize(store, "area-24", 100);
}

/* For all tests of a program together: what is left of it stays. */
static inline void set_alarm(void)
{
	unsigned int left = alarm(ALARM_S);

	if (left)
		alarm(left);
}

static inline void wreck_begin(void)
{
	const char *seed = getenv("SEED");
	struct chario_store *store;

	set_alarm();
	wreck.random = wreck.seed = seed ? strtoull(seed, NULL, 0) : 1;
	wreck.disk = rig_begin(WRECK_BYTES, 512, &wreck_layout, &store);
	wreck.whole = malloc(WRECK_BYTES);
	wreck.older = malloc(WRECK_BYTES);
	if (make_areas(store))
		abort();
	memcpy(wreck.older, wreck.disk->image, WRECK_BYTES);
	if (change_blocks(store))
		abort();
	chario_store_close(store);
	memcpy(wreck.whole, wreck.disk->image, WRECK_BYTES);
}

static inline void wreck_end(void)
{
	log_disk_destroy(wreck.disk);
	free(wreck.whole);
	free(wreck.older);
}

/* Have the disk be whole again. */
static inline void wreck_mend(void)
{
	memcpy(wreck.disk->image, wreck.whole, WRECK_BYTES);
}

static inline int wreck_check(unsigned int flags)
{
	return rig_check(wreck.disk, flags, &wreck.findings);
}

/* A number below @limit. */
static inline uint64_t wreck_below(uint64_t limit)
{
	return log_below(&wreck.random, limit);
}

/* Where a block of metadata is. */
static inline uint64_t wreck_offset(size_t i)
{
	return i < WRECK_BLOCKS + 2 ? i * BLOCK : SECOND_OFFSET + (i - WRECK_BLOCKS - 2) * BLOCK;
}

/* Where its other copy is. */
static inline uint64_t wreck_other_copy(uint64_t offset)
{
	if (!offset)
		return WRECK_BYTES - BLOCK;
	if (offset == WRECK_BYTES - BLOCK)
		return 0;
	if (offset >= SECOND_OFFSET)
		return offset - SECOND_OFFSET + STORE_TABLE_BLOCK * BLOCK;
	return offset - STORE_TABLE_BLOCK * BLOCK + SECOND_OFFSET;
}

/* Areas that there are for who opens the store so, or a negative errno. */
static inline int wreck_count_areas(int flags)
{
	struct chario_store *store;
	int count, err = rig_open(wreck.disk, flags, &store);

	if (err)
		return err;
	count = rig_count_areas(store);
	chario_store_close(store);
	return count;
}

#endif /* CHARIO_STORE_WRECK_H */
