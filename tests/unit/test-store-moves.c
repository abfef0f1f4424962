// SPDX-License-Identifier: MIT
/*
 * A store that changes while areas are in it: resize, defragment, fill; by two who
 * have it open; on a disk that has another length than before.
 */
#include <chario/area.h>
#include <chario/stream.h>

#include "store/area-inner.h"
#include "log-cuts.h"
#include "own-store.h"
#include "tap.h"

#define MIB     (1024ULL * 1024)
#define BLOCK   4096ULL
#define STOPPED 77

static struct chario_area_info info_of(const char *name)
{
	return rig_info(store, name);
}

static unsigned char byte_at(char name, size_t at)
{
	return (unsigned char)(name + (char)(at / 7) + (char)(at >> 12));
}

/* An area that is filled, so that it is known again. */
static int make_filled(const char *name, size_t bytes)
{
	unsigned char *memory = malloc(bytes);
	int err = chario_store_create(store, name, bytes, 0);

	for (size_t i = 0; i < bytes; i++)
		memory[i] = byte_at(*name, i);
	err = err ?: rig_move(store, name, O_RDWR, memory, bytes, 0);
	free(memory);
	return err;
}

/* Whether so many of its first bytes are as they were made. */
static bool is_whole(const char *name, char made_as, size_t bytes)
{
	unsigned char *memory = malloc(bytes);
	bool same = !rig_move(store, name, O_RDONLY, memory, bytes, 0);

	for (size_t i = 0; i < bytes && same; i++)
		same = memory[i] == byte_at(made_as, i);
	free(memory);
	return same;
}

TEST(grows_where_it_is, "an area grows and shrinks where it is")
{
	struct chario_area_info before, after;

	EQUAL(make_filled("a", 10000) ?: make_filled("b", 1) ?: chario_store_remove(store, "b"), 0);
	before = info_of("a");
	EQUAL(chario_store_resize(store, "a", 50000), 0);
	after = info_of("a");
	EQUAL(after.offset, before.offset);
	EQUAL(after.bytes, 50000);
	EQUAL(after.allocated_bytes, 13 * BLOCK);
	EQUAL(after.id, before.id);
	CHECK(is_whole("a", 'a', 10000));
	EQUAL(chario_store_resize(store, "a", 1), 0);
	EQUAL(info_of("a").allocated_bytes, BLOCK);
	EQUAL(chario_store_resize(store, "a", 1), 0);
	CHECK(is_whole("a", 'a', 1));
}

TEST(grows_elsewhere, "an area grows elsewhere")
{
	struct chario_area_info before, after;

	EQUAL(make_filled("a", 10000) ?: make_filled("b", 10000), 0);
	before = info_of("a");
	EQUAL(chario_store_resize(store, "a", 3 * BLOCK), 0);
	EQUAL(info_of("a").offset, before.offset);
	EQUAL(chario_store_resize(store, "a", 3 * BLOCK + 1), 0);
	after = info_of("a");
	CHECK(after.offset > info_of("b").offset);
	EQUAL(after.flags, 0);
	EQUAL(after.id, before.id);
	CHECK(is_whole("a", 'a', 10000) && is_whole("b", 'b', 10000));
	/* The place that it left is free. */
	EQUAL(chario_store_create(store, "c", 3 * BLOCK, 0), 0);
	EQUAL(info_of("c").offset, before.offset);
}

TEST(recordings_keep_their_length, "recordings keep their length")
{
	const struct chario_area_stream stream = { .session = 1,
						   .segment_bytes = BLOCK,
						   .window = 2 };
	struct chario_area_stream is;
	struct chario_area *area;

	EQUAL(chario_store_create(store, "a", MIB, 0), 0);
	EQUAL(chario_area_open(store, "a", O_RDWR, &area), 0);
	EQUAL(chario_area_get_stream(area, &is), -ENODATA);
	EQUAL(chario_area_set_stream(area, &stream), 0);
	EQUAL(chario_area_get_stream(area, &is), 0);
	EQUAL(is.segment_bytes, BLOCK);
	chario_area_close(area);
	EQUAL(info_of("a").flags, CHARIO_AREA_STREAM);
	EQUAL(chario_store_resize(store, "a", 2 * MIB), -EINVAL);
}

