// SPDX-License-Identifier: GPL-2.0-only
/*
 * A call becomes requests, a request becomes commands.
 *
 *   chario_run
 *     run_single                one command, by single.h
 *     run_waits                 one chunk: one request, or else
 *       run_chunks              a chunk at a time, two in flight
 *       launch                  enter the waiter, post
 *       chario_flight_finish    wait, account, let go
 *     run_told                  all commands at once; the result comes by itself
 *
 *   prepare                     take a command, and fill in a request
 *     fill_pages                split -> map -> queue, from pages of the caller
 *     fill_buffer               the same from slices of a buffer
 *     fill_flush                a command without memory
 *
 * A request is filled in before any of its commands is posted, and takes the commands
 * behind its first one as it needs them.  If no command is free any more, or a page is
 * not present, the request of a caller who waits ends in front of that place: the
 * remaining bytes become another request, and no command waits for memory.  A caller who
 * is told has one request, or none.
 *
 * Front ends that know that a call is one command call single.h themselves.
 */
#include <linux/sizes.h>

#include "queue/isolation.h"
#include "memory/buffer.h"
#include "request/flight.h"
#include "request/run.h"
#include "request/single.h"

/**
 * struct cursor - the place in a call at which the next command starts
 * @q: queue of the last request
 * @iter: the memory behind the place; NULL for a buffer, where @split is all that is
 *	needed, and for a flush
 * @split: the place on the disk, and the end of the piece of memory at @iter
 * @limits: limits of the disk when the call began
 * @error: reason for which the last request has not all the commands that it could have:
 *	EAGAIN if no command was free, EFAULT if a page was not present; after any
 *	other error the call goes no further
 */
struct cursor {
	struct chario_queue *q;
	struct iov_iter *iter;
	struct chario_split split;
	struct chario_split_limits limits;
	int error;
};

static void start_cursor(struct cursor *cur, const struct chario_call *call)
{
	cur->iter = call->iter;
	cur->error = 0;
	chario_disk_get_split(call->disk, &cur->limits);
	chario_split_start(&cur->split, &cur->limits, call->pos,
			   call->buffers ? call->bytes : 0);
}

static size_t bytes_left(const struct cursor *cur)
{
	return cur->iter ? iov_iter_count(cur->iter) :
	       cur->split.end - cur->split.pos;
}

/* Returns whether a vector has more than @most elements with memory. */
static bool has_more_elements(const struct iov_iter *iter, unsigned int most)
{
	size_t left = iter->iov_offset + iter->count;
	const struct iovec *iov = iter_iov(iter);
	unsigned int count = 0;

	if (iter->nr_segs <= most)
		return false;
	for (; left; iov++) {
		count += iov->iov_len != 0;
		left -= min(left, iov->iov_len);
	}
	return count > most;
}

/*
 * Returns whether the rest of a call needs more commands than a queue has, for sure: none
 * is taken for it, nor a page pinned.
 */
static bool is_too_long(const struct cursor *cur, const struct chario_queue *q)
{
	return bytes_left(cur) > (u64)q->depth * cur->limits.command_bytes ||
	       (cur->iter && iter_is_iovec(cur->iter) &&
		has_more_elements(cur->iter, q->depth));
}

/* Returns the length of the next command, and moves @split behind it. */
static __always_inline u32 split_pages(const struct cursor *cur,
				       struct chario_split *split)
{
	*split = cur->split;
	if (split->pos == split->end)
		chario_split_start(split, &cur->limits, split->pos,
				   chario_pages_element(cur->iter));
	return chario_split_next(split, &cur->limits);
}

/*
 * Fill in the next command of a request that starts at byte @start of the disk.  With
 * the same walk of the page tables, memory up to byte @stop is pinned ahead.  Returns 0;
 * without moving @cur, EFAULT if a page is not present; an error of chario_map().
 */
static __always_inline int fill_from_pages(struct chario_queue *q,
					   struct chario_command *cmd,
					   struct cursor *cur,
					   struct chario_ahead *ahead,
					   u64 start, u64 stop)
{
	struct chario_split split chario_uninitialized;
	u64 pos = cur->split.pos;
	int ret;

	cmd->bytes = split_pages(cur, &split);
	cmd->disk_offset = pos;
	cmd->req_offset = pos - start;
	trace_split(q, cmd, 0);
	ret = chario_pages_pin(cmd, cur->iter, ahead,
			       max_t(u64, cmd->bytes,
				     min(split.end, stop) - pos));
	if (likely(!ret))
		ret = chario_flight_map(q, cmd, cmd->req->op);
	if (likely(!ret))
		cur->split = split;
	return ret;
}

/*
 * Fill in the commands of a request of about @most bytes.  Returns their number;
 * cur->error tells why there are not more.
 */
