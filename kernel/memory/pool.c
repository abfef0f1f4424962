// SPDX-License-Identifier: GPL-2.0-only
/*
 * The pool: memory that the module allocates.
 *
 * Pages come in blocks as large as available, but each page is counted by itself, so
 * that it can be mapped like any page of a file.  The memory belongs to its buffer and
 * to each mapping of it.  The last of them to go gives it back, and only then does it
 * no longer count as locked.
 */
#include <linux/kref.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "memory/buffer.h"
#include "memory/locked.h"

/**
 * struct pool - memory of a pool buffer
 * @ref: reference count, for the buffer and for each mapping
 * @locked: pages that count as locked
 * @nr_pages: number of pages that have been allocated
 * @pages: array of the pages, in order
 */
struct pool {
	struct kref ref;
	struct chario_locked locked;
	unsigned long nr_pages;
	struct page *pages[];
};

static void free_pages_of(struct pool *pool)
{
	while (pool->nr_pages)
		__free_page(pool->pages[--pool->nr_pages]);
}

static void free_pool(struct kref *ref)
{
	struct pool *pool = container_of(ref, struct pool, ref);

	free_pages_of(pool);
	chario_locked_uncharge(&pool->locked);
	kvfree(pool);
}

/* Try little for large blocks and harder for single pages, but kill no process. */
static gfp_t gfp_of(unsigned int order)
{
	return GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NOWARN |
	       (order ? __GFP_NORETRY : __GFP_RETRY_MAYFAIL);
}

static int pool_fill(struct pool *pool, unsigned long nr_pages, int node)
{
	unsigned int most = MAX_PAGE_ORDER;

	while (pool->nr_pages < nr_pages) {
		unsigned int order = min_t(unsigned int, most,
					   ilog2(nr_pages - pool->nr_pages));
		struct page *page;
		unsigned int i;

		if (fatal_signal_pending(current))
			return -EINTR;
		page = alloc_pages_node(node, gfp_of(order), order);
		if (!page && !order)
			return -ENOMEM;
		if (!page) {
			most = order - 1;
			continue;
		}
		split_page(page, order);
		for (i = 0; i < 1U << order; i++)
			pool->pages[pool->nr_pages++] = page + i;
		cond_resched();
	}
	return 0;
}

/* Allocate a pool.  The limit is checked first: the array of pages may be large. */
static struct pool *create_pool(unsigned long nr_pages, int node)
{
	struct chario_locked locked;
	struct pool *pool;
	int ret;

	ret = chario_locked_charge(&locked, nr_pages);
	if (ret)
		return ERR_PTR(ret);
	pool = kvzalloc(struct_size(pool, pages, nr_pages), CHARIO_BUFFER_GFP);
	if (!pool) {
		chario_locked_uncharge(&locked);
		return ERR_PTR(-ENOMEM);
	}
	kref_init(&pool->ref);
	pool->locked = locked;
	ret = pool_fill(pool, nr_pages, node);
	if (ret) {
		kref_put(&pool->ref, free_pool);
		return ERR_PTR(ret);
	}
	return pool;
}

static int pool_acquire(struct chario_buffer *buf,
			const struct chario_buffer_create *args)
{
	struct pool *pool;
	int ret;

	if (args->address)
		return -EINVAL;
	buf->nr_pages = PFN_UP(args->bytes);
	pool = create_pool(buf->nr_pages, dev_to_node(&buf->disk->dev));
	if (IS_ERR(pool))
		return PTR_ERR(pool);
	buf->own = pool;
	buf->pages = pool->pages;
	ret = chario_paged_init(buf, args->bytes);
	if (ret)
		kref_put(&pool->ref, free_pool);
	return ret;
}

static void pool_release(struct chario_buffer *buf)
{
	struct pool *pool = buf->own;

	sg_free_table(&buf->sgt);
	kref_put(&pool->ref, free_pool);
}

static void pool_open(struct vm_area_struct *vma)
{
	struct pool *pool = vma->vm_private_data;

	kref_get(&pool->ref);
}

static void pool_close(struct vm_area_struct *vma)
{
	struct pool *pool = vma->vm_private_data;

	kref_put(&pool->ref, free_pool);
}

static const struct vm_operations_struct vm_ops = {
	.open	= pool_open,
	.close	= pool_close,
};

/* Map all pages at once: a program that records must not fault. */
static int map_pages(struct chario_buffer *buf, struct vm_area_struct *vma)
{
	struct pool *pool = buf->own;
	unsigned long left = vma_pages(vma);
	int ret;

	vm_flags_set(vma, VM_DONTEXPAND);
	ret = vm_insert_pages(vma, vma->vm_start, pool->pages, &left);
	if (ret)
		return ret;
	kref_get(&pool->ref);
	vma->vm_private_data = pool;
	vma->vm_ops = &vm_ops;
	return 0;
}

const struct chario_buffer_ops chario_pool_ops = {
	.acquire	= pool_acquire,
	.release	= pool_release,
	.map		= chario_paged_map,
	.unmap		= chario_paged_unmap,
	.sync		= chario_paged_sync,
	.mmap		= map_pages,
	.copy		= chario_paged_copy,
};
