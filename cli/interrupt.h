/* SPDX-License-Identifier: MIT */
/* SIGINT, SIGTERM and SIGHUP as requests, for work that ends at a suitable place. */
#ifndef CHARIO_CLI_INTERRUPT_H
#define CHARIO_CLI_INTERRUPT_H

/*
 * Make the first of these signals a request; system calls end with EINTR.  A second one of the
 * same kind kills, unless it is SIGHUP.
 */
void cli_interrupt_catch(void);

/* Make the first two of these signals requests, to end soon and to end at once; ignore SIGPIPE. */
void cli_interrupt_catch_twice(void);

/* Returns the number of requests: 0, 1 or 2. */
int cli_interrupted(void);

/*
 * Set the handler of a signal, with the flags of sigaction(2).  A signal that a shell or
 * nohup(1) has set to be ignored stays ignored.
 */
void cli_catch(int number, void (*handler)(int), int flags);

#endif /* CHARIO_CLI_INTERRUPT_H */
