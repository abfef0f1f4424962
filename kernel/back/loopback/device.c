// SPDX-License-Identifier: GPL-2.0-only
/*
 * The device: a worker for each queue, which copies bytes.
 *
 * Parameters make the device misbehave like real drives: it is slow, ends commands in
 * another order, with an error, or never, fails, does not come up again, or is gone.
 * So deadlines, orphans, recovery and removal can be tested without a drive.
 */
#include <linux/delay.h>
#include <linux/dma-direct.h>
#include <linux/highmem.h>
#include <linux/module.h>

#include "base/range.h"
#include "loopback.h"
#include "types/buffer.h"

/* Delays from this one on end at once when the device is stopped. */
#define LONG_DELAY_US	(20 * USEC_PER_MSEC)

enum loopback_trouble {
	LOOPBACK_WELL,
	LOOPBACK_FAILED,	/* until it is reset */
	LOOPBACK_STUCK,		/* failed, and a reset does not help */
	LOOPBACK_GONE,
};

static int loopback_delay_us;
chario_range_param(loopback_delay_us, 0, 10 * USEC_PER_SEC, 0644);
MODULE_PARM_DESC(loopback_delay_us, "Time that the disk in memory takes for each command, one after the other on each queue, microseconds (up to 10000000, default 0)");

static bool loopback_newest_first;
module_param(loopback_newest_first, bool, 0644);
MODULE_PARM_DESC(loopback_newest_first, "The disk in memory begins with the newest command rather than the oldest (default N)");

static int loopback_fail;
chario_range_param(loopback_fail, 0, INT_MAX, 0644);
MODULE_PARM_DESC(loopback_fail, "So many of the next commands of the disk in memory end with EIO (default 0; counts down)");

static int loopback_lose;
chario_range_param(loopback_lose, 0, INT_MAX, 0644);
MODULE_PARM_DESC(loopback_lose, "So many of the next commands of the disk in memory do not come back (default 0; counts down)");

static bool loopback_aborts = true;
module_param(loopback_aborts, bool, 0644);
MODULE_PARM_DESC(loopback_aborts, "The disk in memory gives lost commands back when recovery aborts them (default Y)");

static int loopback_trouble;
chario_range_param(loopback_trouble, LOOPBACK_WELL, LOOPBACK_GONE, 0644);
MODULE_PARM_DESC(loopback_trouble, "State of the disk in memory: 0 it is well (default), 1 it has failed until it is reset, 2 it has failed and does not come up again, 3 it has gone");

static DEFINE_SPINLOCK(faults_lock);

/* Is a fault due?  @left: number of faults that are left. */
static bool take_fault(int *left)
{
	bool due;

	if (!READ_ONCE(*left))
		return false;
	spin_lock(&faults_lock);
	due = *left;
	if (due)
		WRITE_ONCE(*left, *left - 1);
	spin_unlock(&faults_lock);
	return due;
}

static void move_slice(const struct chario_command *cmd, void *disk)
{
	const struct chario_buffer *buf = cmd->req->buffer;

	buf->ops->copy(buf, cmd->buffer_offset, disk, cmd->bytes,
		       cmd->req->op == CHARIO_OP_READ);
}

static void move_pages(const struct chario_command *cmd, void *disk)
{
	u32 offset = cmd->page_offset;
	u32 left = cmd->bytes;
	unsigned int i;

	for (i = 0; i < cmd->nr_pages; i++) {
		u32 bytes = min_t(u32, PAGE_SIZE - offset, left);

		if (cmd->req->op == CHARIO_OP_READ)
			memcpy_to_page(cmd->pages[i], offset, disk, bytes);
		else
			memcpy_from_page(disk, cmd->pages[i], offset, bytes);
		disk += bytes;
		left -= bytes;
		offset = 0;
	}
}

