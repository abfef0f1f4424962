// SPDX-License-Identifier: GPL-2.0-only
/*
 * A call becomes requests, a request becomes commands.
 *
 *   chario_request_run
 *     chario_flight_single      one command; front ends know it themselves
 *     run_flush                 one command without memory
 *     run_sync                  a chunk at a time, two chunks in flight
 *       launch                  take commands, fill them in, post them
 *         prepare               split -> map -> queue, for one command
 *       chario_flight_land        wait, account, let go
 *     run_async                 all commands at once; the result comes by itself
 *
 * If the memory is a buffer, slices.c takes the part of launch() and run_async(), and
 * runs the whole call if it is one chunk.
 */
#include <linux/sizes.h>

#include "memory/buffer.h"
#include "memory/pages.h"
#include "queue/queue.h"
#include "request/flight.h"
#include "request/request.h"
#include "request/slices.h"
#include "types/call.h"
#include "types/device.h"

/*
 * The place in a call at which the next command starts.  After an error the call is
 * cut and goes no further, because its memory and its place on the disk no longer
 * match.  Without an @iter the memory is a buffer, and @split is all that is needed.
 */
struct cursor {
	struct iov_iter *iter;
	bool cut;
	u64 pos;
	struct chario_split split;
	struct chario_split_limits limits;
};

static void start_cursor(struct cursor *cur, const struct chario_call *call)
{
	cur->iter = call->iter;
	cur->cut = false;
	cur->pos = call->pos;
	cur->split.pos = 0;
	cur->split.end = 0;
	chario_device_get_limits(call->cio, &cur->limits);
	if (!call->iter)
		chario_split_start(&cur->split, &cur->limits, call->pos,
				   call->bytes);
}

static size_t bytes_left(const struct cursor *cur)
{
	return cur->iter ? iov_iter_count(cur->iter) :
	       cur->split.end - cur->split.pos;
}

/* Returns the bytes of the next command, 0 if none; sets @split to its end. */
static __always_inline u32 look_at_next(const struct cursor *cur,
					struct chario_split *split)
{
	*split = cur->split;
	if (split->pos == split->end) {
		if (!iov_iter_count(cur->iter))
			return 0;
		chario_split_start(split, &cur->limits, cur->pos,
				   chario_pages_element(cur->iter));
	}
	return chario_split_next(split, &cur->limits);
}

/* Returns the number of commands, up to @max, in the next @bytes_max bytes. */
static unsigned int count_commands(const struct cursor *cur, size_t bytes_max,
				   unsigned int max)
{
	struct iov_iter iter = *cur->iter;
	struct cursor ahead = *cur;
	unsigned int count = 0;
	size_t total = 0;

	ahead.iter = &iter;
	while (count < max) {
		u32 bytes = look_at_next(&ahead, &ahead.split);

		total += bytes;
		if (!bytes || total > bytes_max)
			break;
		ahead.pos += bytes;
		iov_iter_advance(&iter, bytes);
		count++;
	}
	return count;
}

/*
 * split -> map -> queue: fill in one command.  If possible, the memory of the
 * @count - 1 commands behind it is pinned with the same call.  Returns EFAULT, without
 * moving @cur, if a page is not present.
 */
static __always_inline int request_prepare(struct chario_queue *q,
					   struct chario_command *cmd,
					   struct cursor *cur,
					   struct chario_window *window,
					   unsigned int count)
{
	struct chario_split split chario_uninitialized;
	u32 bytes = look_at_next(cur, &split);
	u64 ahead = bytes + (u64)(count - 1) * cur->limits.command_bytes;
	int ret;

	chario_flight_split(q, cmd, cmd->req->bytes, cur->pos, bytes);
	ret = chario_pages_pin(cmd, cur->iter, window,
			       min(ahead, split.end - cur->pos));
	if (unlikely(ret))
		return ret;
	cur->split = split;
	cur->pos += bytes;
	return chario_flight_map(q, cmd, cmd->req->op);
}

