// SPDX-License-Identifier: MIT
/*
 * Nothing of the dead lands on the living: a process has died, and what it has begun to write
 * is still on its way.  That keeps the file open which the transfers use; here a process that
 * has nothing else of it stands for that.
 */
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <chario/area.h>

#include "device/ops.h"
#include "store-file.h"

#define FILE_BYTES (1 << 20)
#define AREA_BYTES 8192

#define SECOND_NS 1000000000ULL

static unsigned int waits;
static uint64_t told_ns;

static int note_wait(uint64_t patience_ns, void *data)
{
	told_ns = patience_ns;
	waits += patience_ns >= 10 * SECOND_NS && data == &waits;
	return 1;
}

static void make_store(void)
{
	struct chario_store *store;

	make_file_store(FILE_BYTES);
	if (chario_store_open(path, O_RDWR, &store) ||
	    chario_store_create(store, "there", AREA_BYTES, 0) ||
	    chario_store_create(store, "other", AREA_BYTES, 0))
		abort();
	chario_store_close(store);
	waits = 0;
	chario_store_on_wait(note_wait, &waits);
	/* What the dead leave behind is ours to end. */
	if (prctl(PR_SET_CHILD_SUBREAPER, 1))
		abort();
}

static void drop_store(void)
{
	chario_store_on_wait(NULL, NULL);
	drop_file();
}

/* Only the file of the transfers is left. */
static void be_on_the_way(const struct chario_store *store, int ready)
{
	unsigned int fd = (unsigned int)chario_device_fd(chario_store_device(store));
	unsigned int word = (unsigned int)ready, first = fd < word ? fd : word,
		     second = fd < word ? word : fd;

	alarm(ALARM_S);
	if (first)
		syscall(SYS_close_range, 0, first - 1, 0);
	if (second > first + 1)
		syscall(SYS_close_range, first + 1, second - 1, 0);
	syscall(SYS_close_range, second + 1, ~0U, 0);
	if (write(ready, &(pid_t){ getpid() }, sizeof(pid_t)) == sizeof(pid_t))
		close(ready);
	pause();
	_exit(0);
}

/* What it does before it dies. */
enum deed { WRITES_TO_AREA, CHANGES_TABLE };

static void die(enum deed deed, int ready)
{
	struct chario_store *store;
	struct chario_area *area;
	int err = chario_store_open(path, O_RDWR, &store);

	if (!err && deed == WRITES_TO_AREA)
		err = chario_area_open(store, "there", O_RDWR, &area);
	else if (!err)
		err = chario_change_begin(store);
	if (!err && !fork())
		be_on_the_way(store, ready);
	_exit(err ? 1 : 0);
}

/* A process that has died; the one that stands for its writes, or -1. */
static pid_t leave_behind(enum deed deed)
{
	pid_t left = -1, child;
	int status, ends[2];

	fflush(stdout);
	if (pipe2(ends, O_CLOEXEC))
		return -1;
	child = fork();
	if (!child)
		die(deed, ends[1]);
	close(ends[1]);
	if (read(ends[0], &left, sizeof(left)) != sizeof(left))
		left = -1;
	close(ends[0]);
	return waitpid(child, &status, 0) == child && !status ? left : -1;
}

static void arrive(pid_t left)
{
	EQUAL(kill(left, SIGKILL), 0);
	EQUAL(waitpid(left, NULL, 0), left);
}

/* Nobody who lives has it, and it is nobody's yet. */
TEST(nobody_gets_an_area_that_is_being_written, "nobody gets an area that is being written to")
{
	const struct chario_store_layout layout = {
		.size = sizeof(layout),
		.flags = CHARIO_LAYOUT_REPLACE,
	};
	pid_t left = leave_behind(WRITES_TO_AREA);
	struct chario_store *store;
	struct chario_area *area;

	CHECK(left > 0);
	EQUAL(chario_store_open(path, O_RDWR, &store), 0);
	EQUAL(chario_area_open(store, "there", O_RDWR, &area), -EBUSY);
	EQUAL(waits, 1);
	EQUAL(chario_store_remove(store, "there"), -EBUSY);
	EQUAL(chario_store_resize(store, "there", 2 * AREA_BYTES), -EBUSY);
	EQUAL(waits, 3);
	/* Who reads, and who wants something else, does not wait. */
	EQUAL(chario_area_open(store, "there", O_RDONLY, &area), 0);
	chario_area_close(area);
	EQUAL(chario_area_open(store, "other", O_RDWR, &area), 0);
	chario_area_close(area);
	EQUAL(chario_store_defrag(store, NULL, NULL), 0);
	EQUAL(chario_store_rename(store, "there", "renamed"), 0);
	EQUAL(chario_store_rename(store, "renamed", "there"), 0);
	EQUAL(waits, 3);
	chario_store_close(store);
	EQUAL(chario_store_format(path, &layout), -EBUSY);
	EQUAL(chario_store_check(path, CHARIO_CHECK_REPAIR, let_finding_pass, NULL), -EBUSY);
	EQUAL(waits, 5);
	arrive(left);
	EQUAL(chario_store_open(path, O_RDWR, &store), 0);
	EQUAL(chario_area_open(store, "there", O_RDWR, &area), 0);
	chario_area_close(area);
	EQUAL(chario_store_remove(store, "there"), 0);
	chario_store_close(store);
	EQUAL(chario_store_check(path, CHARIO_CHECK_REPAIR, let_finding_pass, NULL), 0);
	EQUAL(waits, 5);
}