static noinline unsigned int fill_pages(struct chario_queue *q,
					struct chario_request *req,
					struct cursor *cur, u64 most)
{
	struct chario_command *cmd = req->first, *last = NULL;
	const u64 start = cur->split.pos, stop = start + most;
	struct chario_ahead ahead chario_uninitialized;
	unsigned int count = 0;

	chario_ahead_init(&ahead);
	for (;;) {
		cmd->req = req;
		cur->error = fill_from_pages(q, cmd, cur, &ahead, start, stop);
		if (unlikely(cur->error))
			break;
		if (last)
			last->next = cmd;
		last = cmd;
		count++;
		if (cur->split.pos >= stop || !iov_iter_count(cur->iter))
			break;
		cmd = chario_queue_take_slot(q);
		if (unlikely(!cmd)) {
			cur->error = -EAGAIN;
			break;
		}
	}
	chario_ahead_drop(&ahead);
	if (unlikely(!last))
		return 0;
	if (unlikely(cmd && cmd != last))
		chario_queue_put(q, cmd);
	last->next = NULL;
	req->bytes = cur->split.pos - start;
	return count;
}

/*
 * The same from a buffer that has been entered.  @cut is false if the back end has it in
 * tables.
 */
static __always_inline unsigned int
fill_slices(struct chario_queue *q, struct chario_request *req,
	    const struct chario_call *call, struct cursor *cur, u64 most,
	    bool cut)
{
	/* These copies stay in registers. */
	const struct chario_split_limits limits = cur->limits;
	struct chario_split at = cur->split;
	const u64 to_buffer = call->buffer_offset - call->pos;
	const u64 start = at.pos, stop = min(at.end, start + most);
	struct chario_command *cmd = req->first, *next;
	unsigned int count = 0;

	for (;;) {
		u64 pos = at.pos;

		cmd->req = req;
		cmd->bytes = chario_split_next(&at, &limits);
		cmd->disk_offset = pos;
		cmd->req_offset = pos - start;
		trace_split(q, cmd, 0);
		if (cut)
			chario_flight_cut(q, cmd, pos + to_buffer);
		else
			chario_flight_slice(q, cmd, pos + to_buffer);
		count++;
		if (at.pos >= stop)
			break;
		next = chario_queue_take_slot(q);
		if (unlikely(!next)) {
			cur->error = -EAGAIN;
			break;
		}
		cmd->next = next;
		cmd = next;
	}
	cmd->next = NULL;
	cur->split = at;
	req->bytes = at.pos - start;
	return count;
}

static noinline unsigned int
fill_cut_slices(struct chario_queue *q, struct chario_request *req,
		const struct chario_call *call, struct cursor *cur, u64 most)
{
	return fill_slices(q, req, call, cur, most, true);
}

/* Fill in the commands of a call on a buffer.  Returns their number, as fill_pages(). */
static __always_inline unsigned int
fill_buffer(struct chario_queue *q, struct chario_request *req,
	    const struct chario_call *call, struct cursor *cur, u64 most)
{
	struct chario_buffer *buf;

	cur->error = chario_buffer_enter(req, call, &buf);
	if (unlikely(cur->error))
		return 0;
	if (unlikely(buf->pieces))
		return fill_cut_slices(q, req, call, cur, most);
	return fill_slices(q, req, call, cur, most, false);
}

/* Fill in the one command of a flush, which has no memory. */
static unsigned int fill_flush(struct chario_request *req)
{
	struct chario_command *cmd = req->first;

	req->control = 0;
	req->bytes = 0;
	cmd->next = NULL;
	cmd->req_offset = 0;
	cmd->disk_offset = 0;
	cmd->bytes = 0;
	cmd->page_offset = 0;
	cmd->nr_pages = 0;
	cmd->nr_segments = 0;
	return 1;
}

/*
 * Take commands for the next @most bytes of a call, and fill them in.  Returns their
 * request, which may be shorter, see cur->error; an ERR_PTR if there are none.
 */
static noinline struct chario_request *prepare(const struct chario_call *call,
					       struct cursor *cur, u64 most,
					       bool may_wait)
{
	struct chario_queue *q = chario_flight_queue(call);
	struct chario_command *first = chario_flight_command(q, call, may_wait);
	struct chario_request *req;

	if (IS_ERR(first))
		return ERR_CAST(first);
	req = &first->own;
	chario_flight_init(req, call, first);
	first->req = req;
	cur->q = q;
	cur->error = 0;
	if (call->buffers)
		req->pending = fill_buffer(q, req, call, cur, most);
	else if (cur->iter)
		req->pending = fill_pages(q, req, cur, most);
	else
		req->pending = fill_flush(req);
	if (unlikely(!req->pending)) {
		chario_queue_put(q, first);
		return ERR_PTR(cur->error);
	}
	return req;
}

