// SPDX-License-Identifier: GPL-2.0-only
/*
 * The life of timelines: made, controlled, freed.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/tracepoint.h>
#include <linux/vmalloc.h>

#include "memory/locked.h"
#include "timeline/timeline.h"

static_assert(sizeof(struct chario_timeline_header) == 120);
static_assert(sizeof(struct chario_timeline_record) == 64);
static_assert(sizeof(struct chario_timeline_ring) == 64);
static_assert(sizeof(struct chario_timeline_tags) == 32);
static_assert(sizeof(struct chario_timeline_tag) == 32);

/* Protects the timelines of all drives, one for each, and their number. */
static DEFINE_MUTEX(attach_lock);
static unsigned int nr_timelines;

static void timeline_wake(struct irq_work *work)
{
	struct chario_timeline *tl = container_of(work, struct chario_timeline,
						  wake);

	wake_up_all(&tl->wait);
}

static bool is_size(u32 count)
{
	return is_power_of_2(count) && count >= CHARIO_TIMELINE_RECORDS_MIN &&
	       count <= CHARIO_TIMELINE_RECORDS_MAX;
}

/* Set the places of all parts in the mapped memory. */
static int lay_out(struct chario_timeline_header *header,
		   const struct chario_disk *disk,
		   const struct chario_timeline_open *args)
{
	header->size = sizeof(*header);
	header->record_bytes = sizeof(struct chario_timeline_record);
	header->nr_rings = disk->drive->nr_queues;
	header->records = args->records;
	header->rings_offset = PAGE_SIZE;
	header->ring_bytes = PAGE_ALIGN(sizeof(struct chario_timeline_ring) +
					(u64)args->records *
					header->record_bytes);
	header->rings_bytes = PAGE_SIZE +
			      header->nr_rings * header->ring_bytes;
	header->tags_offset = header->rings_bytes;
	if (args->tags)
		header->tags_bytes =
			PAGE_ALIGN(sizeof(struct chario_timeline_tags) +
				   (u64)args->tags *
				   sizeof(struct chario_timeline_tag));
	header->tags = args->tags;
	header->clock_id = CLOCK_MONOTONIC;
	header->disk = disk->index;
	header->stop_above_ns = args->stop_above_ns;
	if (header->rings_bytes + header->tags_bytes >
	    CHARIO_TIMELINE_BYTES_MAX)
		return -EINVAL;
	return 0;
}

static void free_tracks(struct chario_timeline *tl)
{
	unsigned int i;

	for (i = 0; i < tl->nr_tracks; i++)
		kvfree(tl->tracks[i].begun);
	kvfree(tl->callers);
}

static int make_tracks(struct chario_timeline *tl)
{
	const struct chario_timeline_header *header = tl->header;
	void *rings = (void *)tl->header + header->rings_offset;
	unsigned int i;

	tl->callers = kvcalloc(CHARIO_TIMELINE_CALLERS, sizeof(*tl->callers),
			       GFP_KERNEL_ACCOUNT);
	if (!tl->callers)
		return -ENOMEM;
	for (i = 0; i < tl->nr_tracks; i++) {
		const struct chario_queue *q = tl->disk->drive->queues[i];
		struct chario_track *track = &tl->tracks[i];

		raw_spin_lock_init(&track->lock);
		track->tl = tl;
		track->index = i;
		track->ring = rings + i * header->ring_bytes;
		track->records = (void *)(track->ring + 1);
		track->begun = kvcalloc(q->max_depth, sizeof(*track->begun),
					GFP_KERNEL_ACCOUNT);
		if (!track->begun)
			return -ENOMEM;
	}
	return 0;
}

/* Allocate the memory that user space maps; it has been charged to the caller. */
static int make_memory(struct chario_timeline *tl,
		       const struct chario_timeline_header *header)
{
	tl->header = vmalloc_user(header->rings_bytes);
	if (!tl->header)
		return -ENOMEM;
	*tl->header = *header;
	if (!header->tags)
		return 0;
	tl->tags = vmalloc_user(header->tags_bytes);
	if (!tl->tags)
		return -ENOMEM;
	tl->tags->tags = header->tags;
	return 0;
}

static void free_timeline(struct chario_timeline *tl)
{
	free_tracks(tl);
	vfree(tl->tags);
	vfree(tl->header);
	chario_locked_uncharge(&tl->locked);
	put_device(&tl->disk->dev);
	kfree(tl);
}

