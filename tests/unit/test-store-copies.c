// SPDX-License-Identifier: MIT
/*
 * Two good copies of a block that differ: everybody takes the newer one, whichever of
 * the two it is, and nobody but a change or a repair writes.
 *
 * A power cut between the two writes of a change leaves the newer one first; one while a change is
 * taken back leaves it second.
 */
#include <chario/area.h>

#include "store-wreck.h"
#include "tap.h"

/* Its block was changed last by giving it another length. */
#define NAME      "area-13"
#define BLOCK_AT  (STORE_TABLE_BLOCK + 1)
#define NEW_BYTES 100
#define OLD_BYTES 8000

/* Where a copy of the block stands. */
static uint64_t place(unsigned int copy)
{
	return copy ? wreck_other_copy(wreck_offset(BLOCK_AT)) : wreck_offset(BLOCK_AT);
}

/* One copy is as it was before the change; the other one has it. */
static void make_older(unsigned int copy)
{
	wreck_mend();
	memcpy(wreck.disk->image + place(copy), wreck.older + place(copy), BLOCK);
}

static bool are_alike(void)
{
	return !memcmp(wreck.disk->image + place(0), wreck.disk->image + place(1), BLOCK);
}

static uint64_t sequence_of(const unsigned char *image, unsigned int copy)
{
	return ((const struct store_head *)(image + place(copy)))->sequence;
}

/* What the areas are for who opens the store. */
static void check_areas(int flags, uint64_t bytes)
{
	struct chario_store *store;

	EQUAL(rig_open(wreck.disk, flags, &store), 0);
	EQUAL(rig_count_areas(store), WRECK_AREAS);
	EQUAL(rig_info(store, NAME).bytes, bytes);
	chario_store_close(store);
}

static void check_opening(int flags, unsigned int copy)
{
	make_older(copy);
	CHECK(!are_alike());
	check_areas(flags, NEW_BYTES);
	EQUAL(sequence_of(wreck.disk->image, copy), sequence_of(wreck.older, copy));
}

TEST(who_opens_sees_the_newer, "who opens a store sees the newer copy")
{
	for (unsigned int copy = 0; copy < 2 && !tap_failed; copy++) {
		check_opening(O_RDONLY, copy);
		check_opening(O_RDWR, copy);
	}
}

/* The reader has the store open while another one changes the block. */
TEST(who_looks_again_sees_the_newer, "who looks again sees the newer copy")
{
	struct chario_store *reader, *writer;
	unsigned char before[BLOCK];

	for (unsigned int copy = 0; copy < 2; copy++) {
		wreck_mend();
		EQUAL(rig_open(wreck.disk, O_RDONLY, &reader), 0);
		EQUAL(rig_open(wreck.disk, O_RDWR, &writer), 0);
		memcpy(before, wreck.disk->image + place(copy), BLOCK);
		EQUAL(chario_store_resize(writer, NAME, OLD_BYTES - 1), 0);
		memcpy(wreck.disk->image + place(copy), before, BLOCK);
		EQUAL(rig_info(reader, NAME).bytes, OLD_BYTES - 1);
		chario_store_close(writer);
		chario_store_close(reader);
	}
}

/* Of another area of the block: it keeps what the newer copy says of this one. */
TEST(a_change_goes_on_from_the_newer, "a change goes on from the newer copy")
{
	struct chario_store *store;

	for (unsigned int copy = 0; copy < 2; copy++) {
		make_older(copy);
		EQUAL(rig_open(wreck.disk, O_RDWR, &store), 0);
		EQUAL(chario_store_rename(store, "area-14", "renamed"), 0);
		EQUAL(rig_info(store, NAME).bytes, NEW_BYTES);
		chario_store_close(store);
		CHECK(are_alike());
		EQUAL(sequence_of(wreck.disk->image, 0), sequence_of(wreck.whole, 0) + 1);
		EQUAL(rig_open(wreck.disk, O_RDONLY, &store), 0);
		EQUAL(rig_info(store, NAME).bytes, NEW_BYTES);
		EQUAL(rig_info(store, "renamed").bytes, OLD_BYTES);
		chario_store_close(store);
	}
}

TEST(a_repair_keeps_the_newer, "a repair keeps the newer copy")
{
	for (unsigned int copy = 0; copy < 2; copy++) {
		make_older(copy);
		EQUAL(wreck_check(CHARIO_CHECK_REPAIR), 0);
		EQUAL(wreck.findings.repaired, 1);
		CHECK(are_alike());
		EQUAL(memcmp(wreck.disk->image + place(0), wreck.whole + place(0), BLOCK), 0);
	}
}

