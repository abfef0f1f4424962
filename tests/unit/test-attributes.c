// SPDX-License-Identifier: MIT
/*
 * The user's own keys and values of an area.
 */
#include "store-exercise.h"
#include "own-store.h"

#define STORE_BYTES (1ULL << 20)

/* Bytes that are left for attributes behind the name "a". */
#define ROOM (CHARIO_STORE_NAME_MAX + 1 - sizeof("a"))

static void make_store(void)
{
	make_own_store(STORE_BYTES, 512, 40);
	if (chario_store_create(store, "a", 1, 0) || chario_store_create(store, "b", 1, 0))
		abort();
}

/* Whether an area has this value of a key; NULL for none. */
static bool has(const char *name, const char *key, const char *value)
{
	struct chario_area_info info = rig_info(store, name);
	const char *is = chario_area_attribute(&info, key);

	return is && value ? !strcmp(is, value) : is == value;
}

static bool has_all(const char *name, const char *attributes, size_t bytes)
{
	struct chario_area_info info = rig_info(store, name);

	return !memcmp(info.attributes, attributes, bytes);
}

TEST(are_set_and_taken_away, "attributes are set and taken away")
{
	static const char both[] = "lens=35mm\0note=a=b\0";

	CHECK(has_all("a", "", 1));
	EQUAL(chario_store_set_attributes(store, "a", both), 0);
	CHECK(has_all("a", both, sizeof(both)));
	CHECK(has("a", "lens", "35mm"));
	CHECK(has("a", "note", "a=b"));
	CHECK(has("a", "len", NULL));
	CHECK(has("a", "note=a", NULL));
	CHECK(has("a", "", NULL));
	EQUAL(chario_store_set_attributes(store, "a", "lens\0nosuch\0empty=\0"), 0);
	CHECK(has("a", "lens", NULL));
	CHECK(has("a", "empty", ""));
	CHECK(has("a", "note", "a=b"));
	CHECK(has_all("b", "", 1));
	EQUAL(chario_store_set_attributes(store, "a", ""), 0);
	CHECK(has("a", "empty", ""));
}

TEST(the_last_word_counts, "of what is said of a key twice the last counts")
{
	EQUAL(chario_store_set_attributes(store, "a", "x=1\0x\0x=2\0y=1\0y\0"), 0);
	CHECK(has_all("a", "x=2\0", 5));
}

TEST(keys_have_rules, "keys have rules")
{
	EQUAL(chario_store_set_attributes(store, "nosuch", "x=1\0"), -ENOENT);
	EQUAL(chario_store_set_attributes(store, "a", "x=1\0=2\0"), -EINVAL);
	CHECK(has_all("a", "", 1));
}

/* As long as fits, and one byte more. */
TEST(room_has_an_end, "their room has an end")
{
	char longest[ROOM + 1] = "k=";
	char more[ROOM + 2] = "k=";
	struct chario_area *area;

	memset(longest + 2, 'v', ROOM - 3);
	memset(more + 2, 'v', ROOM - 2);
	EQUAL(chario_store_set_attributes(store, "a", more), -E2BIG);
	CHECK(has_all("a", "", 1));
	EQUAL(chario_store_set_attributes(store, "a", longest), 0);
	CHECK(has_all("a", longest, sizeof(longest)));
	EQUAL(chario_store_set_attributes(store, "a", "x=\0"), -E2BIG);
	CHECK(has_all("a", longest, sizeof(longest)));
	EQUAL(chario_store_rename(store, "a", "aa"), -E2BIG);
	EQUAL(chario_store_create(store, "other", 1, 0), 0);
	EQUAL(chario_store_exchange(store, "a", "other"), -E2BIG);
	EQUAL(chario_store_replace(store, "a", "other"), -E2BIG);
	EQUAL(chario_store_create(store, "f", 1, CHARIO_CREATE_FILLING), 0);
	EQUAL(chario_store_set_attributes(store, "f", longest), 0);
	EQUAL(chario_area_open(store, "f", O_RDWR, &area), 0);
	EQUAL(chario_area_publish(area, "other"), -E2BIG);
	chario_area_close(area);
	EQUAL(chario_store_exchange(store, "a", "b"), 0);
	CHECK(has_all("b", longest, sizeof(longest)));
	CHECK(has_all("a", "", 1));
}

