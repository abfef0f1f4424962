// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Tracking by userfaultfd(2) in its asynchronous form, of Linux 6.7.
 *
 * The kernel protects the pages of the view.  The first write to a page faults, and the kernel
 * itself lifts the protection and lets the write go on: no thread is told, nobody waits, and
 * read(2) of a file into the memory works as ever.  The written pages are those without
 * protection.  PAGEMAP_SCAN lists and protects each of them in one step under the lock of its
 * page table: a write before that step has its page listed now; a write after it faults, and
 * has its page listed the next time.
 *
 * Writes that do not go through the page tables of this process are missed: the DMA of devices,
 * and the writes of other processes to shared memory.
 */
#include "view/track.h"

#include <errno.h>
#include <linux/userfaultfd.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/param.h>
#include <unistd.h>

#include "system/pagemap.h"
#include "system/scope.h"
#include "system/sys.h"

/**
 * struct guard - a view whose pages are protected
 * @fault_fd: descriptor of userfaultfd(2); the protection ends when it is closed
 * @pagemap_fd: descriptor that lists written pages
 * @start: address of the first page
 * @end: address behind the last page
 * @checked: true if the kernel is known to see writes to all of the pages
 */
struct guard {
	int fault_fd;
	int pagemap_fd;
	uint64_t start;
	uint64_t end;
	bool checked;
};

/* Returns the length of the pages of the view, whose last page may be longer than the view. */
static uint64_t page_bytes(const struct chario_view *view)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (view->bytes + page - 1) / page * page;
}

/* Returns -EOPNOTSUPP, so that another tracking is tried, unless memory or files ran out. */
static int refuse(int err)
{
	return err == -ENOMEM || err == -EMFILE || err == -ENFILE ? err : -EOPNOTSUPP;
}

static int begin(struct guard *guard)
{
	struct uffdio_register pages = {
		.range = { .start = guard->start, .len = guard->end - guard->start },
		.mode = UFFDIO_REGISTER_MODE_WP,
	};

	guard->fault_fd = chario_pagemap_open_faults();
	if (guard->fault_fd < 0)
		return guard->fault_fd;
	guard->pagemap_fd = chario_pagemap_open();
	if (guard->pagemap_fd < 0)
		return guard->pagemap_fd;
	return chario_sys.ioctl(guard->fault_fd, UFFDIO_REGISTER, &pages);
}

static void end(struct guard *guard)
{
	chario_scope_close(&guard->fault_fd);
	chario_scope_close(&guard->pagemap_fd);
	free(guard);
}

static int start(struct chario_view *view)
{
	struct guard *guard = calloc(1, sizeof(*guard));
	int ret;

	if (!guard)
		return -ENOMEM;
	guard->start = (uintptr_t)view->memory;
	guard->end = guard->start + page_bytes(view);
	guard->fault_fd = guard->pagemap_fd = -1;
	ret = begin(guard);
	if (ret < 0) {
		end(guard);
		return refuse(ret);
	}
	view->track = guard;
	return 0;
}

static void add_bytes(const struct chario_pagemap_region *region, void *data)
{
	*(uint64_t *)data += region->end - region->start;
}

/*
 * Check that the kernel can protect all pages.  Some kernels accept any memory, and skip pages
 * that they cannot protect, such as physical pages that a driver has mapped.  Right after the
 * load no page is protected yet: a page that is not listed as written now never will be.
 */
static int check(struct guard *guard)
{
	uint64_t seen = 0;
	int err = chario_pagemap_each(guard->pagemap_fd, false, guard->start, guard->end, add_bytes,
				      &seen);

	if (err)
		return refuse(err);
	if (seen != guard->end - guard->start)
		return -EOPNOTSUPP;
	guard->checked = true;
	return 0;
}

static int forget(struct chario_view *view)
{
	struct guard *guard = view->track;
	int err = guard->checked ? 0 : check(guard);

	if (err)
		return err;
	return chario_pagemap_each(guard->pagemap_fd, true, guard->start, guard->end, NULL, NULL);
}

static void found(const struct chario_pagemap_region *region, void *data)
{
	const struct chario_view *view = data;
	uint64_t memory = (uintptr_t)view->memory;
	size_t first = (size_t)(region->start - memory) / CHARIO_STORE_BLOCK;
	size_t end = (size_t)(region->end - memory) / CHARIO_STORE_BLOCK;

	/* The last page may end behind the view. */
	end = MIN(end, view->dirty->nr_blocks);
	chario_dirty_set(view->dirty, first, end);
}

static int collect(struct chario_view *view)
{
	const struct guard *guard = view->track;

	return chario_pagemap_each(guard->pagemap_fd, true, guard->start, guard->end, found, view);
}

static void stop(struct chario_view *view)
{
	end(view->track);
}

const struct chario_track_ops chario_track_write_protect = {
	.kind = CHARIO_TRACKING_WRITE_PROTECT,
	.needs_memory = true,
	.start = start,
	.forget = forget,
	.collect = collect,
	.stop = stop,
};
