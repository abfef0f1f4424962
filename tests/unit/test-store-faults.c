// SPDX-License-Identifier: MIT
/*
 * Values of a store that cannot be, with a right checksum: any of them are borne, and
 * each fault of an entry has its name.
 *
 * SEED=N repeats a run.
 */
#include <inttypes.h>

#include "store-exercise.h"
#include "store/area-inner.h"
#include "store-wreck.h"
#include "tap.h"

#define CRAFTED 500

static uint64_t awkward_value(void)
{
	static const uint64_t values[] = { 0,          1,         4095,       4096,
					   UINT64_MAX, INT64_MAX, 1ULL << 63, WRECK_BYTES,
					   8192,       0x100000,  1ULL << 32, UINT64_MAX - 4095 };

	if (wreck_below(3))
		return values[wreck_below(sizeof(values) / sizeof(values[0]))];
	return wreck_below(WRECK_BYTES / BLOCK) * BLOCK;
}

/* A value of a header or of an entry; in both copies, so that it counts. */
static void craft(void)
{
	bool header = wreck_below(6) == 0;
	uint64_t offset = header ? 0 : wreck_offset(2 + wreck_below(3));
	size_t entry = wreck_below(STORE_ENTRIES);
	size_t field = wreck_below(header ? 9 : sizeof(struct store_fields) / 8);
	size_t at = header ? 40 + 8 * field : 96 + 400 * entry + 8 * field;
	uint64_t value = awkward_value();
	/* Flags are more interesting one at a time. */
	size_t bytes = !header && !field ? 4 : 8;

	if (!header && !field)
		value = wreck_below(64);
	memcpy(wreck.disk->image + offset + at, &value, bytes);
	memcpy(wreck.disk->image + wreck_other_copy(offset) + at, &value, bytes);
}

static void craft_name(void)
{
	uint64_t offset = wreck_offset(2 + wreck_below(3));
	size_t at = 96 + 400 * wreck_below(STORE_ENTRIES) + 144;
	unsigned char name[256] = "area-1";

	if (wreck_below(2))
		memset(name, wreck_below(2) ? 'x' : '/', sizeof(name));
	memcpy(wreck.disk->image + offset + at, name, sizeof(name));
	memcpy(wreck.disk->image + wreck_other_copy(offset) + at, name, sizeof(name));
}

TEST(crafted_values_are_borne, "values that cannot be are borne")
{
	for (size_t i = 0; i < CRAFTED; i++) {
		wreck_mend();
		for (uint64_t n = wreck_below(4) + 1; n; n--)
			craft();
		if (!wreck_below(5))
			craft_name();
		exercise_seal(wreck.disk->image, WRECK_BYTES);
		if (!exercise_disk(wreck.disk, &wreck.random)) {
			TAP_FAIL("at %zu, SEED=%" PRIu64, i, wreck.seed);
			return;
		}
	}
}

/* each fault has its name */

static struct store_entry *entry_at(size_t copy, size_t slot)
{
	struct store_table *table =
		(struct store_table *)(wreck.disk->image + wreck_offset(2 + copy * WRECK_BLOCKS +
									slot / STORE_ENTRIES));

	return &table->entries[slot % STORE_ENTRIES];
}

/* What a check says of a table in which entry 1 is this. */
static uint32_t say(const struct store_entry *entry)
{
	wreck_mend();
	for (size_t copy = 0; copy < 2; copy++)
		*entry_at(copy, 1) = *entry;
	exercise_seal(wreck.disk->image, WRECK_BYTES);
	if (wreck_check(CHARIO_CHECK_REPAIR) != 1 ||
	    wreck.findings.last.severity != CHARIO_SEVERITY_LOSS ||
	    wreck_count_areas(O_RDWR) != -EUCLEAN || wreck_count_areas(O_RDONLY) < WRECK_AREAS - 1)
		return 0;
	return wreck.findings.last.damage;
}

static struct store_entry good_entry(void)
{
	wreck_mend();
	return *entry_at(0, 1);
}

/* What an entry is called that has been changed so. */
#define CALLED(damage, change)                       \
	do {                                         \
		struct store_entry e = good_entry(); \
		struct store_fields *f = &e.fields;  \
                                                     \
		(void)f;                             \
		change;                              \
		EQUAL(say(&e), damage);              \
	} while (0)

TEST(faults_of_an_entry_are_named, "faults of an entry are named")
{
	CALLED(CHARIO_DAMAGE_ENTRY, f->id = 0);
	CALLED(CHARIO_DAMAGE_ENTRY, f->bytes = f->allocated_bytes = 0);
	CALLED(CHARIO_DAMAGE_ENTRY, f->bytes = f->allocated_bytes + 1);
	CALLED(CHARIO_DAMAGE_ENTRY, memset(e.name, 'n', sizeof(e.name)));
	CALLED(CHARIO_DAMAGE_ENTRY, e.name[0] = 0);
	CALLED(CHARIO_DAMAGE_ENTRY, e.name[1] = '/');
}

TEST(faults_of_a_place_are_named, "faults of a place are named")
{
	CALLED(CHARIO_DAMAGE_RANGE, f->offset = 0);
	CALLED(CHARIO_DAMAGE_RANGE, f->offset += 512);
	CALLED(CHARIO_DAMAGE_RANGE, f->offset = UINT64_MAX / BLOCK * BLOCK);
	CALLED(CHARIO_DAMAGE_OVERLAP, f->offset += BLOCK);
	CALLED(CHARIO_DAMAGE_NAME, strcpy(e.name, "area-20"));
}

