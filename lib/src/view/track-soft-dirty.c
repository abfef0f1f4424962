// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Soft-dirty bits: a bit for each page, which the kernel sets at the first write
 * after they have been cleared, and which /proc/self/pagemap shows.
 *
 * They are cleared for the whole process at once.  So all views that use them are
 * in one list, and whoever clears first takes the bits of all of them over.
 *
 * Reading the bits and clearing them are two steps.  A page that was clean when
 * its bit was read and is written before the bits are cleared would be lost, and no
 * order of the two helps.  But such a write faults, as every first write to a clean
 * page does, and the kernel counts the faults of each thread.  The count goes up
 * before the instruction that faulted is run again, so there are three cases:
 *
 *	the count of the other threads has gone up before it is read again, after
 *	the clearing: something has faulted meanwhile, nobody knows where, and
 *	every block of every view in the list counts as changed;
 *
 *	it goes up later: the instruction is run after the clearing, finds the
 *	page protected again, and faults once more, which sets the new bit;
 *
 *	there was no fault: then there was no write to a clean page.
 *
 * Faults of the thread itself do not matter: it writes to its stack and to the
 * bits, and handles no signal meanwhile.  Before it gives up it looks for a moment
 * in which the others do not fault, a few times.
 *
 * The bits of pages that are pinned for DMA and are private to the process stay
 * set for ever, and huge pages of hugetlbfs and mappings of physical memory have
 * none.  That is tried with each page when a view begins: after a clearing each
 * is written to and must have the bit, and after the load and another clearing none
 * may have it.  What is written to them is the entry of pagemap, before the load.
 */
#include "view/track.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>

#include "system/pagemap.h"
#include "system/sys.h"

/* Entries of pagemap that are read at once, and pages that are touched at once. */
#define NR_ENTRIES 512

/* How often a quiet moment is looked for. */
#define NR_TRIES 4

/**
 * struct pages - a view in the list
 * @view: whose pages they are
 * @pagemap_fd: to ask for their bits
 * @checked: the kernel does set and clear the bits of all of them
 * @next: in the list
 */
struct pages {
	struct chario_view *view;
	int pagemap_fd;
	bool checked;
	struct pages *next;
};

/* Protects the list, what is below it, and the bits of the process. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct pages *list;
static uint64_t entries[NR_ENTRIES];

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static long faults_of(int who)
{
	struct rusage usage = { 0 };

	getrusage(who, &usage);
	return usage.ru_minflt + usage.ru_majflt;
}

/* Faults of all other threads, those that have ended too. */
static long faults_of_others(void)
{
	long before, all, after = faults_of(RUSAGE_THREAD);

	do {
		before = after;
		all = faults_of(RUSAGE_SELF);
		after = faults_of(RUSAGE_THREAD);
	} while (after != before);
	return all - after;
}

/* is called for pages from @start up to @end, all of which have the bit or have it not */
typedef void visit_pages(struct pages *pages, uintptr_t start, uintptr_t end, bool set, void *data);

static int each_page(struct pages *pages, visit_pages *visit, void *data)
{
	uintptr_t at = (uintptr_t)pages->view->memory;
	uintptr_t end = at + chario_track_page_bytes(pages->view);

	while (at < end) {
		size_t nr = (end - at) / page_size();
		int err;

		nr = nr < NR_ENTRIES ? nr : NR_ENTRIES;
		err = chario_pagemap_read(pages->pagemap_fd, at, entries, nr);
		if (err)
			return err;
		for (size_t i = 0; i < nr; i++, at += page_size())
			visit(pages, at, at + page_size(), entries[i] & CHARIO_PAGEMAP_SOFT_DIRTY,
			      data);
	}
	return 0;
}

static void take_over(struct pages *pages, uintptr_t start, uintptr_t end, bool set, void *data)
{
	(void)data;
	if (set)
		chario_track_found(pages->view, start, end);
}

static int take_all_over(void)
{
	int err = 0;

	for (struct pages *pages = list; pages && !err; pages = pages->next)
		err = each_page(pages, take_over, NULL);
	return err;
}

/* Take the bits of all views over, in a quiet moment; @before is the count then. */
static int take_over_quietly(long *before)
{
	int err = 0;

	for (int i = 0; i < NR_TRIES && !err; i++) {
		*before = faults_of_others();
		err = take_all_over();
		if (*before == faults_of_others())
			break;
	}
	return err;
}

