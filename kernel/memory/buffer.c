// SPDX-License-Identifier: GPL-2.0-only
/*
 * The life of a buffer: it is mapped for a device, let go when no command uses it any
 * more, and unmapped when its drive goes.
 */
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "base/workers.h"
#include "memory/buffer.h"
#include "memory/pieces.h"
#include "types/queue.h"
#include "types/backend.h"

static void free_buffer(struct kref *alive)
{
	struct chario_buffer *buf = container_of(alive, struct chario_buffer,
						 alive);

	put_device(&buf->disk->dev);
	kfree(buf);
}

/**
 * chario_buffer_dma_dev() - return the device that reaches the buffers of a disk
 * @disk: the disk
 *
 * Return: the device, or NULL if there is no DMA.
 */
struct device *chario_buffer_dma_dev(const struct chario_disk *disk)
{
	return disk->drive->queues[0]->dma_dev;
}

/* Map a buffer.  Under the disk's buffer_lock. */
static int buffer_map(struct chario_buffer *buf)
{
	const struct chario_backend *be = buf->disk->backend;
	struct device *dev = chario_buffer_dma_dev(buf->disk);
	int ret;

	if (!dev) {
		buf->extents = buf->sgt.nents;
		buf->mapped = true;
		return 0;
	}
	ret = buf->ops->map(buf, dev);
	if (ret)
		return ret;
	ret = be->map_buffer ? be->map_buffer(buf) : chario_pieces_create(buf);
	if (ret) {
		buf->ops->unmap(buf, dev);
		return ret;
	}
	buf->extents = buf->dma->nents;
	buf->first = sg_dma_address(buf->dma->sgl);
	buf->mapped = true;
	return 0;
}

/* Unmap a buffer that no command uses any more.  Under the disk's buffer_lock. */
static void buffer_unmap(struct chario_buffer *buf)
{
	const struct chario_backend *be = buf->disk->backend;
	struct device *dev = chario_buffer_dma_dev(buf->disk);

	mutex_lock(&buf->sync_lock);
	if (buf->mapped && dev) {
		if (be->map_buffer)
			be->unmap_buffer(buf);
		else
			chario_pieces_destroy(buf);
		buf->ops->unmap(buf, dev);
	}
	buf->mapped = false;
	mutex_unlock(&buf->sync_lock);
}

/*
 * Returns whether a buffer is entered in the request of a command.  A command that is
 * not the first of its request may have a stale pointer from when it was.
 */
static bool is_entered(const struct chario_buffer *buf,
		       const struct chario_command *cmd)
{
	return READ_ONCE(cmd->own.buffer) == buf &&
	       READ_ONCE(cmd->req) == &cmd->own;
}

/*
 * Returns whether a taken command has the buffer entered.  A reused slot may briefly
 * have a stale pointer, so callers look again.
 */
static bool is_in_use_on(const struct chario_buffer *buf,
			 const struct chario_queue *q)
{
	unsigned int tag;

	chario_queue_for_each_busy(q, tag)
		if (is_entered(buf, chario_queue_command(q, tag)))
			return true;
	return false;
}

/**
 * chario_buffer_is_in_use() - tell if a call or a command uses a buffer
 * @buf: the buffer
 */
bool chario_buffer_is_in_use(const struct chario_buffer *buf)
{
	const struct chario_disk *disk = buf->disk;
	unsigned int i;

	for (i = 0; i < disk->drive->nr_queues; i++)
		if (is_in_use_on(buf, disk->drive->queues[i]))
			return true;
	/*
	 * Pairs with clear_bit_unlock() in chario_queue_free_slot().  A call counts itself
	 * in @users while a command still keeps the buffer, so @users is read last.
	 */
	smp_mb();
	return atomic_read(&buf->users);
}

/* Wait until nobody uses a buffer, which calls do not find any more. */
static void wait_unused(const struct chario_buffer *buf)
{
	/* Afterwards every call that has found the buffer has entered it. */
	synchronize_rcu();
	/* The wait is rarely long: a drive answers soon, or is reset if it hangs. */
	while (chario_buffer_is_in_use(buf))
		usleep_range(100, 1000);
}

/* Let go of a buffer that nobody finds any more and no command uses. */
static void buffer_let_go(struct chario_buffer *buf)
{
	mutex_lock(&buf->disk->buffer_lock);
	buffer_unmap(buf);
	list_del(&buf->node);
	mutex_unlock(&buf->disk->buffer_lock);
	buf->ops->release(buf);
	complete_all(&buf->gone);
	kref_put(&buf->alive, free_buffer);
}

