// SPDX-License-Identifier: GPL-2.0-only
/*
 * The life of a disk: it is made by a back end, registered, unregistered, and freed
 * when the last reference has gone.
 */
#include <linux/dma-mapping.h>
#include <linux/fs.h>
#include <linux/idr.h>
#include <linux/jiffies.h>
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "base/range.h"
#include "disk/device.h"
#include "drive/drive.h"
#include "queue/medium.h"
#include "queue/queue.h"
#include "types/backend.h"

#define CHARIO_MINORS	256

static int chunk_kib = 4096;
chario_range_param(chunk_kib, 1, SZ_1G / SZ_1K, 0444);
MODULE_PARM_DESC(chunk_kib, "Size of the chunks that a call is run in, KiB (1 to 1048576, default 4096), at least a block");

static int deadline_ms = 10000;
chario_range_param(deadline_ms, 1, 3600 * 1000, 0444);
MODULE_PARM_DESC(deadline_ms, "Default deadline of a call, ms (1 to 3600000, default 10000)");

static int recovery_age_ms = 1000;
chario_range_param(recovery_age_ms, 0, 3600 * 1000, 0444);
MODULE_PARM_DESC(recovery_age_ms, "How long a drive has a request before it is recovered, at least, ms (0 to 3600000, default 1000)");

static dev_t first_devt;
static struct class *device_class;
static const struct chario_device_face *face;
static DEFINE_IDA(indices);

static char *devnode(const struct device *dev, umode_t *mode)
{
	if (mode)
		*mode = 0600;
	return NULL;
}

/**
 * chario_device_class_init() - make the class of disks
 * @seen: interface of every disk to user space; must stay
 *
 * Return: 0 or -errno.
 */
int chario_device_class_init(const struct chario_device_face *seen)
{
	int ret;

	face = seen;
	ret = alloc_chrdev_region(&first_devt, 0, CHARIO_MINORS, "chardisk");
	if (ret)
		return ret;
	device_class = chario_compat_class_create("chario");
	if (IS_ERR(device_class)) {
		unregister_chrdev_region(first_devt, CHARIO_MINORS);
		return PTR_ERR(device_class);
	}
	chario_compat_set_devnode(device_class, devnode);
	return 0;
}

/**
 * chario_device_class_exit() - undo chario_device_class_init()
 */
void chario_device_class_exit(void)
{
	class_destroy(device_class);
	unregister_chrdev_region(first_devt, CHARIO_MINORS);
	ida_destroy(&indices);
}

static void device_release(struct device *dev)
{
	struct chario_device *cio = to_chario_device(dev);

	cio->backend->release(cio);
	chario_medium_put(cio);
	ida_free(&indices, cio->index);
	free_percpu(cio->counters);
	kfree(cio->irq_queue);
	kfree(cio->poll_queue);
	kfree(cio);
}

/**
 * chario_device_set_deadline() - set the default deadline of a disk
 * @cio: the disk
 * @ms: deadline in milliseconds, 1 to an hour; rounded up to a tick
 */
void chario_device_set_deadline(struct chario_device *cio, u32 ms)
{
	WRITE_ONCE(cio->deadline_ms, ms);
	WRITE_ONCE(cio->deadline, msecs_to_jiffies(ms));
}

/**
 * chario_device_set_recovery_age() - set the recovery age of a disk
 * @cio: the disk
 * @ms: recovery age in milliseconds, 0 to an hour; rounded up to a tick
 */
void chario_device_set_recovery_age(struct chario_device *cio, u32 ms)
{
	WRITE_ONCE(cio->recovery_age_ms, ms);
	WRITE_ONCE(cio->recovery_age, msecs_to_jiffies(ms));
}

/**
 * chario_device_create() - make a disk
 * @be: the back end
 * @drive: parts that the disks of its device share; stays until @be->release()
 * @parent: device in the tree, or NULL
 *
 * The back end fills in identity and capacity, then calls chario_device_configure()
 * and chario_device_register().  put_device() undoes this function.
 *
 * Return: the disk or an ERR_PTR: ENOMEM; ENOSPC if all numbers are taken.  After an
 * error @be->release() has not been called.
 */
