// SPDX-License-Identifier: MIT
/*
 * No memory is left for what a change has made of the table: it is made all the same, and
 * what is in memory is made anew before it is used.
 */
#include "own-store.h"
#include "tap.h"

#define DISK_BYTES (1U << 20)

/* Places of areas that there is memory for at first, less one that is spare. */
#define MOST 63

static bool no_memory;

/* Stands before that of the C library; an index grows by it alone. */
void *reallocarray(void *memory, size_t count, size_t bytes)
{
	if (!no_memory)
		return realloc(memory, count * bytes);
	errno = ENOMEM;
	return NULL;
}

static void end(void)
{
	no_memory = false;
	drop_own_store();
}

TEST(durable_changes_are_made, "a change that is durable is made")
{
	struct chario_area_info info;

	EQUAL(rig_create_areas(store, MOST, 4096), 0);
	no_memory = true;
	EQUAL(chario_store_create(store, "one more", 4096, 0), 0);
	EQUAL(chario_store_find(store, "one more", &info, sizeof(info)), -ENOMEM);
	EQUAL(chario_store_create(store, "another", 4096, 0), -ENOMEM);
	no_memory = false;
	EQUAL(rig_count_areas(store), MOST + 1);
	EQUAL(rig_info(store, "one more").bytes, 4096);
	EQUAL(chario_store_create(store, "one more", 4096, 0), -EEXIST);
	CHECK(rig_is_finished(disk));
}

static int stop(uint64_t done_bytes, uint64_t total_bytes, void *data)
{
	return 1;
}

/* One area lies in two pieces, and there is memory for one place less than a second asks. */
static int leave_move(void)
{
	int err = chario_store_create(store, "gap", 4096, 0)             ?:
			  chario_store_create(store, "slides", 32768, 0) ?:
			  rig_create_areas(store, MOST - 1, 4096)        ?:
			  chario_store_remove(store, "gap");

	chario_store_close(store);
	err = err ?: rig_open(disk, O_RDWR, &store);
	return err ?: chario_store_defrag(store, stop, NULL) == 1 ? 0 : -EPROTO;
}

static bool holds(const char *name, char byte)
{
	char is = 0;

	return !rig_move(store, name, O_RDONLY, &is, 1, 4095) && is == byte;
}

TEST(moves_that_begin_wait, "a move that has begun goes on when there is memory")
{
	EQUAL(leave_move(), 0);
	EQUAL(rig_move(store, "area-0", O_RDWR, &(char){ 'x' }, 1, 4095), 0);
	no_memory = true;
	EQUAL(chario_store_resize(store, "area-0", 8192), -ENOMEM);
	no_memory = false;
	CHECK(rig_info(store, "area-0").flags & CHARIO_AREA_MOVING);
	CHECK(holds("area-0", 'x'));
	EQUAL(chario_store_resize(store, "area-0", 8192), 0);
	EQUAL(chario_store_defrag(store, NULL, NULL), 0);
	CHECK(holds("area-0", 'x'));
	CHECK(rig_is_finished(disk));
}

TEST_MAIN_WITH(make_own_store(DISK_BYTES, 512, 100), end())
