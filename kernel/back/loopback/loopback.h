/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The back end `loopback`: a disk in memory.
 *
 * This is the shortest complete back end.  Read it first, and copy it to begin another:
 *
 *   disk.c     a drive with one disk: made and removed
 *   queue.c    the queue operations for the core: post, kick, reap
 *   device.c   the device: a worker for each queue, which parameters make fail
 *   reset.c    the drive operations for the core's recovery
 *
 * A command becomes an entry in the ring @posted of its queue, and the doorbell wakes
 * the worker.  The worker takes one entry after the other, moves the bytes without a
 * lock, puts the command into the ring @ended, and reaps it, as an interrupt would.
 * Nothing moves before a command has been posted, nor after the device has been
 * stopped.
 */
#ifndef CHARIO_LOOPBACK_H
#define CHARIO_LOOPBACK_H

#include <linux/bitmap.h>
#include <linux/platform_device.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "disk/disk.h"
#include "drive/drive.h"
#include "queue/queue.h"

/* The number of commands of a queue. */
#define LOOPBACK_DEPTH	256

/**
 * struct loopback_ring - commands in an order
 * @tags: tags of the commands; as many as a queue has, so that the ring is never full
 * @head: index of the oldest; indices only grow and are taken modulo the length
 * @tail: index behind the newest
 */
struct loopback_ring {
	u16 tags[LOOPBACK_DEPTH];
	unsigned int head;
	unsigned int tail;
};

/**
 * struct loopback_queue - commands on their way through the device
 * @core: the queue; its lock protects all members but @stop_wait and @work
 * @posted: commands that the device has not begun
 * @ended: commands that the device has finished, and that have not been reaped
 * @errors: results of the commands in @ended, by their tags: 0 or -errno
 * @lost: bit for each tag: the device has lost the command, until it is aborted
 * @stopped: the device begins no command
 * @stop_wait: wait queue of the device during a delay, until it is stopped
 * @work: the device
 */
struct loopback_queue {
	struct chario_queue core;
	struct loopback_ring posted;
	struct loopback_ring ended;
	int errors[LOOPBACK_DEPTH];
	DECLARE_BITMAP(lost, LOOPBACK_DEPTH);
	bool stopped;
	wait_queue_head_t stop_wait;
	struct work_struct work;
};

/**
 * struct loopback - a disk in memory
 * @drive: drive of the core
 * @disk: disk of the core
 * @memory: blocks of the disk
 * @workers: workqueue of the devices of all queues
 * @dma: device that memory is mapped for, if commands have segments; else NULL
 * @limits: limits that commands keep
 */
struct loopback {
	struct chario_drive drive;
	struct chario_disk *disk;
	void *memory;
	struct workqueue_struct *workers;
	struct platform_device *dma;
	struct chario_limits limits;
};

static inline struct loopback *to_loopback(struct chario_drive *drive)
{
	return container_of(drive, struct loopback, drive);
}

static inline struct loopback_queue *to_loopback_queue(struct chario_queue *q)
{
	return container_of(q, struct loopback_queue, core);
}

/* queue.c */
extern const struct chario_queue_ops loopback_queue_ops;
void loopback_queue_add(struct loopback_ring *ring, u16 tag);
struct chario_command *loopback_queue_take(struct loopback_queue *lq,
					   struct loopback_ring *ring,
					   bool newest);
void loopback_queue_end(struct loopback_queue *lq, struct chario_command *cmd,
			int error);
void loopback_queue_reset(struct loopback_queue *lq);

/* device.c */
extern const struct chario_queue_ops loopback_submit_ops;
void loopback_device_serve(struct work_struct *work);
enum chario_drive_health loopback_device_health(void);
bool loopback_device_revive(void);
bool loopback_device_aborts(void);
void loopback_device_halt(struct loopback_queue *lq);
void loopback_device_stop(struct loopback_queue *lq);

/* reset.c */
extern const struct chario_drive_ops loopback_drive_ops;

#endif /* CHARIO_LOOPBACK_H */
