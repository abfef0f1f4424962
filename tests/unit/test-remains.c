// SPDX-License-Identifier: MIT
/*
 * What is left of a store whose header is damaged: nothing else comes to life in its place, and
 * what its table says is enough to have it back.
 */
#include "store-exercise.h"

#define BLOCK  ((size_t)CHARIO_STORE_BLOCK)
#define SMALL  (20U << 20)
#define LARGE  (30U << 20)
#define AREAS  100
/* Blocks of one copy of the table. */
#define BLOCKS (AREAS / STORE_ENTRIES)

/**
 * enum release - who has made a store
 * @THIS: its table says what its header says
 * @FIRST: it does not
 */
enum release { THIS, FIRST };

static const struct chario_store_layout layout = { .size = sizeof(layout), .max_areas = AREAS };

static void forget_geometry(unsigned char *image, uint64_t bytes)
{
	for (uint64_t at = 0; at < bytes; at += BLOCK) {
		struct store_table *table = (struct store_table *)(image + at);

		if (table->head.magic == STORE_MAGIC_TABLE)
			memset(&table->geometry, 0, sizeof(table->geometry));
	}
	exercise_seal(image, bytes);
}

static struct log_disk *make_disk(uint64_t bytes, enum release release, const char *name)
{
	struct chario_store *store;
	struct log_disk *disk = rig_begin(bytes, 512, &layout, &store);

	if (chario_store_create(store, name, 1 << 20, 0))
		abort();
	chario_store_close(store);
	if (release == FIRST)
		forget_geometry(disk->image, bytes);
	return disk;
}

/* A store of 30 MiB, over the start of which one of 20 MiB has been copied. */
static struct log_disk *make_two(enum release release)
{
	struct log_disk *disk = make_disk(LARGE, release, "old");
	struct log_disk *small = make_disk(SMALL, release, "living");

	memcpy(disk->image, small->image, SMALL);
	log_disk_destroy(small);
	return disk;
}

static const struct chario_store_layout replace = { .size = sizeof(replace),
						    .flags = CHARIO_LAYOUT_REPLACE };

/* A store of 30 MiB and one block of table, formatted over one whose table was longer. */
static struct log_disk *make_over(uint64_t old_bytes, uint64_t alignment_bytes)
{
	struct log_disk *old = make_disk(old_bytes, THIS, "old");
	struct chario_store_layout shorter = replace;
	struct log_disk *disk = log_disk_create(LARGE, 512);
	struct chario_store *store;

	shorter.max_areas = STORE_ENTRIES;
	shorter.alignment_bytes = alignment_bytes;
	memcpy(disk->image, old->image, old_bytes);
	log_disk_destroy(old);
	if (rig_format(disk, &shorter) || rig_open(disk, O_RDWR, &store) ||
	    chario_store_create(store, "living", 1 << 20, 0))
		abort();
	chario_store_close(store);
	return disk;
}

/* The same by a release that left there what the longer table had behind the new one. */
static struct log_disk *make_over_and_leave(uint64_t old_bytes)
{
	struct log_disk *old = make_disk(old_bytes, THIS, "old");
	struct log_disk *disk = make_over(old_bytes, 64 << 10);

	memcpy(disk->image + 3 * BLOCK, old->image + 3 * BLOCK, (BLOCKS - 1) * BLOCK);
	memcpy(disk->image + old_bytes - (BLOCKS + 1) * BLOCK,
	       old->image + old_bytes - (BLOCKS + 1) * BLOCK, (BLOCKS - 1) * BLOCK);
	if (old_bytes < LARGE)
		memcpy(disk->image + old_bytes - 2 * BLOCK, old->image + old_bytes - 2 * BLOCK,
		       2 * BLOCK);
	log_disk_destroy(old);
	return disk;
}

/* The disk of a test, which takes the place of the one before. */
static struct log_disk *disk;

static void use(struct log_disk *made)
{
	log_disk_destroy(disk);
	disk = made;
}

/* 0 where a store opens and has an area, or why not. */
static int find(int flags, const char *name)
{
	struct chario_area_info info;
	struct chario_store *store;
	int err = rig_open(disk, flags, &store);

	if (err)
		return err;
	err = chario_store_find(store, name, &info, sizeof(info));
	chario_store_close(store);
	return err;
}