TEST(filling_is_remembered, "filling is remembered")
{
	struct chario_area *area;

	EQUAL(chario_store_create(store, "a", 10000, CHARIO_CREATE_FILLING), 0);
	EQUAL(info_of("a").flags, CHARIO_AREA_FILLING);
	EQUAL(chario_area_open(store, "a", O_RDWR, &area), 0);
	EQUAL(chario_area_set_filled(area, 10001, 5), -EINVAL);
	EQUAL(chario_area_set_filled(area, 9999, 5), 0);
	EQUAL(info_of("a").filled_bytes, 9999);
	EQUAL(info_of("a").fill_tag, 5);
	EQUAL(chario_store_rename(store, "a", "b"), 0);
	EQUAL(chario_area_set_filled(area, 10000, 5), 0);
	EQUAL(info_of("b").flags, 0);
	EQUAL(info_of("b").filled_bytes, 10000);
	EQUAL(chario_area_set_filled(area, 1, 5), -EINVAL);
	chario_area_close(area);
}

/* Holes of the store, or -1 where what it says of its bytes does not add up. */
static int count_holes(void)
{
	struct chario_store_info info = { 0 };
	int err = chario_store_get_info(store, &info, sizeof(info));

	return err || info.used_bytes + info.free_bytes != info.data_bytes ? -1 :
									     (int)info.nr_holes;
}

TEST(space_becomes_one_hole, "free space becomes one hole")
{
	EQUAL(make_filled("a", 20000) ?: make_filled("b", 300000) ?: make_filled("c", 4096), 0);
	EQUAL(make_filled("d", 700000) ?: make_filled("e", 1), 0);
	EQUAL(chario_store_remove(store, "a") ?: chario_store_remove(store, "c"), 0);
	EQUAL(chario_store_defrag(store, NULL, NULL), 0);
	EQUAL(count_holes(), 1);
	CHECK(is_whole("b", 'b', 300000) && is_whole("d", 'd', 700000) && is_whole("e", 'e', 1));
	EQUAL(chario_store_defrag(store, NULL, NULL), 0);
}

/* Ends each call after one step. */
static int stop_soon(uint64_t done_bytes, uint64_t total_bytes, void *data)
{
	bool *sane = data;

	*sane = *sane && done_bytes && done_bytes <= total_bytes;
	return STOPPED;
}

TEST(defrag_goes_on_where_it_stopped, "defrag goes on where it was stopped")
{
	bool sane = true, moved = false;
	int ret, calls = 0;

	EQUAL(make_filled("a", 4096) ?: make_filled("b", 60000) ?: make_filled("c", 50000), 0);
	EQUAL(chario_store_remove(store, "a"), 0);
	do {
		ret = chario_store_defrag(store, stop_soon, &sane);
		moved = moved || info_of("b").flags & CHARIO_AREA_MOVING;
		CHECK(is_whole("b", 'b', 60000) && is_whole("c", 'c', 50000) && count_holes() >= 0);
		calls++;
	} while (ret == STOPPED && calls < 1000);
	EQUAL(ret, 0);
	CHECK(moved && sane && calls > 10);
	EQUAL(count_holes(), 1);
}

/* Areas to move, of 15 blocks and of 13, behind one of two and one of one block, which are removed. */
static void make_gaps(void)
{
	EQUAL(make_filled("a", 8192) ?: make_filled("b", 60000) ?: make_filled("c", 4096), 0);
	EQUAL(make_filled("d", 50000), 0);
	EQUAL(chario_store_remove(store, "a") ?: chario_store_remove(store, "c"), 0);
}

/* "b" begins to slide to where "a" was, and is left in two pieces. */
static void slide_half(void)
{
	bool sane = true;

	EQUAL(chario_store_defrag(store, stop_soon, &sane), STOPPED);
	EQUAL(info_of("b").flags, CHARIO_AREA_MOVING);
}

