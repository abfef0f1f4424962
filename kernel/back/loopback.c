// SPDX-License-Identifier: GPL-2.0-only
/*
 * The back end `loopback`: a disk in memory.
 *
 * The shortest complete back end.  Read it first, and copy it to begin another.
 * Its device is a worker for each queue.  Posting puts the tag of a command into
 * the ring @posted, and the doorbell wakes the worker.  The worker takes one tag
 * after the other, moves the bytes without any lock, puts the tag into the ring
 * @ended, and has it reaped, as an interrupt would.
 *
 * Nothing moves before a command has been posted, nor after the device has been
 * stopped: see chario_loopback_exit().
 */
#include <linux/delay.h>
#include <linux/highmem.h>
#include <linux/module.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>

#include "back/back.h"
#include "core/buffer.h"
#include "core/medium.h"
#include "core/range.h"
#include "trace.h"

#define LOOPBACK_DEPTH		256
#define LOOPBACK_COMMAND_BYTES	SZ_128K

static int loopback_mib;
chario_range_param(loopback_mib, 0, SZ_16M, 0444);
MODULE_PARM_DESC(loopback_mib, "Size of a disk in memory, MiB (up to 16777216, default 0: none)");

/* Few drives have such a boundary, and QEMU's have none: here it can be tried. */
static int loopback_boundary_kib;
chario_range_param(loopback_boundary_kib, 0, SZ_1G / SZ_1K, 0444);
MODULE_PARM_DESC(loopback_boundary_kib, "Boundary that commands of the disk in memory do not cross, KiB (up to 1048576, default 0: none)");

/* What takes longer than a caller wants to wait can be tried, too. */
static int loopback_delay_us;
chario_range_param(loopback_delay_us, 0, 10 * USEC_PER_SEC, 0644);
MODULE_PARM_DESC(loopback_delay_us, "Time that the disk in memory takes for each command, one after the other on each queue, microseconds (up to 10000000, default 0)");

/**
 * struct tags - a ring of commands
 * @tags: of a queue, so that it is never full
 * @head: next to take
 * @tail: next to put
 */
struct tags {
	u16 tags[LOOPBACK_DEPTH];
	unsigned int head;
	unsigned int tail;
};

/**
 * struct loopback_queue - commands on their way through the device
 * @core: the queue; its lock protects all but @work
 * @posted: commands that the device has not begun
 * @ended: commands that it is done with, and that have not been reaped
 * @stopped: the device begins no more
 * @work: the device
 */
struct loopback_queue {
	struct chario_queue core;
	struct tags posted;
	struct tags ended;
	bool stopped;
	struct work_struct work;
};

/**
 * struct loopback - the disk
 * @cio: what the world sees
 * @memory: its blocks
 * @queues: pointers to the queues
 * @nr_queues: one per CPU
 * @workers: run the devices of all queues
 */
struct loopback {
	struct chario_device *cio;
	void *memory;
	struct chario_queue **queues;
	unsigned int nr_queues;
	struct workqueue_struct *workers;
};

static struct loopback *loopback;

static struct loopback_queue *to_loopback(struct chario_queue *q)
{
	return container_of(q, struct loopback_queue, core);
}

static void put_tag(struct tags *ring, u16 tag)
{
	ring->tags[ring->tail++ % LOOPBACK_DEPTH] = tag;
}

static struct chario_command *take_tag(struct loopback_queue *lq,
				       struct tags *ring)
{
	if (ring->head == ring->tail)
		return NULL;
	return chario_queue_command(&lq->core,
				    ring->tags[ring->head++ % LOOPBACK_DEPTH]);
}

static void move_slice(const struct chario_command *cmd, void *disk)
{
	const struct chario_buffer *buf = cmd->req->buffer;

	buf->ops->copy(buf, cmd->buffer_offset, disk, cmd->bytes,
		       cmd->req->op == CHARIO_OP_READ);
}