/* Take up to @want commands of a request, but at least one, as a chain. */
static struct chario_command *take_commands(struct chario_queue *q,
					    const struct chario_call *call,
					    unsigned int want, bool may_wait,
					    unsigned int *got)
{
	struct chario_command *first, *last, *cmd;

	first = chario_flight_command(q, call, may_wait);
	if (IS_ERR(first))
		return first;
	first->req = &first->own;
	for (*got = 1, last = first; *got < want; (*got)++) {
		cmd = chario_queue_try_get(q);
		if (IS_ERR(cmd))
			break;
		cmd->req = &first->own;
		last->next = cmd;
		last = cmd;
	}
	last->next = NULL;
	return first;
}

/* Give back the chain from @cmd on; @last is the command in front of it, or NULL. */
static void request_give_back(struct chario_queue *q, struct chario_command *last,
			      struct chario_command *cmd)
{
	/* A context that orphans the request follows the chain at the same time. */
	if (last)
		WRITE_ONCE(last->next, NULL);
	chario_queue_put_chain(q, cmd);
}

/*
 * Fill in and post a chain of commands.  Returns 0 if at least the first has been
 * posted: then the request ends by itself, maybe already before the return.
 *
 * If a page is not present, the request ends in front of it.  The remaining bytes
 * become another request, so that no command waits for the page.
 */
static int post_commands(struct chario_queue *q, const struct chario_call *call,
			 struct chario_request *req, struct cursor *cur,
			 const unsigned int total)
{
	struct chario_command *cmd = req->first, *last = NULL, *next;
	unsigned int count = total;
	struct chario_window window chario_uninitialized;
	int ret = 0;

	chario_window_init(&window);
	for (; cmd; last = cmd, cmd = next, count--) {
		next = cmd->next;
		ret = request_prepare(q, cmd, cur, &window, count);
		if (unlikely(ret))
			break;
		chario_queue_post(q, cmd, !next);
	}
	chario_window_drop(&window);
	chario_flight_count(call, total - count);
	if (likely(!ret))
		return 0;
	request_give_back(q, last, cmd);
	if (!last)
		return ret;
	cur->cut = ret != -EFAULT;
	chario_queue_kick(q);
	chario_complete_missing(q, req, count, cur->cut ? ret : 0);
	return 0;
}

static int launch(struct chario_flight *flight, struct chario_waiter *waiter,
		  const struct chario_call *call, struct cursor *cur,
		  bool may_wait)
{
	struct chario_queue *q = chario_flight_queue(call);
	struct chario_command *first;
	unsigned int want, got;

	if (!cur->iter)
		return chario_slices_launch(flight, waiter, call, &cur->split,
					    &cur->limits, may_wait);
	want = count_commands(cur, cur->limits.chunk_bytes, q->depth);
	first = take_commands(q, call, want, may_wait, &got);
	if (IS_ERR(first))
		return PTR_ERR(first);
	flight->pos = cur->pos;
	chario_flight_board(flight, waiter, q, call, first, got);
	flight->req->bytes = 0;
	return post_commands(q, call, flight->req, cur, got);
}

/* A synchronous call: its requests in flight, and its result so far. */
struct run {
	struct chario_flight flights[2];
	struct chario_waiter waiters[2];
	unsigned int launched;
	unsigned int landed;
	size_t total;
	int error;
};

/* Wait for the oldest request.  Bytes behind the first failure do not count. */
static void land_oldest(struct run *run, const struct chario_call *call)
{
	size_t bytes;
	int error;

	bytes = chario_flight_land(&run->flights[run->landed++ & 1], call, &error);
	if (run->error)
		return;
	run->total += bytes;
	run->error = error;
}

/*
 * Largest number of bytes that request_fault_in() brings in at once, so that the requests that
 * follow need not wait one by one.
 */
#define FAULT_IN_BYTES	SZ_64M

/* Wait for the pages of the next requests, after all earlier ones have ended. */
static int request_fault_in(struct run *run, const struct chario_call *call,
			    const struct cursor *cur)
{
	struct chario_split split;

	while (run->landed != run->launched)
		land_oldest(run, call);
	if (run->error)
		return run->error;
	return chario_flight_fault_in(call, cur->iter,
				      look_at_next(cur, &split),
				      min_t(size_t, iov_iter_count(cur->iter),
					    FAULT_IN_BYTES));
}

