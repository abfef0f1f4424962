// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls become requests, requests become commands.
 *
 *   chario_request_run
 *     run_single                one command
 *     run_sync                  a chunk at a time, two chunks in flight
 *       launch                  take commands, fill them in, post them
 *         prepare               split -> map -> queue, for one command
 *       land                    wait, account, let go
 *     run_async                 all at once; the result comes by itself
 */
#include <linux/sched/clock.h>
#include <linux/sched/signal.h>
#include <linux/smp.h>

#include "core/buffer.h"
#include "core/device.h"
#include "core/queue.h"
#include "front/front.h"
#include "trace.h"

/* Where a call is: the next command starts here. */
struct cursor {
	struct iov_iter *iter;
	u64 pos;
	struct chario_split split;
	struct chario_split_limits limits;
};

/* A request in the air, and the caller that waits for it. */
struct flight {
	struct chario_queue *q;
	struct chario_request *req;
	struct chario_waiter waiter;
	u64 pos;
};

static struct chario_queue *pick_queue(const struct chario_call *call)
{
	unsigned int cpu = raw_smp_processor_id();

	if (call->completion == CHARIO_COMPLETION_POLL)
		return call->cio->poll_queue[cpu];
	return call->cio->irq_queue[cpu];
}

static void start_cursor(struct cursor *cur, const struct chario_call *call)
{
	const struct chario_split_limits *limits = &call->cio->limits;

	cur->iter = call->iter;
	cur->pos = call->pos;
	cur->split.pos = 0;
	cur->split.end = 0;
	cur->limits.command_bytes = READ_ONCE(limits->command_bytes);
	cur->limits.chunk_bytes = READ_ONCE(limits->chunk_bytes);
	cur->limits.boundary_bytes = limits->boundary_bytes;
}

/* Bytes of the next command; 0 at the end of the call. */
static u32 next_bytes(struct cursor *cur)
{
	u32 bytes;

	if (cur->split.pos == cur->split.end) {
		if (!iov_iter_count(cur->iter))
			return 0;
		chario_split_start(&cur->split, &cur->limits, cur->pos,
				   chario_buffer_element(cur->iter));
	}
	bytes = chario_split_next(&cur->split, &cur->limits);
	cur->pos += bytes;
	return bytes;
}

/* Commands that the next @bytes_max bytes of the call cost, @max at most. */
static unsigned int count_commands(const struct cursor *cur, size_t bytes_max,
				   unsigned int max)
{
	struct iov_iter iter = *cur->iter;
	struct cursor ahead = *cur;
	unsigned int count = 0;
	size_t total = 0;

	ahead.iter = &iter;
	while (count < max) {
		u32 bytes = next_bytes(&ahead);

		total += bytes;
		if (!bytes || total > bytes_max)
			break;
		iov_iter_advance(&iter, bytes);
		count++;
	}
	return count;
}

/* split -> map -> queue: fill in one command. */
static __always_inline int
prepare(struct chario_queue *q, struct chario_command *cmd,
	struct iov_iter *iter, u64 pos, u32 bytes)
{
	struct chario_request *req = cmd->req;
	int ret;

	cmd->req_offset = req->bytes;
	cmd->disk_offset = pos;
	cmd->bytes = bytes;
	trace_split(cmd, 0);
	ret = chario_buffer_pin(cmd, iter);
	if (unlikely(ret))
		return ret;
	ret = chario_map(q, cmd);
	if (unlikely(ret))
		goto err_unpin;
	trace_map(cmd, 0);
	if (unlikely(chario_queue_must_prep(q, cmd))) {
		ret = q->ops->prep(q, cmd);
		if (unlikely(ret))
			goto err_unmap;
	}
	trace_queue(cmd, 0);
	req->bytes += bytes;
	this_cpu_inc(req->cio->counters->commands[req->op]);
	return 0;

err_unmap:
	chario_unmap(q, cmd);
err_unpin:
	chario_buffer_unpin(cmd, false);
	return ret;
}

