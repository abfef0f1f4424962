// SPDX-License-Identifier: MIT
/*
 * A store in a file that gets no room: the table is as long as the file, and a file
 * system or a limit refuses to write some of it.
 */
#include <sys/uio.h>

#include <chario/check.h>
#include <chario/store.h>

#include "scratch.h"

#define BYTES (1U << 20)

/* The middle of the disk: behind it is the second copy of the table. */
#define MIDDLE (BYTES / 2)

static struct chario_store *store;

/* Behind the header, the note and the table of one block, which this size has. */
#define DATA (3 * 4096)

/* Writes at and behind @from fail, up to @to; and flushes do. */
static int write_error, flush_error;
static off_t from, to = BYTES;

/* Stand before those of the C library. */
ssize_t pwritev2(int fd, const struct iovec *pieces, int nr_pieces, off_t offset, int flags)
{
	if (write_error && offset >= from && offset < to) {
		errno = write_error;
		return -1;
	}
	return pwritev(fd, pieces, nr_pieces, offset);
}

int fdatasync(int fd)
{
	errno = flush_error;
	return flush_error ? -1 : 0;
}

static void begin(void)
{
	scratch_file("store", BYTES);
	tap_need(!chario_store_format("store", NULL) && !chario_store_open("store", O_RDWR, &store),
		 "there is no store");
}

static void end(void)
{
	write_error = flush_error = 0;
	to = BYTES;
	chario_store_close(store);
}

static bool is_there(const char *name)
{
	struct chario_area_info info;

	return !chario_store_find(store, name, &info, sizeof(info));
}

static int ignore(const struct chario_finding *finding, void *data)
{
	return 0;
}

/* What is said to have failed has not been done, and the store is sound. */
static void fail_second_copy(int error, int result)
{
	EQUAL(chario_store_create(store, "first", 4096, 0), 0);
	write_error = error;
	from = MIDDLE;
	EQUAL(chario_store_create(store, "second", 4096, 0), result);
	EQUAL(is_there("second"), false);
	EQUAL(chario_store_remove(store, "first"), result);
	EQUAL(is_there("first"), true);
	EQUAL(chario_store_rename(store, "first", "other"), result);
	EQUAL(is_there("first"), true);
	EQUAL(chario_store_check("store", 0, ignore, NULL), 0);
	write_error = 0;
	EQUAL(chario_store_create(store, "second", 4096, 0), 0);
	EQUAL(is_there("second"), true);
	EQUAL(chario_store_check("store", 0, ignore, NULL), 0);
}

TEST(test_limit, "a change that a limit ends has not been made")
{
	fail_second_copy(EFBIG, -EFBIG);
}

TEST(test_errors, "a change that an error ends has not been made")
{
	fail_second_copy(EIO, -EIO);
}

/* That no hole is long enough is another thing. */
TEST(test_file_system, "a full file system is no want of a hole")
{
	fail_second_copy(ENOSPC, -EDQUOT);
	write_error = ENOSPC;
	from = 0;
	EQUAL(chario_store_create(store, "third", 4096, 0), -EDQUOT);
	EQUAL(chario_store_create(store, "third", BYTES, 0), -ENOSPC);
}

/* "moves" has to move to grow, and so has all that lies behind "gap". */
static void make_areas(void)
{
	EQUAL(chario_store_create(store, "gap", 4096, 0), 0);
	EQUAL(chario_store_create(store, "moves", 4096, 0), 0);
	EQUAL(chario_store_create(store, "next", 4096, 0), 0);
	EQUAL(chario_store_remove(store, "gap"), 0);
}

static void fail_to_move(int result)
{
	EQUAL(chario_store_resize(store, "moves", 8192), result);
	EQUAL(chario_store_defrag(store, NULL, NULL), result);
	write_error = flush_error = 0;
	EQUAL(chario_store_resize(store, "moves", 8192), 0);
	EQUAL(chario_store_defrag(store, NULL, NULL), 0);
	EQUAL(chario_store_check("store", 0, ignore, NULL), 0);
}

TEST(test_moves, "nor is it for a move")
{
	make_areas();
	write_error = ENOSPC;
	from = DATA;
	to = MIDDLE;
	fail_to_move(-EDQUOT);
	EQUAL(chario_store_resize(store, "moves", BYTES - 4096), -ENOSPC);
}

TEST(test_flushes, "nor for a flush of one")
{
	make_areas();
	flush_error = ENOSPC;
	fail_to_move(-EDQUOT);
}

TEST_MAIN(begin, end)
