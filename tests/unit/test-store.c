// SPDX-License-Identifier: MIT
/*
 * What a store does when nothing goes wrong but its callers: every function and
 * every error that its headers promise.
 */
#include <chario/area.h>

#include "store/area-inner.h"
#include "own-store.h"
#include "tap.h"

#define KIB   1024ULL
#define MIB   (1024ULL * 1024)
#define BLOCK 4096ULL

static uint64_t offset_of(const char *name)
{
	return rig_info(store, name).offset;
}

static uint64_t length_of(const char *name)
{
	return rig_info(store, name).bytes;
}

/* One area of each length, in this order; a length of 0 ends them. */
static int make_areas(const char *names, const uint64_t *lengths)
{
	int err = 0;

	for (size_t i = 0; names[i] && !err; i++) {
		const char name[] = { names[i], 0 };

		err = chario_store_create(store, name, lengths[i], 0);
	}
	return err;
}

TEST(info_adds_up, "what a store says of itself adds up")
{
	const uint64_t lengths[] = { 5, 4096, 10000 };
	struct chario_store_info info = { 0 };

	EQUAL(make_areas("abc", lengths), 0);
	EQUAL(chario_store_get_info(store, &info, sizeof(info)), 0);
	EQUAL(info.size, sizeof(info));
	EQUAL(info.version, 1);
	EQUAL(info.nr_areas, 3);
	EQUAL(info.max_areas, 40);
	EQUAL(info.used_bytes, 5 * BLOCK);
	EQUAL(info.used_bytes + info.free_bytes, info.data_bytes);
	EQUAL(info.largest_hole_bytes, info.free_bytes);
	EQUAL(info.nr_holes, 1);
	EQUAL(info.table_bytes, 2 * 4 * BLOCK);
	EQUAL(info.data_offset + info.data_bytes + 4 * BLOCK + BLOCK, info.capacity_bytes);
	EQUAL(info.capacity_bytes, 4 * MIB);
	EQUAL(chario_store_get_info(store, &info, 8), -EINVAL);
}

TEST(names_have_rules, "names have rules")
{
	char name[CHARIO_STORE_NAME_MAX + 2];

	memset(name, 'n', sizeof(name));
	name[CHARIO_STORE_NAME_MAX + 1] = 0;
	EQUAL(chario_store_create(store, name, 1, 0), -ENAMETOOLONG);
	EQUAL(chario_store_find(store, name, &(struct chario_area_info){ 0 },
				sizeof(struct chario_area_info)),
	      -ENOENT);
	EQUAL(chario_store_remove(store, name), -ENOENT);
	name[CHARIO_STORE_NAME_MAX] = 0;
	EQUAL(chario_store_create(store, name, 1, 0), 0);
	EQUAL(length_of(name), 1);
	EQUAL(chario_store_create(store, name, 1, 0), -EEXIST);
	EQUAL(chario_store_create(store, "", 1, 0), -EINVAL);
	EQUAL(chario_store_create(store, ".", 1, 0), -EINVAL);
	EQUAL(chario_store_create(store, "..", 1, 0), -EINVAL);
	EQUAL(chario_store_create(store, "a/b", 1, 0), -EINVAL);
	EQUAL(chario_store_create(store, "...", 1, 0), 0);
	EQUAL(chario_store_create(store, "Grüße, 世界 🌍\n", 1, 0), 0);
	EQUAL(length_of("Grüße, 世界 🌍\n"), 1);
	EQUAL(chario_store_rename(store, name, "a/b"), -EINVAL);
	EQUAL(chario_store_rename(store, name, "..."), -EEXIST);
	EQUAL(chario_store_rename(store, name, name), 0);
	EQUAL(chario_store_rename(store, name, "short"), 0);
	EQUAL(length_of("short"), 1);
	EQUAL(chario_store_rename(store, name, "other"), -ENOENT);
}

TEST(lengths_have_rules, "lengths have rules")
{
	EQUAL(chario_store_create(store, "none", 0, 0), 0);
	EQUAL(length_of("none"), 0);
	EQUAL(chario_store_create(store, "flags", 1, 2), -EINVAL);
	EQUAL(chario_store_create(store, "long", UINT64_MAX, 0), -ENOSPC);
	EQUAL(chario_store_create(store, "long", 4 * MIB, 0), -ENOSPC);
	EQUAL(chario_store_create(store, "a", 1, 0), 0);
	EQUAL(chario_store_resize(store, "a", 0), 0);
	EQUAL(length_of("a"), 0);
	EQUAL(chario_store_resize(store, "a", UINT64_MAX), -ENOSPC);
	EQUAL(chario_store_resize(store, "a", 4 * MIB), -ENOSPC);
	EQUAL(chario_store_resize(store, "b", 1), -ENOENT);
	EQUAL(length_of("a"), 0);
}