/* The same for a flush, which has no memory. */
static void prepare_flush(struct chario_command *cmd)
{
	cmd->req_offset = 0;
	cmd->disk_offset = 0;
	cmd->bytes = 0;
	cmd->page_offset = 0;
	cmd->nr_pages = 0;
	cmd->nr_segments = 0;
	this_cpu_inc(cmd->req->cio->counters->commands[CHARIO_OP_FLUSH]);
}

static inline struct chario_command *take_command(struct chario_queue *q,
						  const struct chario_call *call,
						  bool may_wait)
{
	struct chario_command *cmd = chario_queue_try_get(q);

	if (likely(cmd))
		return cmd;
	return may_wait ? chario_queue_get(q, call->expires) : ERR_PTR(-EAGAIN);
}

/* Take up to @want commands, one at least, as a chain. */
static struct chario_command *take_commands(struct chario_queue *q,
					    const struct chario_call *call,
					    unsigned int want, bool may_wait,
					    unsigned int *got)
{
	struct chario_command *first, *last, *cmd;

	first = take_command(q, call, may_wait);
	if (IS_ERR(first))
		return first;
	for (*got = 1, last = first; *got < want; (*got)++) {
		cmd = chario_queue_try_get(q);
		if (IS_ERR_OR_NULL(cmd))
			break;
		last->next = cmd;
		last = cmd;
	}
	last->next = NULL;
	return first;
}

static void put_commands(struct chario_queue *q, struct chario_command *cmd)
{
	struct chario_command *next;

	for (; cmd; cmd = next) {
		next = cmd->next;
		chario_queue_put(q, cmd);
	}
}

static inline void init_request(struct chario_request *req,
				const struct chario_call *call,
				struct chario_command *first,
				unsigned int count)
{
	req->pending = count;
	req->op = call->op;
	req->fua = call->fua;
	req->orphaned = false;
	req->overdue = false;
	req->error = 0;
	req->bytes = 0;
	req->waiter = NULL;
	req->iocb = NULL;
	req->cio = call->cio;
	req->first = first;
	req->expires = call->expires;
}

/*
 * Fill in and post a chain of commands.  0 when at least the first has been
 * posted: the request ends by itself.  After the last post it may have.
 */
static int post_commands(struct chario_queue *q, struct chario_request *req,
			 struct cursor *cur, unsigned int count)
{
	struct chario_command *cmd = req->first, *last = NULL, *next;
	u64 pos;
	int ret;

	for (; cmd; last = cmd, cmd = next, count--) {
		next = cmd->next;
		cmd->req = req;
		pos = cur->pos;
		ret = prepare(q, cmd, cur->iter, pos, next_bytes(cur));
		if (unlikely(ret))
			goto err_cut;
		chario_queue_post(q, cmd, !next);
	}
	return 0;

err_cut:
	if (!last) {
		put_commands(q, cmd);
		return ret;
	}
	last->next = NULL;
	put_commands(q, cmd);
	chario_queue_kick(q);
	chario_complete_missing(q, req, count, ret);
	return 0;
}

static inline void board(struct flight *flight, struct chario_queue *q,
			 const struct chario_call *call,
			 struct chario_command *first, unsigned int count)
{
	struct chario_request *req = &first->own;

	flight->q = q;
	flight->req = req;
	flight->waiter.state = CHARIO_WAITING;
	flight->waiter.task = call->completion == CHARIO_COMPLETION_POLL ?
			      NULL : current;
	init_request(req, call, first, count);
	req->waiter = &flight->waiter;
}

static int launch(struct flight *flight, const struct chario_call *call,
		  struct cursor *cur, bool may_wait)
{
	struct chario_queue *q = pick_queue(call);
	struct chario_command *first;
	unsigned int want, got;

	want = count_commands(cur, cur->limits.chunk_bytes, q->depth);
	first = take_commands(q, call, want, may_wait, &got);
	if (IS_ERR(first))
		return PTR_ERR(first);
	flight->pos = cur->pos;
	board(flight, q, call, first, got);
	return post_commands(q, flight->req, cur, got);
}

static inline bool still_waiting(const struct chario_waiter *waiter)
{
	/* Pairs with the release in core/complete.c: the result is there. */
	return smp_load_acquire(&waiter->state) == CHARIO_WAITING;
}

