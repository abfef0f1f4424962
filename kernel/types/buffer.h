/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A buffer: memory that is mapped for the device once and used by many calls.
 *
 * To the rest of the core all kinds of buffer are alike: a buffer yields DMA
 * addresses, from which the back end has prepared its tables, or the core its pieces.
 * Kinds differ in who made the memory: see &struct chario_buffer_ops.
 *
 * Life of a buffer
 *
 *   chario_buffer_create()   acquires, maps and prepares the memory, and gives the
 *                            buffer a handle in the open file
 *   chario_buffer_find()     finds the buffer by its handle for a call that has taken
 *                            a command, and enters it in the command
 *   chario_buffer_destroy()  takes the handle away
 *   a worker                 lets go of the memory when it is entered in no taken
 *                            command any more
 *   chario_buffer_close()    lets go at the last close of the file: at once if no
 *                            command has it entered, else by the worker
 *
 * So a call pays for no reference: the slot that it needs anyway is one.  From
 * chario_buffer_find() until the command has been entered, the buffer stays because
 * preemption is off, which holds up the worker's synchronize_rcu(); from there on it
 * stays because the worker searches the slots.  A call of several requests counts
 * itself in @users.
 *
 * When a drive goes, chario_buffer_detach_all() undoes its mappings; the memory
 * stays with its file.
 */
#ifndef CHARIO_TYPES_BUFFER_H
#define CHARIO_TYPES_BUFFER_H

#include <linux/completion.h>
#include <linux/dma-mapping.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/rculist.h>
#include <linux/scatterlist.h>
#include <linux/workqueue.h>

#include <chario/uapi.h>

#include "chario.h"
#include "types/locked.h"

struct chario_buffer;
struct chario_pieces;
struct dma_buf;

/**
 * struct chario_buffer_ops - a kind of memory
 * @acquire: function that gets the memory and keeps it in place.  May sleep.  Returns 0
 *	or -errno
 * @release: function that undoes @acquire; the device can no longer touch the memory.
 *	May sleep
 * @map: function that maps the memory for the device, and sets @dma and @apart.
 *	Returns 0 or -errno
 * @unmap: function that undoes @map; moves no bytes
 * @sync: function that hands bytes over between CPU and device, for a buffer that is
 *	@apart.  NULL if none ever is
 * @mmap: function that maps the memory into user space; length, place and kind of
 *	the mapping have been checked.  NULL if it cannot be mapped
 * @copy: function that moves bytes inside the buffer by the CPU, for back ends without
 *	DMA.  Any context, but not under the lock of a queue: it may take long.  NULL
 *	if there must be a device; such buffers are refused with EOPNOTSUPP where
 *	there is none
 * @export: function that returns a dma-buf or an ERR_PTR.  NULL if it cannot be
 *	exported
 */
struct chario_buffer_ops {
	int (*acquire)(struct chario_buffer *buf,
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
 * @back: memory of the back end, made by &struct chario_backend.map_buffer; valid
 *	for the holder of a command of a queue that is not dead
 * @bytes: length in bytes; 0 once the memory has been taken away, so it is read once
 * @page_offset: byte offset of the first byte in its first page
 * @source: true if the device does not write to it
 * @streaming: true if its user syncs
 * @apart: true if CPU and device may see different bytes until a sync; valid if
 *	@mapped is set
 * @mapped: true if @dma, @back and @pieces are valid; under the disk's buffer_lock and
 *	@sync_lock
 * @pieces: the memory by its place in the buffer, from which segments are cut; NULL if
 *	the back end has tables of its own, or there is no DMA.  Valid like @back
 * @dma: the memory as the device sees it
 * @extents: number of pieces of @dma when it was mapped
 * @first: DMA address of the first piece
 * @sgt: scatterlist of the memory, if it has pages
 * @pages: array of the pages, if there are any
 * @nr_pages: length of @pages
 * @own: data of its kind
 * @handle: handle of the buffer in its open file
 * @is_physical: true if a transfer may name it by physical address
 * @address: physical address of the first byte, if @is_physical
 * @physical: entry of the list of its file, if @is_physical
 * @locked: pages that count as locked, for a kind that counts here
 * @users: number of calls of several requests that use it
 * @ops: operations of its kind
 * @disk: the disk; a reference
 * @sync_lock: lock that keeps the buffer mapped during a sync
 * @node: entry of the disk's list of buffers, under its buffer_lock
 * @alive: reference count of this structure, for the worker and for waiters
 * @gone: completion that is done when the memory has been let go
 * @work: work that lets go of the memory
 * @revoke_work: work that takes the memory away
 */
struct chario_buffer {
	void *back;
	u64 bytes;
	u32 page_offset;
	bool source;
	bool streaming;
	bool apart;
	bool mapped;
	struct chario_pieces *pieces;
	struct sg_table *dma;
	u32 extents;
	dma_addr_t first;
	struct sg_table sgt;
	struct page **pages;
	unsigned long nr_pages;
	void *own;
	u32 handle;
	bool is_physical;
	u64 address;
	struct hlist_node physical;
	struct chario_locked locked;
	atomic_t users;
	const struct chario_buffer_ops *ops;
	struct chario_disk *disk;
	struct mutex sync_lock; /* mapped, during a sync */
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
 * Flags for arrays whose length the caller chooses: a caller who may lock any amount of
 * memory gets ENOMEM for too much of it, without the OOM killer and without a warning.
 */
#define CHARIO_BUFFER_GFP	(GFP_KERNEL_ACCOUNT | __GFP_NOWARN | \
				 __GFP_RETRY_MAYFAIL)

/* Handles are 1 to CHARIO_BUFFER_LEAVES * CHARIO_BUFFER_LEAF - 1. */
#define CHARIO_BUFFER_LEAVES	64
#define CHARIO_BUFFER_LEAF	1024

/**
 * struct chario_buffers - the buffers of an open file
 * @lock: lock that protects the change of handles, and @is_closed
 * @is_closed: true if no buffer can be added
 * @next: start of the search for a free handle, so that a handle is not used again soon
 * @physical: list of buffers that a transfer may name by physical address; for
 *	readers under RCU
 * @leaves: buffers by handle; leaves are made when they are needed
 */
struct chario_buffers {
	struct mutex lock; /* change of handles, is_closed */
	bool is_closed;
	unsigned int next;
	struct hlist_head physical;
	struct chario_buffer **leaves[CHARIO_BUFFER_LEAVES];
};

#endif /* CHARIO_TYPES_BUFFER_H */