TEST(table_fills_up, "the table fills up")
{
	EQUAL(rig_create_areas(store, 40, 1), 0);
	EQUAL(chario_store_create(store, "one more", 1, 0), -EMFILE);
	EQUAL(chario_store_remove(store, "area-17"), 0);
	EQUAL(chario_store_create(store, "one more", 1, 0), 0);
	EQUAL(chario_store_create(store, "another", 1, 0), -EMFILE);
}

TEST(smallest_hole_is_taken, "the smallest hole is taken")
{
	const uint64_t lengths[] = { 3 * BLOCK, 1, BLOCK, 1, 2 * BLOCK, 1 };
	uint64_t third, fifth;

	EQUAL(make_areas("123456", lengths), 0);
	third = offset_of("3");
	fifth = offset_of("5");
	EQUAL(chario_store_remove(store, "1"), 0);
	EQUAL(chario_store_remove(store, "3"), 0);
	EQUAL(chario_store_remove(store, "5"), 0);
	EQUAL(chario_store_create(store, "two", 2 * BLOCK, 0), 0);
	EQUAL(offset_of("two"), fifth);
	EQUAL(chario_store_create(store, "one", 1, 0), 0);
	EQUAL(offset_of("one"), third);
}

TEST(all_bytes_can_be_had, "all bytes can be had")
{
	struct chario_store_info info = { 0 };

	EQUAL(chario_store_get_info(store, &info, sizeof(info)), 0);
	EQUAL(chario_store_create(store, "all", info.largest_hole_bytes + 1, 0), -ENOSPC);
	EQUAL(chario_store_create(store, "all", info.largest_hole_bytes, 0), 0);
	EQUAL(chario_store_create(store, "none", 1, 0), -ENOSPC);
	EQUAL(chario_store_get_info(store, &info, sizeof(info)), 0);
	EQUAL(info.free_bytes, 0);
	EQUAL(info.nr_holes, 0);
	EQUAL(info.largest_hole_bytes, 0);
}

TEST(areas_are_aligned, "areas are aligned")
{
	struct chario_store_layout wide = {
		.size = sizeof(wide),
		.flags = CHARIO_LAYOUT_REPLACE,
		.alignment_bytes = 64 * KIB,
	};
	struct chario_store_info info = { 0 };
	const uint64_t lengths[] = { 1, BLOCK, 65 * KIB, 1 };

	chario_store_close(store);
	EQUAL(rig_format(disk, &wide), 0);
	EQUAL(rig_open(disk, O_RDWR, &store), 0);
	EQUAL(make_areas("abcd", lengths), 0);
	for (const char *name = "abcd"; *name; name++)
		EQUAL(offset_of((const char[]){ *name, 0 }) % (64 * KIB), 0);
	EQUAL(chario_store_remove(store, "b"), 0);
	EQUAL(chario_store_defrag(store, NULL, NULL), 0);
	EQUAL(chario_store_get_info(store, &info, sizeof(info)), 0);
	EQUAL(offset_of("c"), offset_of("a") + 64 * KIB);
	EQUAL(info.used_bytes + info.free_bytes, info.data_bytes);
}

/* bytes */

static void fill(unsigned char *memory, size_t bytes, uint64_t state)
{
	for (size_t i = 0; i < bytes; i++)
		memory[i] = (unsigned char)log_random(&state);
}

static bool holds(const char *name, const unsigned char *memory, size_t bytes)
{
	unsigned char *is = calloc(1, bytes + 1);
	bool same = !rig_move(store, name, O_RDONLY, is, bytes, 0) && !memcmp(is, memory, bytes);

	free(is);
	return same;
}

