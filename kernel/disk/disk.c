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
#include "disk/disk.h"
#include "disk/regions.h"
#include "drive/drive.h"
#include "queue/medium.h"
#include "queue/queue.h"
#include "types/backend.h"

#define NR_MINORS	(CHARIO_DISK_MINORS + CHARIO_REGION_MINORS)

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
static const struct chario_disk_face *face;
static DEFINE_IDA(indices);

static char *devnode(const struct device *dev, umode_t *mode)
{
	if (mode)
		*mode = 0600;
	return NULL;
}

/**
 * chario_disk_class_init() - make the class of disks
 * @seen: interface of every disk to user space; must stay
 *
 * Return: 0 or -errno.
 */
int chario_disk_class_init(const struct chario_disk_face *seen)
{
	int ret;

	face = seen;
	ret = alloc_chrdev_region(&first_devt, 0, NR_MINORS, "chardisk");
	if (ret)
		return ret;
	device_class = chario_compat_class_create("chario");
	if (IS_ERR(device_class)) {
		unregister_chrdev_region(first_devt, NR_MINORS);
		return PTR_ERR(device_class);
	}
	chario_compat_set_devnode(device_class, devnode);
	return 0;
}

/**
 * chario_disk_class_exit() - undo chario_disk_class_init()
 */
void chario_disk_class_exit(void)
{
	class_destroy(device_class);
	unregister_chrdev_region(first_devt, NR_MINORS);
	ida_destroy(&indices);
}

static void device_release(struct device *dev)
{
	struct chario_disk *disk = to_chario_disk(dev);

	disk->backend->release(disk);
	chario_medium_put(disk);
	ida_free(&indices, disk->index);
	free_percpu(disk->counters);
	kfree(disk->irq_queue);
	kfree(disk->poll_queue);
	kfree(disk);
}

/**
 * chario_disk_set_deadline() - set the default deadline of a disk
 * @disk: the disk
 * @ms: deadline in milliseconds, 1 to an hour; rounded up to a tick
 */
void chario_disk_set_deadline(struct chario_disk *disk, u32 ms)
{
	WRITE_ONCE(disk->deadline_ms, ms);
	WRITE_ONCE(disk->deadline, msecs_to_jiffies(ms));
}

/**
 * chario_disk_set_recovery_age() - set the recovery age of a disk
 * @disk: the disk
 * @ms: recovery age in milliseconds, 0 to an hour; rounded up to a tick
 */
void chario_disk_set_recovery_age(struct chario_disk *disk, u32 ms)
{
	WRITE_ONCE(disk->recovery_age_ms, ms);
	WRITE_ONCE(disk->recovery_age, msecs_to_jiffies(ms));
}

/**
 * chario_disk_create() - make a disk
 * @be: the back end
 * @drive: parts that the disks of its device share; stays until @be->release()
 * @parent: device in the tree, or NULL
 *
 * The back end fills in identity and capacity, then calls chario_disk_configure()
 * and chario_disk_register().  put_device() undoes this function.
 *
 * Return: the disk or an ERR_PTR: ENOMEM; ENOSPC if all numbers are taken.  After an
 * error @be->release() has not been called.
 */
struct chario_disk *chario_disk_create(const struct chario_backend *be,
				       struct chario_drive *drive,
				       struct device *parent)
{
	struct chario_disk *disk;
	int ret = -ENOMEM;

	disk = kzalloc(sizeof(*disk), GFP_KERNEL);
	if (!disk)
		return ERR_PTR(-ENOMEM);
	disk->irq_queue = kcalloc(nr_cpu_ids, sizeof(*disk->irq_queue),
				  GFP_KERNEL);
	disk->poll_queue = kcalloc(nr_cpu_ids, sizeof(*disk->poll_queue),
				   GFP_KERNEL);
	disk->counters = alloc_percpu(struct chario_counters);
	if (!disk->irq_queue || !disk->poll_queue || !disk->counters)
		goto err_free;
	ret = ida_alloc_max(&indices, CHARIO_DISK_MINORS - 1, GFP_KERNEL);
	if (ret < 0)
		goto err_free; /* GCOVR_EXCL_LINE: fewer than 63 disks */
	disk->index = ret;
	disk->backend = be;
	disk->drive = drive;
	chario_disk_set_deadline(disk, deadline_ms);
	chario_disk_set_recovery_age(disk, recovery_age_ms);
	disk->completion = CHARIO_COMPLETION_IRQ;
	disk->spin_ns = 20 * NSEC_PER_USEC;

