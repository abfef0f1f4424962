// SPDX-License-Identifier: MIT
/* SIGINT, SIGTERM and SIGHUP as requests to end. */
#include "interrupt.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t interrupted;

static void note(int number)
{
	(void)number;
	if (interrupted < 2)
		interrupted++;
}

static void note_once(int number)
{
	(void)number;
	if (!interrupted)
		interrupted = 1;
}

/* Count a signal; the one after the second kills. */
static void note_twice(int number)
{
	note(number);
	if (interrupted < 2)
		return;
	cli_catch(SIGINT, SIG_DFL, 0);
	cli_catch(SIGTERM, SIG_DFL, 0);
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
	/* The kernel and a shell may both send SIGHUP when a terminal closes. */
	cli_catch(SIGHUP, note_once, 0);
}

void cli_interrupt_catch_twice(void)
{
	cli_interrupt_catch();
	cli_catch(SIGINT, note_twice, 0);
	cli_catch(SIGTERM, note_twice, 0);
	/* A message that nobody reads ends no recording. */
	cli_catch(SIGPIPE, SIG_IGN, 0);
}

int cli_interrupted(void)
{
	return interrupted;
}