/* Have an entry be one that moves. */
static void move(struct store_fields *fields, uint64_t from, uint64_t moved_bytes)
{
	fields->flags |= STORE_ENTRY_MOVING;
	fields->move_offset = from;
	fields->moved_bytes = moved_bytes;
}

TEST(faults_of_a_move_are_named, "faults of a move are named")
{
	CALLED(CHARIO_DAMAGE_ENTRY, move(f, f->offset, 0));
	CALLED(CHARIO_DAMAGE_ENTRY, move(f, f->offset - BLOCK, 0));
	CALLED(CHARIO_DAMAGE_RANGE, move(f, WRECK_BYTES, 0));
	CALLED(CHARIO_DAMAGE_ENTRY, move(f, f->offset + 100 * BLOCK, f->allocated_bytes + BLOCK));
}

/* It may be right: nothing is written, not even where a copy of another block is damaged. */
TEST(newer_entries_are_left_alone, "entries of a newer release are left alone")
{
	unsigned char *before = malloc(WRECK_BYTES);

	wreck_mend();
	entry_at(0, 1)->fields.flags |= 1U << 31;
	entry_at(1, 1)->fields.flags |= 1U << 31;
	exercise_seal(wreck.disk->image, WRECK_BYTES);
	WRECK_FINDS(0, 1, CHARIO_DAMAGE_NEWER, CHARIO_SEVERITY_UNKNOWN);
	SAME_TEXT(wreck.findings.last.name, "area-1");
	EQUAL(wreck_count_areas(O_RDWR), -EUCLEAN);
	EQUAL(wreck_count_areas(O_RDONLY), WRECK_AREAS - 1);
	memset(wreck.disk->image, 0, BLOCK);
	memset(wreck.disk->image + wreck_offset(3), 0x5a, BLOCK);
	memset(wreck.disk->image + wreck_other_copy(wreck_offset(4)), 0x5a, BLOCK);
	memcpy(before, wreck.disk->image, WRECK_BYTES);
	EQUAL(wreck_check(WRECK_FORGET), 4);
	CHECK(!memcmp(before, wreck.disk->image, WRECK_BYTES));
	free(before);
}

/* Such a one opens for reading, and a check says why it does not for writing. */
TEST(newer_stores_are_said_to_be, "stores of a newer release are said to be")
{
	const uint64_t write_features = 4;
	const size_t at = offsetof(struct store_header, write_features);

	wreck_mend();
	memcpy(wreck.disk->image + at, &write_features, 8);
	memcpy(wreck.disk->image + wreck_other_copy(0) + at, &write_features, 8);
	exercise_seal(wreck.disk->image, WRECK_BYTES);
	EQUAL(wreck_count_areas(O_RDWR), -EPROTO);
	EQUAL(wreck_count_areas(O_RDONLY), WRECK_AREAS);
	EQUAL(wreck_check(CHARIO_CHECK_REPAIR), -EPROTO);
	WRECK_FINDS(0, 1, CHARIO_DAMAGE_NEWER, CHARIO_SEVERITY_UNKNOWN);
}

/* A visitor's result is that of the check, whichever number it is. */
static int refuse(const struct chario_finding *finding, void *data)
{
	return -EUCLEAN;
}

TEST(visitors_are_heard, "what a visitor returns is what a check gives")
{
	struct chario_device *device;

	wreck_mend();
	entry_at(0, 1)->fields.flags |= 1U << 31;
	device = log_disk_open(wreck.disk, O_RDONLY);
	EQUAL(chario_store_check_device(device, 0, refuse, NULL), -EUCLEAN);
	memset(wreck.disk->image + 100, 0x5a, 8);
	memset(wreck.disk->image + WRECK_BYTES - BLOCK + 100, 0x5a, 8);
	EQUAL(chario_store_check_device(device, 0, refuse, NULL), -EUCLEAN);
	chario_device_close(device);
}

/* Have the slot of an area that is open be another's, or nobody's; and the table be read. */
static void take_slot(size_t slot, uint64_t id)
{
	for (size_t copy = 0; copy < 2; copy++) {
		struct store_entry *entry = entry_at(copy, slot);

		if (id)
			entry->fields.id = id;
		else
			memset(entry, 0, sizeof(*entry));
	}
	exercise_seal(wreck.disk->image, WRECK_BYTES);
	memset(wreck.disk->image + STORE_CHANGES_BLOCK * BLOCK, 0, BLOCK);
}

static void lose_open_area(uint64_t id)
{
	struct chario_area_stream stream = { .session = 1, .segment_bytes = 4096, .window = 1 };
	unsigned char before[BLOCK];
	struct chario_store *store;
	struct chario_area *area;

	wreck_mend();
	EQUAL(rig_open(wreck.disk, O_RDWR, &store), 0);
	EQUAL(chario_area_open(store, "area-20", O_RDWR, &area), 0);
	take_slot(20, id);
	memcpy(before, wreck.disk->image + wreck_offset(4), BLOCK);
	EQUAL(chario_area_set_filled(area, 4096, 1), -EUCLEAN);
	EQUAL(chario_area_set_stream(area, &stream), -EUCLEAN);
	EQUAL(chario_area_get_stream(area, &stream), -EUCLEAN);
	CHECK(!memcmp(before, wreck.disk->image + wreck_offset(4), BLOCK));
	chario_area_close(area);
	EQUAL(chario_store_create(store, "new", 4096, 0), 0);
	chario_store_close(store);
}

TEST(areas_that_are_gone_are_not_changed, "an area that is gone while it is open is not changed")
{
	lose_open_area(0);
	lose_open_area(99);
}

TEST_MAIN(wreck_begin, wreck_end)