/* Allocate and set up a timeline that no queue refers to yet. */
static struct chario_timeline *
alloc_timeline(struct chario_disk *disk,
	       const struct chario_timeline_header *header)
{
	struct chario_timeline *tl;
	int ret;

	tl = kzalloc(struct_size(tl, tracks, disk->drive->nr_queues), GFP_KERNEL);
	if (!tl)
		return ERR_PTR(-ENOMEM);
	ret = chario_locked_charge(&tl->locked, (header->rings_bytes +
						 header->tags_bytes) >> PAGE_SHIFT);
	if (ret) {
		kfree(tl);
		return ERR_PTR(ret);
	}
	tl->disk = disk;
	get_device(&disk->dev);
	tl->nr_tracks = disk->drive->nr_queues;
	tl->mask = header->records - 1;
	tl->stop_above_ns = header->stop_above_ns;
	raw_spin_lock_init(&tl->stop_lock);
	init_waitqueue_head(&tl->wait);
	init_irq_work(&tl->wake, timeline_wake);
	ret = make_memory(tl, header);
	if (!ret)
		ret = make_tracks(tl);
	if (ret) {
		free_timeline(tl);
		return ERR_PTR(ret);
	}
	return tl;
}

/* Register the probes for the first timeline.  Under attach_lock. */
static int get_probes(void)
{
	int ret = nr_timelines ? 0 : chario_track_register();

	if (!ret)
		nr_timelines++;
	return ret;
}

/* Let the queues make records from now on. */
static int timeline_attach(struct chario_timeline *tl)
{
	struct chario_queue **queues = tl->disk->drive->queues;
	unsigned int i;
	int ret = -EBUSY;

	mutex_lock(&attach_lock);
	if (rcu_access_pointer(queues[0]->track))
		goto out;
	ret = get_probes();
	if (ret)
		goto out;
	tl->header->begin_ns = ktime_get_ns();
	for (i = 0; i < tl->nr_tracks; i++)
		rcu_assign_pointer(queues[i]->track, &tl->tracks[i]);
out:
	mutex_unlock(&attach_lock);
	return ret;
}

/* Stop the records; afterwards no probe uses the timeline. */
static void detach(struct chario_timeline *tl)
{
	unsigned int i;

	mutex_lock(&attach_lock);
	for (i = 0; i < tl->nr_tracks; i++)
		RCU_INIT_POINTER(tl->disk->drive->queues[i]->track, NULL);
	if (!--nr_timelines)
		chario_track_unregister();
	mutex_unlock(&attach_lock);
	tracepoint_synchronize_unregister();
	irq_work_sync(&tl->wake);
}

/**
 * chario_timeline_create() - record the stages of requests
 * @disk: disk whose requests are recorded
 * @args: see &struct chario_timeline_open
 *
 * Context: may sleep.
 * Return: the timeline or an ERR_PTR, see &struct chario_timeline_open.
 */
struct chario_timeline *
chario_timeline_create(struct chario_disk *disk,
		       const struct chario_timeline_open *args)
{
	struct chario_timeline_header header = { };
	struct chario_timeline *tl;
	int ret;

	if ((args->flags & ~CHARIO_TIMELINE_BEGIN_FROZEN) || args->reserved ||
	    !is_size(args->records) || (args->tags && !is_size(args->tags)))
		return ERR_PTR(-EINVAL);
	if (!IS_ENABLED(CONFIG_TRACEPOINTS))
		return ERR_PTR(-EOPNOTSUPP);
	ret = lay_out(&header, disk, args);
	if (ret)
		return ERR_PTR(ret);
	tl = alloc_timeline(disk, &header);
	if (IS_ERR(tl))
		return tl;
	tl->header->record_cost_ns = chario_track_cost(&tl->tracks[0]);
	if (args->flags & CHARIO_TIMELINE_BEGIN_FROZEN)
		tl->header->frozen = CHARIO_TIMELINE_TOLD;
	ret = timeline_attach(tl);
	if (ret) {
		free_timeline(tl);
		return ERR_PTR(ret);
	}
	return tl;
}

/**
 * chario_timeline_destroy() - stop recording, and free a timeline
 * @tl: a timeline whose memory nobody maps any more
 *
 * Context: may sleep.
 */
void chario_timeline_destroy(struct chario_timeline *tl)
{
	detach(tl);
	free_timeline(tl);
}

/**
 * chario_timeline_control() - freeze a timeline, or let it run
 * @tl: the timeline
 * @args: the command, already checked
 */
void chario_timeline_control(struct chario_timeline *tl,
			     const struct chario_timeline_control *args)
{
	struct chario_timeline_header *header = tl->header;
	unsigned long flags;

	raw_spin_lock_irqsave(&tl->stop_lock, flags);
	WRITE_ONCE(tl->stop_above_ns, args->stop_above_ns);
	header->stop_above_ns = args->stop_above_ns;
	if (args->command == CHARIO_TIMELINE_RUN)
		WRITE_ONCE(header->frozen, CHARIO_TIMELINE_RUNNING);
	else if (!header->frozen)
		WRITE_ONCE(header->frozen, CHARIO_TIMELINE_TOLD);
	raw_spin_unlock_irqrestore(&tl->stop_lock, flags);
	if (args->command == CHARIO_TIMELINE_FREEZE)
		wake_up_all(&tl->wait);
}
