/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The functions of buffers, and of each kind of memory.
 */
#ifndef CHARIO_MEMORY_BUFFER_H
#define CHARIO_MEMORY_BUFFER_H

#include "types/buffer.h"
#include "types/call.h"
#include "types/disk.h"
#include "types/request.h"

/*
 * Attributes to map physical memory that several buffers may map at once: no mapping
 * owns the CPU's cached bytes of it.
 */
#define CHARIO_RESOURCE_ATTRS	DMA_ATTR_SKIP_CPU_SYNC

/**
 * chario_buffer_find() - find a buffer that a call can use
 * @call: a call with the handle of the buffer, and a slice
 * @found: place for the buffer
 *
 * Context: preemption off, until the buffer has been entered in a command that
 * has been taken.
 * Return: 0; ENOENT if there is none; EINVAL if the slice is not inside it; EPERM if the
 * device must not write to it.
 */
static inline int chario_buffer_find(const struct chario_call *call,
				     struct chario_buffer **found)
{
	unsigned int leaf = call->handle / CHARIO_BUFFER_LEAF;
	struct chario_buffer **buffers, *buf;
	u64 bytes;

	if (unlikely(leaf >= CHARIO_BUFFER_LEAVES))
		return -ENOENT;
	buffers = READ_ONCE(call->buffers->leaves[leaf]);
	if (unlikely(!buffers))
		return -ENOENT;
	buf = READ_ONCE(buffers[call->handle % CHARIO_BUFFER_LEAF]);
	if (unlikely(!buf))
		return -ENOENT;
	/* The length is read once, because chario_buffer_revoke() may change it. */
	bytes = READ_ONCE(buf->bytes);
	if (unlikely(call->slice_bytes > bytes ||
		     call->buffer_offset > bytes - call->slice_bytes))
		return -EINVAL;
	if (unlikely(buf->source) && call->op == CHARIO_OP_READ)
		return -EPERM;
	*found = buf;
	return 0;
}

/*
 * Enter the buffer of a call in its request, and return it in @buf.  The buffer stays
 * until the first command, in which the request lives, is given back.  Returns 0, or an
 * error of chario_buffer_find().
 */
static inline int chario_buffer_enter(struct chario_request *req,
				      const struct chario_call *call,
				      struct chario_buffer **buf)
{
	int ret;

	preempt_disable();
	ret = chario_buffer_find(call, buf);
	if (!ret)
		WRITE_ONCE(req->buffer, *buf);
	preempt_enable();
	return ret;
}

/* memory/buffer.c */
struct chario_buffer *chario_buffer_alloc(struct chario_disk *disk);
int chario_buffer_attach(struct chario_buffer *buf);
void chario_buffer_get(struct chario_buffer *buf);
void chario_buffer_put(struct chario_buffer *buf);
void chario_buffer_let_go(struct chario_buffer *buf);
void chario_buffer_close(struct chario_buffer *buf);
void chario_buffer_revoke(struct chario_buffer *buf);
bool chario_buffer_is_in_use(const struct chario_buffer *buf);
struct device *chario_buffer_dma_dev(const struct chario_disk *disk);
void chario_buffer_detach_all(struct chario_disk *disk);

/* memory/handles.c */
struct chario_buffers *chario_buffers_alloc(void);
void chario_buffers_free(struct chario_buffers *buffers);
int chario_handles_enter(struct chario_buffers *buffers,
			 struct chario_buffer *buf, u32 *handle);
struct chario_buffer **chario_handles_look_up(struct chario_buffers *buffers,
					      u64 handle);
struct chario_buffer *chario_handles_take_out(struct chario_buffers *buffers,
					      u32 handle);
struct chario_buffer *chario_handles_borrow(struct chario_buffers *buffers,
					    u32 handle);
bool chario_handles_is_empty(struct chario_buffers *buffers);
int chario_handles_resolve(struct chario_buffers *buffers, u64 address, u32 *handle,
			   u64 *offset);

/* memory/buffers.c */
int chario_buffer_create(struct chario_disk *disk,
			 struct chario_buffers *buffers,
			 struct chario_buffer_create *args);
int chario_buffer_destroy(struct chario_buffers *buffers, u32 handle);
int chario_buffer_sync(struct chario_buffers *buffers,
		       const struct chario_buffer_sync *args);
int chario_buffer_mmap(struct chario_buffers *buffers,
		       struct vm_area_struct *vma);

/* memory/paged.c */
int chario_paged_init(struct chario_buffer *buf, u64 bytes);
int chario_paged_map(struct chario_buffer *buf, struct device *dev);
void chario_paged_unmap(struct chario_buffer *buf, struct device *dev);
void chario_paged_sync(struct chario_buffer *buf, struct device *dev,
		       u64 offset, u64 bytes, bool for_device);
void chario_paged_copy(const struct chario_buffer *buf, u64 offset, void *mem,
		       size_t bytes, bool to_buffer);

/* memory/registered.c */
extern const struct chario_buffer_ops chario_registered_ops;

/* memory/pool.c */
extern const struct chario_buffer_ops chario_pool_ops;

/* memory/window.c */
extern const struct chario_buffer_ops chario_window_ops;
int chario_window_open_all(void);
void chario_window_close_all(void);

/* memory/dmabuf.c */
extern const struct chario_buffer_ops chario_dmabuf_ops;
int chario_dmabuf_export(struct chario_buffers *buffers,
			 struct chario_buffer_export *args);

/* memory/cmb.c */
extern const struct chario_buffer_ops chario_cmb_ops;

#endif /* CHARIO_MEMORY_BUFFER_H */
