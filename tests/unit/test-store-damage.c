// SPDX-License-Identifier: MIT
/*
 * Damage: of one block at a time, which a check must find and a repair must put
 * right; of both copies, which must cost no more than what stood there; and of many
 * blocks.
 *
 * SEED=N repeats a run.
 */
#include <inttypes.h>

#include "store-exercise.h"
#include "store/area-inner.h"
#include "store-wreck.h"
#include "tap.h"

#define DAMAGES 1300
#define CRAFTED 250

/* damage */

static void flip_bits(unsigned char *block)
{
	for (uint64_t i = 0; i <= wreck_below(4); i++)
		block[wreck_below(BLOCK)] ^= (unsigned char)(1 << wreck_below(8));
}

static void scribble(unsigned char *block, size_t bytes)
{
	size_t at = wreck_below(BLOCK / bytes) * bytes;

	for (size_t i = 0; i < bytes; i++)
		block[at + i] = (unsigned char)log_random(&wreck.random);
}

static void damage(uint64_t offset)
{
	unsigned char *block = wreck.disk->image + offset;

	switch (wreck_below(6)) {
	case 0:
		flip_bits(block);
		break;
	case 1:
		memset(block, log_random(&wreck.random) & 1 ? 0 : 0xff, BLOCK);
		break;
	case 2:
		memcpy(block, wreck.whole + wreck_below(WRECK_BYTES / BLOCK) * BLOCK, BLOCK);
		break;
	case 3:
		memcpy(block, wreck.whole + wreck_offset(wreck_below(WRECK_METADATA)), BLOCK);
		break;
	case 4:
		memcpy(block, wreck.older + offset, BLOCK);
		break;
	default:
		scribble(block, log_random(&wreck.random) & 1 ? 512 : BLOCK);
	}
}

static bool is_note(uint64_t offset)
{
	return offset == STORE_CHANGES_BLOCK * BLOCK;
}

/* An older note is as good as the newest one for who opens the store. */
static bool is_harmless(uint64_t offset)
{
	const unsigned char *block = wreck.disk->image + offset;

	return !memcmp(block, wreck.whole + offset, BLOCK) ||
	       (is_note(offset) && !memcmp(block, wreck.older + offset, BLOCK));
}

static bool is_found(uint64_t offset)
{
	int left = wreck_check(0);

	if (is_harmless(offset))
		return left == 0 && wreck.findings.notes == 0;
	return wreck.findings.last.offset == offset &&
	       (is_note(offset) ? left == 0 && wreck.findings.notes == 1 : left == 1);
}

/* It is put right, which shows when the other copy is damaged then. */
static bool is_repaired(uint64_t offset)
{
	if (wreck_check(CHARIO_CHECK_REPAIR) || wreck_check(0))
		return false;
	if (is_note(offset))
		return true;
	memset(wreck.disk->image + wreck_other_copy(offset), 0x5a, BLOCK);
	return wreck_count_areas(O_RDONLY) == WRECK_AREAS;
}

static bool survives(uint64_t offset)
{
	if (!is_found(offset))
		return false;
	if (wreck_count_areas(O_RDONLY) != WRECK_AREAS || wreck_count_areas(O_RDWR) != WRECK_AREAS)
		return false;
	return is_repaired(offset);
}

TEST(one_block_is_found, "damage of any one block is found, survived and repaired")
{
	size_t harmless = 0;

	for (size_t i = 0; i < DAMAGES; i++) {
		uint64_t offset = wreck_offset(i % WRECK_METADATA);

		wreck_mend();
		damage(offset);
		harmless += is_harmless(offset);
		if (!survives(offset)) {
			printf("# damage %zu of the block at %" PRIu64 ", SEED=%" PRIu64 "\n", i,
			       offset, wreck.seed);
			TAP_FAIL("it is not found, or not survived");
			return;
		}
	}
	printf("# %d damages, %zu of them harmless, SEED=%" PRIu64 "\n", DAMAGES, harmless,
	       wreck.seed);
	CHECK(DAMAGES - harmless > 1000);
}

