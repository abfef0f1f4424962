// SPDX-License-Identifier: GPL-2.0-only
/*
 * The watchdog of a queue: deadlines, lost interrupts, a device that has gone.
 *
 * The watchdog is a timer that runs only while commands are in flight, at the next
 * deadline and at least four times a second.  At its deadline a caller is told.
 * Recovery begins when the drive has also had the request for the recovery age of its
 * disk.  A call whose deadline lies behind the next look costs nothing on the hot path
 * but one comparison.
 */
#include <linux/jiffies.h>

#include "base/workers.h"
#include "drive/drive.h"
#include "queue/isolation.h"
#include "queue/queue.h"
#include "types/disk.h"

/*
 * Reap completions whose interrupt was lost: a completion is there now and was there
 * at the last look, with nothing reaped between.  Queues for polling have no interrupt.
 */
static void reap_late(struct chario_queue *q)
{
	bool pending = chario_queue_is_pending(q);

	if (pending && (q->polled || q->reaped == q->reaped_seen)) {
		unsigned int count = chario_queue_reap(q);

		if (!q->polled)
			q->late_reaps += count;
	}
	q->reaped_seen = q->reaped;
}

/*
 * Returns the time, in jiffies, from which the drive may be recovered for a request:
 * the deadline or the recovery age, whichever is later.  A caller may be less patient
 * than a healthy drive is fast.
 */
static unsigned long recover_at(const struct chario_request *req)
{
	unsigned long old = req->started + READ_ONCE(req->disk->recovery_age);

	return time_after(old, req->expires) ? old : req->expires;
}

/* Returns whether recovery is the next step, because nobody is told before. */
static bool tells_nobody(const struct chario_request *req)
{
	return req->orphaned || (req->duty & CHARIO_DUTY_LET_GO);
}

/* Returns the time of the next step, in jiffies: the deadline, or recovery. */
static unsigned long due_at(const struct chario_request *req)
{
	return tells_nobody(req) ? recover_at(req) : req->expires;
}

/* Returns a request whose next step is due, or NULL; sets @next to the next look. */
static struct chario_request *find_due(struct chario_queue *q, bool *busy,
				       unsigned long *next)
{
	unsigned long now = jiffies;
	unsigned int tag;

	*busy = false;
	*next = now + CHARIO_WATCH_INTERVAL;
	chario_queue_for_each_busy(q, tag) {
		struct chario_command *cmd = chario_queue_command(q, tag);
		unsigned long due;

		if (!chario_command_in_flight(cmd))
			continue;
		*busy = true;
		if (cmd->req->overdue)
			continue;
		due = due_at(cmd->req);
		if (time_after_eq(now, due))
			return cmd->req;
		if (time_before(due, *next))
			*next = due;
	}
	return NULL;
}

/*
 * Handle one request whose next step is due, or set the timer.  Returns whether there
 * was one; sets @recover if the drive has had it for too long.
 */
static bool expire_one(struct chario_queue *q, bool *recover)
{
	struct chario_request *req;
	struct chario_async async = { };
	unsigned long flags, next;
	bool busy, urgent = false;

	raw_spin_lock_irqsave(&q->lock, flags);
	req = find_due(q, &busy, &next);
	if (req) {
		req->overdue = time_after_eq(jiffies, recover_at(req));
		*recover |= req->overdue;
		/* The caller of an orphan has already gone. */
		if (!req->orphaned)
			this_cpu_inc(req->disk->counters->timeouts);
		urgent = req->duty & CHARIO_DUTY_END_URGENT;
		if (!tells_nobody(req))
			async = chario_complete_orphan(req, -ETIMEDOUT);
	} else {
		q->timer_armed = busy;
		q->timer_at = next;
		if (busy)
			mod_timer(&q->timer, next);
	}
	raw_spin_unlock_irqrestore(&q->lock, flags);
	if (async.who) {
		if (urgent)
			chario_isolation_exit(q->drive);
		async.tell(async.who, -ETIMEDOUT, NULL);
	}
	return req;
}

static bool has_due(struct chario_queue *q)
{
	unsigned long flags, next;
	bool busy, due;

	raw_spin_lock_irqsave(&q->lock, flags);
	due = find_due(q, &busy, &next);
	raw_spin_unlock_irqrestore(&q->lock, flags);
	return due;
}

/**
 * chario_watch_expire() - handle all requests whose deadline has passed
 * @q: the queue
 *
 * The watchdog calls this.  A caller that polls does so, too, when its own deadline
 * has passed: with a real-time priority it may keep the watchdog from running.
 *
 * Context: any but under q->lock.
 */
void chario_watch_expire(struct chario_queue *q)
{
	bool recover = false;

	/* A completion that has not been reaped yet is not late. */
	if (has_due(q)) {
		/* The caller may have been preempted before it told the device. */
		chario_queue_kick(q);
		chario_queue_reap(q);
	}
	while (expire_one(q, &recover))
		;
	if (recover)
		chario_drive_recover_wanted(q->drive, false);
}

static void look(struct chario_queue *q)
{
	chario_drive_look(q->drive);
	reap_late(q);
	chario_watch_expire(q);
}

/**
 * chario_watch() - run the watchdog of a queue
 * @timer: timer of the queue
 *
 * Context: softirq.
 */
void chario_watch(struct timer_list *timer)
{
	struct chario_queue *q = timer_container_of(q, timer, timer);

	/* The block layer wants the end of what is polled from a process. */
	if (q->polled && q->use == CHARIO_QUEUE_BLOCK)
		queue_work(chario_submit_workqueue, &q->watch_work);
	else
		look(q);
}

/**
 * chario_watch_polled() - run the watchdog of a queue that the block side polls
 * @work: watch_work of the queue
 *
 * Context: may sleep.
 */
void chario_watch_polled(struct work_struct *work)
{
	look(container_of(work, struct chario_queue, watch_work));
}