/* Does the device take these segments?  They are all of the memory of a command. */
static bool takes_segments(const struct loopback *lb, const struct chario_command *cmd)
{
	const struct chario_limits *limits = &lb->limits;
	u32 left = cmd->bytes;
	unsigned int i;

	for (i = 0; i < cmd->nr_segments; i++) {
		u32 bytes = cmd->segments[i].bytes;

		if (!bytes || bytes > (limits->segment_bytes ?: left) ||
		    bytes > left)
			return false; /* GCOVR_EXCL_LINE: no memory is described so */
		left -= bytes;
	}
	return !left && (!limits->segments || i <= limits->segments);
}

/* Is an address RAM?  The page of zeros, which is memory nobody has written to, is. */
static bool is_ram(unsigned long pfn)
{
	return pfn_valid(pfn) &&
	       (!PageReserved(pfn_to_page(pfn)) || is_zero_pfn(pfn));
}

/* Moves the bytes of a segment, page by page.  Returns false if it is no RAM. */
static bool move_segment(const struct chario_command *cmd, void *disk,
			 phys_addr_t at, u32 left)
{
	while (left) {
		struct page *page = pfn_to_page(PHYS_PFN(at));
		u32 bytes = min_t(u32, PAGE_SIZE - offset_in_page(at), left);

		if (!is_ram(PHYS_PFN(at)))
			return false;
		if (cmd->req->op == CHARIO_OP_READ)
			memcpy_to_page(page, offset_in_page(at), disk, bytes);
		else
			memcpy_from_page(disk, page, offset_in_page(at), bytes);
		disk += bytes;
		at += bytes;
		left -= bytes;
	}
	return true;
}

static int move_segments(struct loopback *lb, const struct chario_command *cmd,
			 void *disk)
{
	const struct chario_segment *seg = cmd->segments;
	unsigned int i;

	if (!takes_segments(lb, cmd))
		return -EIO;
	for (i = 0; i < cmd->nr_segments; i++, seg++) {
		if (!move_segment(cmd, disk, lb->dma ?
				  dma_to_phys(&lb->dma->dev, seg->addr) : seg->addr,
				  seg->bytes))
			return -EIO;
		disk += seg->bytes;
	}
	return 0;
}

/* Ranges that are discarded read as zeros. */
static void discard(struct loopback *lb, const struct chario_command *cmd)
{
	const struct chario_disk_range *range = chario_command_ranges(cmd);
	unsigned int i;

	for (i = 0; i < cmd->nr_ranges; i++)
		memset(lb->memory + range[i].offset, 0, range[i].bytes);
}

/* Returns 0; EIO when the device cannot take the memory as it is described. */
static int move(struct loopback_queue *lq, const struct chario_command *cmd)
{
	struct loopback *lb = to_loopback(lq->core.drive);
	void *disk = lb->memory + cmd->disk_offset;

	if (cmd->req->op == CHARIO_OP_DISCARD) {
		discard(lb, cmd);
		return 0;
	}
	if (cmd->req->op == CHARIO_OP_WRITE_ZEROES) {
		memset(disk, 0, cmd->bytes);
		return 0;
	}
	if (lb->dma || cmd->nr_segments)
		return move_segments(lb, cmd, disk);
	if (cmd->req->buffer)
		move_slice(cmd, disk);
	else
		move_pages(cmd, disk);
	return 0;
}

/*
 * Takes the next command; returns NULL when there is none, or the device begins none
 * now.
 */
static struct chario_command *begin_next(struct loopback_queue *lq)
{
	struct chario_command *cmd = NULL;

	raw_spin_lock_irq(&lq->core.lock);
	if (!lq->stopped && READ_ONCE(loopback_trouble) == LOOPBACK_WELL)
		cmd = loopback_queue_take(lq, &lq->posted,
					  READ_ONCE(loopback_newest_first));
	raw_spin_unlock_irq(&lq->core.lock);
	return cmd;
}

/*
 * Waits for the time that a command takes.  Returns false when the device has been
 * stopped.
 */
