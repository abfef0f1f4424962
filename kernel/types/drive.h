/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A drive: the parts that the disks of one device share.
 *
 * A drive owns the queues, the state and the recovery of its device.  The back
 * end embeds a drive in its own structure and describes the abilities of its
 * device by &struct chario_drive_ops.
 *
 * State of a drive
 *
 *   RECOVERING  its queues are frozen and calls wait; also before it has started
 *   LIVE        commands go to the device
 *   DEAD        it has been given up: calls end with an error, until it is removed
 *   REMOVING    the back end takes it away; final
 *
 * Recovery is a ladder of steps, see recover.c.  A back end that resets the device
 * for another reason (its link has failed, the machine sleeps) holds the drive
 * before and resumes it afterwards.
 */
#ifndef CHARIO_TYPES_DRIVE_H
#define CHARIO_TYPES_DRIVE_H

#include <linux/atomic.h>
#include <linux/mutex.h>
#include <linux/timer.h>
#include <linux/workqueue.h>

#include "chario.h"

struct device;

enum chario_drive_state {
	CHARIO_DRIVE_LIVE,
	CHARIO_DRIVE_RECOVERING,
	CHARIO_DRIVE_DEAD,
	CHARIO_DRIVE_REMOVING,
};

/**
 * enum chario_drive_health - the condition of a device
 * @CHARIO_DRIVE_WELL: the device works
 * @CHARIO_DRIVE_NOT_READY: the device does not work, or not yet
 * @CHARIO_DRIVE_FAILED: the device reports that it has failed: only a reset helps
 * @CHARIO_DRIVE_GONE: the device is not there any more
 */
enum chario_drive_health {
	CHARIO_DRIVE_WELL,
	CHARIO_DRIVE_NOT_READY,
	CHARIO_DRIVE_FAILED,
	CHARIO_DRIVE_GONE,
};

/**
 * struct chario_drive_bounds - the longest times that the steps of recovery take
 * @abort_ms: longest time of @abort, milliseconds
 * @reset_ms: longest time of @disable and @enable together, milliseconds
 */
struct chario_drive_bounds {
	u32 abort_ms;
	u32 reset_ms;
};

/**
 * struct chario_drive_ops - the steps of recovery that a back end can do
 * @check: function that returns the condition of the device.  Any context; called
 *	by the watchdogs of the queues while commands are in flight, and before
 *	recovery.  NULL: always well
 * @may_recover: function that returns whether recovery is up to the core.  False if
 *	something below the back end brings the device back: then the back end has
 *	called chario_drive_hold(), and will call chario_drive_resume().  NULL: always
 * @abort: function that asks the device to give a command back.  @id was the
 *	identifier of the command (cmd->id, which the back end sets) when its deadline
 *	had passed; the command may have ended meanwhile.  Returns 0 if the device has
 *	taken the request, else -errno.  NULL: the step is skipped
 * @disable: function that stops the device.  When it returns 0, the device touches
 *	no memory, has forgotten all commands, and the commands that it had completed
 *	have been reaped.  ENODEV if the device has gone, else -errno.  Set if
 *	@enable is.  NULL: the step is skipped
 * @enable: function that starts a disabled device, and calls chario_queue_replay()
 *	for each queue that the device serves.  Returns 0; ENODEV if the device has
 *	gone; else -errno
 * @cut_off: function that keeps the device off memory for good, whatever it does.
 *	NULL if no command can be taken back from the device: then late commands
 *	stay in flight until they end, and no other step is tried.  A back end that
 *	calls chario_drive_hold() has it, and @disable, @enable and @bounds
 * @resumed: function that is called when the drive is live again after a reset.  May
 *	be NULL
 * @bounds: function that tells the longest times of the steps.  Any context.  NULL
 *	if there is no @cut_off
 * @make_block_queues: function that makes the queues that the block side has for itself,
 *	unless they are there: they stay as long as others.  Their &enum chario_queue_use
 *	tells them.  Returns their number, 0 if the device has none to spare, or -errno.
 *	Takes drive->lock itself; may sleep.  NULL: none
 * @free_queue: function that frees the structure in which a queue is embedded; the
 *	core has freed the memory of the queue itself.  May sleep; called without
 *	drive->lock
 *
 * All functions without a context of their own are called under drive->lock and may
 * sleep.
 */
struct chario_drive_ops {
	enum chario_drive_health (*check)(struct chario_drive *drive);
	bool (*may_recover)(struct chario_drive *drive);
	int (*abort)(struct chario_drive *drive, struct chario_queue *q,
		     u16 id);
	int (*disable)(struct chario_drive *drive);
	int (*enable)(struct chario_drive *drive);
	void (*cut_off)(struct chario_drive *drive);
	void (*resumed)(struct chario_drive *drive);
	void (*bounds)(const struct chario_drive *drive,
		       struct chario_drive_bounds *bounds);
	int (*make_block_queues)(struct chario_drive *drive);
	void (*free_queue)(struct chario_queue *q);
};

/**
 * struct chario_isolation - the state by which the block side stands back for urgent
 *	calls, see queue/isolation.c
 * @files: number of open files whose calls are urgent; nothing is counted while it is 0
 * @urgent: number of urgent calls under way
 * @until: jiffies until which the block side stands back after the last of them
 * @depth: number of block commands that the device has at most meanwhile
 * @hold_ms: time for which the block side stands back after an urgent call, milliseconds
 * @block: number of block commands that have been let through and have not ended
 * @worst: largest value of @block when an urgent call began
 * @turned_away: true if the block side has to be asked to try again
 * @let_through: jiffies at which a command was last let through although @depth is 0
 * @timer: timer that asks the block side to try again
 * @try_again: function of the block side that sends what was turned away; any context.
 *	NULL if there is no block side
 */
struct chario_isolation {
	atomic_t files;
	atomic_t urgent;
	unsigned long until;
	u32 depth;
	u32 hold_ms;
	atomic_t block;
	int worst;
	bool turned_away;
	unsigned long let_through;
	struct timer_list timer;
	void (*try_again)(struct chario_drive *drive);
};

/**
 * struct chario_drive - the device behind one or more disks
 * @ops: operations of the back end
 * @dev: device in whose name recovery writes messages
 * @queues: all queues: those that complete by interrupt (one at least) first, then
 *	those to be polled, then those that open files can have for themselves
 * @nr_queues: length of @queues
 * @state: &enum chario_drive_state; changes under @lock, read without
 * @lock: lock that keeps recovery, sleep and removal apart
 * @recover_work: work that runs recovery
 * @leaves: true if the drive is being taken away; set by its back end before it waits for
 *	anybody
 * @reset_wanted: true if recovery begins with a reset, because an abort will not help
 * @block_lock: lock that protects @tags and the block disks of the drive; outside their
 *	node_lock
 * @tags: tags of the block side, or NULL; see front/block/tags.c
 * @isolation: state by which the block side stands back for urgent calls
 * @aborts: counter of commands that the device was asked to abort
 * @resets: counter of resets by recovery
 */
struct chario_drive {
	const struct chario_drive_ops *ops;
	struct device *dev;
	struct chario_queue **queues;
	unsigned int nr_queues;
	int state;
	struct mutex lock; /* recovery, sleep, removal */
	struct work_struct recover_work;
	bool leaves;
	bool reset_wanted;
	struct mutex block_lock; /* tags, block disks */
	struct chario_tags *tags;
	struct chario_isolation isolation;
	u64 aborts;
	u64 resets;
};

#endif /* CHARIO_TYPES_DRIVE_H */