/* Look at the queue until the request has ended; false when to sleep. */
static inline bool spin(struct flight *flight, const struct chario_call *call)
{
	struct chario_waiter *waiter = &flight->waiter;
	struct chario_queue *q = flight->q;
	u64 until = 0;

	if (call->completion == CHARIO_COMPLETION_SPIN)
		until = local_clock() + call->spin_ns;
	while (still_waiting(waiter)) {
		if (chario_queue_poll(q))
			continue;
		if (until && local_clock() > until)
			return false;
		if (unlikely(fatal_signal_pending(current)))
			chario_complete_abandon(q, waiter, flight->req, -EINTR);
		if (unlikely(time_after(jiffies, call->expires)))
			chario_watch_expire(q);
		cond_resched();
		cpu_relax();
	}
	return true;
}

static noinline void sleep(struct flight *flight)
{
	struct chario_waiter *waiter = &flight->waiter;

	for (;;) {
		set_current_state(TASK_KILLABLE);
		if (!still_waiting(waiter))
			break;
		if (unlikely(fatal_signal_pending(current))) {
			chario_complete_abandon(flight->q, waiter, flight->req,
						-EINTR);
			break;
		}
		schedule();
	}
	__set_current_state(TASK_RUNNING);
}

static inline void release(struct chario_queue *q, struct chario_request *req)
{
	struct chario_command *cmd = req->first;
	bool mark_dirty = req->op == CHARIO_OP_READ;

	if (unlikely(cmd->next || !cmd->nr_segments)) {
		chario_complete_release(q, req, mark_dirty);
		return;
	}
	chario_unmap(q, cmd);
	chario_buffer_unpin(cmd, mark_dirty);
	trace_unmap(cmd, 0);
	chario_queue_put(q, cmd);
}

/*
 * Wait for a request and let go of it.  Bytes in front of its first failure;
 * @error is set when it did not come to all that was asked of it.
 */
static __always_inline size_t
land(struct flight *flight, const struct chario_call *call, int *error)
{
	struct chario_request *req = flight->req;
	size_t bytes;

	if (call->completion == CHARIO_COMPLETION_IRQ || !spin(flight, call))
		sleep(flight);
	if (unlikely(flight->waiter.state == CHARIO_ORPHANED)) {
		*error = flight->waiter.error;
		trace_finish(call->cio, call->op, flight->pos, *error);
		return 0;
	}
	bytes = req->bytes;
	if (unlikely(req->error)) {
		*error = req->error;
		bytes = req->good;
	}
	release(flight->q, req);
	trace_finish(call->cio, call->op, flight->pos, bytes ?: *error);
	return bytes;
}

/* A synchronous call: what is in the air, and what has come of it so far. */
struct run {
	struct flight flights[2];
	unsigned int launched;
	unsigned int landed;
	size_t total;
	int error;
};

/* Bytes behind the first failure do not count. */
static void land_oldest(struct run *run, const struct chario_call *call)
{
	int error = 0;
	size_t bytes = land(&run->flights[run->landed++ & 1], call, &error);

	if (run->error)
		return;
	run->total += bytes;
	run->error = error;
}

/* 0 when all has been launched, or what kept the rest from it. */
static int launch_all(struct run *run, const struct chario_call *call)
{
	struct cursor cur;
	int ret;

	start_cursor(&cur, call);
	do {
		bool alone = run->launched == run->landed;

		ret = launch(&run->flights[run->launched & 1], call, &cur,
			     alone && !call->nowait);
		if (likely(!ret))
			run->launched++;
		else if (ret != -EAGAIN || alone)
			return ret;
		/* Nothing free, or two chunks in the air. */
		if (ret || run->launched - run->landed == 2)
			land_oldest(run, call);
	} while (!run->error && iov_iter_count(call->iter));
	return 0;
}

static noinline ssize_t run_sync(const struct chario_call *call)
{
	struct run run chario_uninitialized;
	int error;

	run.launched = 0;
	run.landed = 0;
	run.total = 0;
	run.error = 0;
	error = launch_all(&run, call);
	while (run.landed != run.launched)
		land_oldest(&run, call);
	if (!run.total)
		return run.error ?: error;
	this_cpu_add(call->cio->counters->bytes[call->op], run.total);
	return run.total;
}

