// SPDX-License-Identifier: GPL-2.0-only
/*
 * A request in flight: the functions that a call of one command does not need, or
 * seldom reaches.
 */
#include <linux/jiffies.h>

#include "memory/pages.h"
#include "memory/pieces.h"
#include "request/flight.h"

/**
 * chario_flight_wait_command() - wait for a command
 * @q: the queue
 * @origin: open file that the command is for
 * @expires: jiffies at which to give up
 * @killable: true if a fatal signal ends the wait
 *
 * The arguments are members of a call, because a call whose address is passed cannot
 * stay in registers.
 *
 * Return: as chario_queue_get().
 */
struct chario_command *
chario_flight_wait_command(struct chario_queue *q, const struct chario_origin *origin,
			   unsigned long expires, bool killable)
{
	int ret = chario_origin_wait_room(origin, expires, killable);
	struct chario_command *cmd = ret ? ERR_PTR(ret) :
				     chario_queue_get(q, expires, killable);

	if (IS_ERR(cmd))
		chario_disk_count_timeout(origin->disk, PTR_ERR(cmd));
	return cmd;
}

/*
 * The caller has been killed.  Unless CHARIO_DUTY_STAY binds it, its request goes on
 * without it.  @req may have ended and belong to another caller: so
 * chario_complete_abandon() decides by the waiter, under the lock.
 */
static noinline void leave_or_stay(struct chario_queue *q,
				   struct chario_request *req,
				   struct chario_waiter *waiter)
{
	if (!(READ_ONCE(req->duty) & CHARIO_DUTY_STAY) &&
	    chario_complete_abandon(q, waiter, req, -EINTR))
		return;
	for (;;) {
		set_current_state(TASK_UNINTERRUPTIBLE);
		if (!chario_flight_waits(waiter))
			break;
		schedule();
	}
}

/**
 * chario_flight_sleep() - wait until a request has ended
 * @q: queue of the request
 * @req: a request in flight
 * @waiter: the caller
 *
 * A fatal signal ends the wait: then the request is orphaned, unless the caller
 * has to stay.
 */
void chario_flight_sleep(struct chario_queue *q, struct chario_request *req,
			 struct chario_waiter *waiter)
{
	for (;;) {
		set_current_state(TASK_KILLABLE);
		if (!chario_flight_waits(waiter))
			break;
		if (unlikely(fatal_signal_pending(current))) {
			leave_or_stay(q, req, waiter);
			break;
		}
		schedule();
	}
	__set_current_state(TASK_RUNNING);
}

/**
 * chario_flight_finish() - wait for a request and let go of it
 * @flight: the request in flight
 * @call: call of the request
 *
 * Return: bytes in front of the first failure; -errno if there are none.
 */
ssize_t chario_flight_finish(struct chario_flight *flight,
			     const struct chario_call *call)
{
	if (!chario_flight_wait(flight, call))
		return chario_flight_leave(flight, call);
	return chario_complete_release(flight->q, flight->req,
				       call->op == CHARIO_OP_READ);
}

/**
 * chario_flight_fault_in() - wait for memory of a call that is not present
 * @call: the call; the caller has no command that the device does not have
 * @iter: position at the memory
 * @least: bytes of its next command
 * @most: bytes to bring in, @least or more
 *
 * Return: 0; EAGAIN if it must not wait; EFAULT if less than @least is accessible;
 * ETIMEDOUT; or an error of chario_pages_fault_in().
 */
int chario_flight_fault_in(const struct chario_call *call,
			   const struct iov_iter *iter, size_t least,
			   size_t most)
{
	ssize_t ret;

	if (call->nowait)
		return -EAGAIN;
	ret = chario_pages_fault_in(iter, most, call->op);
	if (ret < 0)
		return ret;
	if (ret < least)
		return -EFAULT;
	return chario_disk_count_timeout(call->disk, time_after(jiffies, call->expires) ?
					 -ETIMEDOUT : 0);
}

/**
 * chario_flight_cut() - prepare a command whose slice the core describes
 * @q: queue of the command
 * @cmd: a command with its length; its buffer is entered, and has pieces
 * @buffer_offset: byte offset of the slice in the buffer
 */
void chario_flight_cut(struct chario_queue *q, struct chario_command *cmd,
		       u64 buffer_offset)
{
	cmd->buffer_offset = buffer_offset;
	cmd->nr_pages = 0;
	chario_pieces_cut(cmd->req->buffer->pieces, cmd);
	trace_map(q, cmd, 0);
	if (chario_queue_must_prep(q, cmd))
		q->ops->prep(q, cmd);
	trace_queue(q, cmd, 0);
}