/* What lies in two pieces and is open is in the way with both of them. */
TEST(open_areas_stay, "open areas stay where they are")
{
	struct chario_device *confined;
	struct chario_area *area;

	make_gaps();
	slide_half();
	EQUAL(chario_area_open(store, "b", O_RDONLY, &area), 0);
	EQUAL(chario_store_defrag(store, NULL, NULL), 0);
	EQUAL(info_of("b").flags, CHARIO_AREA_MOVING);
	/* Two pieces are no range, and what is no character disk confines nothing. */
	EQUAL(chario_area_confine(area, 0, &confined), -EBUSY);
	CHECK(is_whole("b", 'b', 60000) && is_whole("d", 'd', 50000));
	chario_area_close(area);
	EQUAL(chario_store_defrag(store, NULL, NULL), 0);
	EQUAL(info_of("b").flags, 0);
	EQUAL(chario_area_open(store, "b", O_RDWR, &area), 0);
	EQUAL(chario_area_confine(area, 0, &confined), -ENOTTY);
	chario_area_close(area);
	CHECK(is_whole("b", 'b', 60000) && is_whole("d", 'd', 50000));
}

/* An area in two pieces is written as before, across the seam too. */
TEST(halves_are_one_area, "two pieces are one area")
{
	unsigned char memory[20000];
	struct chario_stream *stream;

	make_gaps();
	slide_half();
	EQUAL(chario_stream_open(store, "b", NULL, &stream), -EBUSY);
	for (size_t i = 0; i < sizeof(memory); i++)
		memory[i] = byte_at('x', i);
	EQUAL(rig_move(store, "b", O_RDWR, memory, sizeof(memory), 0), 0);
	CHECK(is_whole("b", 'x', sizeof(memory)));
	EQUAL(chario_store_resize(store, "b", 70000), 0);
	CHECK(!info_of("b").flags && is_whole("b", 'x', sizeof(memory)));
}

/* Whether areas are whole after a power cut at any moment of what was recorded, and can be moved. */
static bool survives_cuts(void)
{
	struct log_disk *victim = log_disk_create(disk->bytes, disk->block_bytes);
	struct chario_store *first = store;
	uint64_t random = 1;
	struct log_replay replay;
	bool fine = true;

	log_replay_init(&replay, disk);
	for (size_t i = 0; i < LOG_CUTS * (disk->nr_entries + 1) && fine; i++) {
		log_replay_go(&replay, i / LOG_CUTS);
		log_replay_cut(&replay, (enum log_cut)(i % LOG_CUTS), &random, victim->image);
		fine = !rig_open(victim, O_RDWR, &store) && is_whole("b", 'b', 60000) &&
		       is_whole("d", 'd', 50000) && !chario_store_defrag(store, NULL, NULL) &&
		       is_whole("b", 'b', 60000) && count_holes() == 1;
		chario_store_close(store);
	}
	log_replay_deinit(&replay);
	log_disk_destroy(victim);
	store = first;
	return fine;
}

static int keep_done(uint64_t done_bytes, uint64_t total_bytes, void *data)
{
	*(uint64_t *)data = done_bytes;
	return 0;
}

/* In the end only "d" has been moved. */
TEST(unreadable_areas_stay, "an area with a block that cannot be copied stays, and others move")
{
	struct log_place place;
	uint64_t done;

	make_gaps();
	place = (struct log_place){ info_of("b").offset + 9 * BLOCK, BLOCK };
	log_disk_record(disk);
	for (int half = 0; half < 3; half++) {
		log_disk_heal(disk);
		if (half)
			slide_half();
		disk->faults.bad[0] = place;
		/* A move of an earlier call is taken back, and the length changed in place. */
		EQUAL(half == 1 ? chario_store_resize(store, "b", 60001) : 0, 0);
		/* A block of the new place has gone bad, too. */
		if (half == 2)
			disk->faults.bad[1] = (struct log_place){ info_of("b").offset, BLOCK };
		EQUAL(chario_store_defrag(store, keep_done, &done), -EIO);
		CHECK(half || done == 13 * BLOCK);
		EQUAL(info_of("d").offset, place.offset + 6 * BLOCK);
		EQUAL(chario_store_resize(store, "b", 80000), -EIO);
		EQUAL(info_of("b").flags, half == 2 ? CHARIO_AREA_MOVING : 0);
		CHECK(half == 2 || info_of("b").offset == place.offset - 9 * BLOCK);
	}
	log_disk_heal(disk);
	CHECK(survives_cuts());
	EQUAL(chario_store_defrag(store, NULL, NULL), 0);
	/* The first write of data fails, behind those of the table and the note. */
	disk->faults.write = (struct log_fault){ 4, 1 };
	EQUAL(chario_store_resize(store, "b", 80000), -EIO);
	EQUAL(info_of("b").flags, 0);
	CHECK(is_whole("b", 'b', 60000) && is_whole("d", 'd', 50000));
}

