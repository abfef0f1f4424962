/* SPDX-License-Identifier: MIT */
/*
 * QEMU's threads that are neither the main loop nor a virtual CPU: those that
 * read and write files for an emulated drive.
 */
#ifndef CHARIO_LAB_WORKERS_H
#define CHARIO_LAB_WORKERS_H

#include <stdbool.h>

/* Says that the calling thread is a virtual CPU. */
void workers_except_me(void);

/* Whether one of them has work.  A thread that was woken counts at once; one that sleeps has none. */
bool workers_are_busy(void);

#endif
