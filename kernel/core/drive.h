/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A drive: what the disks of one device share.
 *
 * A drive owns the queues, the state and the recovery of its device.  The back
 * end embeds a drive in its own structure and says by &struct chario_drive_ops
 * what its device can do.
 *
 * State of a drive
 *
 *   RECOVERING  its queues are frozen and calls wait; also before it has started
 *   LIVE        commands go to the device
 *   DEAD        it has been given up: calls end with an error; final
 *   REMOVING    the back end takes it away; final
 *
 * Recovery is a ladder, see recover.c.  Whoever resets the device for another
 * reason (its link has failed, the machine sleeps) holds the drive before and
 * resumes it afterwards.
 */
#ifndef CHARIO_CORE_DRIVE_H
#define CHARIO_CORE_DRIVE_H

#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "chario.h"

struct device;

/* How long the device may take to give back what it was asked to abort. */
#define CHARIO_DRIVE_ABORT_MS	1000

enum chario_drive_state {
	CHARIO_DRIVE_LIVE,
	CHARIO_DRIVE_RECOVERING,
	CHARIO_DRIVE_DEAD,
	CHARIO_DRIVE_REMOVING,
};

/**
 * enum chario_drive_health - what a device says of itself
 * @CHARIO_DRIVE_WELL: it works
 * @CHARIO_DRIVE_NOT_READY: it does not work, or not yet
 * @CHARIO_DRIVE_FAILED: it says that it has failed: only a reset helps
 * @CHARIO_DRIVE_GONE: it is not there any more
 */
enum chario_drive_health {
	CHARIO_DRIVE_WELL,
	CHARIO_DRIVE_NOT_READY,
	CHARIO_DRIVE_FAILED,
	CHARIO_DRIVE_GONE,
};

/**
 * struct chario_drive_bounds - how long the steps of recovery take at most
 * @abort_ms: the device answers @abort, milliseconds
 * @reset_ms: @disable and @enable together, milliseconds
 */
struct chario_drive_bounds {
	u32 abort_ms;
	u32 reset_ms;
};

/**
 * struct chario_drive_ops - the steps of recovery that a back end can do
 * @check: how the device is.  Any context; called by the watchdogs of the queues
 *	while commands are in flight, and before recovery.  NULL: always well
 * @may_recover: is recovery the core's affair?  False when something below the
 *	back end brings the device back; the back end has called
 *	chario_drive_hold() then, and will call chario_drive_resume().  NULL: always
 * @abort: ask the device to give a command back.  @id is that of the command when
 *	its deadline had passed; it may have ended meanwhile.  0 when the device has
 *	taken the request, else -errno.  NULL: the step is skipped
 * @disable: stop the device: when this returns 0 the device touches no memory, has
 *	forgotten all commands, and what it had completed has been reaped.  ENODEV
 *	when the device has gone, else -errno.  There where @enable is.  NULL: the
 *	step is skipped
 * @enable: start a device that has been disabled, and call chario_queue_replay() for
 *	each queue that it serves.  0, ENODEV when the device has gone, else -errno
 * @cut_off: keep the device off memory for good, whatever it does.  NULL where no
 *	command can be taken back from the device: then late commands stay in
 *	flight until they end, and no other step is tried
 * @resumed: the drive is live again after a reset.  May be NULL
 * @bounds: how long the steps take at most.  Any context.  NULL where there is no
 *	@cut_off
 * @free_queue: free the structure in which a queue is embedded; the core has
 *	freed what is the queue's own
 *
 * Those without a context of their own are called under drive->lock and may sleep;
 * so does @free_queue, without the lock.
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
	void (*free_queue)(struct chario_queue *q);
};

/**
 * struct chario_drive - the device behind one or more disks
 * @ops: the back end's part
 * @dev: whose messages those of recovery are
 * @queues: all queues: those that complete by interrupt (one at least) first, then
 *	those to be polled, then those that open files can have for themselves
 * @nr_queues: length of @queues
 * @state: &enum chario_drive_state; changes under @lock, read without
 * @lock: recovery, sleep and removal keep out of each other's way
 * @recover_work: runs recovery
 * @reset_wanted: an abort will not help
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
	bool reset_wanted;
	u64 aborts;
	u64 resets;
};

/* core/queues.c */
void chario_drive_freeze(struct chario_drive *drive);
bool chario_drive_is_idle(const struct chario_drive *drive);
bool chario_drive_settle(struct chario_drive *drive, unsigned int ms);

/* core/recover.c */
int chario_drive_lock_live(struct chario_drive *drive);
const char *chario_drive_state_name(const struct chario_drive *drive);
bool chario_drive_remove(struct chario_drive *drive);
void chario_drive_look(struct chario_drive *drive);
void chario_drive_recover_wanted(struct chario_drive *drive, bool reset);
void chario_drive_recover(struct work_struct *work);
void chario_drive_hold(struct chario_drive *drive);
int chario_drive_resume(struct chario_drive *drive);
int chario_drive_reset(struct chario_drive *drive);
void chario_drive_cut_off(struct chario_drive *drive, int error);
void chario_drive_give_up(struct chario_drive *drive, int error);
u64 chario_drive_bound_ns(const struct chario_drive *drive);

/* core/drive.c */
void chario_drive_init(struct chario_drive *drive,
		       const struct chario_drive_ops *ops, struct device *dev);
void chario_drive_deinit(struct chario_drive *drive);
int chario_drive_make_room(struct chario_drive *drive, unsigned int nr_queues);
void chario_drive_add_queue(struct chario_drive *drive, struct chario_queue *q);
void chario_drive_start(struct chario_drive *drive);

#endif /* CHARIO_CORE_DRIVE_H */