/* What a repair leaves of damage; -1 where it was found to be more than it is then. */
static int repair(int found)
{
	return rig_check(disk, 0, NULL) == found ? rig_check(disk, CHARIO_CHECK_REPAIR, NULL) : -1;
}

/* Claim that the store opens, is not formatted unasked, and a repair puts so much damage right. */
static void check_repair(const char *name, int damages)
{
	EQUAL(find(O_RDONLY, name), 0);
	EQUAL(find(O_RDWR, name), 0);
	EQUAL(rig_format(disk, &layout), -EEXIST);
	EQUAL(repair(damages), 0);
	EQUAL(find(O_RDWR, name), 0);
	EQUAL(repair(0), 0);
}

TEST(an_older_store_stays_dead, "an older, larger store stays dead")
{
	use(make_two(THIS));
	disk->image[100] ^= 1;
	check_repair("living", 1);
}

/* Where it cannot be known which of two stores counts, nothing is written. */
static void is_left_alone(void)
{
	unsigned char *before = malloc(LARGE);

	memcpy(before, disk->image, LARGE);
	EQUAL(find(O_RDONLY, "old"), -EUCLEAN);
	EQUAL(repair(1), 1);
	EQUAL(memcmp(before, disk->image, LARGE), 0);
	EQUAL(rig_format(disk, &layout), -EEXIST);
	free(before);
}

/* It was not said anywhere how long the living one is. */
TEST(an_older_store_of_the_first_release_stays_dead,
     "an older, larger store of the first release stays dead")
{
	use(make_two(FIRST));
	disk->image[100] ^= 1;
	is_left_alone();
}

/* What damages the start takes the header, the note and all of the table of the living one. */
TEST(a_longer_table_leaves_nothing, "a longer table leaves nothing behind")
{
	for (uint64_t alignment = BLOCK; alignment <= 64 << 10; alignment *= 16) {
		use(make_over(SMALL, alignment));
		memset(disk->image, 0, 3 * BLOCK);
		check_repair("living", 2);
	}
}

/* It has no second copy any more, or half of one, before which the living one has its own. */
TEST(what_a_longer_table_leaves_stays_dead, "what a longer table has left stays dead")
{
	for (uint64_t bytes = SMALL; bytes <= LARGE; bytes += LARGE - SMALL) {
		use(make_over_and_leave(bytes));
		memset(disk->image, 0, 3 * BLOCK);
		if (bytes < LARGE)
			memset(disk->image + SMALL - (BLOCKS + 1) * BLOCK, 0, BLOCKS * BLOCK);
		check_repair("living", 2);
	}
}

/* The longer table may as well be that of a living, smaller store, and the end an older one. */
TEST(of_two_whole_stores_neither_counts, "of two stores that are whole neither counts")
{
	for (int headers = 1; headers >= 0; headers--) {
		use(make_over_and_leave(SMALL));
		memset(disk->image, 0, 3 * BLOCK);
		if (!headers)
			memset(disk->image + LARGE - BLOCK, 0, BLOCK);
		is_left_alone();
	}
}

/* Also where the note, and the first block of the table, have gone with the header. */
TEST(headers_are_made_from_the_table, "headers are made from the table")
{
	for (enum release release = THIS; release <= FIRST; release++) {
		for (size_t blocks = 1; blocks <= 3; blocks++) {
			use(make_disk(SMALL, release, "there"));
			memset(disk->image, 0x5a, blocks * BLOCK);
			memset(disk->image + SMALL - BLOCK, 0x5a, BLOCK);
			check_repair("there", blocks == 3 ? 3 : 2);
		}
	}
}

TEST(headers_are_what_they_were, "headers that are made again are what they were")
{
	unsigned char before[BLOCK];

	use(make_disk(SMALL, THIS, "there"));
	memcpy(before, disk->image, BLOCK);
	memset(disk->image, 0, BLOCK);
	memset(disk->image + SMALL - BLOCK, 0, BLOCK);
	EQUAL(repair(2), 0);
	EQUAL(memcmp(before, disk->image, BLOCK), 0);
	EQUAL(memcmp(before, disk->image + SMALL - BLOCK, BLOCK), 0);
}