TEST(bytes_are_as_in_memory, "bytes are as in memory")
{
	static unsigned char should[3 * MIB], piece[3 * MIB];
	const size_t length = 2 * MIB + 777;
	struct chario_area *area;
	uint64_t random = 7;

	EQUAL(chario_store_create(store, "a", length, 0), 0);
	EQUAL(chario_area_open(store, "a", O_RDWR, &area), 0);
	fill(should, length, 1);
	EQUAL(chario_area_write(area, should, sizeof(should), 0), (ssize_t)length);
	for (int i = 0; i < 300; i++) {
		size_t offset = log_below(&random, length);
		size_t bytes = 1 + log_below(&random, i % 10 ? 9000 : length);
		size_t expected = bytes < length - offset ? bytes : length - offset;

		fill(piece, bytes, (uint64_t)i);
		EQUAL(chario_area_write(area, piece, bytes, offset), (ssize_t)expected);
		memcpy(should + offset, piece, expected);
		offset = log_below(&random, length);
		expected = bytes < length - offset ? bytes : length - offset;
		EQUAL(chario_area_read(area, piece, bytes, offset), (ssize_t)expected);
		CHECK(!memcmp(piece, should + offset, expected));
	}
	EQUAL(chario_area_read(area, piece, 1, length), 0);
	EQUAL(chario_area_write(area, piece, 1, length), -ENOSPC);
	EQUAL(chario_area_write(area, piece, 0, length), 0);
	EQUAL(chario_area_sync(area), 0);
	chario_area_close(area);
	CHECK(holds("a", should, length));
}

TEST(neighbours_are_left_alone, "neighbours are left alone")
{
	static unsigned char one[10000], two[10000];
	const uint64_t lengths[] = { 10000, 10000 };

	fill(one, sizeof(one), 1);
	fill(two, sizeof(two), 2);
	EQUAL(make_areas("ab", lengths), 0);
	EQUAL(rig_move(store, "b", O_RDWR, two, sizeof(two), 0), 0);
	EQUAL(rig_move(store, "a", O_RDWR, one, sizeof(one), 0), 0);
	CHECK(holds("a", one, sizeof(one)));
	CHECK(holds("b", two, sizeof(two)));
}

TEST(buffers_go_straight, "buffers go straight")
{
	struct chario_buffer *buffer;
	struct chario_area *area, *reader;
	unsigned char *memory;

	EQUAL(chario_store_create(store, "a", 3 * BLOCK - 5, 0), 0);
	EQUAL(chario_area_open(store, "a", O_RDWR, &area), 0);
	EQUAL(chario_area_open(store, "a", O_RDONLY, &reader), 0);
	EQUAL(chario_buffer_pool(chario_store_device(store), 4 * BLOCK, 0, &buffer), 0);
	memory = chario_buffer_memory(buffer);
	fill(memory, BLOCK, 5);
	EQUAL(chario_area_write_buffer(area, buffer, 0, BLOCK, BLOCK, 0), BLOCK);
	EQUAL(chario_area_read_buffer(reader, buffer, BLOCK, 2 * BLOCK, BLOCK, 0), 2 * BLOCK);
	CHECK(!memcmp(memory, memory + BLOCK, BLOCK));
	EQUAL(chario_area_read_buffer(area, buffer, 0, 4 * BLOCK, BLOCK, 0), 2 * BLOCK);
	EQUAL(chario_area_read_buffer(area, buffer, 0, BLOCK, 3 * BLOCK, 0), 0);
	EQUAL(chario_area_write_buffer(area, buffer, 0, BLOCK, 3 * BLOCK, 0), -ENOSPC);
	EQUAL(chario_area_write_buffer(area, buffer, 0, BLOCK, UINT64_MAX / BLOCK * BLOCK, 0),
	      -ENOSPC);
	EQUAL(chario_area_write_buffer(area, buffer, 0, BLOCK, 100, 0), -EINVAL);
	EQUAL(chario_area_write_buffer(reader, buffer, 0, BLOCK, 0, 0), -EROFS);
	EQUAL(chario_area_write(reader, memory, 1, 0), -EROFS);
	chario_buffer_free(buffer);
	chario_area_close(reader);
	chario_area_close(area);
}

/* who has what open */

