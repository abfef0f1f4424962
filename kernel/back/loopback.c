// SPDX-License-Identifier: GPL-2.0-only
/*
 * The back end `loopback`: a disk in memory.
 *
 * The shortest complete back end.  Read it first, copy it to begin another,
 * and measure with it what the path costs without a device.  Its device is a
 * copy loop that has done its work by the time a command is posted; posting
 * puts the tag into a ring, and the doorbell reaps it, as an interrupt would.
 */
#include <linux/highmem.h>
#include <linux/module.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "back/back.h"
#include "core/buffer.h"
#include "core/medium.h"
#include "core/range.h"
#include "trace.h"

#define LOOPBACK_DEPTH	256

static int loopback_mib;
chario_range_param(loopback_mib, 0, SZ_16M, 0444);
MODULE_PARM_DESC(loopback_mib, "Size of a disk in memory, MiB (up to 16777216, default 0: none)");

/* Few drives have such a boundary, and QEMU's have none: here it can be tried. */
static int loopback_boundary_kib;
chario_range_param(loopback_boundary_kib, 0, SZ_1G / SZ_1K, 0444);
MODULE_PARM_DESC(loopback_boundary_kib, "Boundary that commands of the disk in memory do not cross, KiB (up to 1048576, default 0: none)");

/**
 * struct loopback_queue - commands that have been posted, not yet reaped
 * @core: the queue
 * @tags: ring
 * @head: next to reap
 * @tail: next to post
 */
struct loopback_queue {
	struct chario_queue core;
	u16 tags[LOOPBACK_DEPTH];
	unsigned int head;
	unsigned int tail;
};

/**
 * struct loopback - the disk
 * @cio: what the world sees
 * @memory: its blocks
 * @queues: pointers to the queues
 * @nr_queues: one per CPU
 */
struct loopback {
	struct chario_device *cio;
	void *memory;
	struct chario_queue **queues;
	unsigned int nr_queues;
};

static struct loopback *loopback;

static struct loopback_queue *to_loopback(struct chario_queue *q)
{
	return container_of(q, struct loopback_queue, core);
}

static void loopback_move(struct chario_queue *q, struct chario_command *cmd)
{
	const struct chario_buffer *buf = cmd->req->buffer;

	buf->ops->copy(buf, cmd->buffer_offset,
		       loopback->memory + cmd->disk_offset, cmd->bytes,
		       cmd->req->op == CHARIO_OP_READ);
}

static void loopback_prep(struct chario_queue *q, struct chario_command *cmd)
{
	void *disk = loopback->memory + cmd->disk_offset;
	u32 offset = cmd->page_offset;
	unsigned int i;

	for (i = 0; i < cmd->nr_pages; i++) {
		u32 bytes = min_t(u32, PAGE_SIZE - offset, cmd->bytes -
				  (disk - loopback->memory - cmd->disk_offset));

		if (cmd->req->op == CHARIO_OP_READ)
			memcpy_to_page(cmd->pages[i], offset, disk, bytes);
		else
			memcpy_from_page(disk, cmd->pages[i], offset, bytes);
		disk += bytes;
		offset = 0;
	}
}

static unsigned int loopback_reap(struct chario_queue *q)
{
	struct loopback_queue *lq = to_loopback(q);
	unsigned int count = 0;

	for (; lq->head != lq->tail && count < CHARIO_REAP_BATCH; count++) {
		u16 tag = lq->tags[lq->head++ % LOOPBACK_DEPTH];

		struct chario_command *cmd = chario_queue_command(q, tag);

		trace_reap(q, cmd, 0);
		chario_complete_command(q, cmd, 0);
	}
	return count;
}

static void loopback_kick(struct chario_queue *q)
{
	struct loopback_queue *lq = to_loopback(q);

	while (lq->head != lq->tail)
		q->reaped += loopback_reap(q);
}

static void loopback_post(struct chario_queue *q, struct chario_command *cmd,
			  bool kick)
{
	struct loopback_queue *lq = to_loopback(q);

	lq->tags[lq->tail++ % LOOPBACK_DEPTH] = cmd->tag;
	if (kick)
		loopback_kick(q);
}

static const struct chario_queue_ops loopback_queue_ops = {
	.prep		= loopback_prep,
	.move		= loopback_move,
	.post		= loopback_post,
	.kick		= loopback_kick,
	.reap		= loopback_reap,
};

static void free_queues(struct loopback *lb)
{
	while (lb->nr_queues) {
		struct chario_queue *q = lb->queues[--lb->nr_queues];

		chario_queue_deinit(q);
		kfree(to_loopback(q));
	}
	kfree(lb->queues);
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
					LOOPBACK_DEPTH, SZ_128K / PAGE_SIZE + 1,
					false, NUMA_NO_NODE);
		if (ret) {
			kfree(lq);
			return ret;
		}
		lb->queues[lb->nr_queues++] = &lq->core;
		chario_queue_replay(&lq->core);
	}
	return 0;
}

static void loopback_release(struct chario_device *cio)
{
	struct loopback *lb = cio->backend_data;

	free_queues(lb);
	vfree(lb->memory);
	kfree(lb);
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
	free_queues(lb);
	vfree(lb->memory);
	kfree(lb);
	return ERR_PTR(ret);
}

/**
 * chario_loopback_init() - make the disk in memory, if one is asked for
 *
 * Return: 0 or -errno.
 */
int chario_loopback_init(void)
{
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
	/* It takes no more, whatever room the module makes. */
	cio->command_limit = CHARIO_COMMAND_LIMIT_DRIVE;
	ret = chario_device_configure(cio, 512, SZ_128K,
				      loopback_boundary_kib * SZ_1K);
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
		chario_queue_fail(loopback->queues[i], -ENODEV);
		chario_queue_drain(loopback->queues[i]);
	}
	chario_medium_leave(loopback->cio);
	put_device(&loopback->cio->dev);
}