/* Whatever is done to the area, also by somebody who has it open meanwhile. */
TEST(stay_with_the_area, "they stay with the area")
{
	struct chario_area_info info;
	struct chario_area *area;

	EQUAL(chario_store_set_attributes(store, "a", "x=1\0"), 0);
	EQUAL(chario_store_rename(store, "a", "renamed"), 0);
	EQUAL(chario_store_resize(store, "renamed", 100000), 0);
	CHECK(has("renamed", "x", "1"));
	EQUAL(chario_store_create(store, "c", 1, CHARIO_CREATE_FILLING), 0);
	EQUAL(chario_area_open(store, "c", O_RDWR, &area), 0);
	EQUAL(chario_store_set_attributes(store, "c", "x=2\0"), 0);
	EQUAL(chario_area_set_filled(area, 0, 1), 0);
	CHECK(has("c", "x", "2"));
	EQUAL(chario_area_publish(area, "b"), 0);
	chario_area_close(area);
	CHECK(has("b", "x", "2"));
	EQUAL(chario_area_open(store, "b", O_RDONLY, &area), 0);
	EQUAL(chario_area_get_info(area, &info, sizeof(info)), 0);
	chario_area_close(area);
	EQUAL(strcmp(info.attributes, "x=2"), 0);
	chario_store_close(store);
	EQUAL(rig_open(disk, O_RDWR, &store), 0);
	CHECK(has("renamed", "x", "1"));
	CHECK(has("b", "x", "2"));
}

/* What takes the place of an area has its attributes, but for those of its own. */
TEST(pass_to_what_replaces, "they pass to what takes its place")
{
	struct chario_area *area;

	EQUAL(chario_store_set_attributes(store, "a", "x=1\0"), 0);
	EQUAL(chario_store_replace(store, "b", "a"), 0);
	CHECK(has("a", "x", "1"));
	EQUAL(chario_store_create(store, "own", 1, 0), 0);
	EQUAL(chario_store_set_attributes(store, "own", "y=1\0"), 0);
	EQUAL(chario_store_replace(store, "own", "a"), 0);
	CHECK(has("a", "x", NULL));
	CHECK(has("a", "y", "1"));
	EQUAL(chario_store_create(store, "new", 1, CHARIO_CREATE_FILLING), 0);
	EQUAL(chario_area_open(store, "new", O_RDWR, &area), 0);
	EQUAL(chario_area_publish(area, "a"), 0);
	chario_area_close(area);
	CHECK(has("a", "y", "1"));
}

TEST(others_see_them, "others see them")
{
	struct chario_store *mine = store;

	EQUAL(rig_open(disk, O_RDONLY, &store), 0);
	CHECK(has("a", "x", NULL));
	EQUAL(chario_store_set_attributes(mine, "a", "x=1\0"), 0);
	CHECK(has("a", "x", "1"));
	EQUAL(chario_store_set_attributes(mine, "a", "x=10\0"), 0);
	CHECK(has("a", "x", "10"));
	EQUAL(chario_store_set_attributes(mine, "a", "x\0"), 0);
	CHECK(has("a", "x", NULL));
	EQUAL(chario_store_set_attributes(store, "a", "x=1\0"), -EROFS);
	chario_store_close(store);
	store = mine;
}

/* What somebody else has left behind a name, and is no attribute, ends them. */
TEST(what_is_none_ends_them, "what is no attribute ends them")
{
	static const char labels[][12] = { "a\0x=1\0no", "a\0x=1\0=1", "a\0x=1\0\0y=2" };
	unsigned char *name = disk->image + 2 * CHARIO_STORE_BLOCK + 96 + 144;
	char full[CHARIO_STORE_NAME_MAX + 1];

	for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++) {
		memset(name, 0, sizeof(full));
		memcpy(name, labels[i], sizeof(labels[i]));
		exercise_seal(disk->image, STORE_BYTES);
		chario_store_close(store);
		EQUAL(rig_open(disk, O_RDWR, &store), 0);
		CHECK(has_all("a", "x=1\0", 5));
		EQUAL(chario_store_set_attributes(store, "a", "z=3\0"), 0);
		CHECK(has_all("a", "x=1\0z=3\0", 9));
	}
	/* One that the field ends in. */
	memset(full, 'v', sizeof(full));
	memcpy(full, "a\0k=", 4);
	memcpy(name, full, sizeof(full));
	exercise_seal(disk->image, STORE_BYTES);
	chario_store_close(store);
	EQUAL(rig_open(disk, O_RDWR, &store), 0);
	CHECK(has_all("a", "", 1));
}

TEST_MAIN(make_store, drop_own_store)