TEST(area_has_one_writer, "an area has one writer and is not taken away")
{
	struct chario_area *writer, *reader, *second;

	EQUAL(chario_store_create(store, "a", 1, 0), 0);
	EQUAL(chario_area_open(store, "b", O_RDONLY, &reader), -ENOENT);
	EQUAL(chario_area_open(store, "a", O_WRONLY, &reader), -EINVAL);
	EQUAL(chario_area_open(store, "a", O_RDWR, &writer), 0);
	EQUAL(chario_area_open(store, "a", O_RDWR, &second), -EBUSY);
	EQUAL(chario_area_open(store, "a", O_RDONLY, &reader), 0);
	EQUAL(chario_store_remove(store, "a"), -EBUSY);
	EQUAL(chario_store_resize(store, "a", 2), -EBUSY);
	EQUAL(chario_store_rename(store, "a", "b"), 0);
	chario_area_close(writer);
	EQUAL(chario_area_open(store, "b", O_RDWR, &second), 0);
	chario_area_close(second);
	EQUAL(chario_store_remove(store, "b"), -EBUSY);
	chario_area_close(reader);
	EQUAL(chario_store_remove(store, "b"), 0);
}

TEST(open_store_is_not_formatted, "an open store is not formatted")
{
	struct chario_store_layout again = { .size = sizeof(again), .max_areas = 40 };

	EQUAL(rig_format(disk, &again), -EBUSY);
	EQUAL(rig_check(disk, CHARIO_CHECK_REPAIR, NULL), -EBUSY);
	EQUAL(rig_check(disk, 0, NULL), 0);
	chario_store_close(store);
	store = NULL;
	EQUAL(rig_format(disk, &again), -EEXIST);
	again.flags = CHARIO_LAYOUT_REPLACE;
	EQUAL(rig_format(disk, &again), 0);
	EQUAL(rig_check(disk, CHARIO_CHECK_REPAIR, NULL), 0);
}

TEST(layouts_have_rules, "layouts have rules")
{
	static const struct {
		struct chario_store_layout layout;
		int err;
	} cases[] = {
		{ { .size = sizeof(struct chario_store_layout), .flags = 2 }, -EINVAL },
		{ { .size = 8, .max_areas = 40 }, -EINVAL },
		{ { .size = sizeof(struct chario_store_layout), .max_areas = (1 << 20) + 1 },
		  -EINVAL },
		{ { .size = sizeof(struct chario_store_layout), .max_areas = 1 << 20 }, -ENOSPC },
		{ { .size = sizeof(struct chario_store_layout), .alignment_bytes = 2048 },
		  -EINVAL },
		{ { .size = sizeof(struct chario_store_layout), .alignment_bytes = 3 * BLOCK },
		  -EINVAL },
		{ { .size = sizeof(struct chario_store_layout), .alignment_bytes = 4 * MIB },
		  -ENOSPC },
		{ { .size = sizeof(struct chario_store_layout), .alignment_bytes = BLOCK }, 0 },
	};

	chario_store_close(store);
	store = NULL;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct chario_store_layout one = cases[i].layout;

		one.flags |= CHARIO_LAYOUT_REPLACE;
		if (!one.max_areas)
			one.max_areas = 10;
		EQUAL(rig_format(disk, &one), cases[i].err);
	}
}

TEST(reading_changes_nothing, "reading changes nothing")
{
	struct chario_store *reader;
	struct chario_area *area;

	EQUAL(chario_store_create(store, "a", 1, 0), 0);
	EQUAL(rig_open(disk, O_WRONLY, &reader), -EINVAL);
	EQUAL(rig_open(disk, O_RDONLY, &reader), 0);
	disk->faults.write.times = 1;
	EQUAL(chario_store_create(reader, "b", 1, 0), -EROFS);
	EQUAL(chario_store_create(reader, "b", UINT64_MAX, 0), -EROFS);
	EQUAL(chario_store_rename(reader, "a", "b"), -EROFS);
	EQUAL(chario_store_resize(reader, "a", 2), -EROFS);
	EQUAL(chario_store_resize(reader, "a", UINT64_MAX), -EROFS);
	EQUAL(chario_store_remove(reader, "a"), -EROFS);
	EQUAL(chario_store_defrag(reader, NULL, NULL), -EROFS);
	EQUAL(chario_area_open(reader, "a", O_RDWR, &area), -EROFS);
	EQUAL(chario_area_open(reader, "a", O_RDONLY, &area), 0);
	EQUAL(chario_area_set_filled(area, 1, 0), -EROFS);
	chario_area_close(area);
	EQUAL(disk->faults.write.times, 1);
	chario_store_close(reader);
}

TEST_MAIN_WITH(make_own_store(4 * MIB, 512, 40), drop_own_store())
