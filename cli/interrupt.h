/* SPDX-License-Identifier: MIT */
/* SIGINT and SIGTERM as requests, for work that ends at a suitable place. */
#ifndef CHARIO_CLI_INTERRUPT_H
#define CHARIO_CLI_INTERRUPT_H

#include <stdbool.h>

/*
 * Make the first of these signals a request; system calls end with EINTR.  The second
 * signal kills.
 */
void cli_interrupt_catch(void);

bool cli_interrupted(void);

/*
 * Set the handler of a signal, with the flags of sigaction(2).  A signal that a shell or
 * nohup(1) has set to be ignored stays ignored.
 */
void cli_catch(int number, void (*handler)(int), int flags);

#endif /* CHARIO_CLI_INTERRUPT_H */
