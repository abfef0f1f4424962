// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests whose memory is a buffer.  Nothing is pinned and nothing mapped, so
 * nothing can fail between the first command and the last: they are filled in
 * one after the other and posted together.
 */
#include "core/buffer.h"
#include "core/device.h"
#include "core/flight.h"
#include "core/queue.h"
#include "core/slices.h"

/* Fill in commands up to byte @stop of the disk, or until no slot is free. */
static unsigned int fill(struct chario_queue *q, struct chario_request *req,
			 const struct chario_call *call,
			 struct chario_split *split,
			 const struct chario_split_limits *limits, u64 stop)
{
	struct chario_command *cmd = req->first, *next;
	unsigned int count = 0;

	for (;;) {
		u64 pos = split->pos;

		cmd->req = req;
		chario_flight_split(q, cmd, pos,
				    chario_split_next(split, limits));
		chario_flight_slice(q, cmd, call->buffer_offset + pos -
				    call->pos, call->op);
		count++;
		if (split->pos == stop)
			break;
		next = chario_queue_try_get(q);
		if (IS_ERR(next))
			break;
		cmd->next = next;
		cmd = next;
	}
	cmd->next = NULL;
	return count;
}

/**
 * chario_slices_launch() - the next request of a synchronous call
 * @flight: gets it
 * @waiter: the caller
 * @call: on a buffer
 * @split: where the call is; goes on behind the request
 * @limits: of the split
 * @may_wait: for a free command
 *
 * Return: 0; EAGAIN when no command is free, or as chario_buffer_find().
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
	int ret;

	first = chario_flight_command(q, call, may_wait);
	if (IS_ERR(first))
		return PTR_ERR(first);
	flight->pos = split->pos;
	chario_flight_board(flight, waiter, q, call, first, 0);
	ret = chario_flight_enter(flight->req, call);
	if (ret) {
		chario_queue_put(q, first);
		return ret;
	}
	flight->req->pending = fill(q, flight->req, call, split, limits,
				    split->chunk_end);
	chario_queue_post_all(q, flight->req, true);
	return 0;
}

static void put_commands(struct chario_queue *q, struct chario_command *cmd)
{
	struct chario_command *next;

	for (; cmd; cmd = next) {
		next = cmd->next;
		this_cpu_dec(cmd->req->cio->counters->commands[cmd->req->op]);
		chario_queue_put(q, cmd);
	}
}

/**
 * chario_slices_run_async() - an asynchronous call on a buffer
 * @call: has an @async
 *
 * Return: -EIOCBQUEUED; EAGAIN when there are not enough free commands for the
 * whole call; or as chario_buffer_find().
 */
ssize_t chario_slices_run_async(const struct chario_call *call)
{
	struct chario_queue *q = chario_flight_queue(call);
	struct chario_split_limits limits;
	struct chario_command *first;
	struct chario_request *req;
	struct chario_split split;
	int ret;

	first = chario_flight_command(q, call, false);
	if (IS_ERR(first))
		return PTR_ERR(first);
	req = &first->own;
	chario_flight_init(req, call, first, 0);
	ret = chario_flight_enter(req, call);
	if (ret) {
		chario_queue_put(q, first);
		return ret;
	}
	chario_device_get_limits(call->cio, &limits);
	chario_split_start(&split, &limits, call->pos, call->bytes);
	req->pending = fill(q, req, call, &split, &limits, split.end);
	if (unlikely(split.pos != split.end)) {
		put_commands(q, first);
		return -EAGAIN;
	}
	req->async = call->async;
	/* Who polls looks for it, from the moment it can be polled. */
	WRITE_ONCE(*call->async.queue, q);
	chario_queue_post_all(q, req, !chario_plug(q));
	return -EIOCBQUEUED;
}