/* Both copies: the areas of that block are lost, all others are there. */
TEST(both_copies_cost_one_block, "both copies of a block cost its areas only")
{
	static const int left[] = { WRECK_AREAS - 10, WRECK_AREAS - 10, WRECK_AREAS - 5,
				    WRECK_AREAS };

	for (size_t i = 0; i < 4; i++) {
		uint64_t offset = wreck_offset(2 + i);

		wreck_mend();
		scribble(wreck.disk->image + offset, BLOCK);
		scribble(wreck.disk->image + wreck_other_copy(offset), BLOCK);
		WRECK_FINDS(0, 1, CHARIO_DAMAGE_BLOCKS, CHARIO_SEVERITY_LOSS);
		EQUAL(wreck.findings.last.block, i);
		EQUAL(wreck_count_areas(O_RDONLY), left[i]);
		EQUAL(wreck_count_areas(O_RDWR), -EUCLEAN);
		EQUAL(wreck_check(CHARIO_CHECK_REPAIR), 1);
		EQUAL(wreck_count_areas(O_RDONLY), left[i]);
		EQUAL(wreck_check(WRECK_FORGET), 0);
		EQUAL(wreck_check(0), 0);
		EQUAL(wreck_count_areas(O_RDWR), left[i]);
	}
}

/* "area-1" of block 0 is to be "area-13", which is in block 1; nothing of it is written. */
static void leave_log(void)
{
	struct chario_store *store;

	wreck_mend();
	EQUAL(rig_open(wreck.disk, O_RDWR, &store), 0);
	wreck.disk->faults.write = (struct log_fault){ .after = 1, .times = LOG_FOR_EVER };
	EQUAL(chario_store_replace(store, "area-1", "area-13"), 0);
	log_disk_heal(wreck.disk);
	chario_store_close(store);
}

/* The log is finished when what it is about can be written: what it says outlives its block. */
TEST(a_log_outlives_a_lost_block, "the log of a change outlives a block that is lost")
{
	const struct store_head *note =
		(const struct store_head *)(wreck.disk->image + wreck_offset(1));

	for (size_t i = 0; i < 2; i++) {
		uint64_t offset = wreck_offset(2 + i);

		leave_log();
		scribble(wreck.disk->image + offset, BLOCK);
		scribble(wreck.disk->image + wreck_other_copy(offset), BLOCK);
		EQUAL(wreck_check(0), 1);
		EQUAL(wreck_check(CHARIO_CHECK_REPAIR), 1);
		EQUAL(note->sequence % 2, 1);
		EQUAL(wreck_check(WRECK_FORGET), 0);
		EQUAL(note->sequence % 2, 0);
		EQUAL(wreck_check(0), 0);
		/* Of block 0 "area-13" is left, or all ten; of the others nine and five, or five. */
		EQUAL(wreck_count_areas(O_RDWR), 15);
	}
}

/* A block of which nothing is damaged keeps its areas, whatever stands before it. */
static void check_gap(unsigned int flags)
{
	wreck_mend();
	for (size_t copy = 0; copy < 2; copy++) {
		uint64_t offset = wreck_offset(2 + copy * WRECK_BLOCKS);

		((struct store_head *)(wreck.disk->image + offset))->sequence = 0;
	}
	exercise_seal(wreck.disk->image, WRECK_BYTES);
	EQUAL(wreck_count_areas(O_RDONLY), STORE_ENTRIES);
	WRECK_FINDS(0, 2, CHARIO_DAMAGE_GAP, CHARIO_SEVERITY_REPAIRABLE);
	EQUAL(wreck.findings.last.block, 2);
	EQUAL(wreck_check(flags), 0);
	EQUAL(wreck.findings.repaired, 1);
	EQUAL(wreck_check(0), 0);
	EQUAL(wreck_count_areas(O_RDWR), WRECK_AREAS);
}

