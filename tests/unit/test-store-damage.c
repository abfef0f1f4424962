// SPDX-License-Identifier: MIT
/*
 * Damage: of one block at a time, which a check must find and a repair must put
 * right; of both copies, which must cost no more than what stood there; and of
 * values that have a right checksum.
 *
 * SEED=N repeats a run.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include <chario/area.h>

#include "log-device.h"
#include "store-exercise.h"
#include "store/inner.h"
#include "store-rig.h"
#include "tap.h"

#define DISK_BYTES (1U << 20)
#define BLOCK      CHARIO_STORE_BLOCK
#define NR_AREAS   25
#define NR_BLOCKS  5
#define DAMAGES    1300
#define CRAFTED    500

/* Longer than all of it takes under any sanitizer; against hanging for ever. */
#define ALARM_S 600

static const struct chario_store_layout layout = {
	.size = sizeof(layout),
	.max_areas = NR_BLOCKS * STORE_ENTRIES,
};

static struct log_disk *disk;
static unsigned char *whole, *older;
static uint64_t random_state, seed;

/* The blocks of the table's copies, the note, the headers. */
static uint64_t metadata_offset(size_t i)
{
	const uint64_t second = DISK_BYTES - (NR_BLOCKS + 1) * BLOCK;

	return i < NR_BLOCKS + 2 ? i * BLOCK : second + (i - NR_BLOCKS - 2) * BLOCK;
}

#define NR_METADATA (2 * NR_BLOCKS + 3)

static int make_areas(struct chario_store *store)
{
	char name[16];
	int err = 0;

	for (int i = 0; i < NR_AREAS && !err; i++) {
		snprintf(name, sizeof(name), "area-%d", i);
		err = chario_store_create(store, name, 8000, i % 5 ? 0 : CHARIO_CREATE_FILLING);
	}
	return err;
}

/* A change of each block, so that there is an older version of it. */
static int change_blocks(struct chario_store *store)
{
	int err = chario_store_remove(store, "area-3");

	if (!err)
		err = chario_store_create(store, "area-3", 9000, 0);
	if (!err)
		err = chario_store_resize(store, "area-13", 100);
	return err ? err : chario_store_resize(store, "area-24", 100);
}

static void make_disk(void)
{
	struct chario_store *store;

	alarm(ALARM_S);
	random_state = seed = getenv("SEED") ? strtoull(getenv("SEED"), NULL, 0) : 1;
	disk = log_disk_create(DISK_BYTES, 512);
	whole = malloc(DISK_BYTES);
	older = malloc(DISK_BYTES);
	if (rig_format(disk, &layout) || rig_open(disk, O_RDWR, &store) || make_areas(store))
		abort();
	memcpy(older, disk->image, DISK_BYTES);
	if (change_blocks(store))
		abort();
	chario_store_close(store);
	memcpy(whole, disk->image, DISK_BYTES);
}

static void drop_disk(void)
{
	log_disk_destroy(disk);
	free(whole);
	free(older);
}

/* damage */

static void flip_bits(unsigned char *block)
{
	for (uint64_t i = 0; i <= log_below(&random_state, 4); i++)
		block[log_below(&random_state, BLOCK)] ^=
			(unsigned char)(1 << log_below(&random_state, 8));
}

static void scribble(unsigned char *block, size_t bytes)
{
	size_t at = log_below(&random_state, BLOCK / bytes) * bytes;

	for (size_t i = 0; i < bytes; i++)
		block[at + i] = (unsigned char)log_random(&random_state);
}

static void damage(uint64_t offset)
{
	unsigned char *block = disk->image + offset;

	switch (log_below(&random_state, 6)) {
	case 0:
		flip_bits(block);
		break;
	case 1:
		memset(block, log_random(&random_state) & 1 ? 0 : 0xff, BLOCK);
		break;
	case 2:
		memcpy(block, whole + log_below(&random_state, DISK_BYTES / BLOCK) * BLOCK, BLOCK);
		break;
	case 3:
		memcpy(block, whole + metadata_offset(log_below(&random_state, NR_METADATA)),
		       BLOCK);
		break;
	case 4:
		memcpy(block, older + offset, BLOCK);
		break;
	default:
		scribble(block, log_random(&random_state) & 1 ? 512 : BLOCK);
	}
}

