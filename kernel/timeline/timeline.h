/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A timeline: the times at which requests reached their stages, recorded for user
 * space.
 *
 * A drive has at most one.  Each of its queues then has a track: a ring of records in
 * memory that user space maps, with its state.
 *
 * A ring is written under the lock of its track, a raw spinlock that is taken inside
 * q->lock, with interrupts off.  The lock is as private to a CPU as the queue is.  The
 * time is read under it, so that times in a ring never decrease.  ktime_get() is the
 * clock of clock_gettime(CLOCK_MONOTONIC), and can be called from every context that
 * has requests.
 *
 * Records are made by probes on the tracepoints, so that without a timeline they cost
 * nothing but the static keys of the tracepoints.  A probe finds a track by
 * queue->track, under RCU.  All memory is there before the first record and goes after
 * the last.
 */
#ifndef CHARIO_TIMELINE_TIMELINE_H
#define CHARIO_TIMELINE_TIMELINE_H

#include <linux/irq_work.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include "types/disk.h"
#include "types/locked.h"
#include "types/queue.h"

/* Number of threads that can be between enter and their request; a power of two. */
#define CHARIO_TIMELINE_CALLERS	4096

/**
 * struct chario_track - the ring of a queue
 * @lock: lock that protects the ring
 * @head: number of records so far; @ring has a copy, which user space can see
 * @ring: header of the ring in mapped memory
 * @records: array of records behind @ring
 * @begun: by command: time at which the call entered, if the command is the first of
 *	its request; 0 if unknown
 * @index: number of the queue
 * @tl: the timeline
 */
struct chario_track {
	raw_spinlock_t lock; /* the ring */
	u64 head;
	struct chario_timeline_ring *ring;
	struct chario_timeline_record *records;
	atomic64_t *begun;
	unsigned int index;
	struct chario_timeline *tl;
};

/**
 * struct chario_timeline - the recorder of a drive
 * @disk: disk whose requests are recorded; a reference
 * @header: start of the memory that is mapped to be read
 * @mask: number of records of a ring - 1
 * @stop_above_ns: see &struct chario_timeline_open
 * @callers: times at which the last call of each thread entered
 * @stop_lock: lock that protects the members of @header about a stop
 * @wait: wait queue of callers that poll
 * @wake: work that wakes @wait, from every context
 * @tags: memory that is mapped to be written to, or NULL
 * @locked: pages that count as locked
 * @nr_tracks: number of queues of the drive
 * @tracks: tracks, one for each queue
 */
struct chario_timeline {
	struct chario_disk *disk;
	struct chario_timeline_header *header;
	u32 mask;
	u64 stop_above_ns;
	atomic64_t *callers;
	raw_spinlock_t stop_lock; /* members of the header about a stop */
	wait_queue_head_t wait;
	struct irq_work wake;
	struct chario_timeline_tags *tags;
	struct chario_locked locked;
	unsigned int nr_tracks;
	struct chario_track tracks[];
};

/* timeline/timeline.c */
struct chario_timeline *
chario_timeline_create(struct chario_disk *disk,
		       const struct chario_timeline_open *args);
void chario_timeline_destroy(struct chario_timeline *tl);
void chario_timeline_control(struct chario_timeline *tl,
			     const struct chario_timeline_control *args);

/* timeline/track.c */
u32 chario_track_cost(struct chario_track *track);
int chario_track_register(void);
void chario_track_unregister(void);

#endif /* CHARIO_TIMELINE_TIMELINE_H */
