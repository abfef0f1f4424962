// SPDX-License-Identifier: GPL-2.0-only
/*
 * Origins: open files that outlive their callers, see origin.h.
 */
#include <linux/file.h>
#include <linux/jiffies.h>
#include <linux/limits.h>
#include <linux/module.h>
#include <linux/wait.h>

#include "base/range.h"
#include "base/workers.h"
#include "queue/origin.h"
#include "queue/queue.h"
#include "types/disk.h"

int chario_max_orphans = 32;

chario_range_param_named(max_orphans, chario_max_orphans, 1, U16_MAX, 0644);
MODULE_PARM_DESC(max_orphans, "Commands that an open file may leave with the drive when their callers have gone, before its next calls wait (1 to 65535, default 32)");

/*
 * Callers whose file is full, see chario_origin_is_full().  One queue serves all files,
 * because such callers are few.
 */
static DECLARE_WAIT_QUEUE_HEAD(room_wait);

/* Drop the last reference in a worker: to close a file may sleep and take long. */
static void put_origin(struct work_struct *work)
{
	fput(container_of(work, struct chario_origin, put_work)->file);
}

/**
 * chario_origin_init() - initialise the origin of a file that is being opened
 * @origin: zeroed memory that lives as long as @file
 * @file: the file
 * @disk: the disk that it opens
 */
void chario_origin_init(struct chario_origin *origin, struct file *file,
			const struct chario_disk *disk)
{
	origin->file = file;
	origin->disk = disk;
	INIT_WORK(&origin->put_work, put_origin);
}

/**
 * chario_origin_get() - keep the file of a request that becomes an orphan
 * @origin: the origin; the caller of the request, or io_uring for it, still has the
 *	file open, because it is told of the end afterwards
 * @commands: number of commands that the orphan keeps
 *
 * Context: any; under the lock of the request's queue.
 */
void chario_origin_get(struct chario_origin *origin, unsigned int commands)
{
	if (atomic_add_return(commands, &origin->orphans) == commands)
		get_file(origin->file);
}

/**
 * chario_origin_put() - let go of the file of an orphan that has ended
 * @origin: the origin; may be gone afterwards
 * @commands: number of commands that the orphan has kept
 *
 * Context: any.
 */
void chario_origin_put(struct chario_origin *origin, unsigned int commands)
{
	struct file *file = origin->file;
	bool last = atomic_sub_and_test(commands, &origin->orphans);

	/* The atomic above orders this check; pairs with prepare_to_wait(). */
	if (unlikely(waitqueue_active(&room_wait)))
		wake_up_all(&room_wait);
	if (!last)
		return;
	/* Work that is already queued drops the reference of an earlier orphan. */
	if (!queue_work(chario_put_workqueue, &origin->put_work))
		fput(file);
}

/**
 * chario_origin_wait_room() - wait until a file may have commands again
 * @origin: origin of the file, which the caller has open
 * @expires: jiffies at which to give up
 * @killable: true if a fatal signal ends the wait
 *
 * Context: may sleep.
 * Return: 0; ETIMEDOUT; EINTR on a fatal signal.
 */
int chario_origin_wait_room(const struct chario_origin *origin,
			    unsigned long expires, bool killable)
{
	long left = chario_jiffies_left(expires);

	if (killable)
		left = wait_event_killable_timeout(room_wait,
						   !chario_origin_is_full(origin),
						   left);
	else
		left = wait_event_timeout(room_wait,
					  !chario_origin_is_full(origin), left);
	if (left > 0)
		return 0;
	return left ? -EINTR : -ETIMEDOUT;
}

static bool is_settled(struct chario_queue *q,
		       const struct chario_origin *origin, u64 pos, u64 end)
{
	unsigned long flags;
	unsigned int tag;
	bool settled = true;

	raw_spin_lock_irqsave(&q->lock, flags);
	chario_queue_for_each_busy(q, tag) {
		const struct chario_command *cmd = chario_queue_command(q, tag);

		/* A DONE command counts: its bounce buffers may still be copied. */
		if (cmd->state != CHARIO_COMMAND_IDLE && cmd->req->orphaned &&
		    cmd->req->origin == origin && cmd->disk_offset < end &&
		    cmd->disk_offset + cmd->bytes > pos)
			settled = false;
	}
	raw_spin_unlock_irqrestore(&q->lock, flags);
	return settled;
}

/**
 * chario_origin_settle() - wait for the orphans of a file
 * @origin: origin of the file, which the caller has open
 * @pos: byte offset on the disk
 * @bytes: length in bytes from @pos; orphans elsewhere are not waited for
 * @expires: jiffies at which to give up
 *
 * Context: may sleep.
 * Return: 0; ETIMEDOUT; EINTR on a fatal signal.
 */
int chario_origin_settle(const struct chario_origin *origin, u64 pos, u64 bytes,
			 unsigned long expires)
{
	const struct chario_drive *drive = origin->disk->drive;
	unsigned int i;

	for (i = 0; i < drive->nr_queues && atomic_read(&origin->orphans); i++) {
		struct chario_queue *q = drive->queues[i];
		long left = chario_jiffies_left(expires);

		left = wait_event_killable_timeout(q->slot_wait,
						   is_settled(q, origin, pos,
							      pos + bytes),
						   left);
		if (left <= 0)
			return left ? -EINTR : -ETIMEDOUT;
	}
	return 0;
}
