// SPDX-License-Identifier: GPL-2.0-only
/*
 * The ioctls of a disk: CharIO's own, whose structs begin with their size and which one
 * table decodes, and those of block devices that every tool uses.
 */
#include <linux/capability.h>
#include <linux/compat.h>
#include <linux/fs.h>
#include <linux/jiffies.h>
#include <linux/math64.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "disk/disk.h"
#include "disk/health.h"
#include "disk/regions.h"
#include "front/bytes.h"
#include "front/front.h"
#include "memory/buffer.h"
#include "types/queue.h"

union chario_argument {
	struct chario_info info;
	struct chario_stats stats;
	struct chario_file_options file;
	struct chario_buffer_create create;
	struct chario_buffer_destroy destroy;
	struct chario_buffer_sync sync;
	struct chario_buffer_export export;
	struct chario_settle settle;
	struct chario_queue_create queue;
	struct chario_pin pin;
	struct chario_health health;
	struct chario_timeline_open timeline;
	struct chario_regions regions;
	struct chario_confine confine;
};

/*
 * Returns the longest write, up to @bytes, that is not torn in a file that begins at @first:
 * what begins at a multiple of it in the file has to do so on the disk.
 */
static u32 atomic_bytes(u64 first, u32 bytes)
{
	u32 rest;

	if (!bytes)
		return 0;
	div_u64_rem(first, bytes, &rest);
	return rest ? min_t(u64, bytes, first & -first) : bytes;
}

static int get_info(struct chario_file *cf, union chario_argument *arg)
{
	struct chario_info *info = &arg->info;

	chario_disk_describe(cf->disk, info);
	info->capacity_bytes = cf->capacity_bytes;
	info->offset_bytes = cf->first;
	info->region = cf->node->number;
	info->atomic_write_bytes = atomic_bytes(cf->first, info->atomic_write_bytes);
	return 0;
}

static int get_stats(struct chario_file *cf, union chario_argument *arg)
{
	chario_counters_read(cf->disk, &arg->stats);
	return 0;
}

static int get_file_options(struct chario_file *cf, union chario_argument *arg)
{
	memset(&arg->file, 0, sizeof(arg->file));
	arg->file.completion = cf->completion;
	arg->file.deadline_ns = cf->deadline_ns;
	arg->file.spin_ns = cf->spin_ns;
	arg->file.flags = (READ_ONCE(cf->bytes) ? CHARIO_FILE_ANY_SIZE : 0) |
			  (READ_ONCE(cf->duty) ? CHARIO_FILE_URGENT : 0);
	return 0;
}

/* A file whose private queue raises no interrupt polls by default. */
static u32 default_completion(const struct chario_file *cf)
{
	const struct chario_queue *own = READ_ONCE(cf->private_queue);

	return own && own->polled ? CHARIO_COMPLETION_POLL :
				    CHARIO_COMPLETION_DEFAULT;
}

/*
 * A file cannot have both buffers and any size, because a buffer would not see gathered
 * bytes.  A buffer that is being made gets its handle under the same lock.
 */
static int enable_any_size(struct chario_file *cf)
{
	struct chario_buffers *buffers = cf->buffers;
	int ret = -EBUSY;

	mutex_lock(&buffers->lock);
	if (chario_handles_is_empty(buffers))
		ret = chario_bytes_enable(cf);
	if (!ret)
		buffers->is_closed = true;
	mutex_unlock(&buffers->lock);
	return ret;
}

static int set_file_options(struct chario_file *cf, union chario_argument *arg)
{
	const struct chario_file_options *options = &arg->file;
	int ret = 0;

	if (options->flags & ~(CHARIO_FILE_ANY_SIZE | CHARIO_FILE_URGENT))
		return -EINVAL;
	if (cf->parent && !(options->flags & CHARIO_FILE_URGENT) != !READ_ONCE(cf->duty))
		return -EPERM;
	if (READ_ONCE(cf->bytes) && !(options->flags & CHARIO_FILE_ANY_SIZE))
		return -EBUSY;
	if (options->completion > CHARIO_COMPLETION_SPIN)
		return -EINVAL;
	if (options->completion == CHARIO_COMPLETION_POLL &&
	    !(cf->disk->features & CHARIO_FEATURE_POLL))
		return -EOPNOTSUPP;
	if (options->deadline_ns &&
	    (options->deadline_ns < CHARIO_DEADLINE_MIN_NS ||
	     options->deadline_ns > CHARIO_DEADLINE_MAX_NS))
		return -EINVAL;
	if (options->spin_ns > CHARIO_SPIN_MAX_NS)
		return -EINVAL;
	if (options->flags & CHARIO_FILE_ANY_SIZE)
		ret = enable_any_size(cf);
	if (ret)
		return ret;
	chario_file_set_urgent(cf, options->flags & CHARIO_FILE_URGENT);
	WRITE_ONCE(cf->completion, options->completion ?: default_completion(cf));
	WRITE_ONCE(cf->spin_ns, options->spin_ns);
	cf->deadline_ns = options->deadline_ns;
	WRITE_ONCE(cf->deadline,
		   nsecs_to_jiffies(options->deadline_ns + TICK_NSEC - 1));
	return 0;
}

