/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A request in flight: its commands are filled in and posted, its caller waits
 * for it, and it finishes.
 *
 * The steps are inline because they are all that the common call needs, which is
 * one command with a caller who waits: see chario_flight_single().  Calls of more
 * commands are put together from the same steps in request.c.
 */
#ifndef CHARIO_REQUEST_FLIGHT_H
#define CHARIO_REQUEST_FLIGHT_H

#include <linux/jiffies.h>
#include <linux/sched/clock.h>
#include <linux/sched/signal.h>
#include <linux/smp.h>

#include "drive/drive.h"
#include "memory/buffer.h"
#include "memory/pages.h"
#include "queue/origin.h"
#include "queue/queue.h"
#include "trace.h"
#include "types/call.h"
#include "types/device.h"

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
chario_flight_wait_command(struct chario_queue *q,
			   const struct chario_origin *origin,
			   unsigned long expires, bool killable);
void chario_flight_sleep(struct chario_queue *q, struct chario_request *req,
			 struct chario_waiter *waiter);
size_t chario_flight_land(struct chario_flight *flight,
			  const struct chario_call *call, int *error);
int chario_flight_fault_in(const struct chario_call *call,
			   const struct iov_iter *iter, size_t least,
			   size_t most);
ssize_t chario_flight_single_late(const struct chario_call *call,
				  unsigned long addr, u32 bytes);

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

/* Returns a free command or an ERR_PTR; EAGAIN if there is none for this file. */
static inline struct chario_command *
chario_flight_try_command(struct chario_queue *q, const struct chario_call *call)
{
	if (unlikely(chario_origin_is_full(call->origin)))
		return ERR_PTR(-EAGAIN);
	return chario_queue_try_get(q);
}

/* Returns a free command or an ERR_PTR; EAGAIN if there is none and no waiting. */
static __always_inline struct chario_command *
chario_flight_command(struct chario_queue *q, const struct chario_call *call,
		      bool may_wait)
{
	struct chario_command *cmd;

	if (unlikely(call->taken))
		return call->taken;
	cmd = chario_flight_try_command(q, call);
	if (unlikely(cmd == ERR_PTR(-EAGAIN)) && may_wait)
		return chario_flight_wait_command(q, call->origin, call->expires,
						  !(call->duty & CHARIO_DUTY_STAY));
	return cmd;
}

/*
 * Set up a request of @count commands in the first one, except for its caller (a waiter
 * or an asynchronous one) and its number of bytes.
 */
static inline void chario_flight_init(struct chario_request *req,
				      const struct chario_call *call,
				      struct chario_command *first,
				      unsigned int count)
{
	req->pending = count;
	req->op = call->op;
	req->control = call->control;
	req->orphaned = false;
	req->overdue = false;
	req->duty = call->duty;
	req->error = 0;
	req->cio = call->cio;
	req->origin = call->origin;
	req->buffer = NULL;
	req->first = first;
	req->expires = call->expires;
}

/* Enter the caller of @flight as the waiter of a request. */
static inline void chario_flight_await(struct chario_flight *flight,
				       struct chario_waiter *waiter,
				       struct chario_queue *q,
				       const struct chario_call *call,
				       struct chario_request *req)
{
	flight->q = q;
	flight->req = req;
	flight->waiter = waiter;
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

/* Set up a request with the caller of @flight as its waiter. */
static inline void chario_flight_board(struct chario_flight *flight,
				       struct chario_waiter *waiter,
				       struct chario_queue *q,
				       const struct chario_call *call,
				       struct chario_command *first,
				       unsigned int count)
{
	chario_flight_init(&first->own, call, first, count);
	chario_flight_await(flight, waiter, q, call, &first->own);
}

/* Set the place of a command in its call; the memory is added later. */
static inline void chario_flight_split(struct chario_queue *q,
				       struct chario_command *cmd,
				       size_t req_offset, u64 pos, u32 bytes)
{
	cmd->req_offset = req_offset;
	cmd->disk_offset = pos;
	cmd->bytes = bytes;
	trace_split(q, cmd, 0);
}

/*
 * Enter the buffer of a call in its request.  The buffer stays until the first
 * command, in which the request lives, is given back.
 */
static inline int chario_flight_enter(struct chario_request *req,
				      const struct chario_call *call)
{
	struct chario_buffer *buf;

	preempt_disable();
	buf = chario_buffer_find(call);
	if (!IS_ERR(buf))
		WRITE_ONCE(req->buffer, buf);
	preempt_enable();
	return PTR_ERR_OR_ZERO(buf);
}

/* map -> queue: prepare a command whose memory is a slice of a buffer. */
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

/* Count commands that have been handed to a queue, or will be. */
static __always_inline void chario_flight_count(const struct chario_call *call,
						unsigned int commands)
{
	this_cpu_add(call->cio->counters->commands[call->op], commands);
}

/* map -> queue: prepare a command whose memory is held. */
static __always_inline int chario_flight_map(struct chario_queue *q,
					     struct chario_command *cmd,
					     enum chario_op op)
{
	struct chario_request *req = cmd->req;
	int ret;

