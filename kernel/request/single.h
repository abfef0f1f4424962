/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The common call: one command, from one piece of memory.
 *
 * It is inlined into its front ends, so that the call lives in registers and the
 * branches for the other source of memory are gone.
 */
#ifndef CHARIO_REQUEST_SINGLE_H
#define CHARIO_REQUEST_SINGLE_H

#include "memory/buffer.h"
#include "request/flight.h"

/**
 * chario_single_fits() - tell if a call is certain to be one command
 * @disk: the disk
 * @bytes: length of the call in bytes, in one piece of memory; not 0
 *
 * Return: true for one command; false if there may be more.
 */
static inline bool chario_single_fits(const struct chario_disk *disk,
				      size_t bytes)
{
	return bytes - 1 < READ_ONCE(disk->single_bytes);
}

/*
 * split -> map -> queue: fill in a command and its request.  Returns 0, or -errno with
 * the command given back.
 */
static __always_inline int chario_single_fill(struct chario_queue *q,
					      struct chario_command *cmd,
					      const struct chario_call *call,
					      unsigned long addr, u32 bytes)
{
	struct chario_request *req = &cmd->own;
	struct chario_buffer *buf;
	int ret;

	chario_flight_init(req, call, cmd);
	req->pending = 1;
	cmd->req = req;
	cmd->next = NULL;
	cmd->req_offset = 0;
	cmd->disk_offset = call->pos;
	cmd->bytes = bytes;
	trace_split(q, cmd, 0);
	if (call->buffers) {
		ret = chario_buffer_enter(req, call, &buf);
		if (likely(!ret && !buf->pieces))
			/* GCOVR_EXCL_START: gcov counts the next line instead */
			chario_flight_slice(q, cmd, call->buffer_offset);
			/* GCOVR_EXCL_STOP */
		else if (!ret)
			chario_flight_cut(q, cmd, call->buffer_offset);
	} else {
		ret = chario_pages_pin_user(cmd, addr);
		if (likely(!ret))
			ret = chario_flight_map(q, cmd, call->op);
	}
	if (unlikely(ret)) {
		chario_queue_put(q, cmd);
		return ret;
	}
	req->bytes = bytes;
	chario_flight_count(call, 1);
	return 0;
}

/**
 * chario_single_run() - run a call of one command, and wait for it
 * @call: the call; @iter is ignored
 * @addr: address in user space, unless the memory is a buffer
 * @bytes: length in bytes, see chario_single_fits()
 *
 * Context: may sleep.
 * Return: as chario_run(); EFAULT if the memory is not present.
 */
static __always_inline ssize_t chario_single_run(const struct chario_call *call,
						 unsigned long addr, u32 bytes)
{
	struct chario_queue *q = chario_flight_queue(call);
	struct chario_flight flight chario_uninitialized;
	struct chario_waiter waiter chario_uninitialized;
	struct chario_command *cmd;
	ssize_t result;
	int ret;

	cmd = chario_flight_command(q, call, !call->nowait);
	if (IS_ERR(cmd))
		return PTR_ERR(cmd);
	chario_flight_await(&flight, &waiter, q, call, &cmd->own,
			    call->pos);
	ret = chario_single_fill(q, cmd, call, addr, bytes);
	if (unlikely(ret))
		return ret;
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
	trace_finish(q, cmd, call->disk, call->op, call->pos, result);
	chario_queue_put(q, cmd);
	if (likely(result > 0))
		this_cpu_add(call->disk->counters->bytes[call->op], result);
	return result;
}

/**
 * chario_single_send() - start an asynchronous call of one command on a buffer
 * @call: the call; @async in it is ignored
 * @bytes: length in bytes, see chario_single_fits()
 * @async: the caller, who is told of the end
 *
 * Return: EIOCBQUEUED; EAGAIN if no command is free; or an error of
 * chario_buffer_enter().
 */
static __always_inline ssize_t
chario_single_send(const struct chario_call *call, u32 bytes,
		   const struct chario_async *async)
{
	struct chario_queue *q = chario_flight_queue(call);
	struct chario_command *cmd;
	int ret;

	cmd = chario_flight_command(q, call, false);
	if (IS_ERR(cmd))
		return PTR_ERR(cmd);
	ret = chario_single_fill(q, cmd, call, 0, bytes);
	if (unlikely(ret))
		return ret;
	chario_flight_announce(q, &cmd->own, async);
	chario_queue_post(q, cmd, !chario_plug(q));
	return -EIOCBQUEUED;
}

/* request/single.c */
ssize_t chario_single_run_late(const struct chario_call *call,
			       unsigned long addr, u32 bytes);

#endif /* CHARIO_REQUEST_SINGLE_H */