static int create_buffer(struct chario_file *cf, union chario_argument *arg)
{
	/* A buffer that passes this too early is refused when it is to get its handle. */
	if (READ_ONCE(cf->bytes))
		return -EBUSY;
	return chario_buffer_create(cf->disk, cf->buffers, &arg->create);
}

static int destroy_buffer(struct chario_file *cf, union chario_argument *arg)
{
	return chario_buffer_destroy(cf->buffers, arg->destroy.id);
}

/* Directs all calls of a file to its private queue; those that sleep need an interrupt. */
static void use_queue(struct chario_file *cf, struct chario_queue *q)
{
	unsigned int cpu;

	for (cpu = 0; cpu < nr_cpu_ids; cpu++)
		cf->private_queues[cpu] = q;
	/* A reader of the pointer finds the array filled in. */
	smp_store_release(&cf->poll_queue, cf->private_queues);
	if (!q->polled)
		/* A reader of this pointer, too, finds the array filled in. */
		smp_store_release(&cf->irq_queue, cf->private_queues);
	else
		cmpxchg(&cf->completion, CHARIO_COMPLETION_DEFAULT,
			CHARIO_COMPLETION_POLL);
}

/* A file gets one queue: of several callers the one that sets the array goes on. */
static int claim_queue(struct chario_file *cf)
{
	struct chario_queue **queues = kcalloc(nr_cpu_ids, sizeof(*queues),
					       GFP_KERNEL_ACCOUNT);

	if (!queues)
		return -ENOMEM;
	if (!cmpxchg(&cf->private_queues, NULL, queues))
		return 0;
	kfree(queues);
	return -EBUSY;
}

static int create_queue(struct chario_file *cf, union chario_argument *arg)
{
	const struct chario_queue_create *args = &arg->queue;
	struct chario_queue *q;
	int ret;

	if (cf->parent)
		return -EPERM;
	if (args->flags & ~(CHARIO_QUEUE_POLL | CHARIO_QUEUE_URGENT) ||
	    args->granted || args->id || args->reserved[0] || args->reserved[1])
		return -EINVAL;
	if (args->cpu < -1 || args->cpu >= (int)nr_cpu_ids ||
	    (args->cpu >= 0 && !cpu_online(args->cpu)))
		return -EINVAL;
	ret = claim_queue(cf);
	if (ret)
		return ret;
	q = chario_disk_take_queue(cf->disk, &arg->queue);
	if (IS_ERR(q)) {
		kfree(xchg(&cf->private_queues, NULL));
		return PTR_ERR(q);
	}
	cf->private_queue = q;
	use_queue(cf, q);
	return 0;
}

static int get_pin(struct chario_file *cf, union chario_argument *arg)
{
	return chario_pin_get(cf->disk, READ_ONCE(cf->pinned), &arg->pin);
}

static int set_pin(struct chario_file *cf, union chario_argument *arg)
{
	if (cf->parent)
		return -EPERM;
	return chario_pin_set(cf->disk, &cf->pinned, &arg->pin);
}

static int ioctl_get_health(struct chario_file *cf, union chario_argument *arg)
{
	return chario_health_read(cf->disk, &arg->health);
}

static int sync_buffer(struct chario_file *cf, union chario_argument *arg)
{
	/* A drive can still access the memory while it is being removed. */
	if (READ_ONCE(cf->disk->removed) &&
	    arg->sync.direction != CHARIO_SYNC_IDLE)
		return -ENODEV;
	return chario_buffer_sync(cf->buffers, &arg->sync);
}

static int settle(struct chario_file *cf, union chario_argument *arg)
{
	const struct chario_settle *args = &arg->settle;
	u64 ns = args->deadline_ns ?: chario_disk_recovery_bound_ns(cf->disk) ?:
		 READ_ONCE(cf->disk->deadline_ms) * (u64)NSEC_PER_MSEC;
	int ret;

	if (args->reserved || args->disk_offset + args->bytes < args->bytes)
		return -EINVAL;
	if (args->deadline_ns && (args->deadline_ns < CHARIO_DEADLINE_MIN_NS ||
				  args->deadline_ns > CHARIO_DEADLINE_MAX_NS))
		return -EINVAL;
	if (args->disk_offset >= cf->capacity_bytes)
		return 0;
	ret = chario_origin_settle(&cf->origin, cf->first + args->disk_offset,
				   min(args->bytes, cf->capacity_bytes - args->disk_offset),
				   jiffies + 1 + nsecs_to_jiffies(ns));
	return chario_disk_count_timeout(cf->disk, ret);
}