static int count_area(const struct chario_area_info *area, void *data)
{
	unsigned int *count = data;

	(void)area;
	(*count)++;
	return 0;
}

/* Areas that there are, or a negative errno. */
static int count_areas(int flags)
{
	struct chario_store *store;
	unsigned int count = 0;
	int err = rig_open(disk, flags, &store);

	if (err)
		return err;
	err = chario_store_each(store, count_area, &count);
	chario_store_close(store);
	return err ? err : (int)count;
}

static bool is_note(uint64_t offset)
{
	return offset == STORE_CHANGES_BLOCK * BLOCK;
}

/* An older note is as good as the newest one for who opens the store. */
static bool is_harmless(uint64_t offset)
{
	const unsigned char *block = disk->image + offset;

	return !memcmp(block, whole + offset, BLOCK) ||
	       (is_note(offset) && !memcmp(block, older + offset, BLOCK));
}

/* The other copy of what is at an offset. */
static uint64_t other_copy(uint64_t offset)
{
	const uint64_t second = DISK_BYTES - (NR_BLOCKS + 1) * BLOCK;

	if (!offset)
		return DISK_BYTES - BLOCK;
	if (offset == DISK_BYTES - BLOCK)
		return 0;
	if (offset >= second)
		return offset - second + STORE_TABLE_BLOCK * BLOCK;
	return offset - STORE_TABLE_BLOCK * BLOCK + second;
}

static bool is_found(uint64_t offset)
{
	struct rig_findings findings = { .quiet = true };
	int left = rig_check(disk, 0, &findings);

	if (is_harmless(offset))
		return left == 0 && findings.notes == 0;
	return findings.last.offset == offset &&
	       (is_note(offset) ? left == 0 && findings.notes == 1 : left == 1);
}

/* It is put right, which shows when the other copy is damaged then. */
static bool is_repaired(uint64_t offset)
{
	struct rig_findings findings = { .quiet = true };

	if (rig_check(disk, CHARIO_CHECK_REPAIR, &findings) || rig_check(disk, 0, &findings))
		return false;
	if (is_note(offset))
		return true;
	memset(disk->image + other_copy(offset), 0x5a, BLOCK);
	return count_areas(O_RDONLY) == NR_AREAS;
}

static bool survives(uint64_t offset)
{
	if (!is_found(offset))
		return false;
	if (count_areas(O_RDONLY) != NR_AREAS || count_areas(O_RDWR) != NR_AREAS)
		return false;
	return is_repaired(offset);
}

static void one_block_is_found(void)
{
	size_t harmless = 0;

	for (size_t i = 0; i < DAMAGES; i++) {
		uint64_t offset = metadata_offset(i % NR_METADATA);

		memcpy(disk->image, whole, DISK_BYTES);
		damage(offset);
		harmless += is_harmless(offset);
		if (!survives(offset)) {
			printf("# damage %zu of the block at %" PRIu64 ", SEED=%" PRIu64 "\n", i,
			       offset, seed);
			TAP_FAIL("it is not found, or not survived");
			return;
		}
	}
	printf("# %d damages, %zu of them harmless, SEED=%" PRIu64 "\n", DAMAGES, harmless, seed);
	CHECK(DAMAGES - harmless > 1000);
}

/* Both copies: the areas of that block are lost, all others are there. */
static void both_copies_cost_one_block(void)
{
	static const int left[] = { NR_AREAS - 10, NR_AREAS - 10, NR_AREAS - 5, NR_AREAS };
	const unsigned int both = CHARIO_CHECK_REPAIR | CHARIO_CHECK_FORGET;
	struct rig_findings findings = { .quiet = true };

	for (size_t i = 0; i < 4; i++) {
		uint64_t offset = metadata_offset(2 + i);

		memcpy(disk->image, whole, DISK_BYTES);
		scribble(disk->image + offset, BLOCK);
		scribble(disk->image + other_copy(offset), BLOCK);
		EQUAL(rig_check(disk, 0, &findings), 1);
		EQUAL(findings.last.damage, CHARIO_DAMAGE_BLOCKS);
		EQUAL(findings.last.severity, CHARIO_SEVERITY_LOSS);
		EQUAL(findings.last.block, i);
		EQUAL(count_areas(O_RDONLY), left[i]);
		EQUAL(count_areas(O_RDWR), -EUCLEAN);
		EQUAL(rig_check(disk, CHARIO_CHECK_REPAIR, &findings), 1);
		EQUAL(count_areas(O_RDONLY), left[i]);
		EQUAL(rig_check(disk, both, &findings), 0);
		EQUAL(rig_check(disk, 0, &findings), 0);
		EQUAL(count_areas(O_RDWR), left[i]);
	}
}

