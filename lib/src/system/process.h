/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * This process: what is open is of the one that has opened it, and not of its children.
 */
#ifndef CHARIO_PROCESS_H
#define CHARIO_PROCESS_H

/* A number that a child of fork(2) has another one of.  Costs a load. */
unsigned int chario_process(void);

#endif /* CHARIO_PROCESS_H */