/* What overwrites the start of a disk takes the first copy of the table as well. */
TEST(the_second_copy_is_enough, "the second copy of the table is enough")
{
	for (enum release release = THIS; release <= FIRST; release++) {
		use(make_disk(SMALL, release, "there"));
		memset(disk->image, 0x5a, (2 + BLOCKS) * BLOCK);
		memset(disk->image + SMALL - BLOCK, 0x5a, BLOCK);
		check_repair("there", 2 + BLOCKS);
	}
}

/* A GPT takes 34 sectors of 512 bytes at the start and 33 at the end: no pair of copies. */
TEST(a_partition_table_takes_both_headers_only, "a partition table takes both headers only")
{
	use(make_disk(SMALL, THIS, "there"));
	memset(disk->image, 0x5a, 34 << 9);
	memset(disk->image + SMALL - (33 << 9), 0x5a, 33 << 9);
	check_repair("there", 2 + 3 + 4);
}

/* Behind what is left of its second copy there is the end of another store, which is whole. */
TEST(a_store_without_its_end_is_none, "a store whose end is another's is none")
{
	struct store_table *table;

	use(make_over_and_leave(LARGE));
	table = (struct store_table *)(disk->image + 3 * BLOCK);
	table->head.number = 0;
	chario_block_seal(table);
	memmove(disk->image + 2 * BLOCK, table, BLOCK);
	memset(disk->image, 0, 2 * BLOCK);
	EQUAL(find(O_RDONLY, "old"), -EUCLEAN);
	EQUAL(repair(1), 1);
}

TEST(one_copy_alone_asks_for_force, "what is left of a store asks for force")
{
	use(make_disk(SMALL, THIS, "there"));
	memset(disk->image, 0, 2 * BLOCK);
	memset(disk->image + SMALL - (BLOCKS + 1) * BLOCK, 0, (BLOCKS + 1) * BLOCK);
	EQUAL(find(O_RDONLY, "there"), -EUCLEAN);
	EQUAL(rig_format(disk, &layout), -EEXIST);
	EQUAL(rig_format(disk, &replace), 0);
	EQUAL(find(O_RDWR, "there"), -ENOENT);
}

/* An area may hold a store of its own, and a table may have ended there once. */
TEST(tables_elsewhere_are_none, "blocks of a table in other places are none")
{
	struct log_disk *other = make_disk(SMALL, THIS, "inside");

	use(make_disk(SMALL, THIS, "there"));
	memset(disk->image, 0, (2 + BLOCKS) * BLOCK);
	memset(disk->image + SMALL - (BLOCKS + 1) * BLOCK, 0, (BLOCKS + 1) * BLOCK);
	memcpy(disk->image + (SMALL >> 1), other->image, SMALL >> 2);
	memcpy(disk->image + 7 * BLOCK, other->image + 2 * BLOCK, BLOCKS * BLOCK);
	EQUAL(find(O_RDONLY, "inside"), -ENOMEDIUM);
	EQUAL(rig_format(disk, &layout), 0);
	log_disk_destroy(other);
}

/* As the first release has made it: with more changes noted, all blocks in use, and no log. */
static void use_first(void)
{
	struct chario_store *store;
	char name[16];

	use(make_disk(SMALL, FIRST, "area-0"));
	for (size_t copy = 0; copy < 2; copy++)
		((struct store_header *)(disk->image + copy * (SMALL - BLOCK)))->read_features = 0;
	memset(disk->image + BLOCK + sizeof(struct store_head), 0,
	       BLOCK - sizeof(struct store_head));
	((struct store_head *)(disk->image + BLOCK))->magic = STORE_MAGIC_CHANGES_OLD;
	exercise_seal(disk->image, SMALL);
	if (rig_open(disk, O_RDWR, &store))
		abort();
	for (int i = 1; i < 95; i++) {
		snprintf(name, sizeof(name), "area-%d", i);
		if (chario_store_create(store, name, 1, 0))
			abort();
	}
	chario_store_close(store);
}

