// SPDX-License-Identifier: MIT
/* SIGINT and SIGTERM as requests to end. */
#include "interrupt.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t interrupted;

static void note(int number)
{
	(void)number;
	interrupted = 1;
}

void cli_catch(int number, void (*handler)(int), int flags)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags };
	struct sigaction was;

	if (!sigaction(number, NULL, &was) && was.sa_handler != SIG_IGN)
		sigaction(number, &action, NULL);
}

void cli_interrupt_catch(void)
{
	cli_catch(SIGINT, note, (int)SA_RESETHAND);
	cli_catch(SIGTERM, note, (int)SA_RESETHAND);
}

bool cli_interrupted(void)
{
	return interrupted;
}