/* The block of the table that it was changing is not read before its write has ended. */
TEST(nobody_changes_a_table_that_is_being_written, "nobody changes a table that is being written")
{
	pid_t left = leave_behind(CHANGES_TABLE);
	struct chario_store *store;

	CHECK(left > 0);
	EQUAL(chario_store_open(path, O_RDWR, &store), 0);
	EQUAL(chario_store_create(store, "new", AREA_BYTES, 0), -EBUSY);
	EQUAL(waits, 1);
	/* A file does not tell how long its writes may take. */
	EQUAL(told_ns, 60 * SECOND_NS);
	arrive(left);
	EQUAL(chario_store_create(store, "new", AREA_BYTES, 0), 0);
	chario_store_close(store);
	EQUAL(waits, 1);
}

static int end_wait(uint64_t patience_ns, void *data)
{
	arrive(*(pid_t *)data);
	return 0;
}

/* It is what a supervisor does that starts a recorder again. */
TEST(who_waits_goes_on_when_it_has_ended, "who waits goes on when it has ended")
{
	pid_t left = leave_behind(WRITES_TO_AREA);
	struct chario_store *store;
	struct chario_area *area;

	CHECK(left > 0);
	chario_store_on_wait(end_wait, &left);
	EQUAL(chario_store_open(path, O_RDWR, &store), 0);
	EQUAL(chario_area_open(store, "there", O_RDWR, &area), 0);
	chario_area_close(area);
	chario_store_close(store);
}

static int settle_result;

static int settle(const struct chario_device *device, uint64_t offset, uint64_t bytes,
		  uint64_t deadline_ns)
{
	return offset || bytes != UINT64_MAX || deadline_ns ? -EINVAL : settle_result;
}

static bool stays(int result)
{
	static const struct chario_device_ops ops = { .settle = settle };
	struct chario_device *device = chario_device_make(&ops, NULL, path);
	int other = open(path, O_RDWR | O_CLOEXEC);
	bool held;

	device->fd = open(path, O_RDWR | O_CLOEXEC);
	settle_result = result;
	held = chario_fence_try(device, STORE_FENCE_AREAS, true) == 0;
	held = held && chario_lock_try(other, STORE_FENCE_AREAS, true) == -EBUSY;
	chario_fence_lower(device, STORE_FENCE_AREAS);
	held = held && chario_lock_try(other, STORE_FENCE_AREAS, true) == -EBUSY;
	chario_device_close(device);
	held = held && chario_lock_try(other, STORE_FENCE_AREAS, true) == 0;
	close(other);
	return held;
}

/* Its transfers were given up, and the drive has them still. */
TEST(a_fence_outlasts_what_is_late, "a fence outlasts what is late")
{
	CHECK(stays(-ETIMEDOUT));
	CHECK(stays(-EINTR));
	CHECK(!stays(0));
	CHECK(!stays(-ENOTTY));
}

static int get_info(const struct chario_device *device, struct chario_info *info, size_t size)
{
	info->deadline_ns = info->recovery_bound_ns = SECOND_NS;
	return 0;
}

/* Whoever has the table may be stopped, however quick the drive is. */
TEST(a_table_is_waited_for, "a quick drive does not make the wait for a table shorter")
{
	static const struct chario_device_ops ops = { .get_info = get_info };
	struct chario_device *device = chario_device_make(&ops, NULL, path);
	int other = open(path, O_RDWR | O_CLOEXEC), lock = open(path, O_RDWR | O_CLOEXEC);

	device->fd = open(path, O_RDWR | O_CLOEXEC);
	EQUAL(chario_lock_try(other, STORE_LOCK_TABLE, true), 0);
	EQUAL(chario_fence_take_table(device, lock, true), -EBUSY);
	EQUAL(told_ns, 10 * SECOND_NS);
	EQUAL(chario_fence_take(device, STORE_LOCK_TABLE, true), -EBUSY);
	EQUAL(told_ns, 2 * SECOND_NS);
	close(lock);
	close(other);
	chario_device_close(device);
}

TEST_MAIN(make_store, drop_store)