/* Returns whether a call ends in front of the place, because its memory has failed. */
static bool is_cut(const struct cursor *cur)
{
	return cur->error && cur->error != -EAGAIN && cur->error != -EFAULT;
}

/* Note the error that has cut a call in its last request. */
static void note_cut(struct chario_request *req, const struct cursor *cur)
{
	if (likely(!is_cut(cur)))
		return;
	req->error = cur->error;
	req->good = req->bytes;
}

/* Post a request whose caller waits. */
static __always_inline void launch(struct chario_flight *flight,
				   struct chario_waiter *waiter,
				   const struct chario_call *call,
				   const struct cursor *cur,
				   struct chario_request *req)
{
	note_cut(req, cur);
	chario_flight_count(call, req->pending);
	chario_flight_await(flight, waiter, cur->q, call, req,
			    req->first->disk_offset);
	chario_queue_post_all(cur->q, req, true);
}

/**
 * struct run - a call of several requests
 * @flights: requests in flight, in turn
 * @waiters: waiters of @flights
 * @bytes: lengths of the requests in bytes
 * @buf: buffer of the call, counted as in use; or NULL
 * @launched: number of requests that have been launched
 * @finished: number of those that have ended
 * @total: bytes in front of the first failure
 * @failed: true if a request did not do all that it should
 * @error: -errno of the first failure, if it has no bytes in front of it
 */
struct run {
	struct chario_flight flights[2];
	struct chario_waiter waiters[2];
	size_t bytes[2];
	struct chario_buffer *buf;
	unsigned int launched;
	unsigned int finished;
	size_t total;
	bool failed;
	int error;
};

/* Wait for the oldest request.  Bytes behind the first failure do not count. */
static void finish_oldest(struct run *run, const struct chario_call *call)
{
	unsigned int index = run->finished++ & 1;
	ssize_t ret = chario_flight_finish(&run->flights[index], call);

	if (run->failed)
		return;
	if (ret < 0)
		run->error = ret;
	else
		run->total += ret;
	run->failed = ret != run->bytes[index];
}

/*
 * Largest number of bytes that run_fault_in() brings in at once, so that the requests
 * that follow need not wait one by one.
 */
#define FAULT_IN_BYTES	SZ_64M

/* Wait for the pages of the next requests, after all earlier ones have ended. */
static int run_fault_in(struct run *run, const struct chario_call *call,
			const struct cursor *cur)
{
	struct chario_split split;

	while (run->finished != run->launched)
		finish_oldest(run, call);
	if (run->failed)
		return run->error;
	return chario_flight_fault_in(call, cur->iter,
				      split_pages(cur, &split),
				      min_t(size_t, iov_iter_count(cur->iter),
					    FAULT_IN_BYTES));
}

/*
 * Launch a request, or act on the error for which there is none.  Returns 0, or -errno
 * if no other can follow.
 */
static int launch_next(struct run *run, const struct chario_call *call,
		       const struct cursor *cur, struct chario_request *req)
{
	unsigned int index = run->launched & 1;

	if (req == ERR_PTR(-EFAULT))
		return run_fault_in(run, call, cur);
	if (IS_ERR(req) && (req != ERR_PTR(-EAGAIN) ||
			    run->launched == run->finished))
		return PTR_ERR(req);
	if (!IS_ERR(req)) {
		/* Between two requests no command keeps the buffer. */
		if (req->buffer && !run->buf) {
			run->buf = req->buffer;
			atomic_inc(&run->buf->users);
		}
		run->bytes[index] = req->bytes;
		launch(&run->flights[index], &run->waiters[index], call, cur,
		       req);
		run->launched++;
	}
	/* No command is free, or two chunks are in flight. */
	if (IS_ERR(req) || run->launched - run->finished == 2)
		finish_oldest(run, call);
	return 0;
}

/* Run the requests of a call, from the first one on, or from the error in its place. */
static noinline ssize_t run_chunks(const struct chario_call *call,
				   struct cursor *cur,
				   struct chario_request *req)
{
	struct run run = { };
	int error;

	for (;;) {
		error = launch_next(&run, call, cur, req);
		if (error || run.failed || is_cut(cur) || !bytes_left(cur))
			break;
		req = prepare(call, cur, cur->limits.chunk_bytes,
			      run.launched == run.finished && !call->nowait);
	}
	while (run.finished != run.launched)
		finish_oldest(&run, call);
	if (run.buf)
		atomic_fetch_dec_release(&run.buf->users);
	return run.total ?: run.error ?: error;
}

