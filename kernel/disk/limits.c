// SPDX-License-Identifier: GPL-2.0-only
/*
 * The limits of a device are checked before a disk with them is published: what
 * contradicts itself here would be memory or blocks that are not the caller's later.
 */
#include <linux/log2.h>
#include <linux/mm.h>

#include "disk/disk.h"
#include "types/queue.h"

/* Calls are cut into whole units of the device, and a write that has to be durable can be so. */
static bool calls_fit(const struct chario_limits *limits)
{
	return is_power_of_2(limits->block_bytes) &&
	       is_power_of_2(limits->grain_bytes) &&
	       limits->grain_bytes <= limits->block_bytes &&
	       limits->command_bytes >= limits->block_bytes &&
	       limits->boundary_bytes % limits->block_bytes == 0 &&
	       (!(limits->features & CHARIO_FEATURE_WRITE_CACHE) ||
		limits->features & CHARIO_FEATURE_FUA);
}

/* A slice is in whole units of DMA, and segments may end where pages do. */
static bool memory_fits(const struct chario_limits *limits)
{
	return is_power_of_2(limits->dma_alignment) &&
	       limits->dma_alignment <= limits->grain_bytes &&
	       is_power_of_2(limits->seam_alignment) &&
	       limits->seam_alignment <= PAGE_SIZE &&
	       PAGE_ALIGNED(limits->segment_bytes);
}

/* The largest command has room, even if each of its pages is a segment. */
static bool queue_fits(const struct chario_queue *q,
		       const struct chario_limits *limits)
{
	unsigned int most = PFN_UP(limits->command_bytes) + 1;

	return q->max_pages >= most &&
	       (!q->dma_dev || !limits->segments || limits->segments >= most);
}

/**
 * chario_limits_check() - check if the limits of a device go together
 * @disk: the disk; its drive has all queues
 * @limits: the limits
 *
 * Return: 0; EINVAL, with a message, if they contradict each other or the queues.
 */
int chario_limits_check(const struct chario_disk *disk,
			const struct chario_limits *limits)
{
	const struct chario_drive *drive = disk->drive;
	bool fits = calls_fit(limits) && memory_fits(limits);
	unsigned int i;

	for (i = 0; i < drive->nr_queues; i++)
		fits = fits && queue_fits(drive->queues[i], limits);
	if (fits)
		return 0;
	dev_err(&disk->dev,
		"the limits of the device contradict each other or the room of its queues: it cannot be a disk\n");
	return -EINVAL;
}
