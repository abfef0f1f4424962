// SPDX-License-Identifier: GPL-2.0-only
/*
 * Buffers: made, found by name, given back; and what a drive that goes does to
 * them.
 */
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "back/back.h"
#include "core/buffer.h"
#include "core/queue.h"

#define MAX_BYTES	BIT_ULL(40)

static const struct chario_buffer_ops *const kinds[] = {
	[CHARIO_BUFFER_REGISTERED] = &chario_registered_ops,
	[CHARIO_BUFFER_POOL] = &chario_pool_ops,
	[CHARIO_BUFFER_WINDOW] = &chario_window_ops,
	[CHARIO_BUFFER_DMABUF] = &chario_dmabuf_ops,
	[CHARIO_BUFFER_CMB] = &chario_cmb_ops,
};

static void free_buffer(struct kref *alive)
{
	struct chario_buffer *buf = container_of(alive, struct chario_buffer,
						 alive);

	put_device(&buf->cio->dev);
	kfree(buf);
}

static struct device *dma_dev(const struct chario_device *cio)
{
	return cio->drive->queues[0]->dma_dev;
}

/* Under the disk's buffer_lock. */
static int map(struct chario_buffer *buf)
{
	const struct chario_backend *be = buf->cio->backend;
	struct device *dev = dma_dev(buf->cio);
	int ret;

	if (!dev) {
		buf->extents = buf->sgt.nents;
		buf->mapped = true;
		return 0;
	}
	ret = buf->ops->map(buf, dev);
	if (ret)
		return ret;
	ret = be->map_buffer(buf);
	if (ret) {
		buf->ops->unmap(buf, dev);
		return ret;
	}
	buf->extents = buf->dma->nents;
	buf->first = sg_dma_address(buf->dma->sgl);
	buf->mapped = true;
	return 0;
}

/* Under the disk's buffer_lock; no command touches it any more. */
static void unmap(struct chario_buffer *buf)
{
	struct device *dev = dma_dev(buf->cio);

	mutex_lock(&buf->sync_lock);
	if (buf->mapped && dev) {
		buf->cio->backend->unmap_buffer(buf);
		buf->ops->unmap(buf, dev);
	}
	buf->mapped = false;
	mutex_unlock(&buf->sync_lock);
}

/*
 * Is it entered in the request of a command?  One that is not the first of its
 * request still has what was entered when it was one.
 */
static bool is_entered(const struct chario_buffer *buf,
		       const struct chario_command *cmd)
{
	return READ_ONCE(cmd->own.buffer) == buf &&
	       READ_ONCE(cmd->req) == &cmd->own;
}

/* In a command that is taken?  For moments some are left over: look again. */
static bool is_in_use_on(const struct chario_buffer *buf,
			 const struct chario_queue *q)
{
	unsigned int tag;

	chario_queue_for_each_busy(q, tag)
		if (is_entered(buf, chario_queue_command(q, tag)))
			return true;
	return false;
}

static bool is_in_use(const struct chario_buffer *buf)
{
	const struct chario_device *cio = buf->cio;
	unsigned int i;

	if (atomic_read(&buf->users))
		return true;
	for (i = 0; i < cio->drive->nr_queues; i++)
		if (is_in_use_on(buf, cio->drive->queues[i]))
			return true;
	/* Pairs with clear_bit_unlock() in chario_queue_free(). */
	smp_mb();
	return false;
}

/* Calls do not find it any more. */
static void wait_unused(const struct chario_buffer *buf)
{
	/* Whoever has found it has entered it. */
	synchronize_rcu();
	/* Rarely: a drive that answers takes no time, one that hangs is reset. */
	while (is_in_use(buf))
		usleep_range(100, 1000);
}

/* Nobody finds it any more, and no command uses it. */
static void let_go(struct chario_buffer *buf)
{
	mutex_lock(&buf->cio->buffer_lock);
	unmap(buf);
	list_del(&buf->node);
	mutex_unlock(&buf->cio->buffer_lock);
	buf->ops->release(buf);
	complete_all(&buf->gone);
	kref_put(&buf->alive, free_buffer);
}

/* Its name has gone. */
static void let_go_later(struct work_struct *work)
{
	struct chario_buffer *buf = container_of(work, struct chario_buffer,
						 work);

	wait_unused(buf);
	let_go(buf);
}

/* Its name stays, but there is no slice inside it any more. */
static void revoke(struct work_struct *work)
{
	struct chario_buffer *buf = container_of(work, struct chario_buffer,
						 revoke_work);

	WRITE_ONCE(buf->bytes, 0);
	wait_unused(buf);
	mutex_lock(&buf->cio->buffer_lock);
	unmap(buf);
	mutex_unlock(&buf->cio->buffer_lock);
	kref_put(&buf->alive, free_buffer);
}

/**
 * chario_buffer_revoke() - take its memory away from a buffer, soon
 * @buf: has been held and not been released
 *
 * It stays, with no bytes.
 */
void chario_buffer_revoke(struct chario_buffer *buf)
{
	kref_get(&buf->alive);
	if (!queue_work(chario_workqueue, &buf->revoke_work))
		kref_put(&buf->alive, free_buffer);
}

static struct chario_buffer *alloc_buffer(struct chario_device *cio)
{
	struct chario_buffer *buf = kzalloc(sizeof(*buf), GFP_KERNEL_ACCOUNT);

	if (!buf)
		return NULL;
	get_device(&cio->dev);
	buf->cio = cio;
	kref_init(&buf->alive);
	init_completion(&buf->gone);
	mutex_init(&buf->sync_lock);
	INIT_LIST_HEAD(&buf->node);
	INIT_WORK(&buf->work, let_go_later);
	INIT_WORK(&buf->revoke_work, revoke);
	return buf;
}