struct chario_device *chario_device_create(const struct chario_backend *be,
					   struct chario_drive *drive,
					   struct device *parent)
{
	struct chario_device *cio;
	int ret = -ENOMEM;

	cio = kzalloc(sizeof(*cio), GFP_KERNEL);
	if (!cio)
		return ERR_PTR(-ENOMEM);
	cio->irq_queue = kcalloc(nr_cpu_ids, sizeof(*cio->irq_queue),
				 GFP_KERNEL);
	cio->poll_queue = kcalloc(nr_cpu_ids, sizeof(*cio->poll_queue),
				  GFP_KERNEL);
	cio->counters = alloc_percpu(struct chario_counters);
	if (!cio->irq_queue || !cio->poll_queue || !cio->counters)
		goto err_free;
	ret = ida_alloc_max(&indices, CHARIO_MINORS - 1, GFP_KERNEL);
	if (ret < 0)
		goto err_free;
	cio->index = ret;
	cio->backend = be;
	cio->drive = drive;
	chario_device_set_deadline(cio, deadline_ms);
	chario_device_set_recovery_age(cio, recovery_age_ms);
	cio->completion = CHARIO_COMPLETION_IRQ;
	cio->spin_ns = 20 * NSEC_PER_USEC;

	mutex_init(&cio->buffer_lock);
	INIT_LIST_HEAD(&cio->buffers);
	device_initialize(&cio->dev);
	cio->dev.class = device_class;
	cio->dev.parent = parent;
	cio->dev.groups = be->health ? face->groups_with_health : face->groups;
	cio->dev.release = device_release;
	cio->dev.devt = MKDEV(MAJOR(first_devt), cio->index);
	return cio;

err_free:
	free_percpu(cio->counters);
	kfree(cio->poll_queue);
	kfree(cio->irq_queue);
	kfree(cio);
	return ERR_PTR(ret);
}

/**
 * chario_device_set_single() - follow a change of the limits of a disk
 * @cio: the disk
 *
 * Context: callers exclude each other.
 */
void chario_device_set_single(struct chario_device *cio)
{
	const struct chario_split_limits *limits = &cio->limits;

	WRITE_ONCE(cio->single_bytes, limits->boundary_bytes ? 0 :
		   min(limits->command_bytes, limits->chunk_bytes));
}

/* Take over what the device says of memory. */
static void set_memory_limits(struct chario_device *cio,
			      const struct chario_limits *limits)
{
	const struct chario_drive *drive = cio->drive;
	unsigned int i;

	cio->dma_mask = limits->dma_alignment - 1;
	cio->seam_mask = limits->seam_alignment - 1;
	cio->max_segments = min(limits->segments ?: UINT_MAX,
				drive->queues[0]->max_pages);
	cio->segment_bytes = limits->segment_bytes;
	for (i = 0; i < drive->nr_queues; i++)
		chario_queue_set_segment_bytes(drive->queues[i], limits->segment_bytes);
}

/**
 * chario_device_configure() - set the limits of a disk
 * @cio: a disk that is not registered; its drive has all queues
 * @limits: limits of its device; what they say of memory is the same for all disks of
 *	a drive
 *
 * Return: 0; EINVAL if the limits contradict each other or the queues.
 */
int chario_device_configure(struct chario_device *cio,
			    const struct chario_limits *limits)
{
	u32 block_bytes = limits->block_bytes;
	u64 chunk;

	if (chario_limits_check(cio, limits))
		return -EINVAL;
	set_memory_limits(cio, limits);
	cio->features = limits->features;
	if (cio->backend->pin)
		cio->features |= CHARIO_FEATURE_PIN;
	if (cio->backend->health)
		cio->features |= CHARIO_FEATURE_HEALTH;
	chunk = round_down((u64)chunk_kib * 1024, block_bytes);
	cio->grain_mask = limits->grain_bytes - 1;
	cio->block_mask = block_bytes - 1;
	cio->block_shift = ilog2(block_bytes);
	cio->command_limit = limits->command_limit;
	cio->max_command_bytes = round_down(limits->command_bytes, block_bytes);
	cio->limits.command_bytes = min_t(u32, cio->max_command_bytes,
					  max_t(u32, SZ_128K, block_bytes));
	cio->limits.chunk_bytes = max_t(u64, chunk, block_bytes);
	cio->limits.boundary_bytes = limits->boundary_bytes;
	chario_device_set_single(cio);
	if (!cio->physical_block_bytes)
		cio->physical_block_bytes = block_bytes;
	return 0;
}

