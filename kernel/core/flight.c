// SPDX-License-Identifier: GPL-2.0-only
/*
 * A request in the air: the ends of it that a call of one command has no use
 * for, or reaches seldom.
 */
#include <linux/jiffies.h>

#include "core/flight.h"
#include "core/pages.h"

/**
 * chario_flight_wait_command() - wait for a command
 * @q: the queue
 * @origin: whose it will be
 * @expires: jiffies at which to give up
 * @killable: a fatal signal ends the wait
 *
 * Return: as chario_queue_get().
 */
struct chario_command *
chario_flight_wait_command(struct chario_queue *q,
			   const struct chario_origin *origin,
			   unsigned long expires, bool killable)
{
	int ret;

	ret = chario_origin_wait_room(origin, expires, killable);
	return ret ? ERR_PTR(ret) : chario_queue_get(q, expires, killable);
}

/*
 * The caller has been killed.  Unless CHARIO_DUTY_STAY binds it, the request goes on
 * without it.  @req may have ended and be another's: chario_complete_abandon() decides
 * by the waiter, under the lock.
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
 * @q: its queue
 * @req: in the air
 * @waiter: the caller
 *
 * A fatal signal ends the wait: the request is orphaned then, unless the caller
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
 * chario_flight_land() - wait for a request and let go of it
 * @flight: in the air
 * @call: whose it is
 * @error: set when it did not come to all that was asked of it, else 0
 *
 * Return: bytes in front of its first failure.
 */
size_t chario_flight_land(struct chario_flight *flight,
			  const struct chario_call *call, int *error)
{
	struct chario_request *req = flight->req;
	size_t bytes;

	if (!chario_flight_wait(flight, call)) {
		*error = chario_flight_leave(flight, call);
		return 0;
	}
	bytes = req->error ? req->good : req->bytes;
	*error = req->error;
	chario_complete_release(flight->q, req, req->op == CHARIO_OP_READ,
				bytes ?: *error);
	return bytes;
}

/**
 * chario_flight_fault_in() - wait for memory of a call that is not there
 * @call: the call; what commands it has are with the device
 * @iter: at the memory
 * @least: bytes of its next command
 * @most: bytes to bring in, @least or more
 *
 * Return: 0; EAGAIN when it must not wait, ETIMEDOUT, or as
 * chario_pages_fault_in().
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
	return time_after(jiffies, call->expires) ? -ETIMEDOUT : 0;
}

/**
 * chario_flight_single_late() - chario_flight_single() on memory that is not there
 * @call: what is asked for
 * @addr: address in user space
 * @bytes: length
 *
 * Return: as chario_request_run().
 */
ssize_t chario_flight_single_late(const struct chario_call *call,
				  unsigned long addr, u32 bytes)
{
	struct iov_iter iter;
	ssize_t ret;

	iov_iter_ubuf(&iter, call->op == CHARIO_OP_READ ? ITER_DEST :
		      ITER_SOURCE, (void __user *)addr, bytes);
	do {
		ret = chario_flight_fault_in(call, &iter, bytes, bytes);
		if (ret)
			return ret;
		ret = chario_flight_try_single(call, addr, bytes);
	} while (ret == -EFAULT);
	return ret;
}
