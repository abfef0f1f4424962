// SPDX-License-Identifier: GPL-2.0-only
/*
 * A drive with one disk, which is made when the module is loaded, and removed with it.
 */
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "back/back.h"
#include "base/range.h"
#include "loopback.h"
#include "memory/buffer.h"
#include "queue/medium.h"
#include "types/backend.h"

#define COMMAND_BYTES	SZ_128K

static int loopback_mib;
chario_range_param(loopback_mib, 0, SZ_16M, 0444);
MODULE_PARM_DESC(loopback_mib, "Size of a disk in memory, MiB (up to 16777216, default 0: none)");

/*
 * Few drives have such a boundary, and those of QEMU have none, so it is tested here.
 */
static int loopback_boundary_kib;
chario_range_param(loopback_boundary_kib, 0, SZ_1G / SZ_1K, 0444);
MODULE_PARM_DESC(loopback_boundary_kib, "Boundary that commands of the disk in memory do not cross, KiB (up to 1048576, default 0: none)");

/* Devices that take segments as they are, unlike NVMe's, are tested here. */
static int loopback_segment_pages;
chario_range_param(loopback_segment_pages, 0, SZ_4K, 0444);
MODULE_PARM_DESC(loopback_segment_pages, "The disk in memory takes segments of up to so many pages, as a device with DMA does (up to 4096, default 0: memory as the CPU sees it)");

static int loopback_segments;
chario_range_param(loopback_segments, 0, SZ_64K, 0444);
MODULE_PARM_DESC(loopback_segments, "Segments of a command that the disk in memory takes (up to 65536, default 0: any number); fewer than a command has pages are refused");

static int loopback_grain = SECTOR_SIZE;
chario_range_param(loopback_grain, 1, SECTOR_SIZE, 0444);
MODULE_PARM_DESC(loopback_grain, "Unit in which the disk in memory reads and writes, bytes, a power of two (1 to 512, default 512): calls of whole units need no reads around them");

static bool loopback_submits;
module_param(loopback_submits, bool, 0444);
MODULE_PARM_DESC(loopback_submits, "The disk in memory takes commands outside the lock of their queue, as block devices do (default N)");

/* The disk in memory, or NULL. */
static struct loopback *made;

static void free_loopback(struct loopback *lb)
{
	chario_drive_deinit(&lb->drive);
	if (lb->workers)
		destroy_workqueue(lb->workers);
	platform_device_unregister(lb->dma);
	vfree(lb->memory);
	kfree(lb);
}

static int make_queue(struct loopback *lb)
{
	struct loopback_queue *lq = kzalloc(sizeof(*lq), GFP_KERNEL);
	unsigned int tag;
	int ret;

	if (!lq)
		return -ENOMEM;
	ret = chario_queue_init(&lq->core, loopback_submits ?
				&loopback_submit_ops : &loopback_queue_ops,
				lb->dma ? &lb->dma->dev : NULL,
				LOOPBACK_DEPTH, COMMAND_BYTES,
				false, NUMA_NO_NODE);
	if (ret) {
		kfree(lq);
		return ret;
	}
	for (tag = 0; tag < LOOPBACK_DEPTH; tag++)
		chario_queue_command(&lq->core, tag)->id = tag;
	init_waitqueue_head(&lq->stop_wait);
	INIT_WORK(&lq->work, loopback_device_serve);
	chario_drive_add_queue(&lb->drive, &lq->core);
	chario_queue_replay(&lq->core);
	return 0;
}

static int make_queues(struct loopback *lb)
{
	int ret = chario_drive_make_room(&lb->drive, num_possible_cpus());

	while (!ret && lb->drive.nr_queues < num_possible_cpus())
		ret = make_queue(lb);
	return ret;
}

static void loopback_release(struct chario_disk *disk)
{
	free_loopback(to_loopback(disk->drive));
}

static const struct chario_backend loopback_backend = {
	.name		= "loopback",
	.release	= loopback_release,
};

/* A size beyond the free memory is an error, and neither kills a process nor warns. */
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