static void move_pages(const struct chario_command *cmd, void *disk)
{
	u32 offset = cmd->page_offset;
	u32 left = cmd->bytes;
	unsigned int i;

	for (i = 0; i < cmd->nr_pages; i++) {
		u32 bytes = min_t(u32, PAGE_SIZE - offset, left);

		if (cmd->req->op == CHARIO_OP_READ)
			memcpy_to_page(cmd->pages[i], offset, disk, bytes);
		else
			memcpy_from_page(disk, cmd->pages[i], offset, bytes);
		disk += bytes;
		left -= bytes;
		offset = 0;
	}
}

/* Begin the next command; NULL when there is none. */
static struct chario_command *begin_next(struct loopback_queue *lq)
{
	struct chario_command *cmd = NULL;

	raw_spin_lock_irq(&lq->core.lock);
	if (!lq->stopped)
		cmd = take_tag(lq, &lq->posted);
	raw_spin_unlock_irq(&lq->core.lock);
	return cmd;
}

static void end(struct loopback_queue *lq, const struct chario_command *cmd)
{
	raw_spin_lock_irq(&lq->core.lock);
	put_tag(&lq->ended, cmd->tag);
	raw_spin_unlock_irq(&lq->core.lock);
	chario_queue_reap(&lq->core);
}

/* The device of a queue, while there is something to do. */
static void serve(struct work_struct *work)
{
	struct loopback_queue *lq = container_of(work, struct loopback_queue,
						 work);
	struct chario_command *cmd;

	while ((cmd = begin_next(lq))) {
		void *disk = loopback->memory + cmd->disk_offset;
		int delay_us = READ_ONCE(loopback_delay_us);

		if (delay_us)
			fsleep(delay_us);
		if (cmd->req->buffer)
			move_slice(cmd, disk);
		else
			move_pages(cmd, disk);
		end(lq, cmd);
	}
}

static unsigned int loopback_reap(struct chario_queue *q)
{
	struct loopback_queue *lq = to_loopback(q);
	struct chario_command *cmd;
	unsigned int count = 0;

	while (count < CHARIO_REAP_BATCH && (cmd = take_tag(lq, &lq->ended))) {
		trace_reap(q, cmd, 0);
		chario_complete_command(q, cmd, 0);
		count++;
	}
	return count;
}

static void loopback_kick(struct chario_queue *q)
{
	struct loopback_queue *lq = to_loopback(q);

	if (!lq->stopped && lq->posted.head != lq->posted.tail)
		queue_work(loopback->workers, &lq->work);
}

static void loopback_post(struct chario_queue *q, struct chario_command *cmd,
			  bool kick)
{
	put_tag(&to_loopback(q)->posted, cmd->tag);
	if (kick)
		loopback_kick(q);
}

static const struct chario_queue_ops loopback_queue_ops = {
	.post		= loopback_post,
	.kick		= loopback_kick,
	.reap		= loopback_reap,
};

/* Afterwards the device touches no memory. */
static void stop_device(struct loopback_queue *lq)
{
	raw_spin_lock_irq(&lq->core.lock);
	lq->stopped = true;
	raw_spin_unlock_irq(&lq->core.lock);
	cancel_work_sync(&lq->work);
}

static void free_queues(struct loopback *lb)
{
	while (lb->nr_queues) {
		struct chario_queue *q = lb->queues[--lb->nr_queues];

		chario_queue_deinit(q);
		kfree(to_loopback(q));
	}
	kfree(lb->queues);
}

static void free_loopback(struct loopback *lb)
{
	free_queues(lb);
	if (lb->workers)
		destroy_workqueue(lb->workers);
	vfree(lb->memory);
	kfree(lb);
}