static int clear_bits(void)
{
	return chario_sys.write("/proc/self/clear_refs", "4");
}

static int take_over_and_clear(void)
{
	long before;
	int err = take_over_quietly(&before);

	if (!err)
		err = clear_bits();
	if (err || faults_of_others() == before)
		return err;
	for (struct pages *pages = list; pages; pages = pages->next)
		chario_dirty_set(pages->view->dirty, 0, pages->view->dirty->nr_blocks);
	return 0;
}

/* Called with the lock: what the bits say is handed over, and they are cleared. */
static int turn_over(void)
{
	sigset_t all, mask;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &mask);
	err = take_over_and_clear();
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	return err;
}

/* Write to each page; SIGSEGV would be ours if the CPU did it. */
static int touch(const struct pages *pages)
{
	unsigned char *at = pages->view->memory;
	unsigned char *end = at + chario_track_page_bytes(pages->view);

	while (at < end) {
		off_t offset = (off_t)((uintptr_t)at / page_size() * sizeof(uint64_t));
		struct iovec parts[NR_ENTRIES];
		int nr = 0;

		for (; nr < NR_ENTRIES && at < end; at += page_size())
			parts[nr++] = (struct iovec){ at, sizeof(uint64_t) };
		if (preadv(pages->pagemap_fd, parts, nr, offset) != nr * (ssize_t)sizeof(uint64_t))
			return -EOPNOTSUPP;
	}
	return 0;
}

static void count_set(struct pages *pages, uintptr_t start, uintptr_t end, bool set, void *data)
{
	size_t *count = data;

	(void)pages;
	(void)start;
	(void)end;
	*count += set;
}

/* Called with the lock: how many pages must have the bit. */
static int expect(struct pages *pages, size_t nr_set)
{
	size_t count = 0;
	int err = each_page(pages, count_set, &count);

	if (err)
		return err;
	return count == nr_set ? 0 : -EOPNOTSUPP;
}

/* Called with the lock: writes to the pages are seen. */
static int try_writes(struct pages *pages)
{
	int err = turn_over();

	if (!err)
		err = touch(pages);
	if (!err)
		err = expect(pages, chario_track_page_bytes(pages->view) / page_size());
	return err;
}

/* Without rights to these files of /proc, or without the files, there are no bits. */
static int refuse(int err)
{
	return err == -EACCES || err == -EPERM || err == -ENOENT ? -EOPNOTSUPP : err;
}

static int start(struct chario_view *view)
{
	struct pages *pages = calloc(1, sizeof(*pages));
	int err;

	if (!pages)
		return -ENOMEM;
	pages->view = view;
	pages->pagemap_fd = chario_pagemap_open();
	if (pages->pagemap_fd < 0) {
		err = refuse(pages->pagemap_fd);
		goto err_free;
	}
	pthread_mutex_lock(&lock);
	err = refuse(try_writes(pages));
	if (!err) {
		pages->next = list;
		list = pages;
	}
	pthread_mutex_unlock(&lock);
	view->track = pages;
	if (!err)
		return 0;

	close(pages->pagemap_fd);
err_free:
	free(pages);
	return err;
}

static int forget(struct chario_view *view)
{
	struct pages *pages = view->track;
	int err;

	pthread_mutex_lock(&lock);
	err = turn_over();
	if (!err && !pages->checked)
		err = expect(pages, 0);
	pages->checked = !err;
	pthread_mutex_unlock(&lock);
	return err;
}

static int collect(struct chario_view *view)
{
	int err;

	(void)view;
	pthread_mutex_lock(&lock);
	err = turn_over();
	pthread_mutex_unlock(&lock);
	return err;
}

static void stop(struct chario_view *view)
{
	struct pages *pages = view->track;
	struct pages **at = &list;

	pthread_mutex_lock(&lock);
	while (*at != pages)
		at = &(*at)->next;
	*at = pages->next;
	pthread_mutex_unlock(&lock);
	close(pages->pagemap_fd);
	free(pages);
}

const struct chario_track_ops chario_track_soft_dirty = {
	.kind = CHARIO_TRACKING_SOFT_DIRTY,
	.needs_memory = true,
	.needs_pages = true,
	.start = start,
	.forget = forget,
	.collect = collect,
	.stop = stop,
};