/* Launch all requests of a call; returns 0, or the error that stopped the rest. */
static int launch_all(struct run *run, const struct chario_call *call)
{
	struct cursor cur;
	int ret;

	start_cursor(&cur, call);
	do {
		bool alone = run->launched == run->landed;

		ret = launch(&run->flights[run->launched & 1],
			     &run->waiters[run->launched & 1], call, &cur,
			     alone && !call->nowait);
		if (unlikely(ret == -EFAULT)) {
			ret = request_fault_in(run, call, &cur);
			if (ret)
				return ret;
			continue;
		}
		if (likely(!ret))
			run->launched++;
		else if (ret != -EAGAIN || alone)
			return ret;
		/* No command is free, or two chunks are in flight. */
		if (ret || run->launched - run->landed == 2)
			land_oldest(run, call);
	} while (!run->error && !cur.cut && bytes_left(&cur));
	return 0;
}

/* Count the call as a user: between two requests no command keeps its buffer. */
static struct chario_buffer *hold_buffer(const struct chario_call *call)
{
	struct chario_buffer *buf = NULL;

	if (!call->buffers)
		return NULL;
	preempt_disable();
	buf = chario_buffer_find(call);
	if (!IS_ERR(buf))
		atomic_inc(&buf->users);
	preempt_enable();
	return buf;
}

static noinline ssize_t run_sync(const struct chario_call *call)
{
	struct run run chario_uninitialized;
	struct chario_buffer *buf;
	int error;

	run.launched = 0;
	run.landed = 0;
	run.total = 0;
	run.error = 0;
	buf = hold_buffer(call);
	if (IS_ERR(buf))
		return PTR_ERR(buf);
	error = launch_all(&run, call);
	while (run.landed != run.launched)
		land_oldest(&run, call);
	if (buf)
		atomic_fetch_dec_release(&buf->users);
	if (!run.total)
		return run.error ?: error;
	this_cpu_add(call->cio->counters->bytes[call->op], run.total);
	return run.total;
}

static noinline ssize_t run_flush(const struct chario_call *call)
{
	struct chario_queue *q = chario_flight_queue(call);
	struct chario_flight flight chario_uninitialized;
	struct chario_waiter waiter chario_uninitialized;
	struct chario_command *cmd;
	int error;

	cmd = chario_flight_command(q, call, !call->nowait);
	if (IS_ERR(cmd))
		return PTR_ERR(cmd);
	cmd->next = NULL;
	chario_flight_board(&flight, &waiter, q, call, cmd, 1);
	flight.req->control = 0;
	flight.req->bytes = 0;
	flight.pos = 0;
	cmd->req = flight.req;
	cmd->req_offset = 0;
	cmd->disk_offset = 0;
	cmd->bytes = 0;
	cmd->page_offset = 0;
	cmd->nr_pages = 0;
	cmd->nr_segments = 0;
	chario_flight_count(call, 1);
	chario_queue_post(q, cmd, true);
	chario_flight_land(&flight, call, &error);
	return error;
}

/* Returns whether the call is one command, from one piece of memory. */
static bool is_single(const struct chario_call *call)
{
	const struct iov_iter *iter = call->iter;

	if (!iter || iov_iter_is_bvec(iter) ||
	    chario_pages_element(iter) < iter->count)
		return false;
	return chario_flight_is_single(call->cio, iter->count);
}

static ssize_t run_single(const struct chario_call *call)
{
	ssize_t ret;

	ret = chario_flight_single(call, chario_pages_address(call->iter),
				   call->iter->count);
	if (likely(ret > 0))
		iov_iter_advance(call->iter, ret);
	return ret;
}

/* Undo request_prepare() for a request of which nothing has been posted. */
static void take_back(struct chario_queue *q, struct chario_request *req,
		      struct cursor *cur)
{
	struct chario_command *cmd;

	chario_for_each_command(cmd, req)
		if (cmd->nr_segments)
			chario_unmap(q, cmd, req->op);
	chario_pages_unpin_all(req, false);
	iov_iter_revert(cur->iter, req->bytes);
	chario_queue_put_chain(q, req->first);
}