static void both_headers_are_named(void)
{
	struct rig_findings findings = { .quiet = true };

	memcpy(disk->image, whole, DISK_BYTES);
	disk->image[100] ^= 1;
	disk->image[DISK_BYTES - BLOCK + 100] ^= 1;
	EQUAL(count_areas(O_RDONLY), -ENOMEDIUM);
	EQUAL(rig_check(disk, CHARIO_CHECK_REPAIR | CHARIO_CHECK_FORGET, &findings), 1);
	EQUAL(findings.last.damage, CHARIO_DAMAGE_HEADERS);
	EQUAL(rig_format(disk, &layout), -EEXIST);
}

/* Many blocks at once, and nothing that crashes, hangs or contradicts itself. */
static void many_blocks_are_borne(void)
{
	for (size_t i = 0; i < CRAFTED / 2; i++) {
		memcpy(disk->image, whole, DISK_BYTES);
		for (uint64_t n = log_below(&random_state, 8) + 1; n; n--)
			damage(metadata_offset(log_below(&random_state, NR_METADATA)));
		if (!exercise_disk(disk, &random_state)) {
			TAP_FAIL("at %zu, SEED=%" PRIu64, i, seed);
			return;
		}
	}
}

/* values with a right checksum */

static uint64_t awkward_value(void)
{
	static const uint64_t values[] = { 0,          1,         4095,       4096,
					   UINT64_MAX, INT64_MAX, 1ULL << 63, DISK_BYTES,
					   8192,       0x100000,  1ULL << 32, UINT64_MAX - 4095 };

	if (log_below(&random_state, 3))
		return values[log_below(&random_state, sizeof(values) / sizeof(values[0]))];
	return log_below(&random_state, DISK_BYTES / BLOCK) * BLOCK;
}

/* A value of a header or of an entry; in both copies, so that it counts. */
static void craft(void)
{
	bool header = log_below(&random_state, 6) == 0;
	uint64_t offset = header ? 0 : metadata_offset(2 + log_below(&random_state, 3));
	size_t entry = log_below(&random_state, STORE_ENTRIES);
	size_t field = log_below(&random_state, header ? 8 : sizeof(struct store_fields) / 8);
	size_t at = header ? 40 + 8 * field : 96 + 400 * entry + 8 * field;
	uint64_t value = awkward_value();
	/* Flags are more interesting one at a time. */
	size_t bytes = !header && !field ? 4 : 8;

	if (!header && !field)
		value = log_below(&random_state, 64);
	memcpy(disk->image + offset + at, &value, bytes);
	memcpy(disk->image + other_copy(offset) + at, &value, bytes);
}

static void craft_name(void)
{
	uint64_t offset = metadata_offset(2 + log_below(&random_state, 3));
	size_t at = 96 + 400 * log_below(&random_state, STORE_ENTRIES) + 144;
	unsigned char name[256] = "area-1";

	if (log_below(&random_state, 2))
		memset(name, log_below(&random_state, 2) ? 'x' : '/', sizeof(name));
	memcpy(disk->image + offset + at, name, sizeof(name));
	memcpy(disk->image + other_copy(offset) + at, name, sizeof(name));
}

static void crafted_values_are_borne(void)
{
	for (size_t i = 0; i < CRAFTED; i++) {
		memcpy(disk->image, whole, DISK_BYTES);
		for (uint64_t n = log_below(&random_state, 4) + 1; n; n--)
			craft();
		if (!log_below(&random_state, 5))
			craft_name();
		exercise_seal(disk->image, DISK_BYTES);
		if (!exercise_disk(disk, &random_state)) {
			TAP_FAIL("at %zu, SEED=%" PRIu64, i, seed);
			return;
		}
	}
}

/* each fault has its name */

static struct store_entry *entry_at(size_t copy, size_t slot)
{
	struct store_table *table =
		(struct store_table *)(disk->image + metadata_offset(2 + copy * (NR_BLOCKS) +
								     slot / STORE_ENTRIES));

	return &table->entries[slot % STORE_ENTRIES];
}