	mutex_init(&disk->buffer_lock);
	INIT_LIST_HEAD(&disk->buffers);
	sema_init(&disk->entry_turn, 1);
	mutex_init(&disk->node_lock);
	spin_lock_init(&disk->files_lock);
	INIT_LIST_HEAD(&disk->nodes);
	INIT_LIST_HEAD(&disk->claims);
	INIT_DELAYED_WORK(&disk->claims_work, face->follow_claims);
	device_initialize(&disk->dev);
	disk->dev.class = device_class;
	disk->dev.parent = parent;
	disk->dev.groups = be->health ? face->groups_with_health : face->groups;
	disk->dev.release = device_release;
	disk->dev.devt = MKDEV(MAJOR(first_devt), disk->index);
	return disk;

err_free:
	free_percpu(disk->counters);
	kfree(disk->poll_queue);
	kfree(disk->irq_queue);
	kfree(disk);
	return ERR_PTR(ret);
}

/**
 * chario_disk_set_single() - follow a change of the limits of a disk
 * @disk: the disk
 *
 * Context: callers exclude each other.
 */
void chario_disk_set_single(struct chario_disk *disk)
{
	const struct chario_split_limits *limits = &disk->split;

	WRITE_ONCE(disk->single_bytes, limits->boundary_bytes ? 0 :
		   min(limits->command_bytes, limits->chunk_bytes));
}

/* Take over what the device says of memory. */
static void set_memory_limits(struct chario_disk *disk,
			      const struct chario_limits *limits)
{
	const struct chario_drive *drive = disk->drive;
	unsigned int i;

	disk->dma_mask = limits->dma_alignment - 1;
	disk->seam_mask = limits->seam_alignment - 1;
	disk->max_segments = min(limits->segments ?: UINT_MAX,
				 drive->queues[0]->max_pages);
	disk->segment_bytes = limits->segment_bytes;
	disk->discard_ranges = limits->discard_ranges;
	disk->discard_bytes = limits->discard_bytes;
	disk->zeroes_bytes = limits->zeroes_bytes;
	disk->zeroes_may_discard = limits->zeroes_may_discard;
	for (i = 0; i < drive->nr_queues; i++)
		chario_queue_set_segment_bytes(drive->queues[i], limits->segment_bytes);
}

/**
 * chario_disk_configure() - set the limits of a disk
 * @disk: a disk that is not registered; its drive has all queues
 * @limits: limits of its device; what they say of memory is the same for all disks of
 *	a drive
 *
 * Return: 0; EINVAL if the limits contradict each other or the queues.
 */
int chario_disk_configure(struct chario_disk *disk,
			  const struct chario_limits *limits)
{
	u32 block_bytes = limits->block_bytes;
	u64 chunk;

	if (chario_limits_check(disk, limits))
		return -EINVAL;
	set_memory_limits(disk, limits);
	disk->features = limits->features;
	if (disk->backend->pin)
		disk->features |= CHARIO_FEATURE_PIN;
	if (disk->backend->health)
		disk->features |= CHARIO_FEATURE_HEALTH;
	chunk = round_down((u64)chunk_kib * 1024, block_bytes);
	disk->grain_mask = limits->grain_bytes - 1;
	disk->block_mask = block_bytes - 1;
	disk->block_shift = ilog2(block_bytes);
	disk->command_limit = limits->command_limit;
	disk->max_command_bytes = round_down(limits->command_bytes, block_bytes);
	disk->split.command_bytes = min_t(u32, disk->max_command_bytes,
					  max_t(u32, SZ_128K, block_bytes));
	disk->split.chunk_bytes = max_t(u64, chunk, block_bytes);
	disk->split.boundary_bytes = limits->boundary_bytes;
	chario_disk_set_single(disk);
	if (!disk->physical_block_bytes)
		disk->physical_block_bytes = block_bytes;
	return 0;
}

/* Assign each CPU a queue of each kind; CPUs share queues if there are fewer. */
static void map_queues(struct chario_disk *disk)
{
	unsigned int nr_irq = chario_disk_nr_queues(disk, false);
	unsigned int nr_poll = chario_disk_nr_queues(disk, true);
	int cpu;

	for_each_possible_cpu(cpu) {
		disk->irq_queue[cpu] = disk->drive->queues[cpu % nr_irq];
		disk->poll_queue[cpu] = nr_poll ?
			disk->drive->queues[nr_irq + cpu % nr_poll] :
			disk->irq_queue[cpu];
	}
}

