/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A request in the air: commands are filled in and posted, its caller waits
 * for it, it lands.
 *
 * Inline, because the common call - one command, and a caller who waits - is
 * nothing but this: see chario_flight_single().  Calls of more commands are
 * put together from the same steps in request.c.
 */
#ifndef CHARIO_CORE_FLIGHT_H
#define CHARIO_CORE_FLIGHT_H

#include <linux/jiffies.h>
#include <linux/sched/clock.h>
#include <linux/sched/signal.h>
#include <linux/smp.h>

#include "core/buffer.h"
#include "core/call.h"
#include "core/device.h"
#include "core/pages.h"
#include "core/queue.h"
#include "trace.h"

/**
 * struct chario_flight - a request in the air, and the caller that waits
 * @q: its queue
 * @req: the request; not to be touched once the waiter says ORPHANED
 * @waiter: the caller, on its stack; apart, for it is all that others look at
 * @pos: byte offset on the disk of its start
 */
struct chario_flight {
	struct chario_queue *q;
	struct chario_request *req;
	struct chario_waiter *waiter;
	u64 pos;
};

/* core/flight.c */
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

/* The queue of this CPU for the way of completion that a call wants. */
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

/* A free command, or an ERR_PTR; EAGAIN when there is none for this file. */
static inline struct chario_command *
chario_flight_try_command(struct chario_queue *q, const struct chario_call *call)
{
	if (unlikely(chario_origin_is_full(call->origin)))
		return ERR_PTR(-EAGAIN);
	return chario_queue_try_get(q);
}

/* A free command, or an ERR_PTR; EAGAIN when there is none and no waiting. */
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
 * Set up a request of @count commands in its first one.  Still to be said: who waits
 * or is told, and how many bytes it has.
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

/* The caller of @flight will wait for a request. */
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

/* @async will be told of a request. */
static inline void chario_flight_announce(struct chario_queue *q,
					  struct chario_request *req,
					  const struct chario_async *async)
{
	req->waiter = NULL;
	req->async = *async;
	/* Who polls looks for it, from the moment it can be polled. */
	WRITE_ONCE(*async->queue, q);
}

/* Set up a request that the caller of @flight will wait for. */
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

/* The place of a command in its call; its memory comes next. */
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
 * From here on the buffer stays, until the first command is given back, which
 * is one whose request this is.
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

/* map -> queue: get a command ready whose memory is a slice of a buffer. */
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

/* So many commands have been handed to a queue, or will be. */
static __always_inline void chario_flight_count(const struct chario_call *call,
						unsigned int commands)
{
	this_cpu_add(call->cio->counters->commands[call->op], commands);
}

/* map -> queue: get a command ready whose memory is held. */
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
	/* Pairs with the release in core/complete.c: the result is there. */
	return smp_load_acquire(&waiter->state) == CHARIO_WAITING;
}

/* Look at the queue until the request has ended; false when to sleep. */
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

/* Wait for a request; false when it has been orphaned. */
static __always_inline bool chario_flight_wait(struct chario_flight *flight,
					       const struct chario_call *call)
{
	if (call->completion == CHARIO_COMPLETION_IRQ ||
	    !chario_flight_spin(flight, call))
		chario_flight_sleep(flight->q, flight->req, flight->waiter);
	return likely(flight->waiter->state != CHARIO_ORPHANED);
}

/* The caller gives up: its request goes on without it. */
static inline ssize_t chario_flight_leave(const struct chario_flight *flight,
					  const struct chario_call *call)
{
	int error = flight->waiter->error;

	trace_finish(flight->q, NULL, call->cio, call->op, flight->pos, error);
	return error;
}

/**
 * chario_flight_is_single() - is a call one command?
 * @cio: the disk
 * @bytes: length of the call, in one piece of memory; not 0
 *
 * Return: false when it may be more.
 */
static inline bool chario_flight_is_single(const struct chario_device *cio,
					   size_t bytes)
{
	return bytes - 1 < READ_ONCE(cio->single_bytes);
}

/* The common call, as long as its memory is there: EFAULT when it is not. */
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
 * chario_flight_single() - the common call: one command
 * @call: what is asked for; its @iter is not looked at
 * @addr: address in user space, where the memory is not a buffer
 * @bytes: length, see chario_flight_is_single()
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
 * chario_flight_send() - the same on a buffer, for a caller who is told
 * @call: what is asked for; its @async is not looked at
 * @bytes: length, see chario_flight_is_single()
 * @async: who is told
 *
 * Return: -EIOCBQUEUED; EAGAIN when no command is free; or as
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

#endif /* CHARIO_CORE_FLIGHT_H */