static int make_queues(struct loopback *lb)
{
	int ret;

	lb->queues = kcalloc(num_possible_cpus(), sizeof(*lb->queues),
			     GFP_KERNEL);
	if (!lb->queues)
		return -ENOMEM;
	while (lb->nr_queues < num_possible_cpus()) {
		struct loopback_queue *lq = kzalloc(sizeof(*lq), GFP_KERNEL);

		if (!lq)
			return -ENOMEM;
		ret = chario_queue_init(&lq->core, &loopback_queue_ops, NULL,
					LOOPBACK_DEPTH, LOOPBACK_COMMAND_BYTES / PAGE_SIZE + 1,
					false, NUMA_NO_NODE);
		if (ret) {
			kfree(lq);
			return ret;
		}
		/* There is nothing to get ready for a copy. */
		lq->core.no_prep_bytes = UINT_MAX;
		INIT_WORK(&lq->work, serve);
		lb->queues[lb->nr_queues++] = &lq->core;
		chario_queue_replay(&lq->core);
	}
	return 0;
}

static void loopback_release(struct chario_device *cio)
{
	struct loopback *lb = cio->backend_data;

	free_loopback(lb);
}

static const struct chario_backend loopback_backend = {
	.name		= "loopback",
	.release	= loopback_release,
};

/* All memory that there is would be no reason to kill anybody, or for a trace. */
static void *get_memory(void)
{
	void *memory = __vmalloc(array_size(loopback_mib, SZ_1M),
				 GFP_KERNEL | __GFP_ZERO | __GFP_NOWARN |
				 __GFP_RETRY_MAYFAIL);

	if (!memory)
		pr_err("chario: loopback_mib=%d: there is not so much memory\n",
		       loopback_mib);
	return memory;
}

static struct loopback *loopback_create(void)
{
	struct loopback *lb = kzalloc(sizeof(*lb), GFP_KERNEL);
	int ret = -ENOMEM;

	if (!lb)
		return ERR_PTR(-ENOMEM);
	lb->memory = get_memory();
	if (!lb->memory)
		goto err_free;
	/* As a device does, they work beside the processors that ask them. */
	lb->workers = alloc_workqueue("chario_loopback",
				      WQ_UNBOUND | WQ_HIGHPRI | WQ_MEM_RECLAIM,
				      0);
	if (!lb->workers)
		goto err_free;
	ret = make_queues(lb);
	if (ret)
		goto err_free;
	lb->cio = chario_device_create(&loopback_backend, lb, NULL);
	if (IS_ERR(lb->cio)) {
		ret = PTR_ERR(lb->cio);
		goto err_free;
	}
	return lb;

err_free:
	free_loopback(lb);
	return ERR_PTR(ret);
}

/**
 * chario_loopback_init() - make the disk in memory, if one is asked for
 *
 * Return: 0 or -errno.
 */
int chario_loopback_init(void)
{
	const struct chario_limits limits = {
		.block_bytes = SECTOR_SIZE,
		/* It takes no more, whatever room the module makes. */
		.command_bytes = LOOPBACK_COMMAND_BYTES,
		.command_limit = CHARIO_COMMAND_LIMIT_DRIVE,
		.boundary_bytes = loopback_boundary_kib * SZ_1K,
		/* As that of drives: a copy has none. */
		.dma_alignment = 4,
	};
	struct chario_device *cio;
	int ret;

	if (!loopback_mib)
		return 0;
	loopback = loopback_create();
	if (IS_ERR(loopback))
		return PTR_ERR(loopback);
	cio = loopback->cio;
	cio->capacity_bytes = (u64)loopback_mib * SZ_1M;
	strscpy(cio->model, "CharIO loopback", sizeof(cio->model));
	strscpy(cio->serial, "memory", sizeof(cio->serial));
	ret = chario_device_configure(cio, &limits);
	if (!ret)
		ret = chario_device_register(cio, loopback->queues,
					     loopback->nr_queues);
	if (ret)
		put_device(&cio->dev);
	return ret;
}

/**
 * chario_loopback_exit() - take the disk in memory away
 */
void chario_loopback_exit(void)
{
	unsigned int i;

	if (!loopback_mib)
		return;
	chario_device_unregister(loopback->cio);
	for (i = 0; i < loopback->nr_queues; i++) {
		stop_device(to_loopback(loopback->queues[i]));
		chario_queue_fail(loopback->queues[i], -ENODEV);
		chario_queue_drain(loopback->queues[i]);
	}
	chario_medium_leave(loopback->cio);
	put_device(&loopback->cio->dev);
}
