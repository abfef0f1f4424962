// SPDX-License-Identifier: GPL-2.0-only
/*
 * Buffers: made, found by name, given back; and what a drive that goes does to
 * them.
 */
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/highmem.h>
#include <linux/slab.h>

#include "back/back.h"
#include "core/buffer.h"
#include "core/queue.h"

#define MAX_BYTES	BIT_ULL(40)

/* Names of buffers of one open file. */
#define MAX_ID		(CHARIO_BUFFER_LEAVES * CHARIO_BUFFER_LEAF - 1)

static const struct chario_buffer_ops *const kinds[] = {
	[CHARIO_BUFFER_REGISTERED] = &chario_registered_ops,
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

/* Is it entered in a command that is taken?  Some are left over: look again. */
static bool is_in_use_on(const struct chario_buffer *buf,
			 const struct chario_queue *q)
{
	unsigned int tag;

	for_each_set_bit(tag, q->busy, q->depth)
		if (READ_ONCE(chario_queue_command(q, tag)->own.buffer) == buf)
			return true;
	return false;
}

static bool is_in_use(const struct chario_buffer *buf)
{
	const struct chario_device *cio = buf->cio;
	unsigned int i;

	if (atomic_read(&buf->users))
		return true;
	for (i = 0; i < cio->nr_queues; i++)
		if (is_in_use_on(buf, cio->queues[i]))
			return true;
	return false;
}

/* Its name has gone. */
static void let_go(struct work_struct *work)
{
	struct chario_buffer *buf = container_of(work, struct chario_buffer,
						 work);

	/* Whoever has found it has entered it. */
	synchronize_rcu();
	/* Rarely: a drive that answers takes no time, one that hangs is reset. */
	while (is_in_use(buf))
		usleep_range(100, 1000);
	/* Pairs with clear_bit_unlock() in chario_queue_put(). */
	smp_mb();
	mutex_lock(&buf->cio->buffer_lock);
	unmap(buf);
	list_del(&buf->node);
	mutex_unlock(&buf->cio->buffer_lock);
	buf->ops->release(buf);
	complete_all(&buf->gone);
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

static struct chario_buffer **find_slot(struct chario_buffers *buffers,
					unsigned int id)
{
	struct chario_buffer ***leaf = &buffers->leaves[id / CHARIO_BUFFER_LEAF];
	struct chario_buffer **slots = *leaf;

	if (!slots) {
		slots = kcalloc(CHARIO_BUFFER_LEAF, sizeof(*slots),
				GFP_KERNEL_ACCOUNT);
		if (!slots)
			return ERR_PTR(-ENOMEM);
		/* Pairs with chario_buffer_find(): it is empty. */
		smp_store_release(leaf, slots);
	}
	return &slots[id % CHARIO_BUFFER_LEAF];
}

/* Give it a name; from then on calls find it.  Under the lock of the names. */
static int enter(struct chario_buffers *buffers, struct chario_buffer *buf,
		 u32 *id)
{
	unsigned int tries;

	for (tries = 0; tries < MAX_ID; tries++) {
		unsigned int candidate = 1 + buffers->next;
		struct chario_buffer **slot = find_slot(buffers, candidate);

		if (IS_ERR(slot))
			return PTR_ERR(slot);
		buffers->next = candidate % MAX_ID;
		if (*slot)
			continue;
		*id = candidate;
		/* Pairs with chario_buffer_find(): it is whole. */
		smp_store_release(slot, buf);
		return 0;
	}
	return -ENOSPC;
}

/* Take its name away. */
static struct chario_buffer *take_out(struct chario_buffers *buffers, u32 id)
{
	struct chario_buffer **slots, *buf = NULL;

	if (id > MAX_ID)
		return NULL;
	mutex_lock(&buffers->lock);
	slots = buffers->leaves[id / CHARIO_BUFFER_LEAF];
	if (slots) {
		buf = slots[id % CHARIO_BUFFER_LEAF];
		WRITE_ONCE(slots[id % CHARIO_BUFFER_LEAF], NULL);
	}
	mutex_unlock(&buffers->lock);
	return buf;
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
	ret = buf->ops->hold(buf, args);
	if (ret)
		goto err_put;
	ret = attach(buf);
	if (ret)
		goto err_release;
	args->extents = buf->sgt.nents;
	mutex_lock(&buffers->lock);
	ret = enter(buffers, buf, &args->id);
	mutex_unlock(&buffers->lock);
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
	struct chario_buffer *buf = take_out(buffers, id);
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
 * chario_buffers_alloc() - an open file without buffers
 *
 * Return: the buffers, or NULL.
 */
struct chario_buffers *chario_buffers_alloc(void)
{
	struct chario_buffers *buffers = kzalloc(sizeof(*buffers), GFP_KERNEL);

	if (buffers)
		mutex_init(&buffers->lock);
	return buffers;
}

static void free_leaf(struct chario_buffer **slots)
{
	unsigned int i;

	for (i = 0; slots && i < CHARIO_BUFFER_LEAF; i++)
		if (slots[i])
			queue_work(chario_workqueue, &slots[i]->work);
	kfree(slots);
}

/**
 * chario_buffers_free() - the last close of a file
 * @buffers: nobody uses them any more
 *
 * Waits for nothing: a drive that hangs does not hold up a close.
 */
void chario_buffers_free(struct chario_buffers *buffers)
{
	unsigned int i;

	for (i = 0; i < CHARIO_BUFFER_LEAVES; i++)
		free_leaf(buffers->leaves[i]);
	kfree(buffers);
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
