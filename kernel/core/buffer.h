/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A buffer: memory that is mapped for the device once and used by many calls.
 *
 * All kinds are one to the rest of the core: a buffer yields DMA addresses,
 * which the back end has prepared to its liking.  What differs is who made the
 * memory: see &struct chario_buffer_ops.
 *
 * Life of a buffer
 *
 *   chario_buffer_create()   held, mapped, prepared; the open file has a
 *                            reference and a name for it
 *   chario_buffer_get()      a call finds it by its name
 *   each request             has a reference until the device can no longer
 *                            touch its memory
 *   chario_buffer_destroy(), the last close of the file
 *                            take the name away
 *   the last reference       lets go of the memory, from a worker
 *
 * A drive that goes takes its mappings with it, chario_buffer_detach_all(); the
 * memory stays with its file.
 */
#ifndef CHARIO_CORE_BUFFER_H
#define CHARIO_CORE_BUFFER_H

#include <linux/completion.h>
#include <linux/dma-mapping.h>
#include <linux/kref.h>
#include <linux/percpu-refcount.h>
#include <linux/scatterlist.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "core/device.h"
#include "front/front.h"

struct chario_buffer;

/**
 * struct chario_buffer_ops - a kind of memory
 * @hold: get the memory and keep it in place; fill in @bytes, @sgt, and @pages
 *	where it has pages.  May sleep.  0 or -errno
 * @release: undo it; the device can no longer touch the memory.  May sleep
 */
struct chario_buffer_ops {
	int (*hold)(struct chario_buffer *buf,
		    const struct chario_buffer_create *args);
	void (*release)(struct chario_buffer *buf);
};

/**
 * struct chario_buffer - memory that is mapped once
 * @ref: held by the file that has a name for it, and by requests
 * @back: the back end's own, made by &struct chario_backend.map_buffer; valid
 *	for whoever holds a command of a queue that is not dead
 * @bytes: length
 * @page_offset: of its first byte in its first page
 * @source: the device does not write to it
 * @sgt: its memory; mapped when @mapped is set
 * @mapped: @sgt and @back are valid; under the disk's buffer_lock
 * @pages: its pages; NULL where it has none
 * @nr_pages: how many
 * @mm: whose locked memory it counts as
 * @ops: its kind
 * @cio: the disk; a reference
 * @node: on the disk's list of buffers, under its buffer_lock
 * @alive: keeps the struct itself: the worker, and whoever waits for it
 * @gone: completes when the memory has been let go
 * @work: lets go of it
 */
struct chario_buffer {
	struct percpu_ref ref;
	void *back;
	u64 bytes;
	u32 page_offset;
	bool source;
	bool mapped;
	struct sg_table sgt;
	struct page **pages;
	unsigned long nr_pages;
	struct mm_struct *mm;
	const struct chario_buffer_ops *ops;
	struct chario_device *cio;
	struct list_head node;
	struct kref alive;
	struct completion gone;
	struct work_struct work;
};

static inline enum dma_data_direction
chario_buffer_direction(const struct chario_buffer *buf)
{
	return buf->source ? DMA_TO_DEVICE : DMA_BIDIRECTIONAL;
}

/**
 * chario_buffer_get() - find a buffer
 * @cf: the open file
 * @id: its name
 *
 * Return: the buffer with a reference for chario_buffer_put(); NULL when there
 * is none.
 */
static inline struct chario_buffer *chario_buffer_get(struct chario_file *cf,
						      u32 id)
{
	struct chario_buffer *buf;

	rcu_read_lock();
	buf = xa_load(&cf->buffers, id);
	if (unlikely(buf && !percpu_ref_tryget_live_rcu(&buf->ref)))
		buf = NULL;
	rcu_read_unlock();
	return buf;
}

static inline void chario_buffer_put(struct chario_buffer *buf)
{
	percpu_ref_put(&buf->ref);
}

/* core/buffer.c */
int chario_buffer_init(void);
void chario_buffer_exit(void);
int chario_buffer_create(struct chario_file *cf,
			 struct chario_buffer_create *args);
int chario_buffer_destroy(struct chario_file *cf, u32 id);
void chario_buffer_destroy_all(struct chario_file *cf);
void chario_buffer_detach_all(struct chario_device *cio);
void chario_buffer_copy(const struct chario_buffer *buf, u64 offset, void *mem,
			size_t bytes, bool to_buffer);

/* core/registered.c */
extern const struct chario_buffer_ops chario_registered_ops;

#endif /* CHARIO_CORE_BUFFER_H */