static int export_buffer(struct chario_file *cf, union chario_argument *arg)
{
	return chario_dmabuf_export(cf->buffers, &arg->export);
}

static int open_timeline(struct chario_file *cf, union chario_argument *arg)
{
	if (cf->parent)
		return -EPERM;
	return chario_timeline_get_fd(cf->disk, &arg->timeline);
}

static int set_regions(struct chario_file *cf, union chario_argument *arg)
{
	const struct chario_regions *regions = &arg->regions;
	struct chario_region *table;
	int ret;

	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	if (cf->parent || cf->node->number || regions->count > CHARIO_REGIONS_MAX)
		return -EINVAL;
	table = memdup_user(u64_to_user_ptr(regions->address),
			    regions->count * sizeof(*table));
	if (IS_ERR(table))
		return PTR_ERR(table);
	ret = chario_regions_set(cf->disk, table, regions->count);
	kfree(table);
	return ret;
}

static int confine(struct chario_file *cf, union chario_argument *arg)
{
	return chario_confine(cf, &arg->confine);
}

/**
 * struct decoder - one ioctl
 * @cmd: number of the ioctl
 * @min_size: size in bytes of the struct in the first ABI version that had it
 * @size: size in bytes of the struct in this kernel
 * @takes: the struct carries values in
 * @gives: the struct carries values out
 * @run: handler; returns 0, a file descriptor if the struct carries nothing out, or
 *	-errno
 */
struct decoder {
	unsigned int cmd;
	u32 min_size;
	u32 size;
	bool takes;
	bool gives;
	int (*run)(struct chario_file *cf, union chario_argument *arg);
};

static const struct decoder decoders[] = {
	{ CHARIO_IOC_INFO, 208, sizeof(struct chario_info),
	  false, true, get_info },
	{ CHARIO_IOC_STATS, 120, sizeof(struct chario_stats),
	  false, true, get_stats },
	{ CHARIO_IOC_GET_FILE, 24, sizeof(struct chario_file_options),
	  false, true, get_file_options },
	{ CHARIO_IOC_SET_FILE, 24, sizeof(struct chario_file_options),
	  true, false, set_file_options },
	{ CHARIO_IOC_BUFFER_CREATE, 56, sizeof(struct chario_buffer_create),
	  true, true, create_buffer },
	{ CHARIO_IOC_BUFFER_DESTROY, 8, sizeof(struct chario_buffer_destroy),
	  true, false, destroy_buffer },
	{ CHARIO_IOC_BUFFER_SYNC, 32, sizeof(struct chario_buffer_sync),
	  true, false, sync_buffer },
	{ CHARIO_IOC_BUFFER_EXPORT, 16, sizeof(struct chario_buffer_export),
	  true, true, export_buffer },
	{ CHARIO_IOC_SETTLE, 32, sizeof(struct chario_settle),
	  true, false, settle },
	{ CHARIO_IOC_QUEUE_CREATE, 32, sizeof(struct chario_queue_create),
	  true, true, create_queue },
	{ CHARIO_IOC_GET_PIN, 88, sizeof(struct chario_pin),
	  false, true, get_pin },
	{ CHARIO_IOC_SET_PIN, 88, sizeof(struct chario_pin),
	  true, true, set_pin },
	{ CHARIO_IOC_HEALTH, 192, sizeof(struct chario_health),
	  false, true, ioctl_get_health },
	{ CHARIO_IOC_TIMELINE_OPEN, 32, sizeof(struct chario_timeline_open),
	  true, false, open_timeline },
	{ CHARIO_IOC_SET_REGIONS, 16, sizeof(struct chario_regions),
	  true, false, set_regions },
	{ CHARIO_IOC_CONFINE, 24, sizeof(struct chario_confine),
	  true, false, confine },
};

static_assert(sizeof(struct chario_info) == 232);
static_assert(sizeof(struct chario_stats) == 152);
static_assert(sizeof(struct chario_file_options) == 24);
static_assert(sizeof(struct chario_buffer_create) == 56);
static_assert(sizeof(struct chario_buffer_destroy) == 8);
static_assert(sizeof(struct chario_buffer_sync) == 32);
static_assert(sizeof(struct chario_buffer_export) == 16);
static_assert(sizeof(struct chario_settle) == 32);
static_assert(sizeof(struct chario_queue_create) == 32);
static_assert(sizeof(struct chario_pin) == 88);
static_assert(sizeof(struct chario_health) == 192);
static_assert(sizeof(struct chario_timeline_open) == 32);
static_assert(sizeof(struct chario_region) == 24);
static_assert(sizeof(struct chario_regions) == 16);
static_assert(sizeof(struct chario_confine) == 24);

