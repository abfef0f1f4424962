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
 *   chario_buffer_create()   held, mapped, prepared; the open file has a name
 *                            for it
 *   chario_buffer_find()     a call that has taken a command finds the buffer
 *                            by its name, and enters it in the command
 *   chario_buffer_destroy()  takes the name away
 *   a worker                 lets go of the memory when no command that is
 *                            taken has it entered any more
 *   chario_buffer_close()    the last close of the file: at once where no
 *                            command has it entered, else by the worker
 *
 * So a call pays for no reference: the slot that it needs anyway is one.  What
 * has been found stays found from chario_buffer_find() until the command has
 * been entered because preemption is off, which holds up the worker's
 * synchronize_rcu(); and from there on because the worker looks through the
 * slots.  A call of several requests counts itself in @users.
 *
 * A drive that goes takes its mappings with it, chario_buffer_detach_all(); the
 * memory stays with its file.
 */
#ifndef CHARIO_CORE_BUFFER_H
#define CHARIO_CORE_BUFFER_H

#include <linux/completion.h>
#include <linux/dma-mapping.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/rculist.h>
#include <linux/scatterlist.h>
#include <linux/workqueue.h>

#include "core/call.h"
#include "core/device.h"
#include "core/locked.h"

struct chario_buffer;
struct dma_buf;

/*
 * Physical memory that several buffers may have mapped at once: no mapping owns
 * what the CPU has of it in its caches.
 */
#define CHARIO_RESOURCE_ATTRS	DMA_ATTR_SKIP_CPU_SYNC

/**
 * struct chario_buffer_ops - a kind of memory
 * @hold: get the memory and keep it in place.  May sleep.  0 or -errno
 * @release: undo it; the device can no longer touch the memory.  May sleep
 * @map: map it for the device; set @dma, and @apart.  0 or -errno
 * @unmap: undo it; moves no bytes
 * @sync: hand bytes over between CPU and device, of a buffer that is @apart.
 *	NULL where none ever is
 * @mmap: map it into user space; length, place and kind of the mapping have
 *	been checked.  NULL where it cannot be
 * @copy: move bytes by the CPU, for back ends without DMA, inside the buffer.
 *	NULL where there must be a device
 * @export: as a dma-buf, or an ERR_PTR.  NULL where it cannot be
 */
struct chario_buffer_ops {
	int (*hold)(struct chario_buffer *buf,
		    const struct chario_buffer_create *args);
	void (*release)(struct chario_buffer *buf);
	int (*map)(struct chario_buffer *buf, struct device *dev);
	void (*unmap)(struct chario_buffer *buf, struct device *dev);
	void (*sync)(struct chario_buffer *buf, struct device *dev, u64 offset,
		     u64 bytes, bool for_device);
	int (*mmap)(struct chario_buffer *buf, struct vm_area_struct *vma);
	void (*copy)(const struct chario_buffer *buf, u64 offset, void *mem,
		     size_t bytes, bool to_buffer);
	struct dma_buf *(*export)(struct chario_buffer *buf);
};

/**
 * struct chario_buffer - memory that is mapped once
 * @back: the back end's own, made by &struct chario_backend.map_buffer; valid
 *	for whoever holds a command of a queue that is not dead
 * @bytes: length; 0 once its memory has been taken away, so it is read once
 * @page_offset: of its first byte in its first page
 * @source: the device does not write to it
 * @streaming: its user syncs
 * @apart: CPU and device see its memory apart until it is synced; valid when
 *	@mapped is set
 * @mapped: @dma and @back are valid; under the disk's buffer_lock and @sync_lock
 * @dma: its memory as the device sees it
 * @extents: pieces of @dma when it was mapped
 * @first: address of the first of them
 * @sgt: its memory, where it has pages
 * @pages: its pages, where it has some
 * @nr_pages: how many
 * @own: of its kind
 * @id: its name
 * @is_physical: a transfer may name it by physical address
 * @address: then: of its first byte
 * @physical: then: on the list of its file
 * @locked: what it counts as, for a kind that does
 * @users: calls of several requests
 * @ops: its kind
 * @cio: the disk; a reference
 * @sync_lock: a sync keeps it mapped
 * @node: on the disk's list of buffers, under its buffer_lock
 * @alive: keeps the struct itself: the worker, and whoever waits for it
 * @gone: completes when the memory has been let go
 * @work: lets go of it
 * @revoke_work: takes its memory away
 */
struct chario_buffer {
	void *back;
	u64 bytes;
	u32 page_offset;
	bool source;
	bool streaming;
	bool apart;
	bool mapped;
	struct sg_table *dma;
	u32 extents;
	dma_addr_t first;
	struct sg_table sgt;
	struct page **pages;
	unsigned long nr_pages;
	void *own;
	u32 id;
	bool is_physical;
	u64 address;
	struct hlist_node physical;
	struct chario_locked locked;
	atomic_t users;
	const struct chario_buffer_ops *ops;
	struct chario_device *cio;
	struct mutex sync_lock; /* a sync keeps it mapped */
	struct list_head node;
	struct kref alive;
	struct completion gone;
	struct work_struct work;
	struct work_struct revoke_work;
};

static inline enum dma_data_direction
chario_buffer_direction(const struct chario_buffer *buf)
{
	return buf->source ? DMA_TO_DEVICE : DMA_BIDIRECTIONAL;
}

/*
 * For arrays that are as long as the caller says: one who may lock any amount of
 * memory gets ENOMEM for too much of it; nobody is killed, nothing complains.
 */