TEST(a_gap_costs_nothing, "a block that counts as never used costs nothing")
{
	check_gap(CHARIO_CHECK_REPAIR);
	check_gap(CHARIO_CHECK_REPAIR | CHARIO_CHECK_FORGET);
}

/* Of two good copies that differ, the one that all readers take is kept. */
TEST(copies_that_differ_cost_no_more, "two good copies that differ cost no more")
{
	struct store_table *second =
		(struct store_table *)(wreck.disk->image + wreck_offset(2 + WRECK_BLOCKS));

	wreck_mend();
	memset(&second->entries[1], 0, sizeof(second->entries[1]));
	exercise_seal(wreck.disk->image, WRECK_BYTES);
	WRECK_FINDS(CHARIO_CHECK_REPAIR, 1, CHARIO_DAMAGE_BLOCKS, CHARIO_SEVERITY_LOSS);
	EQUAL(wreck_check(WRECK_FORGET), 0);
	EQUAL(wreck_check(0), 0);
	EQUAL(wreck_count_areas(O_RDWR), WRECK_AREAS);
}

TEST(both_headers_are_named, "damage of both headers is named")
{
	wreck_mend();
	wreck.disk->image[100] ^= 1;
	wreck.disk->image[WRECK_BYTES - BLOCK + 100] ^= 1;
	/* Of the second copy of the table as well nothing is left. */
	for (size_t i = 0; i < WRECK_BLOCKS; i++)
		wreck.disk->image[wreck_offset(2 + WRECK_BLOCKS + i) + 100] ^= 1;
	EQUAL(wreck_count_areas(O_RDONLY), -EUCLEAN);
	WRECK_FINDS(WRECK_FORGET, 1, CHARIO_DAMAGE_HEADERS, CHARIO_SEVERITY_LOSS);
	EQUAL(rig_format(wreck.disk, &wreck_layout), -EEXIST);
}

/* what cannot be read */

static void make_bad(size_t i, uint64_t offset)
{
	wreck.disk->faults.bad[i] = (struct log_place){ offset, BLOCK };
}

static void make_both_bad(uint64_t offset)
{
	make_bad(0, offset);
	make_bad(1, wreck_other_copy(offset));
}

/* As damage of both copies: what else there is can be read. */
TEST(both_copies_unread_cost_one_block, "blocks that cannot be read cost their areas only")
{
	for (size_t i = 0; i < 2; i++) {
		wreck_mend();
		make_both_bad(wreck_offset(2 + i));
		wreck.disk->faults.error = i ? -ENODATA : -EIO;
		EQUAL(wreck_count_areas(O_RDONLY), WRECK_AREAS - 10);
		EQUAL(wreck_count_areas(O_RDWR), -EUCLEAN);
		WRECK_FINDS(0, 1, CHARIO_DAMAGE_BLOCKS, CHARIO_SEVERITY_LOSS);
		EQUAL(wreck_check(WRECK_FORGET), 0);
		EQUAL(wreck_count_areas(O_RDWR), WRECK_AREAS - 10);
	}
}

/* One copy that cannot be read, and one that is damaged; then all of them. */
TEST(unread_and_damaged_are_alike, "blocks are lost unread or damaged")
{
	wreck_mend();
	make_bad(0, wreck_offset(3));
	scribble(wreck.disk->image + wreck_other_copy(wreck_offset(3)), BLOCK);
	EQUAL(wreck_count_areas(O_RDONLY), WRECK_AREAS - 10);
	for (size_t copy = 0; copy < 2; copy++)
		wreck.disk->faults.bad[copy] =
			(struct log_place){ wreck_offset(2 + copy * WRECK_BLOCKS),
					    WRECK_BLOCKS * BLOCK };
	EQUAL(wreck_count_areas(O_RDONLY), -EIO);
	EQUAL(wreck_count_areas(O_RDWR), -EIO);
	log_disk_heal(wreck.disk);
}

