// SPDX-License-Identifier: GPL-2.0-only
/*
 * Registered memory: the caller's own, pinned once.
 *
 * The memory is pinned for long (FOLL_LONGTERM): the kernel moves it out of movable
 * zones first, and refuses memory that a file system must be able to write back.
 */
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "memory/buffer.h"
#include "memory/locked.h"

/* Pages pinned at a time, few enough that a caller who is killed exits soon. */
#define PIN_BATCH	(SZ_2M / PAGE_SIZE)

static void registered_unpin(struct chario_buffer *buf, unsigned long nr)
{
	unpin_user_pages_dirty_lock(buf->pages, nr, !buf->source);
}

/*
 * Pin a batch of pages.  Before Linux 6.2 a pin to read does not stop copy-on-write:
 * the owner's next write would go to another page than the drive reads.  So a source
 * is pinned for writing if that is allowed.
 */
static int pin_batch(struct chario_buffer *buf, unsigned long addr,
		     unsigned long nr, struct page **pages)
{
	int got = pin_user_pages_fast(addr, nr, FOLL_LONGTERM | FOLL_WRITE,
				      pages);

	if (got > 0 || !buf->source)
		return got;
	return pin_user_pages_fast(addr, 1, FOLL_LONGTERM, pages);
}

static int pin(struct chario_buffer *buf, unsigned long addr)
{
	unsigned long done = 0;

	while (done < buf->nr_pages) {
		unsigned long nr = min(buf->nr_pages - done, PIN_BATCH);
		int got = -EINTR;

		if (!fatal_signal_pending(current))
			got = pin_batch(buf, addr + done * PAGE_SIZE, nr,
					buf->pages + done);
		if (got <= 0) {
			registered_unpin(buf, done);
			/* Since 6.5 files that are written back give EOPNOTSUPP. */
			return got == -ENOMEM || got == -EINTR ? got : -EFAULT;
		}
		done += got;
		cond_resched();
	}
	return 0;
}

static int registered_acquire(struct chario_buffer *buf,
			      const struct chario_buffer_create *args)
{
	unsigned long addr = args->address;
	int ret;

	if (args->address > ULONG_MAX || addr + args->bytes - 1 < addr)
		return -EFAULT;
	buf->page_offset = offset_in_page(addr);
	buf->nr_pages = PFN_UP(buf->page_offset + args->bytes);
	ret = chario_locked_charge(&buf->locked, buf->nr_pages);
	if (ret)
		return ret;
	buf->pages = kvmalloc_array(buf->nr_pages, sizeof(*buf->pages),
				    CHARIO_BUFFER_GFP);
	if (!buf->pages) {
		ret = -ENOMEM;
		goto err_account;
	}
	ret = pin(buf, addr & PAGE_MASK);
	if (ret)
		goto err_free;
	ret = chario_paged_init(buf, args->bytes);
	if (ret)
		goto err_unpin;
	return 0;

err_unpin:
	registered_unpin(buf, buf->nr_pages);
err_free:
	kvfree(buf->pages);
err_account:
	chario_locked_uncharge(&buf->locked);
	return ret;
}

static void registered_release(struct chario_buffer *buf)
{
	registered_unpin(buf, buf->nr_pages);
	chario_locked_uncharge(&buf->locked);
	sg_free_table(&buf->sgt);
	kvfree(buf->pages);
}

const struct chario_buffer_ops chario_registered_ops = {
	.acquire	= registered_acquire,
	.release	= registered_release,
	.map		= chario_paged_map,
	.unmap		= chario_paged_unmap,
	.sync		= chario_paged_sync,
	.copy		= chario_paged_copy,
};
