// SPDX-License-Identifier: MIT
/*
 * Bounds of a store: which layouts it may have, where an area ends, which blocks a table has,
 * how many changes a note keeps, how much is copied at once, and which holes are long enough.
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

/* Stores of these lengths would not fit into memory. */
TEST(test_plans, "a layout suits the disk")
{
	const struct {
		uint64_t capacity_bytes;
		uint32_t wish_bytes, layout_bytes;
		int err;
		uint64_t nr_blocks, alignment_bytes;
	} cases[] = { { 2 * MIB, 0, 0, 0, 2, BLOCK },
		      { 64 * MIB, 0, 0, 0, 81, BLOCK },
		      { 1024 * MIB, 0, 0, 0, 100, BLOCK },
		      { MIB << 15, 0, 0, 0, 205, BLOCK },
		      { MIB << 21, 0, 0, 0, 10000, BLOCK },
		      { MIB << 15, 16U << 20, 0, 0, 205, 16 * MIB },
		      { MIB << 15, 32U << 20, 0, 0, 205, BLOCK },
		      { MIB << 15, 0, 1U << 30, 0, 205, 1 << 30 },
		      { MIB << 15, 0, 1U << 31, -EINVAL, 0, 0 },
		      { 6 * BLOCK, 0, BLOCK, 0, 1, BLOCK },
		      { 6 * BLOCK - 1, 0, BLOCK, -ENOSPC, 1, BLOCK } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct chario_store_layout wanted = { .alignment_bytes =
								    cases[i].layout_bytes };
		const struct chario_info info = { .capacity_bytes = cases[i].capacity_bytes,
						  .physical_block_bytes = BLOCK,
						  .write_alignment_bytes = cases[i].wish_bytes };
		struct store_header header = { 0 };

		EQUAL(chario_layout_plan(&header, &wanted, &info), cases[i].err);
		EQUAL(header.nr_blocks, cases[i].nr_blocks);
		EQUAL(header.alignment_bytes, cases[i].alignment_bytes);
		EQUAL(chario_layout_is_sane(&header), !cases[i].err);
	}
}

/* Whether a store can be like that; all in blocks but the alignment. */
TEST(test_headers, "a header that no store can have is none")
{
	const struct {
		uint64_t nr_blocks, alignment_bytes, data, second, capacity;
		bool is_sane;
	} cases[] = { { 1, BLOCK, 3, 3, 5, true },
		      { 1, BLOCK, 2, 3, 5, false },
		      { 1, BLOCK / 2, 3, 3, 5, false },
		      { 1, 1 << 30, 3, 3, 5, true },
		      { 1, 1ULL << 31, 3, 3, 5, false },
		      { 1, BLOCK, 4, 3, 5, false },
		      { 1, BLOCK, 3, -1ULL, 1, false },
		      { 1, BLOCK, 3, (1ULL << 51) - 3, (1ULL << 51) - 1, true },
		      { 1, BLOCK, 3, (1ULL << 51) - 2, 1ULL << 51, false },
		      { 104858, BLOCK, 104860, 104860, 209719, true },
		      { 104859, BLOCK, 104861, 104861, 209721, false } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct store_header header = {
			.block_bytes = BLOCK,
			.nr_blocks = cases[i].nr_blocks,
			.alignment_bytes = cases[i].alignment_bytes,
			.data_offset = cases[i].data * BLOCK,
			.second_offset = cases[i].second * BLOCK,
			.capacity_bytes = cases[i].capacity * BLOCK,
		};

		EQUAL(chario_layout_is_sane(&header), cases[i].is_sane);
	}
}

TEST(test_no_room, "a disk without a whole pair of blocks has no store")
{
	struct rig_findings findings;

	for (uint64_t bytes = 512; bytes <= BLOCK; bytes += BLOCK - 512) {
		disk = log_disk_create(bytes, 512);
		EQUAL(rig_open(disk, O_RDONLY, &store), -ENOMEDIUM);
		EQUAL(rig_check(disk, 0, &findings), -ENOMEDIUM);
		end();
	}
	disk = log_disk_create(MIB, 2 * BLOCK);
	EQUAL(rig_format(disk, &layout), -EOPNOTSUPP);
}

/* More blocks than one write has, and than tell of an older store; or a bad one behind them. */
TEST(test_format, "a table of any length is made, whatever is behind it")
{
	for (unsigned int areas = STORE_ENTRIES; areas <= 1300; areas += 1290) {
		const struct chario_store_layout other_layout = { .size = sizeof(layout),
								  .max_areas = areas };

		disk = log_disk_create(4 * MIB, 512);
		memset(disk->image, 0x5a, disk->bytes);
		disk->faults.bad[0] = (struct log_place){ 9 * BLOCK, BLOCK };
		EQUAL(rig_format(disk, &other_layout), 0);
		log_disk_heal(disk);
		CHECK(rig_is_clean(disk));
		end();
	}
}

/* Entries may come from any program. */
TEST(test_entries, "an entry that no program writes is at fault")
{
	const struct store_header header = { .data_offset = 3 * BLOCK, .second_offset = 9 * BLOCK };
	struct store_entry entry = {
		.name = "a",
		.fields = { .id = 1,
			    .flags = STORE_ENTRY_STREAM,
			    .window = 1,
			    .segment_bytes = BLOCK,
			    .offset = 8 * BLOCK,
			    .bytes = 1,
			    .allocated_bytes = BLOCK },
	};

	CHECK(!chario_entry_fault(&header, &entry));
	entry.fields.segment_bytes = 2 * BLOCK;
	CHECK(chario_entry_fault(&header, &entry));
	entry.fields.allocated_bytes = 2 * BLOCK;
	CHECK(chario_entry_fault(&header, &entry));
	entry.fields.offset = 7 * BLOCK;
	CHECK(!chario_entry_fault(&header, &entry));
	entry.fields.flags |= STORE_ENTRY_MOVING;
	entry.fields.move_offset = 6 * BLOCK;
	CHECK(chario_entry_fault(&header, &entry));
	entry.fields.offset = 5 * BLOCK;
	CHECK(!chario_entry_fault(&header, &entry));
	SAME_TEXT(chario_damage_name(CHARIO_DAMAGE_NEWER), "newer");
	CHECK(!chario_damage_name(CHARIO_DAMAGE_NEWER + 1));
	CHECK(!chario_damage_name(UINT32_MAX));
}