static u32 max_mapping_bytes(struct device *dev)
{
	return dev ? min_t(size_t, UINT_MAX, dma_max_mapping_size(dev)) :
		     UINT_MAX;
}

/**
 * chario_disk_prepare() - complete a disk, so that it can be lost but not opened yet
 * @disk: a configured disk; the queues of its drive are live
 *
 * chario_medium_leave() and put_device() undo this.
 *
 * Context: may sleep.
 * Return: 0 or -errno.
 */
int chario_disk_prepare(struct chario_disk *disk)
{
	int ret;

	disk->max_mapping_bytes =
		max_mapping_bytes(disk->drive->queues[0]->dma_dev);
	map_queues(disk);
	if (chario_disk_nr_queues(disk, true))
		disk->features |= CHARIO_FEATURE_POLL;
	/* An obstacle makes post.c check each command and leave it to submit.c. */
	if (disk->drive->queues[0]->ops->submit)
		atomic_inc(&disk->obstacles);
	ret = dev_set_name(&disk->dev, "chardisk%d", disk->index);
	if (ret)
		return ret;
	return chario_medium_join(disk, disk->is_shared ? disk->wwid : "");
}

/**
 * chario_disk_publish() - let programs open a disk
 * @disk: a disk that has been prepared
 *
 * Context: may sleep.
 * Return: 0; or -errno, and the disk has left its medium.
 */
int chario_disk_publish(struct chario_disk *disk)
{
	int ret;

	disk->node.dev = &disk->dev;
	disk->node.disk = disk;
	disk->node.bytes = disk->capacity_bytes;
	mutex_lock(&disk->node_lock);
	ret = chario_node_add(&disk->node, face->fops);
	mutex_unlock(&disk->node_lock);
	if (ret)
		chario_medium_leave(disk);
	return ret;
}

/**
 * chario_disk_register() - prepare and publish a disk
 * @disk: a configured disk; the queues of its drive are live
 *
 * Return: 0 or -errno.
 */
int chario_disk_register(struct chario_disk *disk)
{
	return chario_disk_prepare(disk) ?: chario_disk_publish(disk);
}

/**
 * chario_disk_unregister() - take a disk away
 * @disk: a registered disk
 *
 * New opens and new calls fail from here on.  Calls that are under way end when
 * the back end fails and drains its queues.  The back end calls put_device() after
 * that.
 */
void chario_disk_unregister(struct chario_disk *disk)
{
	face->remove_block(disk);
	chario_disk_lose(disk);
	mutex_lock(&disk->node_lock);
	chario_regions_remove(disk);
	chario_node_remove(&disk->node);
	mutex_unlock(&disk->node_lock);
}

/**
 * chario_disk_lose() - end the use of a disk whose drive or content has gone
 * @disk: a registered disk
 *
 * Its calls return ENODEV from here on.  The node stays until the back end takes the
 * disk away.  Commands that may be with the device keep their memory until the device
 * ends them, or has forgotten them: then chario_queue_replay() ends them.
 *
 * Context: any.
 */
void chario_disk_lose(struct chario_disk *disk)
{
	WRITE_ONCE(disk->removed, true);
	/* The obstacle stays for good: every command is checked from now on. */
	atomic_inc(&disk->obstacles);
	/* Wake tasks that wait for an edge on another disk of the medium. */
	wake_up_all(&disk->medium->edges_wait);
}

/**
 * chario_disk_nr_queues() - count the queues of a kind
 * @disk: a registered disk
 * @polled: true for polled queues, false for those that complete by interrupt
 */
unsigned int chario_disk_nr_queues(const struct chario_disk *disk,
				   bool polled)
{
	unsigned int i, count = 0;

	for (i = 0; i < disk->drive->nr_queues; i++)
		count += disk->drive->queues[i]->use == CHARIO_QUEUE_SHARED &&
			 disk->drive->queues[i]->polled == polled;
	return count;
}

/**
 * chario_disk_set_block() - make the block disk of a disk, or take it away
 * @disk: a registered disk
 * @wanted: true for a block disk
 *
 * Context: may sleep.
 * Return: 0; EBUSY if it is to be taken away and somebody has it open; or the error for
 * which it cannot be made.
 */
int chario_disk_set_block(struct chario_disk *disk, bool wanted)
{
	return wanted ? face->enable_block(disk) : face->disable_block(disk);
}

