/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Requests on a buffer: see slices.c.
 */
#ifndef CHARIO_REQUEST_SLICES_H
#define CHARIO_REQUEST_SLICES_H

#include "request/flight.h"

int chario_slices_launch(struct chario_flight *flight,
			 struct chario_waiter *waiter,
			 const struct chario_call *call,
			 struct chario_split *split,
			 const struct chario_split_limits *limits,
			 bool may_wait);
ssize_t chario_slices_run(const struct chario_call *call);
ssize_t chario_slices_run_async(const struct chario_call *call);

#endif /* CHARIO_REQUEST_SLICES_H */
