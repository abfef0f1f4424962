// SPDX-License-Identifier: GPL-2.0-only
/*
 * The limits of a device are checked before a disk with them is published: what
 * contradicts itself here would be memory or blocks that are not the caller's later.
 */
#include <linux/log2.h>
#include <linux/mm.h>

#include "disk/disk.h"
#include "types/queue.h"

/*
 * Calls are cut into whole units of the device, and a write that has to be durable can be
 * so.  Returns the limit that does not fit, or NULL.
 */
static const char *find_wrong_size(const struct chario_limits *limits)
{
	if (!is_power_of_2(limits->block_bytes))
		return "logical block";
	if (!is_power_of_2(limits->grain_bytes) ||
	    limits->grain_bytes > limits->block_bytes)
		return "unit of reads and writes";
	if (limits->command_bytes < limits->block_bytes)
		return "largest command";
	if (limits->boundary_bytes % limits->block_bytes)
		return "boundary";
	if ((limits->features & CHARIO_FEATURE_WRITE_CACHE) &&
	    !(limits->features & CHARIO_FEATURE_FUA))
		return "write cache without FUA";
	return NULL;
}

/* A slice is in whole units of DMA, and segments may end where pages do. */
static const char *find_wrong_memory(const struct chario_limits *limits)
{
	if (!is_power_of_2(limits->dma_alignment) ||
	    limits->dma_alignment > limits->grain_bytes)
		return "alignment of memory";
	if (!is_power_of_2(limits->seam_alignment) ||
	    limits->seam_alignment > PAGE_SIZE)
		return "alignment of segments";
	/* Segments of one vector would end where no seam may be. */
	if (limits->segment_bytes && limits->seam_alignment > 1)
		return "largest segment beside an alignment of segments";
	return PAGE_ALIGNED(limits->segment_bytes) ? NULL : "largest segment";
}

/* The largest command has room, even if each of its pages is a segment. */
static const char *find_wrong_room(const struct chario_queue *q,
				   const struct chario_limits *limits)
{
	unsigned int most = PFN_UP(limits->command_bytes) + 1;

	if (q->max_pages < most)
		return "room of its queues for pages";
	if (q->dma_dev && limits->segments && limits->segments < most)
		return "segments of a command, fewer than it has pages";
	return NULL;
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
	const char *wrong = find_wrong_size(limits) ?: find_wrong_memory(limits);
	unsigned int i;

	for (i = 0; i < drive->nr_queues && !wrong; i++)
		wrong = find_wrong_room(drive->queues[i], limits);
	if (!wrong)
		return 0;
	pr_err("chario: chardisk%d is refused: the limits of the device contradict each other (%s)\n",
	       disk->index, wrong);
	return -EINVAL;
}