/* two who have it open */

/* The last area of the second block goes, and comes again in the first. */
TEST(names_move_between_blocks, "a name that moves between blocks is found")
{
	struct chario_store *other;
	struct chario_area_info info;
	uint64_t reads;

	EQUAL(rig_create_areas(store, 11, 1) ?: rig_open(disk, O_RDWR, &other), 0);
	EQUAL(chario_store_remove(store, "area-3") ?: chario_store_remove(store, "area-10"), 0);
	EQUAL(chario_store_create(store, "area-10", 2, 0), 0);
	reads = disk->nr_reads;
	EQUAL(chario_store_find(other, "area-10", &info, sizeof(info)), 0);
	EQUAL(info.bytes, 2);
	/* The note twice; for each of the changes both copies of a block, twice. */
	EQUAL(disk->nr_reads - reads, 2 + 3 * 2 * 2);
	EQUAL(chario_store_create(other, "area-3", 1, 0), 0);
	chario_store_close(other);
	reads = disk->nr_reads;
	EQUAL(info_of("area-3").bytes, 1);
	EQUAL(disk->nr_reads - reads, 2 + 2);
}

static int change_while_visited(const struct chario_area_info *area, void *data)
{
	int *visits = data;
	int err = chario_store_remove(store, area->name);

	(*visits)++;
	return err ? err : chario_store_create(store, area->name, area->bytes, 0);
}

TEST(visits_may_change_the_store, "who is shown areas may change them")
{
	int visits = 0;

	EQUAL(make_filled("a", 1) ?: make_filled("b", 10000) ?: make_filled("c", 1), 0);
	EQUAL(chario_store_each(store, change_while_visited, &visits), 0);
	EQUAL(visits, 3);
	EQUAL(info_of("b").bytes, 10000);
}

/* other disks */

/* Have the store be on a disk of another length, and not be open. */
static void change_disk(uint64_t bytes)
{
	struct log_disk *first = disk;

	chario_store_close(store);
	store = NULL;
	disk = log_disk_create(bytes, 512);
	memcpy(disk->image, first->image, bytes < first->bytes ? bytes : first->bytes);
	log_disk_destroy(first);
}

TEST(longer_disk_is_fine, "a store on a longer disk is fine")
{
	EQUAL(make_filled("a", 10000), 0);
	change_disk(5 * MIB);
	EQUAL(rig_open(disk, O_RDWR, &store), 0);
	CHECK(is_whole("a", 'a', 10000));
	EQUAL(rig_change(store), 0);
	CHECK(rig_is_clean(disk));
}

/* What lies before the end is there, and nothing is written. */
TEST(shorter_disk_is_read, "a store on a shorter disk is read")
{
	EQUAL(make_filled("a", 10000), 0);
	change_disk(3 * MIB);
	EQUAL(rig_open(disk, O_RDWR, &store), -ESTALE);
	EQUAL(rig_check(disk, 0, NULL), -ESTALE);
	EQUAL(rig_open(disk, O_RDONLY, &store), 0);
	CHECK(is_whole("a", 'a', 10000));
	/* Its table says the same. */
	disk->image[100] ^= 1;
	EQUAL(rig_check(disk, 0, NULL), -ESTALE);
}

TEST_MAIN_WITH(make_own_store(4 * MIB, 4096, 40), drop_own_store())
