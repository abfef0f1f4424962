/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The way into the core: a front end fills in a call, and runs it.
 */
#ifndef CHARIO_REQUEST_RUN_H
#define CHARIO_REQUEST_RUN_H

#include "types/call.h"

/* request/run.c */
ssize_t chario_run(const struct chario_call *call);

#endif /* CHARIO_REQUEST_RUN_H */
