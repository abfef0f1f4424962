/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A request in flight: the steps from a free command to the end of the wait.
 *
 * The steps are inline, because they are all that the common call needs, which is one
 * command: see single.h.  Calls of more commands are put together from the same steps
 * in run.c.
 */
#ifndef CHARIO_REQUEST_FLIGHT_H
#define CHARIO_REQUEST_FLIGHT_H

#include <linux/jiffies.h>
#include <linux/sched/clock.h>
#include <linux/sched/signal.h>
#include <linux/smp.h>

#include "drive/drive.h"
#include "memory/pages.h"
#include "queue/origin.h"
#include "queue/queue.h"
#include "trace.h"
#include "types/call.h"
#include "types/disk.h"

/**
 * struct chario_flight - a request in flight, and the caller that waits
 * @q: queue of the request
 * @req: the request; not to be touched once the state of @waiter is ORPHANED
 * @waiter: the caller, on its stack; a structure of its own because other contexts
 *	access nothing else of a flight
 * @pos: byte offset on the disk of the start of the request
 */
struct chario_flight {
	struct chario_queue *q;
	struct chario_request *req;
	struct chario_waiter *waiter;
	u64 pos;
};

/* request/flight.c */
struct chario_command *
chario_flight_wait_command(struct chario_queue *q, const struct chario_origin *origin,
			   unsigned long expires, bool killable);
void chario_flight_sleep(struct chario_queue *q, struct chario_request *req,
			 struct chario_waiter *waiter);
ssize_t chario_flight_finish(struct chario_flight *flight,
			     const struct chario_call *call);
void chario_flight_cut(struct chario_queue *q, struct chario_command *cmd,
		       u64 buffer_offset);
int chario_flight_fault_in(const struct chario_call *call,
			   const struct iov_iter *iter, size_t least,
			   size_t most);

/* Returns this CPU's queue for the completion mode of a call, or the taken queue. */
static inline struct chario_queue *
chario_flight_queue(const struct chario_call *call)
{
	unsigned int cpu = raw_smp_processor_id();

	if (unlikely(call->taken))
		return call->taken_from;
	if (call->completion == CHARIO_COMPLETION_POLL)
		return call->poll_queue[cpu];
	return call->irq_queue[cpu];
}

/*
 * Returns a free command or an ERR_PTR; EAGAIN if there is none for this file and no
 * waiting.
 */
static __always_inline struct chario_command *
chario_flight_command(struct chario_queue *q, const struct chario_call *call,
		      bool may_wait)
{
	struct chario_command *cmd = ERR_PTR(-EAGAIN);

	if (unlikely(call->taken))
		return call->taken;
	if (likely(!chario_origin_is_full(call->origin)))
		cmd = chario_queue_try_get(q);
	if (unlikely(cmd == ERR_PTR(-EAGAIN)) && may_wait)
		return chario_flight_wait_command(q, call->origin, call->expires,
						  !(call->duty & CHARIO_DUTY_STAY));
	return cmd;
}

/*
 * Set up a request in its first command, except for its caller (a waiter or an
 * asynchronous one), its commands and its number of bytes.
 */
static inline void chario_flight_init(struct chario_request *req,
				      const struct chario_call *call,
				      struct chario_command *first)
{
	req->op = call->op;
	req->control = call->control;
	req->orphaned = false;
	req->overdue = false;
	req->duty = call->duty;
	req->error = 0;
	req->disk = call->disk;
	req->origin = call->origin;
	req->buffer = NULL;
	req->first = first;
	req->expires = call->expires;
}

/* map -> queue: prepare a command whose slice the back end has in tables. */
static __always_inline void chario_flight_slice(struct chario_queue *q,
						struct chario_command *cmd,
						u64 buffer_offset)
{
	cmd->buffer_offset = buffer_offset;
	cmd->nr_pages = 0;
	cmd->nr_segments = 0;
	trace_map(q, cmd, 0);
	trace_queue(q, cmd, 0);
}

/* map -> queue: prepare a command whose pages are held in place. */
static __always_inline int chario_flight_map(struct chario_queue *q,
					     struct chario_command *cmd,
					     enum chario_op op)
{
	int ret = chario_map(q, cmd, op);

	if (unlikely(ret)) {
		chario_pages_unpin(cmd, false);
		return ret;
	}
	trace_map(q, cmd, 0);
	if (unlikely(chario_queue_must_prep(q, cmd)))
		q->ops->prep(q, cmd);
	trace_queue(q, cmd, 0);
	return 0;
}

/* Count commands that have been handed to a queue, or will be. */
static __always_inline void chario_flight_count(const struct chario_call *call,
						unsigned int commands)
{
	this_cpu_add(call->disk->counters->commands[call->op], commands);
}

/* Enter the caller as the waiter of a request that begins at byte @pos of the disk. */
static inline void chario_flight_await(struct chario_flight *flight,
				       struct chario_waiter *waiter,
				       struct chario_queue *q,
				       const struct chario_call *call,
				       struct chario_request *req, u64 pos)
{
	flight->q = q;
	flight->req = req;
	flight->waiter = waiter;
	flight->pos = pos;
	waiter->state = CHARIO_WAITING;
	waiter->task = call->completion == CHARIO_COMPLETION_POLL ? NULL :
		       current;
	req->waiter = waiter;
	req->async.who = NULL;
}

/* Enter @async as the asynchronous caller of a request. */
static inline void chario_flight_announce(struct chario_queue *q,
					  struct chario_request *req,
					  const struct chario_async *async)
{
	req->waiter = NULL;
	req->async = *async;
	/* A polling caller finds its request by this queue. */
	WRITE_ONCE(*async->queue, q);
}

static inline bool chario_flight_waits(const struct chario_waiter *waiter)
{
	/* Pairs with the release in queue/complete.c, so that the result is visible. */
	return smp_load_acquire(&waiter->state) == CHARIO_WAITING;
}

/* Poll the queue until the request has ended; returns false if it is time to sleep. */
static inline bool chario_flight_spin(struct chario_flight *flight,
				      const struct chario_call *call)
{
	struct chario_waiter *waiter = flight->waiter;
	struct chario_queue *q = flight->q;
	u64 until = 0;

	if (call->completion == CHARIO_COMPLETION_SPIN)
		until = local_clock() + call->spin_ns;
	while (chario_flight_waits(waiter)) {
		if (chario_queue_poll(q))
			continue;
		if (until && local_clock() > until)
			return false;
		if (unlikely(fatal_signal_pending(current)) &&
		    !(call->duty & CHARIO_DUTY_STAY))
			chario_complete_abandon(q, waiter, flight->req, -EINTR);
		if (unlikely(time_after(jiffies, call->expires)))
			chario_watch_expire(q); /* GCOVR_EXCL_LINE: the queue's timer comes first */
		cond_resched();
		cpu_relax();
	}
	return true;
}

/* Wait for a request; returns false if it has been orphaned. */
static __always_inline bool chario_flight_wait(struct chario_flight *flight,
					       const struct chario_call *call)
{
	if (call->completion == CHARIO_COMPLETION_IRQ ||
	    !chario_flight_spin(flight, call))
		chario_flight_sleep(flight->q, flight->req, flight->waiter);
	return likely(flight->waiter->state != CHARIO_ORPHANED);
}

/* Return from an orphaned request, which goes on without its caller. */
static inline ssize_t chario_flight_leave(const struct chario_flight *flight,
					  const struct chario_call *call)
{
	int error = flight->waiter->error;

	trace_finish(flight->q, NULL, call->disk, call->op, flight->pos, error);
	return error;
}

#endif /* CHARIO_REQUEST_FLIGHT_H */