/* The disk may go at any moment: its lock says whether it still takes one. */
static int attach(struct chario_buffer *buf)
{
	struct chario_device *cio = buf->cio;
	int ret = -ENODEV;

	mutex_lock(&cio->buffer_lock);
	if (!cio->removed)
		ret = map(buf);
	if (!ret)
		list_add(&buf->node, &cio->buffers);
	mutex_unlock(&cio->buffer_lock);
	return ret;
}

static int check_args(const struct chario_device *cio,
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
	    ((args->address | args->bytes) & cio->dma_mask))
		return -EINVAL;
	if (!dma_dev(cio) && !kinds[args->kind]->copy)
		return -EOPNOTSUPP;
	return 0;
}

/**
 * chario_buffer_create() - make a buffer
 * @cio: the disk
 * @buffers: of the open file that gets it
 * @args: what is wanted; gets what was made
 *
 * Return: 0 or -errno, see &struct chario_buffer_create.
 */
int chario_buffer_create(struct chario_device *cio,
			 struct chario_buffers *buffers,
			 struct chario_buffer_create *args)
{
	struct chario_buffer *buf;
	bool mappable;
	int ret;

	ret = check_args(cio, args);
	if (ret)
		return ret;
	buf = alloc_buffer(cio);
	if (!buf)
		return -ENOMEM;
	buf->ops = kinds[args->kind];
	buf->bytes = args->bytes;
	buf->source = args->flags & CHARIO_BUFFER_SOURCE;
	buf->streaming = args->flags & CHARIO_BUFFER_STREAMING;
	ret = buf->ops->hold(buf, args);
	if (ret)
		goto err_put;
	ret = attach(buf);
	if (ret)
		goto err_release;
	args->extents = buf->extents;
	mappable = buf->ops->mmap;
	ret = chario_names_enter(buffers, buf, &args->id);
	if (!ret && mappable)
		args->mmap_offset = (u64)args->id << PAGE_SHIFT;
	if (ret)
		queue_work(chario_workqueue, &buf->work);
	return ret;

err_release:
	buf->ops->release(buf);
err_put:
	kref_put(&buf->alive, free_buffer);
	return ret;
}

/**
 * chario_buffer_destroy() - give a buffer back
 * @buffers: of its file
 * @id: its name
 *
 * Return: 0 when the memory has been let go; ENOENT, EINTR.
 */
int chario_buffer_destroy(struct chario_buffers *buffers, u32 id)
{
	struct chario_buffer *buf = chario_names_take_out(buffers, id);
	int ret;

	if (!buf)
		return -ENOENT;
	kref_get(&buf->alive);
	queue_work(chario_workqueue, &buf->work);
	ret = wait_for_completion_killable(&buf->gone);
	kref_put(&buf->alive, free_buffer);
	return ret ? -EINTR : 0;
}

/**
 * chario_buffer_close() - the file of a buffer has been closed
 * @buf: the buffer; no call is left that could find it
 *
 * Waits for nothing: one that commands in flight use goes when they have ended.
 */
void chario_buffer_close(struct chario_buffer *buf)
{
	if (is_in_use(buf))
		queue_work(chario_workqueue, &buf->work);
	else
		let_go(buf);
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
		buf->ops->sync(buf, dma_dev(buf->cio), args->offset,
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
 * @buffers: of its file
 * @args: which
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
	buf = chario_names_borrow(buffers, args->id);
	if (!buf)
		return -ENOENT;
	ret = sync(buf, args);
	kref_get(&buf->alive);
	/* Pairs with is_in_use(). */
	atomic_fetch_dec_release(&buf->users);
	if (!ret && args->direction == CHARIO_SYNC_IDLE && is_in_use(buf))
		ret = -EBUSY;
	kref_put(&buf->alive, free_buffer);
	return ret;
}

static int check_vma(const struct chario_buffer *buf,
		     struct vm_area_struct *vma)
{
	if (!buf->ops->mmap || !(vma->vm_flags & VM_MAYSHARE))
		return -EINVAL;
	return vma_pages(vma) > PFN_UP(buf->bytes) ? -EINVAL : 0;
}

/**
 * chario_buffer_mmap() - map a buffer into user space
 * @buffers: of its file
 * @vma: where; the place in the file says which
 *
 * Return: 0; EINVAL when there is no such buffer, it cannot be mapped, is
 * shorter, or would not be shared; ENOMEM.
 */
int chario_buffer_mmap(struct chario_buffers *buffers,
		       struct vm_area_struct *vma)
{
	struct chario_buffer **slot;
	int ret = -EINVAL;

	/* The name stays as long, and so does the buffer. */
	mutex_lock(&buffers->lock);
	slot = chario_names_look_up(buffers, vma->vm_pgoff);
	if (slot && *slot) {
		ret = check_vma(*slot, vma);
		if (!ret)
			ret = (*slot)->ops->mmap(*slot, vma);
	}
	mutex_unlock(&buffers->lock);
	return ret;
}

/**
 * chario_buffer_detach_all() - the drive goes, and its mappings with it
 * @cio: unregistered; its queues have been drained
 */
void chario_buffer_detach_all(struct chario_device *cio)
{
	struct chario_buffer *buf;

	mutex_lock(&cio->buffer_lock);
	list_for_each_entry(buf, &cio->buffers, node)
		unmap(buf);
	mutex_unlock(&cio->buffer_lock);
}
