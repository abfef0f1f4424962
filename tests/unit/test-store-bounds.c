// SPDX-License-Identifier: MIT
/*
 * Bounds of a store: where an area ends, which blocks a table has, how many changes a note
 * keeps, how much is copied at once, and which holes are long enough.
 */
#include <chario/area.h>

#include "store/inner.h"
#include "store-exercise.h"
#include "store-rig.h"
#include "tap.h"

#define BLOCK CHARIO_STORE_BLOCK
#define KIB   1024ULL
#define MIB   (1024 * KIB)

/* The note and its first number; a table of two blocks, and where a third would be. */
#define NOTE_AT   BLOCK
#define NR_BLOCKS 2U
#define NO_BLOCK  NR_BLOCKS
#define BEHIND_AT ((STORE_TABLE_BLOCK + NO_BLOCK) * BLOCK)
#define IN_SECOND "area-10"

static const struct chario_store_layout layout = {
	.size = sizeof(layout),
	.max_areas = NR_BLOCKS * STORE_ENTRIES,
};

static struct log_disk *disk;
static struct chario_store *store, *other;

static void begin(uint64_t bytes)
{
	disk = rig_begin(bytes, 512, &layout, &store);
}

static void end(void)
{
	chario_store_close(other);
	chario_store_close(store);
	other = store = NULL;
	log_disk_destroy(disk);
	disk = NULL;
}

/* Write all of an area, or see whether it has all of that. */
static int fill(const char *name, char with, size_t bytes)
{
	char *memory = malloc(bytes);
	int err;

	memset(memory, with, bytes);
	err = rig_move(store, name, O_RDWR, memory, bytes, 0);
	free(memory);
	return err;
}

static bool holds(const char *name, char what, size_t bytes)
{
	char *memory = malloc(bytes);
	bool same = !rig_move(store, name, O_RDONLY, memory, bytes, 0);

	for (size_t i = 0; i < bytes && same; i++)
		same = memory[i] == what;
	free(memory);
	return same;
}

static int make(const char *name, size_t bytes)
{
	return chario_store_create(store, name, bytes, 0) ?: fill(name, *name, bytes);
}

/* The block that an area ends in has more bytes than the area. */
TEST(test_end_of_area, "no byte behind the end of an area is read or written")
{
	struct chario_area *area;
	char memory[16];

	begin(256 * KIB);
	EQUAL(chario_store_create(store, "a", 5000, 0), 0);
	EQUAL(chario_area_open(store, "a", O_RDWR, &area), 0);
	EQUAL(chario_area_read(area, memory, sizeof(memory), 4990), 10);
	EQUAL(chario_area_write(area, memory, sizeof(memory), 4990), 10);
	for (uint64_t offset = 5000; offset <= 9000; offset += 1000) {
		EQUAL(chario_area_read(area, memory, sizeof(memory), offset), 0);
		EQUAL(chario_area_write(area, memory, sizeof(memory), offset), -ENOSPC);
	}
	chario_area_close(area);
}

/* Blocks that are written whole are not read before: nobody may be able to. */
TEST(test_whole_blocks, "blocks that are written whole are not read")
{
	begin(256 * KIB);
	EQUAL(chario_store_create(store, "a", 3 * BLOCK, 0), 0);
	disk->faults.bad[0] = (struct log_place){ rig_info(store, "a").offset, 3 * BLOCK };
	EQUAL(fill("a", 'a', 3 * BLOCK), 0);
	CHECK(holds("a", 'a', 3 * BLOCK));
}

/* a table has two blocks */

static int make_areas(void)
{
	return rig_create_areas(store, STORE_ENTRIES + 1, BLOCK);
}

/* Have the note say that the last change was, or is, of a block that no table has. */
static void note_no_block(uint64_t changes)
{
	struct store_changes *note = (void *)(disk->image + NOTE_AT);

	note->head.sequence += changes;
	note->numbers[(note->head.sequence - 1) / 2 % STORE_CHANGES_KEPT] = NO_BLOCK;
	exercise_seal(disk->image, disk->bytes);
}

/* Where it would be, an area may have what looks like one. */
TEST(test_no_block, "a block that the table has not is not loaded")
{
	begin(512 * KIB);
	EQUAL(make_areas(), 0);
	memcpy(disk->image + BEHIND_AT, disk->image + STORE_TABLE_BLOCK * BLOCK, BLOCK);
	((struct store_table *)(disk->image + BEHIND_AT))->head.number = NO_BLOCK;
	strcpy(((struct store_table *)(disk->image + BEHIND_AT))->entries[0].name, "ghost");
	note_no_block(2);
	EQUAL(rig_info(store, "ghost").bytes, 0);
	EQUAL(rig_count_areas(store), STORE_ENTRIES + 1);
}

TEST(test_no_block_is_mended, "nor mended")
{
	begin(512 * KIB);
	EQUAL(make_areas(), 0);
	note_no_block(1);
	EQUAL(chario_store_remove(store, IN_SECOND), 0);
	EQUAL(rig_count_areas(store), STORE_ENTRIES);
}

