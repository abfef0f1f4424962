// SPDX-License-Identifier: MIT
/*
 * Whose a store is: of the file and not of its path, of the process and not of its
 * children, of nobody while it is made.
 */
#include <signal.h>

#include <chario/area.h>
#include <chario/stream.h>
#include <chario/view.h>

#include "store-file.h"
#include "system/sys.h"
#include "tap.h"

#define FILE_BYTES (1 << 20)

/* A store that is being made looks like one that has lost all. */
TEST(no_check_while_it_is_made, "a store is not checked while it is made")
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	struct chario_store *store;

	EQUAL(chario_lock_try(fd, STORE_LOCK_OPEN, true), 0);
	EQUAL(chario_store_check(path, 0, let_finding_pass, NULL), -EBUSY);
	EQUAL(chario_store_open(path, O_RDONLY, &store), -EBUSY);
	close(fd);
	EQUAL(chario_store_open(path, O_RDONLY, &store), 0);
	EQUAL(chario_store_check(path, 0, let_finding_pass, NULL), 0);
	chario_store_close(store);
}

/* What a child does with what its parent has open. */
static bool child_may_not_use(struct chario_store *store, struct chario_area *area)
{
	struct chario_area_info info;
	char byte;
	bool fine;

	alarm(ALARM_S);
	fine = chario_store_find(store, "there", &info, sizeof(info)) == -EPERM &&
	       chario_store_create(store, "of the child", 4096, 0) == -EPERM &&
	       chario_area_read(area, &byte, 1, 0) == -EPERM &&
	       chario_area_write(area, "c", 1, 0) == -EPERM;

	chario_area_close(area);
	chario_store_close(store);
	return fine;
}

/* It shares memory and locks with its parent, so that nothing would exclude them. */
TEST(a_store_is_of_its_process, "a store is of its process, not of its children")
{
	struct chario_store *store;
	struct chario_area *area;
	char byte = 0;
	int fd;

	EQUAL(chario_store_open(path, O_RDWR, &store), 0);
	EQUAL(chario_store_create(store, "there", 4096, 0), 0);
	EQUAL(chario_area_open(store, "there", O_RDWR, &area), 0);
	EQUAL(chario_area_write(area, "p", 1, 0), 1);
	EQUAL(chario_change_begin(store), 0);
	CHECK_IN_CHILD(child_may_not_use(store, area));
	fd = open(path, O_RDWR | O_CLOEXEC);
	CHECK(!is_free(fd, STORE_LOCK_TABLE));
	close(fd);
	chario_change_end(store);
	EQUAL(chario_area_read(area, &byte, 1, 0), 1);
	EQUAL(byte, 'p');
	EQUAL(chario_store_create(store, "of the parent", 4096, 0), 0);
	chario_area_close(area);
	chario_store_close(store);
}

/* What was closed is free, although a child has the descriptors still. */
TEST(a_child_keeps_no_locks, "a child keeps no locks of what was closed")
{
	struct chario_store *store;
	struct chario_area *area;
	pid_t child;

	EQUAL(chario_store_open(path, O_RDWR, &store), 0);
	EQUAL(chario_store_create(store, "there", 4096, 0), 0);
	EQUAL(chario_area_open(store, "there", O_RDWR, &area), 0);
	fflush(stdout);
	child = fork();
	if (!child) {
		alarm(ALARM_S);
		pause();
	}
	chario_area_close(area);
	EQUAL(chario_area_open(store, "there", O_RDWR, &area), 0);
	chario_area_close(area);
	EQUAL(chario_store_remove(store, "there"), 0);
	chario_store_close(store);
	EQUAL(chario_store_check(path, CHARIO_CHECK_REPAIR, let_finding_pass, NULL), 0);
	EQUAL(kill(child, SIGKILL), 0);
	EQUAL(waitpid(child, NULL, 0), child);
}

/**
 * struct opened - what a parent has open in an area
 * @buffer: memory of it
 * @area: with the view
 * @view: of all of it
 * @stream: a recording in another area
 */
struct opened {
	struct chario_buffer *buffer;
	struct chario_area *area;
	struct chario_view *view;
	struct chario_stream *stream;
};

