// SPDX-License-Identifier: GPL-2.0-only
/*
 * Buffers: made, found by name, given back; and what a drive that goes does to
 * them.
 */
#include <linux/dma-mapping.h>
#include <linux/highmem.h>
#include <linux/slab.h>

#include "back/back.h"
#include "core/buffer.h"
#include "core/queue.h"

#define MAX_BYTES	BIT_ULL(40)

/* Names of buffers of one open file. */
#define MAX_ID		65535

static struct workqueue_struct *workqueue;

static const struct chario_buffer_ops *const kinds[] = {
	[CHARIO_BUFFER_REGISTERED] = &chario_registered_ops,
};

static void free_buffer(struct kref *alive)
{
	struct chario_buffer *buf = container_of(alive, struct chario_buffer,
						 alive);

	percpu_ref_exit(&buf->ref);
	put_device(&buf->cio->dev);
	kfree(buf);
}

static struct device *dma_dev(const struct chario_device *cio)
{
	return cio->queues[0]->dma_dev;
}

/* Under the disk's buffer_lock. */
static int map(struct chario_buffer *buf)
{
	const struct chario_backend *be = buf->cio->backend;
	struct device *dev = dma_dev(buf->cio);
	int ret;

	if (!dev) {
		buf->mapped = true;
		return 0;
	}
	ret = dma_map_sgtable(dev, &buf->sgt, chario_buffer_direction(buf), 0);
	if (ret)
		return ret == -ENOMEM ? ret : -EIO;
	ret = be->map_buffer(buf);
	if (ret) {
		dma_unmap_sgtable(dev, &buf->sgt, chario_buffer_direction(buf),
				  0);
		return ret;
	}
	buf->mapped = true;
	return 0;
}

/* Under the disk's buffer_lock; no command touches it any more. */
static void unmap(struct chario_buffer *buf)
{
	struct device *dev = dma_dev(buf->cio);

	if (!buf->mapped)
		return;
	buf->mapped = false;
	if (!dev)
		return;
	buf->cio->backend->unmap_buffer(buf);
	dma_unmap_sgtable(dev, &buf->sgt, chario_buffer_direction(buf), 0);
}

/* The last reference has gone. */
static void let_go(struct work_struct *work)
{
	struct chario_buffer *buf = container_of(work, struct chario_buffer,
						 work);

	mutex_lock(&buf->cio->buffer_lock);
	unmap(buf);
	list_del(&buf->node);
	mutex_unlock(&buf->cio->buffer_lock);
	buf->ops->release(buf);
	complete_all(&buf->gone);
	kref_put(&buf->alive, free_buffer);
}

static void ref_released(struct percpu_ref *ref)
{
	struct chario_buffer *buf = container_of(ref, struct chario_buffer,
						 ref);

	/* May be in an interrupt; letting go sleeps. */
	queue_work(workqueue, &buf->work);
}

static struct chario_buffer *alloc_buffer(struct chario_device *cio)
{
	struct chario_buffer *buf = kzalloc(sizeof(*buf), GFP_KERNEL_ACCOUNT);

	if (!buf)
		return NULL;
	if (percpu_ref_init(&buf->ref, ref_released, 0, GFP_KERNEL)) {
		kfree(buf);
		return NULL;
	}
	get_device(&cio->dev);
	buf->cio = cio;
	kref_init(&buf->alive);
	init_completion(&buf->gone);
	INIT_LIST_HEAD(&buf->node);
	INIT_WORK(&buf->work, let_go);
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
	if (!args->kind || args->kind >= ARRAY_SIZE(kinds))
		return -EINVAL;
	if (args->flags & ~CHARIO_BUFFER_SOURCE)
		return -EINVAL;
	if (args->id || args->extents ||
	    memchr_inv(args->reserved, 0, sizeof(args->reserved)))
		return -EINVAL;
	if (!args->bytes || args->bytes > MAX_BYTES ||
	    ((args->address | args->bytes) & cio->dma_mask))
		return -EINVAL;
	return 0;
}