/* A log that no program writes does not count: it has too many entries, or one of no block. */
TEST(test_no_log, "a log that cannot be does not count")
{
	for (uint32_t number = 0; number < 2; number++) {
		struct store_changes *note;

		begin(512 * KIB);
		note = (void *)(disk->image + NOTE_AT);
		EQUAL(make_areas(), 0);
		note->head.sequence++;
		note->nr_logged = number ? 1 : 1U << 20;
		note->log[0].slot = NO_BLOCK * STORE_ENTRIES;
		exercise_seal(disk->image, disk->bytes);
		EQUAL(rig_count_areas(store), STORE_ENTRIES + 1);
		EQUAL(chario_store_remove(store, IN_SECOND), 0);
		EQUAL(rig_count_areas(store), STORE_ENTRIES);
		end();
	}
	begin(512 * KIB);
}

/* The first change is of another block than all that the note still names. */
TEST(test_many_changes, "more changes than a note keeps are taken up")
{
	begin(512 * KIB);
	EQUAL(make_areas(), 0);
	EQUAL(rig_open(disk, O_RDWR, &other), 0);
	EQUAL(rig_count_areas(store), STORE_ENTRIES + 1);
	EQUAL(chario_store_rename(other, IN_SECOND, "renamed"), 0);
	for (int i = 0; i < STORE_CHANGES_KEPT; i++)
		EQUAL(chario_store_rename(other,
					  i % 2 ? "b" :
					  i     ? "a" :
						  "area-0",
					  i % 2 ? "a" : "b"),
		      0);
	EQUAL(rig_info(store, "renamed").bytes, BLOCK);
	EQUAL(rig_info(store, IN_SECOND).bytes, 0);
}

/* moves */

/* No more of an area is filled than it has. */
TEST(test_shorter_while_filling, "an area that is filled becomes shorter")
{
	struct chario_area *area;

	begin(256 * KIB);
	EQUAL(chario_store_create(store, "a", 8000, CHARIO_CREATE_FILLING), 0);
	EQUAL(chario_area_open(store, "a", O_RDWR, &area), 0);
	EQUAL(chario_area_set_filled(area, 6000, 1), 0);
	chario_area_close(area);
	EQUAL(chario_store_resize(store, "a", 5000), 0);
	EQUAL(rig_info(store, "a").filled_bytes, 5000);
}

/* It takes more than one copy, and the last one is shorter. */
TEST(test_long_move, "an area is moved that is longer than a copy")
{
	const size_t bytes = 5 * MIB;

	begin(12 * MIB);
	EQUAL(make("long", bytes), 0);
	EQUAL(make("next", BLOCK), 0);
	EQUAL(chario_store_resize(store, "long", bytes + BLOCK), 0);
	CHECK(holds("long", 'l', bytes));
	CHECK(holds("next", 'n', BLOCK));
}

/**
 * struct seen - what was said of the progress of a defrag
 * @first_total: bytes that were to be copied, at first
 * @total: at last
 * @done: bytes that had been copied at last
 * @wrong: more was done than there was to do, or all of it at first
 */
struct seen {
	uint64_t first_total;
	uint64_t total;
	uint64_t done;
	bool wrong;
};

static int see(uint64_t done, uint64_t total, void *data)
{
	struct seen *seen = data;

	if (!seen->done) {
		seen->first_total = total;
		seen->wrong = done >= total;
	}
	seen->done = done;
	seen->total = total;
	seen->wrong |= done > total;
	return 0;
}

/* A long area behind a small hole, on a full disk with a hole behind it; the writes of defrag. */
static int64_t defrag_with_hole(size_t hole, struct seen *seen)
{
	const char *const names[] = { "gap", "long", "hole", "x" };
	const size_t bytes[] = { BLOCK, 128 * KIB, hole, 16 * KIB };
	struct chario_store_info info;
	uint64_t before;
	int err = 0;

	for (size_t i = 0; i < 4 && !err; i++)
		err = make(names[i], bytes[i]);
	err = err ?: chario_store_get_info(store, &info, sizeof(info));
	err = err ?: chario_store_create(store, "rest", info.largest_hole_bytes, 0);
	err = err ?: chario_store_remove(store, "gap") ?: chario_store_remove(store, "hole");
	before = disk->nr_writes;
	*seen = (struct seen){ 0 };
	err = err ?: chario_store_defrag(store, see, seen);
	if (err || !rig_is_clean(disk) || !holds("long", 'l', bytes[1]) ||
	    !holds("x", 'x', bytes[3]))
		return -1;
	err = chario_store_get_info(store, &info, sizeof(info));
	return err || info.nr_holes != 1 ? -1 : (int64_t)(disk->nr_writes - before);
}

/* A step moves as many bytes as the hole has, which is one block; "x" and the rest take longer ones. */
TEST(test_defrag, "an area goes through holes that are long enough")
{
	struct seen seen;
	int64_t slow;

	begin(2 * MIB);
	slow = defrag_with_hole(128 * KIB - BLOCK, &seen);
	CHECK(slow > 128);
	CHECK(!seen.wrong);
	EQUAL(seen.total, seen.first_total);
	EQUAL(seen.done, seen.total);
	end();
	/* There and back again. */
	begin(2 * MIB);
	CHECK(defrag_with_hole(128 * KIB, &seen) < slow / 2);
	CHECK(!seen.wrong);
	EQUAL(seen.done, seen.first_total + 128 * KIB);
}

TEST_MAIN(tap_nothing, end)