/* Who has the store open sees what is left of it, and then all again. */
TEST(open_stores_bear_what_is_unread, "a store that is open bears blocks that cannot be read")
{
	struct chario_store *store, *other;

	wreck_mend();
	EQUAL(rig_open(wreck.disk, O_RDONLY, &store), 0);
	EQUAL(rig_open(wreck.disk, O_RDWR, &other), 0);
	EQUAL(chario_store_rename(other, "area-1", "area-x"), 0);
	make_both_bad(wreck_offset(2));
	EQUAL(rig_count_areas(store), WRECK_AREAS - 10);
	EQUAL(chario_store_rename(other, "area-x", "area-1"), -EIO);
	EQUAL(chario_store_rename(other, "area-x", "area-1"), -EUCLEAN);
	log_disk_heal(wreck.disk);
	EQUAL(rig_count_areas(store), WRECK_AREAS);
	EQUAL(chario_store_rename(other, "area-x", "area-1"), 0);
	chario_store_close(other);
	chario_store_close(store);
}

/* What the first header is that cannot be read, the second one says, or the table. */
TEST(unread_headers_are_no_empty_disk, "headers that cannot be read are no empty disk")
{
	wreck_mend();
	make_bad(0, 0);
	EQUAL(wreck_count_areas(O_RDONLY), WRECK_AREAS);
	memset(wreck.disk->image + WRECK_BYTES - BLOCK, 0, BLOCK);
	EQUAL(wreck_count_areas(O_RDONLY), WRECK_AREAS);
	make_bad(1, WRECK_BYTES - BLOCK);
	EQUAL(wreck_count_areas(O_RDONLY), WRECK_AREAS);
	WRECK_FINDS(0, 2, CHARIO_DAMAGE_HEADER, CHARIO_SEVERITY_REPAIRABLE);
	for (size_t i = 1; i < WRECK_METADATA; i++)
		memset(wreck.disk->image + wreck_offset(i), 0, BLOCK);
	EQUAL(wreck_count_areas(O_RDONLY), -EIO);
	WRECK_FINDS(0, 1, CHARIO_DAMAGE_HEADERS, CHARIO_SEVERITY_LOSS);
	log_disk_heal(wreck.disk);
	memset(wreck.disk->image, 0, BLOCK);
	EQUAL(wreck_count_areas(O_RDONLY), -ENOMEDIUM);
	EQUAL(wreck_check(0), -ENOMEDIUM);
}

/* What a block device gives for a bad place means another thing here. */
TEST(unread_tables_are_no_want_of_a_recording,
     "a table that cannot be read is no want of a recording")
{
	struct chario_area_stream stream;
	struct chario_store *store;
	struct chario_area *area;

	wreck_mend();
	EQUAL(rig_open(wreck.disk, O_RDWR, &store), 0);
	EQUAL(chario_area_open(store, "area-1", O_RDWR, &area), 0);
	EQUAL(chario_area_get_stream(area, &stream), -ENODATA);
	wreck.disk->faults.error = -ENODATA;
	wreck.disk->faults.read.times = LOG_FOR_EVER;
	EQUAL(chario_area_get_stream(area, &stream), -EIO);
	log_disk_heal(wreck.disk);
	chario_area_close(area);
	chario_store_close(store);
}

/* Many blocks at once, and nothing that crashes, hangs or contradicts itself. */
TEST(many_blocks_are_borne, "damage of many blocks is borne")
{
	for (size_t i = 0; i < CRAFTED; i++) {
		wreck_mend();
		for (uint64_t n = wreck_below(8) + 1; n; n--)
			damage(wreck_offset(wreck_below(WRECK_METADATA)));
		if (!exercise_disk(wreck.disk, &wreck.random)) {
			TAP_FAIL("at %zu, SEED=%" PRIu64, i, wreck.seed);
			return;
		}
	}
}

TEST_MAIN(wreck_begin, wreck_end)
