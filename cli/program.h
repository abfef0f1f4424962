/* SPDX-License-Identifier: MIT */
/* A program that a verb runs. */
#ifndef CHARIO_CLI_PROGRAM_H
#define CHARIO_CLI_PROGRAM_H

#include "cli.h"

/*
 * Run a program to its end.  It has a descriptor @fd of this process as @as; -1 for none.
 * Interrupts of the terminal are for the program.  Returns its exit
 * code; as a shell does, 127 after a message if it cannot be started, and 128 and the number
 * of the signal that has ended it.
 */
int cli_run_program(const struct cli *cli, char **argv, int fd, int as);

#endif /* CHARIO_CLI_PROGRAM_H */