/* One lies inside another, and one half: nobody mends that while a store is only read. */
TEST(test_overlaps, "areas that overlap are counted once")
{
	struct chario_store_info info;
	struct store_place *places;
	uint64_t from, offset;

	begin(256 * KIB);
	EQUAL(chario_store_create(store, "a", 3 * BLOCK, 0), 0);
	EQUAL(chario_store_create(store, "b", 3 * BLOCK, 0), 0);
	EQUAL(chario_store_create(store, "c", BLOCK, 0), 0);
	EQUAL(chario_store_create(store, "d", BLOCK, 0), 0);
	places = store->index.places;
	from = places[0].offset;
	places[1].offset = from + 2 * BLOCK;
	places[2].offset = from + 3 * BLOCK;
	places[3].offset = store->header.second_offset - 2 * BLOCK;
	EQUAL(chario_index_find_hole(&store->index, &store->header, 2 * BLOCK, &offset), 0);
	EQUAL(offset, from + 5 * BLOCK);
	EQUAL(chario_store_get_info(store, &info, sizeof(info)), 0);
	EQUAL(info.used_bytes, 6 * BLOCK);
	EQUAL(info.nr_holes, 2);
	EQUAL(info.largest_hole_bytes, places[3].offset - offset);
}

TEST(test_limits, "what an area needs has an end")
{
	struct chario_area *area;
	char *name = malloc(1 << 25), byte;

	memset(name, 'n', 1 << 25);
	name[(1 << 25) - 1] = 0;
	begin(256 * KIB);
	EQUAL(chario_area_open(store, name, O_RDONLY, &area), -ENOENT);
	free(name);
	EQUAL(chario_store_create(store, "a", BLOCK, 0), 0);
	EQUAL(chario_area_open(store, "a", O_RDONLY, &area), 0);
	disk->most_locked = 1;
	EQUAL(chario_area_read(area, &byte, 1, 0), -ENOMEM);
	chario_area_close(area);
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
	const struct {
		uint32_t nr_logged, slot;
	} cases[] = { { 1U << 20, NO_BLOCK * STORE_ENTRIES },
		      { 1, NO_BLOCK * STORE_ENTRIES },
		      { STORE_LOGGED_MAX + 1, 0 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct store_changes *note;

		begin(512 * KIB);
		note = (void *)(disk->image + NOTE_AT);
		EQUAL(make_areas(), 0);
		note->head.sequence++;
		note->nr_logged = cases[i].nr_logged;
		note->log[0].slot = cases[i].slot;
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
	EQUAL(chario_store_rename(other, "area-0", "b"), 0);
	for (int i = 1; i < STORE_CHANGES_KEPT; i++)
		EQUAL(chario_store_rename(other, i % 2 ? "b" : "a", i % 2 ? "a" : "b"), 0);
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
static int64_t defrag_with_hole(size_t gap, size_t hole, struct seen *seen)
{
	const char *const names[] = { "gap", "long", "hole", "x" };
	const size_t bytes[] = { gap, 16 * gap, hole, 16 * KIB };
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
	slow = defrag_with_hole(BLOCK, 60 * KIB, &seen);
	CHECK(slow > 64);
	CHECK(!seen.wrong);
	EQUAL(seen.total, seen.first_total);
	EQUAL(seen.done, seen.total);
	end();
	/* There and back again. */
	begin(2 * MIB);
	CHECK(defrag_with_hole(BLOCK, 64 * KIB, &seen) < slow - 32);
	CHECK(!seen.wrong);
	EQUAL(seen.done, seen.first_total + 64 * KIB);
	end();
	/* Long steps are as good. */
	begin(40 * MIB);
	CHECK(defrag_with_hole(MIB, 16 * MIB, &seen) > 0);
	EQUAL(seen.done, seen.first_total);
}

/* "first" was passed already when it is removed. */
static int remove_first(uint64_t done, uint64_t total, void *data)
{
	chario_store_remove(store, "first");
	return 0;
}

TEST(test_passed, "also before one that is open, and does not go where others make space again")
{
	const char *const names[] = { "a", "first", "hole", "open", "gap", "long", "b" };
	struct chario_area *area;
	uint64_t hole;

	begin(512 * KIB);
	for (size_t i = 0; i < 7; i++)
		EQUAL(make(names[i], strchr("hl", *names[i]) ? 64 * KIB : BLOCK), 0);
	hole = rig_info(store, "hole").offset;
	EQUAL(chario_store_remove(store, "hole") ?: chario_store_remove(store, "gap"), 0);
	EQUAL(chario_area_open(store, "open", O_RDONLY, &area), 0);
	EQUAL(chario_store_defrag(store, remove_first, NULL), 0);
	chario_area_close(area);
	EQUAL(rig_info(store, "long").offset, hole);
	EQUAL(rig_info(store, "b").offset, hole + 64 * KIB + BLOCK);
}

TEST_MAIN(tap_nothing, end)