/* Let go of a buffer whose handle has been taken away. */
static void let_go_later(struct work_struct *work)
{
	struct chario_buffer *buf = container_of(work, struct chario_buffer,
						 work);

	wait_unused(buf);
	buffer_let_go(buf);
}

/* Take the memory of a buffer away: its handle stays, but every slice is outside now. */
static void revoke(struct work_struct *work)
{
	struct chario_buffer *buf = container_of(work, struct chario_buffer,
						 revoke_work);

	WRITE_ONCE(buf->bytes, 0);
	wait_unused(buf);
	mutex_lock(&buf->disk->buffer_lock);
	buffer_unmap(buf);
	mutex_unlock(&buf->disk->buffer_lock);
	kref_put(&buf->alive, free_buffer);
}

/**
 * chario_buffer_get() - take a reference to a buffer
 * @buf: the buffer
 */
void chario_buffer_get(struct chario_buffer *buf)
{
	kref_get(&buf->alive);
}

/**
 * chario_buffer_put() - undo chario_buffer_get() or chario_buffer_alloc()
 * @buf: the buffer
 */
void chario_buffer_put(struct chario_buffer *buf)
{
	kref_put(&buf->alive, free_buffer);
}

/**
 * chario_buffer_let_go() - let go of a buffer as soon as no command uses it
 * @buf: a buffer whose handle has been taken away
 */
void chario_buffer_let_go(struct chario_buffer *buf)
{
	queue_work(chario_workqueue, &buf->work);
}

/**
 * chario_buffer_revoke() - let a worker take the memory of a buffer away
 * @buf: a buffer that has been held and not been released
 *
 * The buffer stays, with no bytes.
 */
void chario_buffer_revoke(struct chario_buffer *buf)
{
	kref_get(&buf->alive);
	if (!queue_work(chario_workqueue, &buf->revoke_work))
		/* GCOVR_EXCL_START: exporters here move memory once */
		kref_put(&buf->alive, free_buffer);
		/* GCOVR_EXCL_STOP */
}

/**
 * chario_buffer_alloc() - allocate a buffer without memory
 * @disk: disk of the buffer
 *
 * Return: the buffer, until chario_buffer_put(); or NULL.
 */
struct chario_buffer *chario_buffer_alloc(struct chario_disk *disk)
{
	struct chario_buffer *buf = kzalloc(sizeof(*buf), GFP_KERNEL_ACCOUNT);

	if (!buf)
		return NULL;
	get_device(&disk->dev);
	buf->disk = disk;
	kref_init(&buf->alive);
	init_completion(&buf->gone);
	mutex_init(&buf->sync_lock);
	INIT_LIST_HEAD(&buf->node);
	INIT_WORK(&buf->work, let_go_later);
	INIT_WORK(&buf->revoke_work, revoke);
	return buf;
}

/**
 * chario_buffer_attach() - map a buffer for the device
 * @buf: a buffer whose memory is held
 *
 * The disk may go at any moment: under its lock it is known if it still takes buffers.
 *
 * Return: 0; ENODEV; or an error of the kind of memory or of the back end.
 */
int chario_buffer_attach(struct chario_buffer *buf)
{
	struct chario_disk *disk = buf->disk;
	int ret = -ENODEV;

	mutex_lock(&disk->buffer_lock);
	if (!disk->removed)
		ret = buffer_map(buf);
	if (!ret)
		list_add(&buf->node, &disk->buffers);
	mutex_unlock(&disk->buffer_lock);
	return ret;
}

/**
 * chario_buffer_close() - let go of a buffer whose file has been closed
 * @buf: the buffer; no call is left that could find it
 *
 * This waits for nothing: a worker lets go of a buffer that commands in flight use.
 */
void chario_buffer_close(struct chario_buffer *buf)
{
	if (chario_buffer_is_in_use(buf))
		chario_buffer_let_go(buf);
	else
		buffer_let_go(buf);
}

/**
 * chario_buffer_detach_all() - undo the mappings of a drive that goes
 * @disk: an unregistered disk; its queues have been drained
 */
void chario_buffer_detach_all(struct chario_disk *disk)
{
	struct chario_buffer *buf;

	mutex_lock(&disk->buffer_lock);
	list_for_each_entry(buf, &disk->buffers, node)
		buffer_unmap(buf);
	mutex_unlock(&disk->buffer_lock);
}