/*
 * The common call: one command, and a caller who waits for it.  The same
 * steps as those of run_sync(), without anything that only many need.
 */
static inline ssize_t run_single(const struct chario_call *call)
{
	struct chario_queue *q = pick_queue(call);
	struct flight flight chario_uninitialized;
	struct chario_command *cmd;
	int error = 0, ret;
	size_t bytes;

	cmd = take_command(q, call, !call->nowait);
	if (IS_ERR(cmd))
		return PTR_ERR(cmd);
	cmd->next = NULL;
	board(&flight, q, call, cmd, 1);
	flight.pos = call->pos;
	cmd->req = flight.req;
	if (likely(call->iter)) {
		ret = prepare(q, cmd, call->iter, call->pos,
			      call->iter->count);
		if (unlikely(ret)) {
			chario_queue_put(q, cmd);
			return ret;
		}
	} else {
		prepare_flush(cmd);
	}
	chario_queue_post(q, cmd, true);
	bytes = land(&flight, call, &error);
	if (unlikely(!bytes))
		return error;
	this_cpu_add(call->cio->counters->bytes[call->op], bytes);
	return bytes;
}

/* Does a call cross a boundary of the disk? */
static bool crosses(u32 boundary, u64 pos, size_t bytes)
{
	struct chario_split_limits limits = {
		.command_bytes = U32_MAX,
		.chunk_bytes = U32_MAX,
		.boundary_bytes = boundary,
	};
	struct chario_split split;

	chario_split_start(&split, &limits, pos, bytes);
	return chario_split_next(&split, &limits) < bytes;
}

/* Is the call one command?  A vector costs one for each element at least. */
static inline bool is_single(const struct chario_call *call)
{
	const struct chario_split_limits *limits = &call->cio->limits;
	const struct iov_iter *iter = call->iter;

	if (unlikely(!iter))
		return true;
	if (iter->count > READ_ONCE(limits->command_bytes) ||
	    iter->count > READ_ONCE(limits->chunk_bytes))
		return false;
	if (unlikely(iter_is_iovec(iter)) &&
	    chario_buffer_element(iter) < iter->count)
		return false;
	return likely(!limits->boundary_bytes) ||
	       !crosses(limits->boundary_bytes, call->pos, iter->count);
}

/* -EAGAIN when there are not enough free commands for the whole call. */
static noinline ssize_t run_async(const struct chario_call *call)
{
	struct chario_queue *q = pick_queue(call);
	struct chario_command *first;
	struct chario_request *req;
	unsigned int want, got;
	struct cursor cur;
	int ret;

	start_cursor(&cur, call);
	want = count_commands(&cur, SIZE_MAX, q->depth + 1);
	if (want > q->depth)
		return -EAGAIN;
	first = take_commands(q, call, want, false, &got);
	if (IS_ERR(first))
		return PTR_ERR(first);
	if (got < want) {
		put_commands(q, first);
		return -EAGAIN;
	}
	req = &first->own;
	init_request(req, call, first, got);
	req->iocb = call->iocb;
	/* chario_iopoll() looks for it, from the moment it can be polled. */
	call->iocb->private = q;
	ret = post_commands(q, req, &cur, got);
	return ret ?: -EIOCBQUEUED;
}

/**
 * chario_request_run() - do what a caller wants
 * @call: see &struct chario_call for what the front end guarantees
 *
 * An asynchronous call that finds too few free commands is run synchronously
 * unless it is @call->nowait.
 *
 * Context: may sleep.
 * Return: bytes that have been transferred, up to the first failed command;
 * -errno when there are none; -EIOCBQUEUED when @call->iocb will be told.
 */
ssize_t chario_request_run(struct chario_call *call)
{
	ssize_t ret;

	if (call->iocb) {
		ret = run_async(call);
		if (ret != -EAGAIN || call->nowait)
			return ret;
	}
	return likely(is_single(call)) ? run_single(call) : run_sync(call);
}
