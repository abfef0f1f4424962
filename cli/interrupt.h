/* SPDX-License-Identifier: MIT */
/*
 * SIGINT and SIGTERM as a wish to end, for work that ends at a place of its own.
 */
#ifndef CHARIO_CLI_INTERRUPT_H
#define CHARIO_CLI_INTERRUPT_H

#include <stdbool.h>

/* From now on the first of them is a wish; system calls end with EINTR.  The second kills. */
void cli_interrupt_catch(void);

bool cli_interrupted(void);

#endif /* CHARIO_CLI_INTERRUPT_H */
