// SPDX-License-Identifier: GPL-2.0-only
/*
 * Origins: open files that outlive their callers, see origin.h.
 */
#include <linux/file.h>
#include <linux/jiffies.h>
#include <linux/wait.h>

#include "core/device.h"
#include "core/origin.h"
#include "core/queue.h"

/* The last reference: closing takes long where buffers are many, and may sleep. */
static void put_origin(struct work_struct *work)
{
	fput(container_of(work, struct chario_origin, put_work)->file);
}

/**
 * chario_origin_init() - a file has been opened
 * @origin: zeroed; lives as long as @file
 * @file: the file
 */
void chario_origin_init(struct chario_origin *origin, struct file *file)
{
	origin->file = file;
	INIT_WORK(&origin->put_work, put_origin);
}

/**
 * chario_origin_hold() - a request becomes an orphan
 * @origin: whose caller, or io_uring for it, still has the file open: it is told
 *	afterwards that the request has ended
 *
 * Context: any; under the lock of the request's queue.
 */
void chario_origin_hold(struct chario_origin *origin)
{
	if (atomic_inc_return(&origin->orphans) == 1)
		get_file(origin->file);
}

/**
 * chario_origin_drop() - an orphan has ended
 * @origin: may be gone afterwards
 *
 * Context: any.
 */
void chario_origin_drop(struct chario_origin *origin)
{
	struct file *file = origin->file;

	if (!atomic_dec_and_test(&origin->orphans))
		return;
	/* Work that is queued already drops the reference of an earlier orphan. */
	if (!queue_work(chario_put_workqueue, &origin->put_work))
		fput(file);
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

		if (chario_command_in_flight(cmd) && cmd->req->orphaned &&
		    cmd->req->origin == origin && cmd->disk_offset < end &&
		    cmd->disk_offset + cmd->bytes > pos)
			settled = false;
	}
	raw_spin_unlock_irqrestore(&q->lock, flags);
	return settled;
}

/**
 * chario_origin_settle() - wait for the orphans of a file
 * @origin: of the file, which the caller has open
 * @cio: the disk
 * @pos: byte offset on the disk
 * @bytes: from there; orphans elsewhere are not waited for
 * @expires: jiffies at which to give up
 *
 * Context: may sleep.
 * Return: 0; ETIMEDOUT; EINTR on a fatal signal.
 */
int chario_origin_settle(const struct chario_origin *origin,
			 const struct chario_device *cio, u64 pos, u64 bytes,
			 unsigned long expires)
{
	unsigned int i;

	for (i = 0; i < cio->nr_queues && atomic_read(&origin->orphans); i++) {
		struct chario_queue *q = cio->queues[i];
		long left = max_t(long, expires - jiffies, 1);

		left = wait_event_killable_timeout(q->slot_wait,
						   is_settled(q, origin, pos,
							      pos + bytes),
						   left);
		if (left <= 0)
			return left ? -EINTR : -ETIMEDOUT;
	}
	return 0;
}
