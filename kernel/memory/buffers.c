// SPDX-License-Identifier: GPL-2.0-only
/*
 * The buffers of an open file: made, given back, synced and mapped.
 */
#include <linux/mm.h>

#include "memory/buffer.h"
#include "types/disk.h"

#define MAX_BYTES	BIT_ULL(40)

static const struct chario_buffer_ops *const kinds[] = {
	[CHARIO_BUFFER_REGISTERED] = &chario_registered_ops,
	[CHARIO_BUFFER_POOL] = &chario_pool_ops,
	[CHARIO_BUFFER_WINDOW] = &chario_window_ops,
	[CHARIO_BUFFER_DMABUF] = &chario_dmabuf_ops,
	[CHARIO_BUFFER_CMB] = &chario_cmb_ops,
};

static int check_args(const struct chario_disk *disk,
		      const struct chario_buffer_create *args)
{
	if (args->kind >= ARRAY_SIZE(kinds) || !kinds[args->kind])
		return -EINVAL;
	if (args->flags & ~(CHARIO_BUFFER_SOURCE | CHARIO_BUFFER_STREAMING))
		return -EINVAL;
	if (args->fd && args->kind != CHARIO_BUFFER_DMABUF)
		return -EINVAL;
	if (args->id || args->extents || args->mmap_offset ||
	    memchr_inv(args->reserved, 0, sizeof(args->reserved)))
		return -EINVAL;
	if (!args->bytes || args->bytes > MAX_BYTES ||
	    ((args->address | args->bytes) & disk->dma_mask))
		return -EINVAL;
	if (!chario_buffer_dma_dev(disk) && !kinds[args->kind]->copy)
		return -EOPNOTSUPP;
	return 0;
}

/**
 * chario_buffer_create() - make a buffer
 * @disk: the disk
 * @buffers: buffers of the open file
 * @args: wishes of the caller; filled in with the properties of the buffer
 *
 * Return: 0 or -errno, see &struct chario_buffer_create.
 */
int chario_buffer_create(struct chario_disk *disk,
			 struct chario_buffers *buffers,
			 struct chario_buffer_create *args)
{
	struct chario_buffer *buf;
	bool mappable;
	int ret;

	ret = check_args(disk, args);
	if (ret)
		return ret;
	buf = chario_buffer_alloc(disk);
	if (!buf)
		return -ENOMEM;
	buf->ops = kinds[args->kind];
	buf->bytes = args->bytes;
	buf->source = args->flags & CHARIO_BUFFER_SOURCE;
	buf->streaming = args->flags & CHARIO_BUFFER_STREAMING;
	ret = buf->ops->acquire(buf, args);
	if (ret)
		goto err_put;
	ret = chario_buffer_attach(buf);
	if (ret)
		goto err_release;
	args->extents = buf->extents;
	/* Once it has a handle, another thread may destroy the buffer. */
	mappable = buf->ops->mmap;
	ret = chario_handles_enter(buffers, buf, &args->id);
	if (!ret && mappable)
		args->mmap_offset = (u64)args->id << PAGE_SHIFT;
	if (ret)
		chario_buffer_let_go(buf);
	return ret;

err_release:
	buf->ops->release(buf);
err_put:
	chario_buffer_put(buf);
	return ret;
}

/**
 * chario_buffer_destroy() - give a buffer back
 * @buffers: buffers of the open file
 * @handle: handle of the buffer
 *
 * Return: 0 if the memory has been let go; ENOENT, EINTR.
 */
int chario_buffer_destroy(struct chario_buffers *buffers, u32 handle)
{
	struct chario_buffer *buf = chario_handles_take_out(buffers, handle);
	int ret;

	if (!buf)
		return -ENOENT;
	chario_buffer_get(buf);
	chario_buffer_let_go(buf);
	ret = wait_for_completion_killable(&buf->gone);
	chario_buffer_put(buf);
	return ret ? -EINTR : 0;
}

static int sync(struct chario_buffer *buf,
		const struct chario_buffer_sync *args)
{
	u64 bytes = READ_ONCE(buf->bytes);

	if (args->bytes > bytes || args->offset > bytes - args->bytes)
		return -EINVAL;
	if (!READ_ONCE(buf->apart) || args->direction == CHARIO_SYNC_IDLE)
		return 0;
	mutex_lock(&buf->sync_lock);
	if (buf->mapped && buf->apart)
		buf->ops->sync(buf, chario_buffer_dma_dev(buf->disk), args->offset,
			       args->bytes,
			       args->direction == CHARIO_SYNC_FOR_DEVICE);
	mutex_unlock(&buf->sync_lock);
	return 0;
}

static bool is_direction(u32 direction)
{
	return direction >= CHARIO_SYNC_FOR_DEVICE &&
	       direction <= CHARIO_SYNC_IDLE;
}

/**
 * chario_buffer_sync() - hand bytes over between CPU and device
 * @buffers: buffers of the open file
 * @args: the buffer, its bytes, and the direction
 *
 * Return: 0 or -errno, see &struct chario_buffer_sync.
 */
int chario_buffer_sync(struct chario_buffers *buffers,
		       const struct chario_buffer_sync *args)
{
	struct chario_buffer *buf;
	int ret;

	if (args->reserved || !is_direction(args->direction))
		return -EINVAL;
	buf = chario_handles_borrow(buffers, args->id);
	if (!buf)
		return -ENOENT;
	ret = sync(buf, args);
	chario_buffer_get(buf);
	/* Pairs with smp_mb() in chario_buffer_is_in_use(). */
	atomic_fetch_dec_release(&buf->users);
	if (!ret && args->direction == CHARIO_SYNC_IDLE && chario_buffer_is_in_use(buf))
		ret = -EBUSY;
	chario_buffer_put(buf);
	return ret;
}

static int check_vma(const struct chario_buffer *buf,
		     struct vm_area_struct *vma)
{
	if (!buf->ops->mmap || !(vma->vm_flags & VM_MAYSHARE))
		return -EINVAL;
	return vma_pages(vma) > PFN_UP(READ_ONCE(buf->bytes)) ? -EINVAL : 0;
}

/**
 * chario_buffer_mmap() - map a buffer into user space
 * @buffers: buffers of the open file
 * @vma: the mapping; its offset in the file is the handle of the buffer
 *
 * Return: 0; EINVAL if there is no such buffer, it cannot be mapped, is shorter, or
 * would not be shared; ENOMEM.
 */
int chario_buffer_mmap(struct chario_buffers *buffers,
		       struct vm_area_struct *vma)
{
	struct chario_buffer **slot;
	int ret = -EINVAL;

	/* The lock keeps the handle, and the handle keeps the buffer. */
	mutex_lock(&buffers->lock);
	slot = chario_handles_look_up(buffers, vma->vm_pgoff);
	if (slot && *slot) {
		ret = check_vma(*slot, vma);
		if (!ret)
			ret = (*slot)->ops->mmap(*slot, vma);
	}
	mutex_unlock(&buffers->lock);
	return ret;
}
