// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * userfaultfd(2) in its asynchronous form, Linux 6.7.
 *
 * The kernel protects the pages of the view.  The first write to one faults, and
 * the kernel lifts the protection by itself and lets the write go on: no thread
 * is told, nobody waits, and read(2) of a file into the memory works as ever.
 * Pages that are not protected are the written ones.  PAGEMAP_SCAN lists and
 * protects each in one step under the lock of its page table, so a write comes
 * either before, and the page is listed, or after, and it faults and will be.
 *
 * What does not go through the page tables of this process is not seen: the DMA
 * of devices, the writes of other processes to shared memory.
 */
#include "view/track.h"

#include <errno.h>
#include <linux/userfaultfd.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "system/pagemap.h"
#include "system/sys.h"

/* Regions that one call of the kernel lists. */
#define NR_REGIONS 256

/**
 * struct guard - a view whose pages are protected
 * @fault_fd: userfaultfd; the protection ends when it is closed
 * @pagemap_fd: to ask for written pages
 * @start: address of the first page
 * @end: address behind the last page
 * @checked: the kernel does see writes to all of the pages
 */
struct guard {
	int fault_fd;
	int pagemap_fd;
	uint64_t start;
	uint64_t end;
	bool checked;
};

/* Bytes of the view, and of what is behind it in its last page. */
static uint64_t page_bytes(const struct chario_view *view)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (view->bytes + page - 1) / page * page;
}

/* Whatever the kernel says against it, this way is closed; others may be open. */
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
 * Some kernels take any memory, and pass over what they cannot protect, such as
 * physical pages that a driver has mapped.  Right after the load no page has been
 * protected: those that are not listed as written never will be.
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

	/* The last page may be longer than what is left of the view. */
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