static bool take_time(struct loopback_queue *lq)
{
	int us = READ_ONCE(loopback_delay_us);

	if (us >= LONG_DELAY_US)
		wait_event_timeout(lq->stop_wait, READ_ONCE(lq->stopped),
				   usecs_to_jiffies(us));
	else if (us)
		fsleep(us);
	return !READ_ONCE(lq->stopped);
}

static void device_lose(struct loopback_queue *lq, const struct chario_command *cmd)
{
	raw_spin_lock_irq(&lq->core.lock);
	__set_bit(cmd->tag, lq->lost);
	raw_spin_unlock_irq(&lq->core.lock);
}

/**
 * loopback_device_serve() - run the device of a queue until there is no command to do
 * @work: work of the queue
 */
void loopback_device_serve(struct work_struct *work)
{
	struct loopback_queue *lq = container_of(work, struct loopback_queue,
						 work);
	struct chario_command *cmd;

	while ((cmd = begin_next(lq))) {
		if (take_fault(&loopback_lose)) {
			device_lose(lq, cmd);
			continue;
		}
		if (!take_time(lq))
			break;
		if (take_fault(&loopback_fail)) {
			loopback_queue_end(lq, cmd, -EIO);
			continue;
		}
		loopback_queue_end(lq, cmd, move(lq, cmd));
	}
}

/**
 * loopback_device_health() - the health that the device reports
 *
 * Context: any.
 */
enum chario_drive_health loopback_device_health(void)
{
	switch (READ_ONCE(loopback_trouble)) {
	case LOOPBACK_WELL:
		return CHARIO_DRIVE_WELL;
	case LOOPBACK_GONE:
		return CHARIO_DRIVE_GONE;
	default:
		return CHARIO_DRIVE_FAILED;
	}
}

/**
 * loopback_device_revive() - let a reset end a failure
 *
 * Return: false when the failure stays.
 */
bool loopback_device_revive(void)
{
	cmpxchg(&loopback_trouble, LOOPBACK_FAILED, LOOPBACK_WELL);
	return READ_ONCE(loopback_trouble) == LOOPBACK_WELL;
}

/**
 * loopback_device_aborts() - does the device give lost commands back?
 */
bool loopback_device_aborts(void)
{
	return READ_ONCE(loopback_aborts);
}

/**
 * loopback_device_halt() - let the device of a queue begin no command from now on
 * @lq: the queue
 */
void loopback_device_halt(struct loopback_queue *lq)
{
	raw_spin_lock_irq(&lq->core.lock);
	WRITE_ONCE(lq->stopped, true);
	raw_spin_unlock_irq(&lq->core.lock);
	wake_up_all(&lq->stop_wait);
}

/**
 * loopback_device_stop() - stop the device of a queue, which accesses no memory
 *	afterwards
 * @lq: the queue
 */
void loopback_device_stop(struct loopback_queue *lq)
{
	loopback_device_halt(lq);
	cancel_work_sync(&lq->work);
}

/*
 * The commands of every second request have ended when this returns, unless the device
 * delays commands.  So tests have commands that end before they have been submitted, and
 * submissions that take long.
 */
static int loopback_submit(struct chario_queue *q, struct chario_command *cmd)
{
	struct loopback_queue *lq = to_loopback_queue(q);

	bool waits = (cmd->req->number & 1) && !READ_ONCE(loopback_delay_us);

	might_sleep();
	raw_spin_lock_irq(&q->lock);
	loopback_queue_add(&lq->posted, cmd->tag);
	queue_work(to_loopback(q->drive)->workers, &lq->work);
	raw_spin_unlock_irq(&q->lock);
	/* The command may be gone from here on. */
	if (waits)
		flush_work(&lq->work);
	return 0;
}

/* Operations of a device that takes commands outside the lock of their queue. */
const struct chario_queue_ops loopback_submit_ops = {
	.submit	= loopback_submit,
	.kick	= chario_submit_kick,
	.reap	= chario_submit_reap,
};
