// SPDX-License-Identifier: MIT
/*
 * SIGINT and SIGTERM as a wish to end.
 */
#include "interrupt.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t interrupted;

static void note(int number)
{
	(void)number;
	interrupted = 1;
}

void cli_interrupt_catch(void)
{
	struct sigaction action = { .sa_handler = note, .sa_flags = (int)SA_RESETHAND };

	sigemptyset(&action.sa_mask);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

bool cli_interrupted(void)
{
	return interrupted;
}