#define CHARIO_BUFFER_GFP	(GFP_KERNEL_ACCOUNT | __GFP_NOWARN | \
				 __GFP_RETRY_MAYFAIL)

/* Names are 1 to CHARIO_BUFFER_LEAVES * CHARIO_BUFFER_LEAF - 1. */
#define CHARIO_BUFFER_LEAVES	64
#define CHARIO_BUFFER_LEAF	1024

/**
 * struct chario_buffers - the buffers of an open file
 * @lock: protects names that come and go, and @is_closed
 * @is_closed: no more come
 * @next: where the search for a free name begins, so that one is not used again
 *	soon
 * @physical: buffers that a transfer may name by physical address; for readers
 *	under RCU
 * @leaves: buffers by name; leaves are made when they are needed
 */
struct chario_buffers {
	struct mutex lock; /* names that come and go, is_closed */
	bool is_closed;
	unsigned int next;
	struct hlist_head physical;
	struct chario_buffer **leaves[CHARIO_BUFFER_LEAVES];
};

/**
 * chario_buffer_find() - find a buffer that a call can use
 * @call: names it, and the slice
 *
 * Context: preemption off, until the buffer has been entered in a command that
 * has been taken, or counted in @users.
 * Return: the buffer; ENOENT when there is none; EINVAL when the slice is not
 * inside it; EPERM when the device must not write to it.
 */
static inline struct chario_buffer *
chario_buffer_find(const struct chario_call *call)
{
	unsigned int leaf = call->buffer_id / CHARIO_BUFFER_LEAF;
	struct chario_buffer **buffers, *buf;
	u64 bytes;

	if (unlikely(leaf >= CHARIO_BUFFER_LEAVES))
		return ERR_PTR(-ENOENT);
	buffers = READ_ONCE(call->buffers->leaves[leaf]);
	if (unlikely(!buffers))
		return ERR_PTR(-ENOENT);
	buf = READ_ONCE(buffers[call->buffer_id % CHARIO_BUFFER_LEAF]);
	if (unlikely(!buf))
		return ERR_PTR(-ENOENT);
	/* Once: chario_buffer_revoke() may be at it. */
	bytes = READ_ONCE(buf->bytes);
	if (unlikely(call->slice_bytes > bytes ||
		     call->buffer_offset > bytes - call->slice_bytes))
		return ERR_PTR(-EINVAL);
	if (unlikely(buf->source) && call->op == CHARIO_OP_READ)
		return ERR_PTR(-EPERM);
	return buf;
}

/* core/buffer.c */
struct chario_buffer *chario_buffer_alloc(struct chario_device *cio);
int chario_buffer_attach(struct chario_buffer *buf);
void chario_buffer_get(struct chario_buffer *buf);
void chario_buffer_put(struct chario_buffer *buf);
void chario_buffer_let_go(struct chario_buffer *buf);
void chario_buffer_close(struct chario_buffer *buf);
void chario_buffer_revoke(struct chario_buffer *buf);
bool chario_buffer_is_in_use(const struct chario_buffer *buf);
struct device *chario_buffer_dma_dev(const struct chario_device *cio);
void chario_buffer_detach_all(struct chario_device *cio);

/* core/names.c */
struct chario_buffers *chario_buffers_alloc(void);
void chario_buffers_free(struct chario_buffers *buffers);
int chario_names_enter(struct chario_buffers *buffers,
		       struct chario_buffer *buf, u32 *id);
struct chario_buffer **chario_names_look_up(struct chario_buffers *buffers,
					    u64 id);
struct chario_buffer *chario_names_take_out(struct chario_buffers *buffers,
					    u32 id);
struct chario_buffer *chario_names_borrow(struct chario_buffers *buffers,
					  u32 id);
bool chario_names_is_empty(struct chario_buffers *buffers);
int chario_names_resolve(struct chario_buffers *buffers, u64 address, u32 *id,
			 u64 *offset);

/* core/buffers.c */
int chario_buffer_create(struct chario_device *cio,
			 struct chario_buffers *buffers,
			 struct chario_buffer_create *args);
int chario_buffer_destroy(struct chario_buffers *buffers, u32 id);
int chario_buffer_sync(struct chario_buffers *buffers,
		       const struct chario_buffer_sync *args);
int chario_buffer_mmap(struct chario_buffers *buffers,
		       struct vm_area_struct *vma);

/* core/paged.c */
int chario_paged_init(struct chario_buffer *buf, u64 bytes);
int chario_paged_map(struct chario_buffer *buf, struct device *dev);
void chario_paged_unmap(struct chario_buffer *buf, struct device *dev);
void chario_paged_sync(struct chario_buffer *buf, struct device *dev,
		       u64 offset, u64 bytes, bool for_device);
void chario_paged_copy(const struct chario_buffer *buf, u64 offset, void *mem,
		       size_t bytes, bool to_buffer);

/* core/registered.c */
extern const struct chario_buffer_ops chario_registered_ops;

/* core/pool.c */
extern const struct chario_buffer_ops chario_pool_ops;

/* core/window.c */
extern const struct chario_buffer_ops chario_window_ops;
int chario_window_open_all(void);
void chario_window_close_all(void);

/* core/dmabuf.c */
extern const struct chario_buffer_ops chario_dmabuf_ops;
int chario_dmabuf_export(struct chario_buffers *buffers,
			 struct chario_buffer_export *args);

/* core/cmb.c */
extern const struct chario_buffer_ops chario_cmb_ops;

#endif /* CHARIO_CORE_BUFFER_H */