/* What a check says of a table in which entry 1 is this. */
static uint32_t say(const struct store_entry *entry)
{
	struct rig_findings findings = { .quiet = true };

	memcpy(disk->image, whole, DISK_BYTES);
	for (size_t copy = 0; copy < 2; copy++)
		*entry_at(copy, 1) = *entry;
	exercise_seal(disk->image, DISK_BYTES);
	if (rig_check(disk, CHARIO_CHECK_REPAIR, &findings) != 1 ||
	    findings.last.severity != CHARIO_SEVERITY_LOSS || count_areas(O_RDWR) != -EUCLEAN ||
	    count_areas(O_RDONLY) < NR_AREAS - 1)
		return 0;
	return findings.last.damage;
}

static struct store_entry good_entry(void)
{
	memcpy(disk->image, whole, DISK_BYTES);
	return *entry_at(0, 1);
}

static void faults_of_an_entry_are_named(void)
{
	struct store_entry entry = good_entry();

	entry.fields.flags |= 1U << 31;
	EQUAL(say(&entry), CHARIO_DAMAGE_ENTRY);
	entry = good_entry();
	entry.fields.id = 0;
	EQUAL(say(&entry), CHARIO_DAMAGE_ENTRY);
	entry = good_entry();
	entry.fields.bytes = 0;
	EQUAL(say(&entry), CHARIO_DAMAGE_ENTRY);
	entry = good_entry();
	entry.fields.bytes = entry.fields.allocated_bytes + 1;
	EQUAL(say(&entry), CHARIO_DAMAGE_ENTRY);
	entry = good_entry();
	memset(entry.name, 'n', sizeof(entry.name));
	EQUAL(say(&entry), CHARIO_DAMAGE_ENTRY);
	entry = good_entry();
	entry.name[0] = 0;
	EQUAL(say(&entry), CHARIO_DAMAGE_ENTRY);
	entry = good_entry();
	entry.name[1] = '/';
	EQUAL(say(&entry), CHARIO_DAMAGE_ENTRY);
}

static void faults_of_a_place_are_named(void)
{
	struct store_entry entry = good_entry();

	entry.fields.offset = 0;
	EQUAL(say(&entry), CHARIO_DAMAGE_RANGE);
	entry = good_entry();
	entry.fields.offset += 512;
	EQUAL(say(&entry), CHARIO_DAMAGE_RANGE);
	entry = good_entry();
	entry.fields.offset = UINT64_MAX / BLOCK * BLOCK;
	EQUAL(say(&entry), CHARIO_DAMAGE_RANGE);
	entry = good_entry();
	entry.fields.offset += BLOCK;
	EQUAL(say(&entry), CHARIO_DAMAGE_OVERLAP);
	entry = good_entry();
	strcpy(entry.name, "area-20");
	EQUAL(say(&entry), CHARIO_DAMAGE_NAME);
}

static void faults_of_a_move_are_named(void)
{
	struct store_entry entry = good_entry();

	entry.fields.flags |= STORE_ENTRY_MOVING;
	entry.fields.move_offset = entry.fields.offset;
	EQUAL(say(&entry), CHARIO_DAMAGE_ENTRY);
	entry.fields.move_offset = entry.fields.offset - BLOCK;
	EQUAL(say(&entry), CHARIO_DAMAGE_ENTRY);
	entry.fields.move_offset = DISK_BYTES;
	EQUAL(say(&entry), CHARIO_DAMAGE_RANGE);
	entry.fields.move_offset = entry.fields.offset + 100 * BLOCK;
	entry.fields.moved_bytes = entry.fields.allocated_bytes + BLOCK;
	EQUAL(say(&entry), CHARIO_DAMAGE_ENTRY);
}

static const struct tap_test tests[] = {
	{ "damage of any one block is found, survived and repaired", one_block_is_found },
	{ "both copies of a block cost its areas only", both_copies_cost_one_block },
	{ "damage of both headers is named", both_headers_are_named },
	{ "damage of many blocks is borne", many_blocks_are_borne },
	{ "values that cannot be are borne", crafted_values_are_borne },
	{ "faults of an entry are named", faults_of_an_entry_are_named },
	{ "faults of a place are named", faults_of_a_place_are_named },
	{ "faults of a move are named", faults_of_a_move_are_named },
};

TAP_MAIN(tests, make_disk, drop_disk)