/* Fills in the caller's struct, which may be shorter or longer than this kernel's. */
static int give(const struct decoder *decoder, void __user *to, u32 size,
		union chario_argument *arg)
{
	u32 known = min(size, decoder->size);

	/* The size is the first member of every struct. */
	*(u32 *)arg = decoder->size;
	if (copy_to_user(to, arg, known))
		return -EFAULT;
	if (clear_user(to + known, size - known))
		return -EFAULT;
	return 0;
}

static long ioctl_run(const struct decoder *decoder, struct chario_file *cf,
		      void __user *user)
{
	union chario_argument arg;
	u32 size;
	int ret;

	if (get_user(size, (u32 __user *)user))
		return -EFAULT;
	if (size < decoder->min_size || size > PAGE_SIZE)
		return -EINVAL;
	memset(&arg, 0, sizeof(arg));
	if (decoder->takes) {
		ret = copy_struct_from_user(&arg, decoder->size, user, size);
		if (ret)
			return ret;
	}
	ret = decoder->run(cf, &arg);
	if (!ret && decoder->gives)
		ret = give(decoder, user, size, &arg);
	return ret;
}

/*
 * BLKGETSIZE64 encodes the size of a size_t: 64-bit and 32-bit programs have different
 * numbers.
 */
#define BLKGETSIZE64_64	_IOR(0x12, 114, s64)
#define BLKGETSIZE64_32	_IOR(0x12, 114, s32)

/* The size in units of 512 bytes, which has to fit a long of the caller. */
static int put_sectors(const struct chario_file *cf, void __user *user)
{
	u64 sectors = cf->capacity_bytes >> SECTOR_SHIFT;

	if (sectors > (in_compat_syscall() ? U32_MAX : ULONG_MAX))
		return -EFBIG;
	return in_compat_syscall() ? put_user((u32)sectors, (u32 __user *)user) :
				     put_user((unsigned long)sectors, (unsigned long __user *)user);
}

/*
 * Makes durable what has been written, as fsync(2) does: there is no cache to be emptied.  A
 * block device has the same rule of who may ask.
 */
static int flush_buffers(struct chario_file *cf)
{
	return capable(CAP_SYS_ADMIN) ? vfs_fsync(cf->origin.file, 0) : -EACCES;
}

/* The prologue of chario_ioctl() must not pay for the functions that are called here. */
static noinline long block_ioctl(struct chario_file *cf, unsigned int cmd, void __user *user)
{
	const struct chario_disk *disk = cf->disk;

	switch (cmd) {
	case BLKGETSIZE:
		return put_sectors(cf, user);
	case BLKFLSBUF:
		return flush_buffers(cf);
	case BLKGETSIZE64_64:
	case BLKGETSIZE64_32:
		return put_user(cf->capacity_bytes, (u64 __user *)user);
	case BLKSSZGET:
		return put_user(disk->block_mask + 1, (int __user *)user);
	case BLKPBSZGET:
	case BLKIOMIN:
		return put_user(disk->physical_block_bytes, (u32 __user *)user);
	case BLKIOOPT:
		return put_user(disk->split.chunk_bytes, (u32 __user *)user);
	case BLKROGET:
		return put_user(!!(disk->features & CHARIO_FEATURE_READ_ONLY),
				(int __user *)user);
	default:
		return -ENOTTY;
	}
}

/**
 * chario_ioctl() - the ioctls of /dev/chardiskN
 * @file: an open disk
 * @cmd: see <chario/uapi.h>
 * @arg: pointer to the struct of @cmd
 *
 * Return: 0 or another result that <chario/uapi.h> specifies, or -errno.
 */
long chario_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct chario_file *cf = file->private_data;
	void __user *user = (void __user *)arg;
	unsigned int i;

	if (likely(cmd == CHARIO_IOC_TRANSFER))
		return chario_transfer(file, user);
	/*
	 * Buffers can be destroyed and queried, and abandoned transfers waited for,
	 * even if the disk has been removed.
	 */
	if (READ_ONCE(cf->disk->removed) && cmd != CHARIO_IOC_BUFFER_DESTROY &&
	    cmd != CHARIO_IOC_BUFFER_SYNC && cmd != CHARIO_IOC_SETTLE)
		return -ENODEV;
	for (i = 0; i < ARRAY_SIZE(decoders); i++)
		if (decoders[i].cmd == cmd)
			return ioctl_run(&decoders[i], cf, user);
	return block_ioctl(cf, cmd, user);
}
