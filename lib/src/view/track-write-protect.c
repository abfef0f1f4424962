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
#include <unistd.h>

#include "system/pagemap.h"
#include "system/sys.h"

/* Largest number of regions that one call of the kernel lists. */
#define NR_REGIONS 256

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

static int register_pages(const struct guard *guard)
{
	struct uffdio_register pages = {
		.range = { .start = guard->start, .len = guard->end - guard->start },
		.mode = UFFDIO_REGISTER_MODE_WP,
	};
	int ret = chario_sys.ioctl(guard->fault_fd, UFFDIO_REGISTER, &pages);

	return ret < 0 ? refuse(ret) : 0;
}

static int open_files(struct guard *guard)
{
	guard->fault_fd = chario_pagemap_open_faults();
	if (guard->fault_fd < 0)
		return refuse(guard->fault_fd);
	guard->pagemap_fd = chario_pagemap_open();
	if (guard->pagemap_fd >= 0)
		return 0;
	close(guard->fault_fd);
	return refuse(guard->pagemap_fd);
}

static void end(struct guard *guard)
{
	close(guard->fault_fd);
	close(guard->pagemap_fd);
	free(guard);
}

static int start(struct chario_view *view)
{
	struct guard *guard = calloc(1, sizeof(*guard));
	int err;

	if (!guard)
		return -ENOMEM;
	guard->start = (uintptr_t)view->memory;
	guard->end = guard->start + page_bytes(view);
	err = open_files(guard);
	if (err) {
		free(guard);
		return err;
	}
	err = register_pages(guard);
	if (err)
		end(guard);
	else
		view->track = guard;
	return err;
}

/*
 * Check that the kernel can protect all pages.  Some kernels accept any memory, and skip pages
 * that they cannot protect, such as physical pages that a driver has mapped.  Right after the
 * load no page is protected yet: a page that is not listed as written now never will be.
 */
static int check(struct guard *guard)
{
	struct chario_pagemap_region regions[NR_REGIONS];
	uint64_t seen = 0;
	uint64_t at = guard->start;

	while (at < guard->end) {
		int nr = chario_pagemap_find(guard->pagemap_fd, &at, guard->end, regions,
					     NR_REGIONS);

		if (nr < 0)
			return refuse(nr);
		for (int i = 0; i < nr; i++)
			seen += regions[i].end - regions[i].start;
	}
	if (seen != guard->end - guard->start)
		return -EOPNOTSUPP;
	guard->checked = true;
	return 0;
}

static int forget(struct chario_view *view)
{
	struct guard *guard = view->track;
	uint64_t at = guard->start;
	int err = guard->checked ? 0 : check(guard);

	while (!err && at < guard->end) {
		int ret = chario_pagemap_protect(guard->pagemap_fd, &at, guard->end, NULL, 0);

		err = ret < 0 ? ret : 0;
	}
	return err;
}

static void found(struct chario_view *view, const struct chario_pagemap_region *region)
{
	uint64_t memory = (uintptr_t)view->memory;
	size_t first = (size_t)(region->start - memory) / CHARIO_STORE_BLOCK;
	size_t end = (size_t)(region->end - memory) / CHARIO_STORE_BLOCK;

	/* The last page may end behind the view. */
	if (end > view->dirty->nr_blocks)
		end = view->dirty->nr_blocks;
	chario_dirty_set(view->dirty, first, end);
}

static int collect(struct chario_view *view)
{
	struct chario_pagemap_region regions[NR_REGIONS];
	const struct guard *guard = view->track;
	uint64_t at = guard->start;

	while (at < guard->end) {
		int nr = chario_pagemap_protect(guard->pagemap_fd, &at, guard->end, regions,
						NR_REGIONS);

		if (nr < 0)
			return nr;
		for (int i = 0; i < nr; i++)
			found(view, &regions[i]);
	}
	return 0;
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