/**
 * chario_disk_may_patch() - tell if blocks of a disk can be changed in part
 * @disk: a registered disk
 *
 * Such a change takes two commands of a queue at a time.
 */
bool chario_disk_may_patch(const struct chario_disk *disk)
{
	return disk->drive->queues[0]->depth > 1;
}

/**
 * chario_disk_state() - return the name of a disk's state, for people
 * @disk: the disk
 */
const char *chario_disk_state(const struct chario_disk *disk)
{
	if (READ_ONCE(disk->removed))
		return "removed";
	return chario_drive_state_name(disk->drive);
}

/**
 * chario_disk_recovery_bound_ns() - compute the bound in &struct chario_info
 * @disk: the disk
 */
u64 chario_disk_recovery_bound_ns(const struct chario_disk *disk)
{
	u64 ns = chario_drive_bound_ns(disk->drive);

	if (!ns)
		return 0;
	return ns + READ_ONCE(disk->recovery_age_ms) * (u64)NSEC_PER_MSEC;
}

/*
 * Returns the longest write that a power cut does not tear.  A split write may be torn
 * between its commands, so a promise above one command is cut to a power of two, whose
 * multiples fit the boundaries of the drive.
 */
static u32 device_atomic_write_bytes(const struct chario_disk *disk)
{
	u32 most = min(READ_ONCE(disk->split.command_bytes),
		       READ_ONCE(disk->split.chunk_bytes));

	return disk->atomic_write_bytes <= most ? disk->atomic_write_bytes :
						 rounddown_pow_of_two(most);
}

/**
 * chario_disk_describe() - fill in the description of a disk
 * @disk: a registered disk
 * @info: the description
 */
void chario_disk_describe(const struct chario_disk *disk,
			  struct chario_info *info)
{
	memset(info, 0, sizeof(*info));
	info->size = sizeof(*info);
	info->abi_version = CHARIO_ABI_VERSION;
	info->features = disk->features;
	info->capacity_bytes = disk->capacity_bytes;
	info->logical_block_bytes = disk->block_mask + 1;
	info->physical_block_bytes = disk->physical_block_bytes;
	info->dma_alignment_bytes = disk->dma_mask + 1;
	info->command_bytes = READ_ONCE(disk->split.command_bytes);
	info->max_command_bytes = disk->max_command_bytes;
	info->command_limit = disk->command_limit;
	info->chunk_bytes = READ_ONCE(disk->split.chunk_bytes);
	info->boundary_bytes = disk->split.boundary_bytes;
	info->nr_queues = chario_disk_nr_queues(disk, false);
	info->nr_poll_queues = chario_disk_nr_queues(disk, true);
	info->queue_depth = disk->drive->queues[0]->depth;
	info->completion = READ_ONCE(disk->completion);
	info->spin_ns = READ_ONCE(disk->spin_ns);
	info->deadline_ns = READ_ONCE(disk->deadline_ms) * (u64)NSEC_PER_MSEC;
	info->recovery_bound_ns = chario_disk_recovery_bound_ns(disk);
	info->namespace_id = disk->namespace_id;
	info->index = disk->index;
	info->write_alignment_bytes = disk->write_alignment_bytes;
	info->deallocate_alignment_bytes = disk->deallocate_alignment_bytes;
	info->optimal_write_bytes = disk->optimal_write_bytes;
	info->atomic_write_bytes = device_atomic_write_bytes(disk);
	strscpy(info->backend, disk->backend->name, sizeof(info->backend));
	strscpy(info->serial, disk->serial, sizeof(info->serial));
	strscpy(info->model, disk->model, sizeof(info->model));
	strscpy(info->firmware, disk->firmware, sizeof(info->firmware));
}

/**
 * chario_disk_take_queue() - take a queue for one open file
 * @disk: the disk
 * @args: wishes of the file; filled in with the properties of the queue
 *
 * Return: the queue, or an ERR_PTR, see &struct chario_queue_create.
 */
struct chario_queue *chario_disk_take_queue(struct chario_disk *disk,
					    struct chario_queue_create *args)
{
	if (!disk->backend->take_queue)
		return ERR_PTR(-EOPNOTSUPP);
	return disk->backend->take_queue(disk, args);
}

/**
 * chario_disk_give_queue() - give back the queue of a file that has been closed
 * @disk: the disk
 * @q: queue of the file
 */
void chario_disk_give_queue(struct chario_disk *disk,
			    struct chario_queue *q)
{
	disk->backend->give_queue(disk, q);
}