/*
 * Fill in all commands before the first is posted: an asynchronous call is one request,
 * and commands that are with the device could not be taken back if a later page is not
 * present.  Returns 0 if the first @req->pending commands are ready; EFAULT if a page
 * is not present, and then all commands have been given back.
 */
static int prepare_commands(struct chario_queue *q, struct chario_request *req,
			    struct cursor *cur, unsigned int count)
{
	struct chario_command *cmd = req->first, *last = NULL;
	struct chario_window window chario_uninitialized;
	unsigned int ready;
	int ret = 0;

	chario_window_init(&window);
	for (ready = 0; cmd; last = cmd, cmd = cmd->next, ready++) {
		ret = request_prepare(q, cmd, cur, &window, count - ready);
		if (unlikely(ret))
			break;
	}
	chario_window_drop(&window);
	if (likely(!ret))
		return 0;
	request_give_back(q, last, cmd);
	if (!last)
		return ret;
	if (ret == -EFAULT) {
		take_back(q, req, cur);
		return ret;
	}
	req->pending = ready;
	req->error = ret;
	req->good = req->bytes;
	return 0;
}

/*
 * Run an asynchronous call.  Returns EAGAIN if there are not enough free commands for
 * the whole call, EFAULT if not all of its memory is present.
 */
static noinline ssize_t run_async(const struct chario_call *call)
{
	struct chario_queue *q = chario_flight_queue(call);
	struct chario_command *cmd, *next;
	struct chario_request *req;
	unsigned int want, got;
	struct cursor cur;
	int ret;

	start_cursor(&cur, call);
	want = count_commands(&cur, SIZE_MAX, q->depth + 1);
	if (want > q->depth)
		return -EAGAIN;
	cmd = take_commands(q, call, want, false, &got);
	if (IS_ERR(cmd))
		return PTR_ERR(cmd);
	if (got < want) {
		chario_queue_put_chain(q, cmd);
		return -EAGAIN;
	}
	req = &cmd->own;
	chario_flight_init(req, call, cmd, got);
	req->bytes = 0;
	ret = prepare_commands(q, req, &cur, got);
	if (unlikely(ret))
		return ret;
	chario_flight_count(call, req->pending);
	chario_flight_announce(q, req, &call->async);
	/* Nothing sleeps from here on, which would unplug early: use the plug now. */
	for (; cmd; cmd = next) {
		next = cmd->next;
		chario_queue_post(q, cmd, !next && !chario_plug(q));
	}
	return -EIOCBQUEUED;
}

/*
 * Bring in all pages of an asynchronous call, and try once more.  Returns EAGAIN if the
 * call must be run synchronously.
 */
static noinline ssize_t run_async_late(const struct chario_call *call)
{
	size_t bytes = iov_iter_count(call->iter);
	ssize_t ret;

	ret = chario_flight_fault_in(call, call->iter, bytes, bytes);
	if (!ret)
		ret = run_async(call);
	return ret == -EFAULT ? -EAGAIN : ret;
}

/**
 * chario_request_run() - run a call
 * @call: the call; &struct chario_call says what the front end guarantees
 *
 * An asynchronous call that finds too few free commands, or memory that is not
 * present, is run synchronously unless @call->nowait is set.
 *
 * Context: may sleep.
 * Return: bytes that have been transferred, up to the first failed command;
 * -errno if there are none; -EIOCBQUEUED if @call->async will be told.
 */
ssize_t chario_request_run(struct chario_call *call)
{
	ssize_t ret;

	if (call->async.who) {
		ret = call->iter ? run_async(call) :
				   chario_slices_run_async(call);
		if (unlikely(ret == -EFAULT) && call->iter)
			ret = run_async_late(call);
		if (ret != -EAGAIN || call->nowait)
			return ret;
	}
	if (unlikely(call->op == CHARIO_OP_FLUSH))
		return run_flush(call);
	if (call->buffers) {
		ret = chario_slices_run(call);
		if (ret != -EAGAIN)
			return ret;
	}
	return is_single(call) ? run_single(call) : run_sync(call);
}
