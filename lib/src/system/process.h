/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * This process: an open store or stream belongs to the process that opened it, not to its
 * children.
 */
#ifndef CHARIO_PROCESS_H
#define CHARIO_PROCESS_H

/* Returns a number that a child of fork(2) does not share.  The call costs one load. */
unsigned int chario_process(void);

#endif /* CHARIO_PROCESS_H */
