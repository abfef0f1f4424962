/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The way into the core: a front end fills in a call, and runs it.
 */
#ifndef CHARIO_REQUEST_REQUEST_H
#define CHARIO_REQUEST_REQUEST_H

#include "types/call.h"

/* request/request.c */
ssize_t chario_request_run(struct chario_call *call);

#endif /* CHARIO_REQUEST_REQUEST_H */