/* Assign each CPU a queue of each kind; CPUs share queues if there are fewer. */
static void map_queues(struct chario_device *cio)
{
	unsigned int nr_irq = chario_device_nr_queues(cio, false);
	unsigned int nr_poll = chario_device_nr_queues(cio, true);
	int cpu;

	for_each_possible_cpu(cpu) {
		cio->irq_queue[cpu] = cio->drive->queues[cpu % nr_irq];
		cio->poll_queue[cpu] = nr_poll ?
			cio->drive->queues[nr_irq + cpu % nr_poll] :
			cio->irq_queue[cpu];
	}
}

static u32 max_mapping_bytes(struct device *dev)
{
	return dev ? min_t(size_t, UINT_MAX, dma_max_mapping_size(dev)) :
		     UINT_MAX;
}

/**
 * chario_device_register() - publish a disk
 * @cio: a configured disk; the queues of its drive are live
 *
 * Return: 0 or -errno.
 */
int chario_device_register(struct chario_device *cio)
{
	int ret;

	cio->max_mapping_bytes =
		max_mapping_bytes(cio->drive->queues[0]->dma_dev);
	map_queues(cio);
	if (chario_device_nr_queues(cio, true))
		cio->features |= CHARIO_FEATURE_POLL;
	/* An obstacle makes post.c check each command and leave it to submit.c. */
	if (cio->drive->queues[0]->ops->submit)
		atomic_inc(&cio->obstacles);
	ret = dev_set_name(&cio->dev, "chardisk%d", cio->index);
	if (ret)
		return ret;
	ret = chario_medium_join(cio, cio->is_shared ? cio->wwid : "");
	if (ret)
		return ret;
	cdev_init(&cio->cdev, face->fops);
	cio->cdev.owner = THIS_MODULE;
	ret = cdev_device_add(&cio->cdev, &cio->dev);
	if (ret)
		chario_medium_leave(cio);
	return ret;
}

/**
 * chario_device_unregister() - take a disk away
 * @cio: a registered disk
 *
 * New opens and new calls fail from here on.  Calls that are under way end when
 * the back end fails and drains its queues.  The back end calls put_device() after
 * that.
 */
void chario_device_unregister(struct chario_device *cio)
{
	chario_device_lose(cio);
	cdev_device_del(&cio->cdev, &cio->dev);
}

/**
 * chario_device_lose() - end the use of a disk whose drive or content has gone
 * @cio: a registered disk
 *
 * Its calls return ENODEV from here on.  The node stays until the back end takes the
 * disk away.  Commands that may be with the device keep their memory until the device
 * ends them, or has forgotten them: then chario_queue_replay() ends them.
 *
 * Context: any.
 */
void chario_device_lose(struct chario_device *cio)
{
	WRITE_ONCE(cio->removed, true);
	/* The obstacle stays for good: every command is checked from now on. */
	atomic_inc(&cio->obstacles);
	/* Wake tasks that wait for an edge on another disk of the medium. */
	wake_up_all(&cio->medium->edges_wait);
}

/**
 * chario_device_nr_queues() - count the queues of a kind
 * @cio: a registered disk
 * @polled: true for polled queues, false for those that complete by interrupt
 */
unsigned int chario_device_nr_queues(const struct chario_device *cio,
				     bool polled)
{
	unsigned int i, count = 0;

	for (i = 0; i < cio->drive->nr_queues; i++)
		count += !cio->drive->queues[i]->is_private &&
			 cio->drive->queues[i]->polled == polled;
	return count;
}

/**
 * chario_device_may_patch() - tell if blocks of a disk can be changed in part
 * @cio: a registered disk
 *
 * Such a change takes two commands of a queue at a time.
 */
bool chario_device_may_patch(const struct chario_device *cio)
{
	return cio->drive->queues[0]->depth > 1;
}