static int upgrade(void)
{
	struct chario_device *device = log_disk_open(disk, O_RDWR);
	int err = chario_store_upgrade_device(device);

	chario_device_close(device);
	return err;
}

/* In one block both can change at once, in two they cannot: then nothing has happened. */
TEST(stores_of_the_first_release_are_changed, "stores of the first release are changed")
{
	struct chario_store *store;

	use_first();
	EQUAL(rig_open(disk, O_RDWR, &store), 0);
	EQUAL(chario_store_replace(store, "area-1", "area-2"), 0);
	EQUAL(chario_store_exchange(store, "area-12", "area-13"), 0);
	EQUAL(chario_store_replace(store, "area-12", "area-0"), -EOPNOTSUPP);
	EQUAL(chario_store_exchange(store, "area-12", "area-0"), -EOPNOTSUPP);
	EQUAL(rig_count_areas(store), 94);
	EQUAL(chario_store_create(store, "empty", 0, 0), -EOPNOTSUPP);
	EQUAL(chario_store_resize(store, "area-0", 0), -EOPNOTSUPP);
	EQUAL(chario_store_set_attributes(store, "area-0", "key=value\0"), -EOPNOTSUPP);
	EQUAL(chario_store_create(store, "more", 1, 0), 0);
	chario_store_close(store);
	EQUAL(repair(0), 0);
	EQUAL(((struct store_header *)disk->image)->read_features, 0);
}

TEST(stores_of_the_first_release_are_upgraded, "stores of the first release are upgraded")
{
	struct chario_store *store;

	use_first();
	EQUAL(rig_open(disk, O_RDWR, &store), 0);
	EQUAL(chario_store_upgrade("nosuch"), -ENOENT);
	EQUAL(upgrade(), -EBUSY);
	chario_store_close(store);
	log_disk_record(disk);
	EQUAL(upgrade() ?: upgrade(), 0);
	CHECK(disk->entries[disk->nr_entries - 1].durable);
	EQUAL(repair(0), 0);
	EQUAL(rig_open(disk, O_RDWR, &store), 0);
	EQUAL(chario_store_set_attributes(store, "area-0", "key=value\0"), 0);
	EQUAL(chario_store_replace(store, "area-12", "area-0"), 0);
	EQUAL(rig_count_areas(store), 94);
	chario_store_close(store);
	EQUAL(repair(0), 0);
}

/* A header that is made again from the table says so as well. */
TEST(an_upgrade_outlives_the_headers, "an upgrade outlives the headers")
{
	use_first();
	EQUAL(upgrade(), 0);
	memset(disk->image, 0x5a, BLOCK);
	memset(disk->image + SMALL - BLOCK, 0x5a, BLOCK);
	EQUAL(repair(2), 0);
	EQUAL(((struct store_header *)disk->image)->read_features, STORE_FEATURE_LOG);
}

/* An upgrade was cut between its headers, the store went on in the old format, and a change died. */
TEST(an_old_note_is_no_log, "an old note is no log")
{
	struct store_changes *note;
	unsigned char header[BLOCK];
	struct chario_store *store;

	use_first();
	note = (struct store_changes *)(disk->image + BLOCK);
	memcpy(header, disk->image, BLOCK);
	EQUAL(upgrade(), 0);
	memcpy(disk->image, header, BLOCK);
	EQUAL(rig_open(disk, O_RDWR, &store), 0);
	EQUAL(chario_store_rename(store, "area-12", "renamed"), 0);
	chario_store_close(store);
	EQUAL(note->head.magic, STORE_MAGIC_CHANGES_OLD);
	/* Change 192 was one of block 1, which would be one entry of a log: slot 0 is free. */
	note->old_numbers[192] = 1;
	note->head.sequence = 2 * 192 + 1;
	chario_block_seal(note);
	memset(disk->image, 0, BLOCK);
	EQUAL(find(O_RDONLY, "area-0"), 0);
	EQUAL(repair(1), 0);
	EQUAL(find(O_RDWR, "area-0"), 0);
}

TEST_MAIN_WITH(tap_nothing(), use(NULL))
