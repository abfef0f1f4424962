/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A timeline: when requests reached their stages, recorded for user space.
 *
 * A drive has one at most.  Each of its queues has a track then: a ring of
 * records in memory that user space maps, and what belongs to it.
 *
 * Who writes to a ring: whoever holds the lock of its track, a raw spinlock
 * that is taken inside q->lock, with interrupts off.  It is as private to a
 * CPU as the queue is.  The time is read under it, so that time does not fall
 * within a ring.  ktime_get() is what clock_gettime(CLOCK_MONOTONIC) reads, and
 * can be called from every context in which there are requests.
 *
 * Records are made by probes on the tracepoints, so that a timeline costs nothing
 * while there is none: the static keys of the tracepoints are its own.  A track
 * is found by queue->track, under RCU.  All memory is there before the first
 * record and goes after the last.
 */
#ifndef CHARIO_CORE_TIMELINE_H
#define CHARIO_CORE_TIMELINE_H

#include <linux/irq_work.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include "core/device.h"
#include "core/locked.h"
#include "core/queue.h"

/* Callers between enter and their request, by thread; a power of two. */
#define CHARIO_TIMELINE_CALLERS	4096

/**
 * struct chario_track - the ring of a queue
 * @lock: who writes to the ring
 * @head: records so far; the truth of which @ring has a copy
 * @ring: in the memory that is mapped
 * @records: behind it
 * @begun: by command: when the call of the request entered whose first command
 *	this is; 0 where that is not known
 * @index: number of the queue
 * @tl: the timeline
 */
struct chario_track {
	raw_spinlock_t lock; /* who writes to the ring */
	u64 head;
	struct chario_timeline_ring *ring;
	struct chario_timeline_record *records;
	atomic64_t *begun;
	unsigned int index;
	struct chario_timeline *tl;
};

/**
 * struct chario_timeline - the recorder of a drive
 * @cio: whose requests are recorded; a reference
 * @header: at the beginning of the memory that is mapped to be read
 * @mask: records of a ring - 1
 * @stop_above_ns: see &struct chario_timeline_open
 * @callers: when the last call of a thread entered
 * @stop_lock: protects what @header says of a stop
 * @wait: who polls
 * @wake: wakes them, from every context
 * @tags: the memory that is mapped to be written to, or NULL
 * @locked: what it counts as
 * @nr_tracks: queues of the drive
 * @tracks: one each
 */
struct chario_timeline {
	struct chario_device *cio;
	struct chario_timeline_header *header;
	u32 mask;
	u64 stop_above_ns;
	atomic64_t *callers;
	raw_spinlock_t stop_lock; /* what the header says of a stop */
	wait_queue_head_t wait;
	struct irq_work wake;
	struct chario_timeline_tags *tags;
	struct chario_locked locked;
	unsigned int nr_tracks;
	struct chario_track tracks[];
};

/* core/timeline.c */
struct chario_timeline *
chario_timeline_create(struct chario_device *cio,
		       const struct chario_timeline_open *args);
void chario_timeline_destroy(struct chario_timeline *tl);
void chario_timeline_control(struct chario_timeline *tl,
			     const struct chario_timeline_control *args);

/* core/track.c */
u32 chario_track_cost(struct chario_track *track);
int chario_track_register(void);
void chario_track_unregister(void);

#endif /* CHARIO_CORE_TIMELINE_H */