/* The second write of the change fails: what was there before is in both copies again. */
TEST(a_change_that_was_taken_back_is_gone, "a change that was taken back is in no copy")
{
	struct chario_store *store;

	wreck_mend();
	EQUAL(rig_open(wreck.disk, O_RDWR, &store), 0);
	/* The note, and the first copy, are written. */
	wreck.disk->faults.write = (struct log_fault){ .after = 2, .times = 1 };
	EQUAL(chario_store_resize(store, NAME, OLD_BYTES - 1), -EIO);
	log_disk_heal(wreck.disk);
	CHECK(are_alike());
	EQUAL(sequence_of(wreck.disk->image, 0), sequence_of(wreck.whole, 0) + 2);
	EQUAL(rig_info(store, NAME).bytes, NEW_BYTES);
	chario_store_close(store);
	memset(wreck.disk->image + place(1), 0, BLOCK);
	check_areas(O_RDONLY, NEW_BYTES);
}

/* Have the power be cut in the middle of a change, which tears the second copy or not. */
static void cut_change(enum log_reach reach)
{
	struct chario_store *store;

	EQUAL(rig_open(wreck.disk, O_RDWR, &store), 0);
	/* The note and one copy are written. */
	wreck.disk->faults.reach = reach;
	wreck.disk->faults.write = (struct log_fault){ .after = 2, .times = LOG_FOR_EVER };
	CHECK(chario_store_resize(store, NAME, OLD_BYTES - 1) < 0);
	log_disk_heal(wreck.disk);
	chario_store_close(store);
}

/*
 * One copy is damaged, and the first one is torn by the change: the block is lost unless
 * both were made good before.
 */
TEST(a_change_begins_with_two_good_copies, "a change begins with two good copies")
{
	for (unsigned int copy = 0; copy < 2 && !tap_failed; copy++) {
		wreck_mend();
		memset(wreck.disk->image + place(copy), 0x5a, BLOCK);
		cut_change(LOG_REACH_PART);
		check_areas(O_RDONLY, NEW_BYTES);
	}
}

/* The second copy is torn, old, or cannot be read: it is never newer than the first one. */
TEST(who_opens_a_store_mends, "who opens a store to write mends what a cut has left")
{
	for (unsigned int i = 0; i < 3; i++) {
		wreck_mend();
		cut_change(i ? LOG_REACH_NONE : LOG_REACH_PART);
		check_areas(O_RDONLY, OLD_BYTES - 1);
		CHECK(!are_alike());
		if (i == 2)
			wreck.disk->faults.bad[0] = (struct log_place){ place(1), BLOCK };
		check_areas(O_RDWR, OLD_BYTES - 1);
		CHECK(are_alike());
	}
}

TEST(who_opens_an_area_mends, "who opens an area to write mends what a cut has left")
{
	struct chario_store *store;
	struct chario_area *area;

	wreck_mend();
	EQUAL(rig_open(wreck.disk, O_RDWR, &store), 0);
	cut_change(LOG_REACH_NONE);
	EQUAL(chario_area_open(store, "area-0", O_RDONLY, &area), 0);
	chario_area_close(area);
	CHECK(!are_alike());
	EQUAL(chario_area_open(store, "area-0", O_RDWR, &area), 0);
	CHECK(are_alike());
	chario_area_close(area);
	EQUAL(rig_info(store, NAME).bytes, OLD_BYTES - 1);
	chario_store_close(store);
}

/* The next change is of another block: its note would replace the one that asks for mending. */
TEST(mending_fails, "what a cut has left cannot be mended at first")
{
	struct chario_store *store;

	for (enum log_reach reach = LOG_REACH_NONE; reach <= LOG_REACH_ALL; reach++) {
		wreck_mend();
		EQUAL(rig_open(wreck.disk, O_RDWR, &store), 0);
		cut_change(LOG_REACH_NONE);
		wreck.disk->faults.reach = reach;
		wreck.disk->faults.write.times = 1;
		EQUAL(wreck_check(0), 0);
		EQUAL(chario_store_rename(store, "area-0", "renamed"), -EIO);
		log_disk_heal(wreck.disk);
		EQUAL(chario_store_rename(store, "area-0", "renamed"), 0);
		chario_store_close(store);
		check_areas(O_RDONLY, OLD_BYTES - 1);
		CHECK(are_alike());
	}
}

/* Two reads in a row fail, or all of the first copy; nobody has written by what that said. */
TEST(the_newer_cannot_be_read, "a newer copy counts unless nothing can read it")
{
	for (uint64_t after = 0; after < 20; after++) {
		wreck_mend();
		cut_change(LOG_REACH_NONE);
		/* A copy that cannot be read is damage; one that is old will be written by the next change. */
		EQUAL(wreck_check(0), 0);
		if (!after) {
			wreck.disk->faults.bad[0] = (struct log_place){ place(0), BLOCK };
			EQUAL(wreck_check(0), 1);
		} else {
			wreck.disk->faults.read = (struct log_fault){ after, 2 };
		}
		check_areas(O_RDWR, after ? OLD_BYTES - 1 : NEW_BYTES);
		CHECK(are_alike());
		log_disk_heal(wreck.disk);
	}
}

TEST_MAIN(wreck_begin, wreck_end)
