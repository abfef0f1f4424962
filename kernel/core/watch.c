// SPDX-License-Identifier: GPL-2.0-only
/*
 * The watchdog of a queue: deadlines, lost interrupts, a device that has gone.
 *
 * A timer that runs only while commands are in flight, at the next deadline
 * and at least four times a second.  A call whose deadline lies behind that
 * costs nothing on the hot path but one comparison.
 */
#include <linux/jiffies.h>

#include "core/device.h"
#include "core/queue.h"

#define WATCH_INTERVAL	(HZ / 4)

/**
 * chario_watch_start() - set the watchdog, or set it earlier
 * @q: the queue
 * @expires: a deadline that it does not know yet, jiffies
 *
 * Context: under q->lock.
 */
void chario_watch_start(struct chario_queue *q, unsigned long expires)
{
	unsigned long latest = jiffies + WATCH_INTERVAL;

	q->timer_at = time_before(expires, latest) ? expires : latest;
	q->timer_armed = true;
	mod_timer(&q->timer, q->timer_at);
}

/*
 * A completion that is there now and was there at the last look, with nothing
 * reaped between, has lost its interrupt.  Queues for polling have none.
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

/* An expired request that has not been noticed; @next: the next deadline. */
static struct chario_request *find_expired(struct chario_queue *q, bool *busy,
					   unsigned long *next)
{
	unsigned long now = jiffies;
	unsigned int tag;

	*busy = false;
	*next = now + WATCH_INTERVAL;
	chario_queue_for_each_busy(q, tag) {
		struct chario_command *cmd = chario_queue_command(q, tag);

		if (!chario_command_in_flight(cmd))
			continue;
		*busy = true;
		if (cmd->req->overdue)
			continue;
		if (time_after_eq(now, cmd->req->expires))
			return cmd->req;
		if (time_before(cmd->req->expires, *next))
			*next = cmd->req->expires;
	}
	return NULL;
}

/* Take up one expired request, or set the timer.  True when there was one. */
static bool expire_one(struct chario_queue *q)
{
	struct chario_request *req;
	struct chario_async async = { };
	unsigned long flags, next;
	bool busy;

	raw_spin_lock_irqsave(&q->lock, flags);
	req = find_expired(q, &busy, &next);
	if (req) {
		req->overdue = true;
		/* A caller that was killed has gone before. */
		if (!req->orphaned) {
			this_cpu_inc(req->cio->counters->timeouts);
			async = chario_complete_orphan(req, -ETIMEDOUT);
		}
	} else {
		q->timer_armed = busy;
		q->timer_at = next;
		if (busy)
			mod_timer(&q->timer, next);
	}
	raw_spin_unlock_irqrestore(&q->lock, flags);
	if (async.who)
		async.tell(async.who, -ETIMEDOUT);
	return req;
}

static bool has_expired(struct chario_queue *q)
{
	unsigned long flags, next;
	bool busy, expired;

	raw_spin_lock_irqsave(&q->lock, flags);
	expired = find_expired(q, &busy, &next);
	raw_spin_unlock_irqrestore(&q->lock, flags);
	return expired;
}

/**
 * chario_watch_expire() - take up all requests whose deadline has passed
 * @q: the queue
 *
 * The watchdog does it.  So does a caller that polls when its own deadline has
 * passed: with a real-time priority it may keep the watchdog from running.
 *
 * Context: any but under q->lock.
 */
void chario_watch_expire(struct chario_queue *q)
{
	bool expired = false;

	/* A request that is there, but has not been reaped, is not late. */
	if (has_expired(q)) {
		/* Its caller may be held up before it could tell the device. */
		chario_queue_kick(q);
		chario_queue_reap(q);
	}
	while (expire_one(q))
		expired = true;
	if (expired && q->ops->expired)
		q->ops->expired(q);
}

/**
 * chario_watch() - look after a queue
 * @timer: its timer
 *
 * Context: softirq.
 */
void chario_watch(struct timer_list *timer)
{
	struct chario_queue *q = timer_container_of(q, timer, timer);

	if (q->ops->check)
		q->ops->check(q);
	reap_late(q);
	chario_watch_expire(q);
}