/**
 * chario_buffer_create() - make a buffer
 * @cf: the open file that gets it
 * @args: what is wanted; gets what was made
 *
 * Return: 0 or -errno, see &struct chario_buffer_create.
 */
int chario_buffer_create(struct chario_file *cf,
			 struct chario_buffer_create *args)
{
	struct chario_buffer *buf;
	int ret;

	ret = check_args(cf->cio, args);
	if (ret)
		return ret;
	buf = alloc_buffer(cf->cio);
	if (!buf)
		return -ENOMEM;
	buf->ops = kinds[args->kind];
	buf->bytes = args->bytes;
	buf->source = args->flags & CHARIO_BUFFER_SOURCE;
	ret = buf->ops->hold(buf, args);
	if (ret)
		goto err_put;
	ret = attach(buf);
	if (ret)
		goto err_release;
	args->extents = buf->sgt.nents;
	ret = xa_alloc(&cf->buffers, &args->id, buf, XA_LIMIT(1, MAX_ID),
		       GFP_KERNEL_ACCOUNT);
	if (!ret)
		return 0;
	percpu_ref_kill(&buf->ref);
	return ret == -EBUSY ? -ENOSPC : ret;

err_release:
	buf->ops->release(buf);
err_put:
	kref_put(&buf->alive, free_buffer);
	return ret;
}

/**
 * chario_buffer_destroy() - give a buffer back
 * @cf: its file
 * @id: its name
 *
 * Return: 0 when the memory has been let go; ENOENT, EINTR.
 */
int chario_buffer_destroy(struct chario_file *cf, u32 id)
{
	struct chario_buffer *buf = xa_erase(&cf->buffers, id);
	int ret;

	if (!buf)
		return -ENOENT;
	kref_get(&buf->alive);
	percpu_ref_kill(&buf->ref);
	ret = wait_for_completion_killable(&buf->gone);
	kref_put(&buf->alive, free_buffer);
	return ret ? -EINTR : 0;
}

/**
 * chario_buffer_destroy_all() - the last close of a file
 * @cf: nobody uses it any more
 *
 * Waits for nothing: a drive that hangs does not hold up a close.
 */
void chario_buffer_destroy_all(struct chario_file *cf)
{
	struct chario_buffer *buf;
	unsigned long id;

	xa_for_each(&cf->buffers, id, buf)
		percpu_ref_kill(&buf->ref);
	xa_destroy(&cf->buffers);
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

/**
 * chario_buffer_copy() - move bytes by the CPU, for back ends without DMA
 * @buf: the buffer
 * @offset: in it
 * @mem: the other side
 * @bytes: how many; inside the buffer
 * @to_buffer: or from it
 */
void chario_buffer_copy(const struct chario_buffer *buf, u64 offset, void *mem,
			size_t bytes, bool to_buffer)
{
	offset += buf->page_offset;
	while (bytes) {
		struct page *page = buf->pages[offset >> PAGE_SHIFT];
		size_t from = offset_in_page(offset);
		size_t part = min(bytes, PAGE_SIZE - from);

		if (to_buffer)
			memcpy_to_page(page, from, mem, part);
		else
			memcpy_from_page(mem, page, from, part);
		mem += part;
		offset += part;
		bytes -= part;
	}
}

/**
 * chario_buffer_init() - get ready for buffers
 *
 * Return: 0 or ENOMEM.
 */
int chario_buffer_init(void)
{
	workqueue = alloc_workqueue("chario_buffer", WQ_UNBOUND, 0);
	return workqueue ? 0 : -ENOMEM;
}

/**
 * chario_buffer_exit() - undo chario_buffer_init()
 *
 * No file is open: what is left are buffers that were given back just now.
 */
void chario_buffer_exit(void)
{
	/* A reference that has been killed ends in an RCU callback. */
	rcu_barrier();
	destroy_workqueue(workqueue);
}
