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

/* A signal that a shell or nohup(1) has set to be ignored stays ignored. */
static void catch (int number)
{
	struct sigaction action = { .sa_handler = note, .sa_flags = (int)SA_RESETHAND };
	struct sigaction was;

	sigemptyset(&action.sa_mask);
	if (!sigaction(number, NULL, &was) && was.sa_handler != SIG_IGN)
		sigaction(number, &action, NULL);
}

void cli_interrupt_catch(void)
{
	catch (SIGINT);
	catch (SIGTERM);
}

bool cli_interrupted(void)
{
	return interrupted;
}
