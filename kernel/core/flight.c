// SPDX-License-Identifier: GPL-2.0-only
/*
 * A request in the air: the ends of it that a call of one command has no use
 * for, or reaches seldom.
 */
#include "core/flight.h"

/* The caller has been killed; there are requests that it sees through. */
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