	ret = chario_map(q, cmd, op);
	if (unlikely(ret)) {
		chario_pages_unpin(cmd, false);
		return ret;
	}
	trace_map(q, cmd, 0);
	if (unlikely(chario_queue_must_prep(q, cmd)))
		q->ops->prep(q, cmd);
	trace_queue(q, cmd, 0);
	req->bytes += cmd->bytes;
	return 0;
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
			chario_watch_expire(q);
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

	trace_finish(flight->q, NULL, call->cio, call->op, flight->pos, error);
	return error;
}

/**
 * chario_flight_is_single() - tell if a call is certain to be one command
 * @cio: the disk
 * @bytes: length of the call in bytes, in one piece of memory; not 0
 *
 * Return: true for one command; false if there may be more.
 */
static inline bool chario_flight_is_single(const struct chario_device *cio,
					   size_t bytes)
{
	return bytes - 1 < READ_ONCE(cio->single_bytes);
}

/* Run the common call once; returns EFAULT if its memory is not present. */
static __always_inline ssize_t
chario_flight_try_single(const struct chario_call *call, unsigned long addr,
			 u32 bytes)
{
	struct chario_queue *q = chario_flight_queue(call);
	struct chario_flight flight chario_uninitialized;
	struct chario_waiter waiter chario_uninitialized;
	struct chario_command *cmd;
	ssize_t result;
	int ret = 0;

	cmd = chario_flight_command(q, call, !call->nowait);
	if (IS_ERR(cmd))
		return PTR_ERR(cmd);
	cmd->next = NULL;
	chario_flight_board(&flight, &waiter, q, call, cmd, 1);
	flight.pos = call->pos;
	cmd->req = flight.req;
	chario_flight_split(q, cmd, 0, call->pos, bytes);
	if (call->buffers) {
		ret = chario_flight_enter(flight.req, call);
		if (likely(!ret)) {
			flight.req->bytes = bytes;
			chario_flight_slice(q, cmd, call->buffer_offset);
		}
	} else {
		flight.req->bytes = 0;
		ret = chario_pages_pin_user(cmd, addr);
		if (likely(!ret))
			ret = chario_flight_map(q, cmd, call->op);
	}
	if (unlikely(ret)) {
		chario_queue_put(q, cmd);
		return ret;
	}
	chario_flight_count(call, 1);
	chario_queue_post(q, cmd, true);
	if (unlikely(!chario_flight_wait(&flight, call)))
		return chario_flight_leave(&flight, call);
	result = flight.req->error;
	if (likely(!result))
		result = bytes;
	if (!call->buffers) {
		if (likely(cmd->nr_segments))
			chario_unmap(q, cmd, call->op);
		chario_pages_unpin(cmd, call->op == CHARIO_OP_READ);
	}
	trace_unmap(q, cmd, 0);
	trace_finish(q, cmd, call->cio, call->op, call->pos, result);
	chario_queue_put(q, cmd);
	if (likely(result > 0))
		this_cpu_add(call->cio->counters->bytes[call->op], result);
	return result;
}

/**
 * chario_flight_single() - run a call of one command
 * @call: the call; @iter is ignored
 * @addr: address in user space, unless the memory is a buffer
 * @bytes: length in bytes, see chario_flight_is_single()
 *
 * Context: may sleep.
 * Return: as chario_request_run().
 */
static __always_inline ssize_t
chario_flight_single(const struct chario_call *call, unsigned long addr,
		     u32 bytes)
{
	ssize_t ret = chario_flight_try_single(call, addr, bytes);

	return likely(ret != -EFAULT) ? ret :
	       chario_flight_single_late(call, addr, bytes);
}

/**
 * chario_flight_send() - start an asynchronous call of one command on a buffer
 * @call: the call; @async in it is ignored
 * @bytes: length in bytes, see chario_flight_is_single()
 * @async: the caller, who is told of the end
 *
 * Return: EIOCBQUEUED; EAGAIN if no command is free; or an error of
 * chario_buffer_find().
 */
static __always_inline ssize_t
chario_flight_send(const struct chario_call *call, u32 bytes,
		   const struct chario_async *async)
{
	struct chario_queue *q = chario_flight_queue(call);
	struct chario_command *cmd;
	struct chario_request *req;
	int ret;

	cmd = chario_flight_try_command(q, call);
	if (IS_ERR(cmd))
		return PTR_ERR(cmd);
	cmd->next = NULL;
	req = &cmd->own;
	chario_flight_init(req, call, cmd, 1);
	cmd->req = req;
	chario_flight_split(q, cmd, 0, call->pos, bytes);
	ret = chario_flight_enter(req, call);
	if (unlikely(ret)) {
		chario_queue_put(q, cmd);
		return ret;
	}
	req->bytes = bytes;
	chario_flight_slice(q, cmd, call->buffer_offset);
	chario_flight_count(call, 1);
	chario_flight_announce(q, req, async);
	chario_queue_post(q, cmd, !chario_plug(q));
	return -EIOCBQUEUED;
}

#endif /* CHARIO_REQUEST_FLIGHT_H */