/* Makes the device that memory is mapped for, which reaches all of it. */
static int make_dma(struct loopback *lb)
{
	struct platform_device *dma;

	dma = platform_device_register_simple("chario-loopback",
					      PLATFORM_DEVID_NONE, NULL, 0);
	if (IS_ERR(dma))
		return PTR_ERR(dma); /* GCOVR_EXCL_LINE: one device has this name */
	lb->dma = dma;
	dma_set_max_seg_size(&dma->dev, UINT_MAX);
	return dma_set_mask_and_coherent(&dma->dev, DMA_BIT_MASK(64));
}

static int disk_fill_in(struct loopback *lb)
{
	struct chario_disk *disk = lb->disk;

	lb->limits = (struct chario_limits) {
		.block_bytes = SECTOR_SIZE,
		.grain_bytes = loopback_grain,
		/* The device takes no larger ones, whatever room the module makes. */
		.command_bytes = COMMAND_BYTES,
		.command_limit = CHARIO_COMMAND_LIMIT_DRIVE,
		.boundary_bytes = loopback_boundary_kib * SZ_1K,
		/* Copies need no alignment; this is that of drives. */
		.dma_alignment = min(4, loopback_grain),
		.seam_alignment = 1,
		.segments = loopback_segments,
		.segment_bytes = loopback_segment_pages * PAGE_SIZE,
		.discard_ranges = 16,
		.zeroes_bytes = SZ_1M,
	};
	disk->capacity_bytes = (u64)loopback_mib * SZ_1M;
	strscpy(disk->model, "CharIO loopback", sizeof(disk->model));
	strscpy(disk->serial, "memory", sizeof(disk->serial));
	return chario_disk_configure(disk, &lb->limits);
}

static struct loopback *disk_create(void)
{
	struct loopback *lb = kzalloc(sizeof(*lb), GFP_KERNEL);
	int ret = -ENOMEM;

	if (!lb)
		return ERR_PTR(-ENOMEM);
	chario_drive_init(&lb->drive, &loopback_drive_ops, NULL);
	lb->memory = get_memory();
	if (!lb->memory)
		goto err_free;
	/* Like a device, the workers run beside the processors that post to them. */
	lb->workers = alloc_workqueue("chario_loopback",
				      WQ_UNBOUND | WQ_HIGHPRI | WQ_MEM_RECLAIM,
				      0);
	if (!lb->workers)
		goto err_free;
	ret = loopback_segment_pages ? make_dma(lb) : 0;
	if (!ret)
		ret = make_queues(lb);
	if (ret)
		goto err_free;
	lb->disk = chario_disk_create(&loopback_backend, &lb->drive, NULL);
	if (IS_ERR(lb->disk)) {
		ret = PTR_ERR(lb->disk);
		goto err_free;
	}
	lb->drive.dev = &lb->disk->dev;
	return lb;

err_free:
	free_loopback(lb);
	return ERR_PTR(ret);
}

/**
 * chario_loopback_init() - make the disk in memory if a parameter requests it
 *
 * Return: 0 or -errno.
 */
int chario_loopback_init(void)
{
	struct loopback *lb;
	int ret;

	if (!loopback_mib)
		return 0;
	lb = disk_create();
	if (IS_ERR(lb))
		return PTR_ERR(lb);
	ret = disk_fill_in(lb);
	if (!ret)
		ret = chario_disk_register(lb->disk);
	if (ret) {
		put_device(&lb->disk->dev);
		return ret;
	}
	chario_drive_start(&lb->drive);
	made = lb;
	return 0;
}

/**
 * chario_loopback_exit() - remove the disk in memory
 */
void chario_loopback_exit(void)
{
	struct chario_drive *drive;
	unsigned int i;

	if (!made)
		return;
	drive = &made->drive;
	chario_disk_unregister(made->disk);
	chario_drive_remove(drive);
	for (i = 0; i < drive->nr_queues; i++)
		loopback_device_stop(to_loopback_queue(drive->queues[i]));
	chario_drive_drain(drive, -ENODEV);
	chario_buffer_detach_all(made->disk);
	chario_medium_leave(made->disk);
	put_device(&made->disk->dev);
}
