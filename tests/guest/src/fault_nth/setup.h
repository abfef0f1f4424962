/* SPDX-License-Identifier: MIT */
/* Calls that prepare a file for its transfers, and that may allocate. */
#ifndef GUEST_FAULT_NTH_SETUP_H
#define GUEST_FAULT_NTH_SETUP_H

/* Make what @kind needs and does not try out itself; @more is its argument. */
void setup_prepare(const char *kind, const char *more);

/* The call, on a file that has just been opened: 0 or -1 and errno. */
int setup_run(const char *kind, int disk);

/* The file has been closed: undo what outlives it. */
void setup_undo(const char *kind);

#endif /* GUEST_FAULT_NTH_SETUP_H */