static bool child_may_not(const struct opened *opened)
{
	struct chario_stream_status status;
	struct chario_stream_room room;
	uint64_t bytes;

	alarm(ALARM_S);
	return chario_area_write_buffer(opened->area, opened->buffer, 0, 4096, 0, 0) == -EPERM &&
	       chario_area_read_buffer(opened->area, opened->buffer, 0, 4096, 0, 0) == -EPERM &&
	       chario_area_sync(opened->area) == -EPERM &&
	       chario_view_flush(opened->view, 0, &bytes) == -EPERM &&
	       chario_view_reload(opened->view) == -EPERM &&
	       chario_view_mark(opened->view, 0, 1) == -EPERM &&
	       chario_view_dirty_bytes(opened->view, &bytes) == -EPERM &&
	       chario_view_unload(opened->view, 0) == -EPERM &&
	       chario_stream_get(opened->stream, 1, 0, &room) == -EPERM &&
	       chario_stream_write(opened->stream, "c", 1, 0, 0, 0) == -EPERM &&
	       chario_stream_write_buffer(opened->stream, opened->buffer, 0, 4096, 0, 0, 0, NULL) ==
		       -EPERM &&
	       chario_stream_lose(opened->stream, 1, 1) == -EPERM &&
	       chario_stream_wait(opened->stream, 0, 0) == -EPERM &&
	       chario_stream_service(opened->stream) == -EPERM &&
	       chario_stream_get_status(opened->stream, &status, sizeof(status)) == -EPERM &&
	       chario_stream_close(opened->stream) == -EPERM;
}

/* A child that tidies up has its parent's view and recording go on. */
TEST(what_is_open_is_of_its_process, "so are views and recordings")
{
	const struct chario_stream_options options = { .size = sizeof(options),
						       .segment_bytes = 8192 };
	struct opened opened;
	struct chario_store *store;
	uint64_t bytes;

	EQUAL(chario_store_open(path, O_RDWR, &store), 0);
	EQUAL(chario_store_create(store, "there", 4096, 0), 0);
	EQUAL(chario_store_create(store, "tape", 65536, 0), 0);
	EQUAL(chario_area_open(store, "there", O_RDWR, &opened.area), 0);
	EQUAL(chario_buffer_pool(chario_store_device(store), 4096, 0, &opened.buffer), 0);
	EQUAL(chario_view_load(opened.area, 0, 4096, opened.buffer, 0, CHARIO_TRACKING_MARKS,
			       &opened.view),
	      0);
	EQUAL(chario_view_mark(opened.view, 0, 1), 0);
	EQUAL(chario_stream_open(store, "tape", &options, &opened.stream), 0);
	EQUAL(chario_stream_write(opened.stream, "p", 1, 0, 0, -1), 0);
	CHECK_IN_CHILD(child_may_not(&opened));
	EQUAL(chario_view_flush(opened.view, 0, &bytes), 0);
	EQUAL(bytes, 4096);
	EQUAL(chario_view_unload(opened.view, 0), 0);
	EQUAL(chario_stream_write(opened.stream, "q", 1, 0, 0, -1), 0);
	EQUAL(chario_stream_lose(opened.stream, UINT64_MAX, 1), -EINVAL);
	EQUAL(chario_stream_wait(opened.stream, UINT64_MAX, -1), 0);
	EQUAL(chario_stream_close(opened.stream), 0);
	chario_buffer_free(opened.buffer);
	chario_area_close(opened.area);
	chario_store_close(store);
}

static int open_area(struct chario_store *store, struct chario_area **area)
{
	return chario_area_open(store, "there", O_RDWR, area);
}

static int (*open_of_kernel)(const char *name, int flags);

static int open_without_proc(const char *name, int flags)
{
	return strncmp(name, "/proc/", 6) ? open_of_kernel(name, flags) : -ENOENT;
}

static struct chario_area *leaving;

/* While others pause, somebody leaves. */
static void leave(unsigned int ms)
{
	(void)ms;
	chario_area_close(leaving);
	leaving = NULL;
}

/* Two processes have one file open, wherever its path leads each of them by now. */
TEST(locks_are_those_of_the_file, "locks are those of the file, not of its path")
{
	char moved[sizeof(path) + 2];
	struct chario_store *one, *other;
	struct chario_area *area, *second;

	snprintf(moved, sizeof(moved), "%s-b", path);
	EQUAL(chario_store_open(path, O_RDWR, &one), 0);
	EQUAL(chario_store_create(one, "there", 4096, 0), 0);
	EQUAL(rename(path, moved), 0);
	EQUAL(chario_store_open(moved, O_RDWR, &other), 0);
	/* Another file has the path: an area of this one is locked there, or nowhere. */
	EQUAL(close(open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600)), 0);
	EQUAL(open_area(one, &area), 0);
	EQUAL(open_area(other, &second), -EBUSY);
	EQUAL(chario_store_remove(other, "there"), -EBUSY);
	/* Who is about to leave may have locked the slot of an area that has gone. */
	leaving = area;
	chario_sys.sleep_ms = leave;
	EQUAL(open_area(other, &second), 0);
	chario_area_close(second);
	open_of_kernel = chario_sys.open;
	chario_sys.open = open_without_proc;
	EQUAL(open_area(one, &area), -ESTALE);
	chario_sys.open = open_of_kernel;
	EQUAL(unlink(path), 0);
	EQUAL(open_area(one, &area), 0);
	chario_area_close(area);
	chario_store_close(one);
	chario_store_close(other);
	EQUAL(rename(moved, path), 0);
}

TEST_MAIN_WITH(make_file_store(FILE_BYTES), drop_file())
