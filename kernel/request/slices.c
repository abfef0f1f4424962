// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests on a buffer.  Nothing is pinned or mapped, so nothing can fail between
 * the first command and the last: the commands are filled in one after the other
 * and posted together.
 */
#include "queue/queue.h"
#include "request/flight.h"
#include "request/slices.h"
#include "types/buffer.h"
#include "types/device.h"

/*
 * Fill in commands up to byte @stop of the disk, or until no slot is free.  Returns
 * their number.
 */
static unsigned int slices_fill(struct chario_queue *q, struct chario_request *req,
				const struct chario_call *call,
				struct chario_split *split,
				const struct chario_split_limits *limits, u64 stop)
{
	/* These copies stay in registers. */
	const struct chario_split_limits within = *limits;
	struct chario_split at = *split;
	const u64 to_buffer = call->buffer_offset - call->pos;
	const u64 start = at.pos;
	struct chario_command *cmd = req->first, *next;
	unsigned int count = 0;

	for (;;) {
		u64 pos = at.pos;

		cmd->req = req;
		chario_flight_split(q, cmd, pos - start, pos,
				    chario_split_next(&at, &within));
		chario_flight_slice(q, cmd, pos + to_buffer);
		count++;
		if (at.pos == stop)
			break;
		next = chario_queue_take_slot(q);
		if (unlikely(!next))
			break;
		cmd->next = next;
		cmd = next;
	}
	cmd->next = NULL;
	*split = at;
	return count;
}

/**
 * chario_slices_launch() - post the next request of a synchronous call
 * @flight: the flight to fill in
 * @waiter: the caller
 * @call: a call on a buffer
 * @split: place in the call; moved behind the request
 * @limits: limits of the split
 * @may_wait: true to wait for a free command
 *
 * Return: 0; EAGAIN if no command is free; or an error of chario_buffer_find().
 */
int chario_slices_launch(struct chario_flight *flight,
			 struct chario_waiter *waiter,
			 const struct chario_call *call,
			 struct chario_split *split,
			 const struct chario_split_limits *limits,
			 bool may_wait)
{
	struct chario_queue *q = chario_flight_queue(call);
	struct chario_command *first;
	unsigned int count;
	int ret;

	first = chario_flight_command(q, call, may_wait);
	if (IS_ERR(first))
		return PTR_ERR(first);
	flight->pos = split->pos;
	chario_flight_board(flight, waiter, q, call, first, 0);
	first->req = flight->req;
	ret = chario_flight_enter(flight->req, call);
	if (ret) {
		chario_queue_put(q, first);
		return ret;
	}
	count = slices_fill(q, flight->req, call, split, limits, split->chunk_end);
	flight->req->pending = count;
	flight->req->bytes = split->pos - flight->pos;
	chario_flight_count(call, count);
	chario_queue_post_slices(q, flight->req, true);
	return 0;
}

/*
 * Prepare all commands of a call for posting.  Returns their request; EAGAIN if not so
 * many are free; or an error of chario_buffer_find().
 */
static __always_inline struct chario_request *
slices_prepare(struct chario_queue *q, const struct chario_call *call,
	       const struct chario_split_limits *limits)
{
	struct chario_command *first = chario_flight_try_command(q, call);
	struct chario_split split chario_uninitialized;
	struct chario_request *req;
	unsigned int count;
	int ret;

	if (IS_ERR(first))
		return ERR_CAST(first);
	req = &first->own;
	chario_flight_init(req, call, first, 0);
	first->next = NULL;
	first->req = req;
	ret = chario_flight_enter(req, call);
	if (unlikely(ret))
		goto err_put;
	chario_split_start(&split, limits, call->pos, call->bytes);
	count = slices_fill(q, req, call, &split, limits, split.end);
	ret = -EAGAIN;
	if (unlikely(split.pos != split.end))
		goto err_put;
	req->pending = count;
	req->bytes = call->bytes;
	chario_flight_count(call, count);
	return req;

err_put:
	chario_queue_put_chain(q, first);
	return ERR_PTR(ret);
}

/**
 * chario_slices_run() - run a synchronous call of one chunk
 * @call: a call on a buffer
 *
 * Return: as chario_request_run(); EAGAIN if the call is longer than a chunk, or not
 * enough commands are free for the whole call.
 */
ssize_t chario_slices_run(const struct chario_call *call)
{
	struct chario_queue *q = chario_flight_queue(call);
	struct chario_flight flight chario_uninitialized;
	struct chario_waiter waiter chario_uninitialized;
	struct chario_split_limits limits chario_uninitialized;
	struct chario_request *req;
	size_t bytes;
	int error;

	chario_device_get_limits(call->cio, &limits);
	if (call->bytes > limits.chunk_bytes)
		return -EAGAIN;
	req = slices_prepare(q, call, &limits);
	if (IS_ERR(req))
		return PTR_ERR(req);
	flight.pos = call->pos;
	chario_flight_await(&flight, &waiter, q, call, req);
	chario_queue_post_slices(q, req, true);
	bytes = chario_flight_land(&flight, call, &error);
	if (unlikely(!bytes))
		return error;
	this_cpu_add(call->cio->counters->bytes[call->op], bytes);
	return bytes;
}

/**
 * chario_slices_run_async() - start an asynchronous call on a buffer
 * @call: a call with an @async
 *
 * Return: -EIOCBQUEUED; EAGAIN if there are not enough free commands for the
 * whole call; or an error of chario_buffer_find().
 */
ssize_t chario_slices_run_async(const struct chario_call *call)
{
	struct chario_queue *q = chario_flight_queue(call);
	struct chario_split_limits limits chario_uninitialized;
	struct chario_request *req;

	chario_device_get_limits(call->cio, &limits);
	req = slices_prepare(q, call, &limits);
	if (IS_ERR(req))
		return PTR_ERR(req);
	chario_flight_announce(q, req, &call->async);
	chario_queue_post_slices(q, req, !chario_plug(q));
	return -EIOCBQUEUED;
}
