// SPDX-License-Identifier: GPL-2.0-only
/*
 * The rare half of a request in the air: its caller sleeps.
 */
#include "core/flight.h"

/**
 * chario_flight_sleep() - wait until a request has ended
 * @q: its queue
 * @req: in the air
 * @waiter: the caller
 *
 * A fatal signal ends the wait: the request is orphaned then.
 */
void chario_flight_sleep(struct chario_queue *q, struct chario_request *req,
			 struct chario_waiter *waiter)
{
	for (;;) {
		set_current_state(TASK_KILLABLE);
		if (!chario_flight_waits(waiter))
			break;
		if (unlikely(fatal_signal_pending(current))) {
			chario_complete_abandon(q, waiter, req, -EINTR);
			break;
		}
		schedule();
	}
	__set_current_state(TASK_RUNNING);
}
