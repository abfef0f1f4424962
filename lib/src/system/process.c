// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* This process. getpid(2) is not used: it would cost a system call for each record. */
#include "system/process.h"

#include <pthread.h>

static unsigned int generation = 1;

static void begin_child(void)
{
	generation++;
}

__attribute__((constructor)) static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, begin_child);
}

unsigned int chario_process(void)
{
	return generation;
}
