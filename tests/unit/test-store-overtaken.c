// SPDX-License-Identifier: MIT
/*
 * Readers that are overtaken: an area is replaced between any two reads of who looks it up,
 * and is there all the same.  The linker has reads of the table pass through here.
 */
#include "store-rig.h"
#include "store/area-inner.h"
#include "store/inner.h"
#include "store-exercise.h"
#include "tap.h"

/* As many as are read at once when a store is opened. */
#define FULL_BLOCKS (STORE_BUFFER / CHARIO_STORE_BLOCK / 2)
#define MOST_READS  12

static struct log_disk *disk;
static struct chario_store *writer;

/* Reads of the table and changes, before which of them something happens, 0 for none, and what. */
static int reads, at;
static void (*happens)(void);

int __real_chario_table_read(struct chario_store *store, uint64_t number,
			     const struct store_table **table);
int __wrap_chario_table_read(struct chario_store *store, uint64_t number,
			     const struct store_table **table);
int __real_chario_table_pull(struct chario_store *store, uint64_t number, uint64_t nr_blocks,
			     uint64_t second_at);
int __wrap_chario_table_pull(struct chario_store *store, uint64_t number, uint64_t nr_blocks,
			     uint64_t second_at);
int __real_chario_change_begin(struct chario_store *store);
int __wrap_chario_change_begin(struct chario_store *store);

/* Each time the new one has a slot of another block than the old one. */
static void replace(void)
{
	struct chario_area *area;

	EQUAL(chario_store_create(writer, "there.part", 4096, CHARIO_CREATE_FILLING), 0);
	EQUAL(chario_area_open(writer, "there.part", O_RDWR, &area), 0);
	EQUAL(chario_area_publish(area, "there"), 0);
	chario_area_close(area);
}

static void count_read(const struct chario_store *store)
{
	if (store != writer && ++reads == at)
		happens();
}

int __wrap_chario_table_read(struct chario_store *store, uint64_t number,
			     const struct store_table **table)
{
	count_read(store);
	return __real_chario_table_read(store, number, table);
}

int __wrap_chario_table_pull(struct chario_store *store, uint64_t number, uint64_t nr_blocks,
			     uint64_t second_at)
{
	count_read(store);
	return __real_chario_table_pull(store, number, nr_blocks, second_at);
}

int __wrap_chario_change_begin(struct chario_store *store)
{
	count_read(store);
	return __real_chario_change_begin(store);
}

/* The slots before the last one of some blocks are taken, and then there is the area. */
static void begin(int nr_blocks)
{
	const struct chario_store_layout layout = {
		.size = sizeof(layout),
		.max_areas = (unsigned int)(nr_blocks + 1) * STORE_ENTRIES,
	};

	disk = rig_begin(8 << 20, 512, &layout, &writer);
	at = 0;
	happens = replace;
	EQUAL(rig_create_areas(writer, nr_blocks * STORE_ENTRIES, 4096), 0);
	EQUAL(chario_store_create(writer, "there", 4096, 0), 0);
	EQUAL(chario_store_remove(writer, "area-0"), 0);
}

static void end(void)
{
	chario_store_close(writer);
	log_disk_destroy(disk);
}

TEST(what_is_replaced_is_always_found, "what is replaced is always found")
{
	struct chario_area_info info;
	struct chario_store *reader;

	begin(1);
	EQUAL(rig_open(disk, O_RDONLY, &reader), 0);
	for (int read = 1; read <= MOST_READS; read++) {
		/* There is something to take up, and while it is the next comes. */
		replace();
		reads = 0;
		at = read;
		EQUAL(chario_store_find(reader, "there", &info, sizeof(info)), 0);
		at = 0;
		EQUAL(chario_store_find(reader, "there", &info, sizeof(info)), 0);
	}
	chario_store_close(reader);
	end();
}

/* From the last slot to the first, and back. */
TEST(what_is_replaced_is_there_for_who_opens, "what is replaced is there for who opens the store")
{
	struct chario_store *reader;

	begin(FULL_BLOCKS);
	for (int i = 0; i < 2 * MOST_READS; i++) {
		reads = 0;
		at = 1 + i / 2;
		EQUAL(rig_open(disk, O_RDONLY, &reader), 0);
		at = 0;
		/* As it was opened: nothing that has changed since is taken up. */
		CHECK(chario_index_find(&reader->index, "there"));
		chario_store_close(reader);
	}
	end();
}

/* Which is what most look-ups are. */
TEST(where_nothing_has_changed_a_block_is_read, "where nothing has changed one block is read")
{
	struct chario_area_info info;
	struct chario_store *reader;
	uint64_t before;

	begin(1);
	EQUAL(rig_open(disk, O_RDONLY, &reader), 0);
	EQUAL(chario_store_find(reader, "there", &info, sizeof(info)), 0);
	before = disk->nr_reads;
	EQUAL(chario_store_find(reader, "there", &info, sizeof(info)), 0);
	EQUAL(disk->nr_reads - before, 1);
	chario_store_close(reader);
	end();
}

/* Empty all slots, as no writer does, with checksums that hold. */
static void lose(void)
{
	for (uint64_t block = 0; block < disk->bytes; block += CHARIO_STORE_BLOCK) {
		struct store_table *table = (struct store_table *)(disk->image + block);

		if (table->head.magic == STORE_MAGIC_TABLE)
			memset(table->entries, 0, sizeof(table->entries));
	}
	exercise_seal(disk->image, disk->bytes);
	memset(disk->image + STORE_CHANGES_BLOCK * CHARIO_STORE_BLOCK, 0, CHARIO_STORE_BLOCK);
}

/* Before each change that they begin, too, until there is none that late. */
TEST(who_moves_what_is_lost_says_so, "who resizes or moves an area that is lost says so")
{
	struct chario_store *mover;
	int err;

	for (int i = 0; reads >= at; i++) {
		begin(1);
		EQUAL(chario_store_create(writer, "behind", 8192, 0), 0);
		EQUAL(rig_open(disk, O_RDWR, &mover), 0);
		reads = 0;
		at = 1 + i / 2;
		happens = lose;
		err = i % 2 ? chario_store_defrag(mover, NULL, NULL) :
			      chario_store_resize(mover, "there", 8192);
		CHECK(!err || err == -EUCLEAN || err == -ENOENT);
		chario_store_close(mover);
		end();
	}
}

TEST_MAIN(tap_nothing, tap_nothing)