/**
 * chario_device_state() - return the name of a disk's state, for people
 * @cio: the disk
 */
const char *chario_device_state(const struct chario_device *cio)
{
	if (READ_ONCE(cio->removed))
		return "removed";
	return chario_drive_state_name(cio->drive);
}

/**
 * chario_device_recovery_bound_ns() - compute the bound in &struct chario_info
 * @cio: the disk
 */
u64 chario_device_recovery_bound_ns(const struct chario_device *cio)
{
	u64 ns = chario_drive_bound_ns(cio->drive);

	if (!ns)
		return 0;
	return ns + READ_ONCE(cio->recovery_age_ms) * (u64)NSEC_PER_MSEC;
}

/*
 * Returns the longest write that a power cut does not tear.  A split write may be torn
 * between its commands, so a promise above one command is cut to a power of two, whose
 * multiples fit the boundaries of the drive.
 */
static u32 device_atomic_write_bytes(const struct chario_device *cio)
{
	u32 most = min(READ_ONCE(cio->limits.command_bytes),
		       READ_ONCE(cio->limits.chunk_bytes));

	return cio->atomic_write_bytes <= most ? cio->atomic_write_bytes :
						 rounddown_pow_of_two(most);
}

/**
 * chario_device_describe() - fill in the description of a disk
 * @cio: a registered disk
 * @info: the description
 */
void chario_device_describe(const struct chario_device *cio,
			    struct chario_info *info)
{
	memset(info, 0, sizeof(*info));
	info->size = sizeof(*info);
	info->abi_version = CHARIO_ABI_VERSION;
	info->features = cio->features;
	info->capacity_bytes = cio->capacity_bytes;
	info->logical_block_bytes = cio->block_mask + 1;
	info->physical_block_bytes = cio->physical_block_bytes;
	info->dma_alignment_bytes = cio->dma_mask + 1;
	info->command_bytes = READ_ONCE(cio->limits.command_bytes);
	info->max_command_bytes = cio->max_command_bytes;
	info->command_limit = cio->command_limit;
	info->chunk_bytes = READ_ONCE(cio->limits.chunk_bytes);
	info->boundary_bytes = cio->limits.boundary_bytes;
	info->nr_queues = chario_device_nr_queues(cio, false);
	info->nr_poll_queues = chario_device_nr_queues(cio, true);
	info->queue_depth = cio->drive->queues[0]->depth;
	info->completion = READ_ONCE(cio->completion);
	info->spin_ns = READ_ONCE(cio->spin_ns);
	info->deadline_ns = READ_ONCE(cio->deadline_ms) * (u64)NSEC_PER_MSEC;
	info->recovery_bound_ns = chario_device_recovery_bound_ns(cio);
	info->namespace_id = cio->namespace_id;
	info->index = cio->index;
	info->write_alignment_bytes = cio->write_alignment_bytes;
	info->deallocate_alignment_bytes = cio->deallocate_alignment_bytes;
	info->optimal_write_bytes = cio->optimal_write_bytes;
	info->atomic_write_bytes = device_atomic_write_bytes(cio);
	strscpy(info->backend, cio->backend->name, sizeof(info->backend));
	strscpy(info->serial, cio->serial, sizeof(info->serial));
	strscpy(info->model, cio->model, sizeof(info->model));
	strscpy(info->firmware, cio->firmware, sizeof(info->firmware));
}

/**
 * chario_device_take_queue() - take a queue for one open file
 * @cio: the disk
 * @args: wishes of the file; filled in with the properties of the queue
 *
 * Return: the queue, or an ERR_PTR, see &struct chario_queue_create.
 */
struct chario_queue *chario_device_take_queue(struct chario_device *cio,
					      struct chario_queue_create *args)
{
	if (!cio->backend->take_queue)
		return ERR_PTR(-EOPNOTSUPP);
	return cio->backend->take_queue(cio, args);
}

/**
 * chario_device_give_queue() - give back the queue of a file that has been closed
 * @cio: the disk
 * @q: queue of the file
 */
void chario_device_give_queue(struct chario_device *cio,
			      struct chario_queue *q)
{
	cio->backend->give_queue(cio, q);
}