/* Run a call whose caller waits; a call of one chunk is one request. */
static __always_inline ssize_t run_waits(const struct chario_call *call)
{
	struct cursor cur chario_uninitialized;
	struct chario_flight flight chario_uninitialized;
	struct chario_waiter waiter chario_uninitialized;
	struct chario_request *req;
	ssize_t ret;

	start_cursor(&cur, call);
	req = prepare(call, &cur, cur.limits.chunk_bytes, !call->nowait);
	if (!IS_ERR(req) && likely(!bytes_left(&cur))) {
		launch(&flight, &waiter, call, &cur, req);
		ret = chario_flight_finish(&flight, call);
	} else {
		ret = run_chunks(call, &cur, req);
	}
	if (likely(ret > 0))
		this_cpu_add(call->disk->counters->bytes[call->op], ret);
	return ret;
}

/* Returns whether a call whose caller waits is certain to be one command. */
static inline bool is_single(const struct chario_call *call)
{
	return call->iter && chario_pages_is_piece(call->iter) &&
	       chario_single_fits(call->disk, iov_iter_count(call->iter));
}

/* Run such a call; returns EFAULT, and nothing has begun, if its memory is absent. */
static noinline ssize_t run_single(const struct chario_call *call)
{
	ssize_t ret = chario_single_run(call, chario_pages_address(call->iter),
					iov_iter_count(call->iter));

	if (likely(ret > 0))
		chario_pages_pass(call->iter, ret);
	return ret;
}

/* Undo prepare(): nothing of the request has been posted. */
static void take_back(const struct chario_call *call, struct cursor *cur,
		      struct chario_request *req)
{
	struct chario_command *cmd;

	if (cur->iter) {
		chario_for_each_command(cmd, req)
			if (cmd->nr_segments)
				chario_unmap(cur->q, cmd, req->op);
		chario_pages_unpin_all(req, false);
		iov_iter_revert(cur->iter, req->bytes);
	}
	chario_queue_put_chain(cur->q, req->first);
}

/*
 * Run a call whose caller is told.  Returns EAGAIN if there are not enough free commands
 * for the whole call, EFAULT if not all of its memory is present.
 */
static noinline ssize_t run_told(const struct chario_call *call)
{
	struct cursor cur chario_uninitialized;
	struct chario_request *req;

	start_cursor(&cur, call);
	if (is_too_long(&cur, chario_flight_queue(call)))
		return -EAGAIN;
	req = prepare(call, &cur, S64_MAX, false);
	if (IS_ERR(req))
		return PTR_ERR(req);
	if (unlikely(cur.error == -EAGAIN || cur.error == -EFAULT)) {
		take_back(call, &cur, req);
		return cur.error;
	}
	note_cut(req, &cur);
	chario_flight_count(call, req->pending);
	chario_flight_announce(cur.q, req, &call->async);
	/* Nothing sleeps from here on, which would unplug early: use the plug now. */
	chario_queue_post_all(cur.q, req, !chario_plug(cur.q));
	return -EIOCBQUEUED;
}

/*
 * Bring in all pages of a call whose caller is told, and try once more.  Returns EAGAIN
 * if the caller must wait.
 */
static noinline ssize_t run_told_late(const struct chario_call *call)
{
	size_t bytes = iov_iter_count(call->iter);
	ssize_t ret;

	ret = chario_flight_fault_in(call, call->iter, bytes, bytes);
	if (!ret)
		ret = run_told(call);
	return ret == -EFAULT ? -EAGAIN : ret;
}

/*
 * Run an urgent call: the block side stands back until its caller is told.  A request of a
 * caller who is told by itself has a duty for that.
 */
static noinline ssize_t run_urgent(const struct chario_call *call)
{
	struct chario_drive *drive = call->disk->drive;
	struct chario_call own = *call;
	ssize_t ret;

	own.duty &= ~CHARIO_DUTY_URGENT;
	if (call->async.who)
		own.duty |= CHARIO_DUTY_END_URGENT;
	chario_isolation_enter(drive);
	ret = chario_run(&own);
	if (ret != -EIOCBQUEUED)
		chario_isolation_exit(drive);
	return ret;
}

/**
 * chario_run() - run a call
 * @call: the call; &struct chario_call says what the front end guarantees
 *
 * An asynchronous call that finds too few free commands, or memory that is not
 * present, is run synchronously unless @call->nowait is set.
 *
 * Context: may sleep.
 * Return: bytes that have been transferred, up to the first failed command;
 * -errno if there are none; -EIOCBQUEUED if @call->async will be told.
 */
ssize_t chario_run(const struct chario_call *call)
{
	ssize_t ret;

	if (unlikely(call->duty & CHARIO_DUTY_URGENT))
		return run_urgent(call);
	if (call->async.who) {
		ret = run_told(call);
		if (unlikely(ret == -EFAULT))
			ret = run_told_late(call);
		if (ret != -EAGAIN || call->nowait)
			return ret;
	} else if (is_single(call)) {
		ret = run_single(call);
		if (likely(ret != -EFAULT))
			return ret;
	}
	return run_waits(call);
}
