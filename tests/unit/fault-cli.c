// SPDX-License-Identifier: MIT
/*
 * Faults of the program chario, which the environment asks for.  The linker leads the
 * calls that are named here to these functions:
 *
 *	FAULT_FLUSH=N	the Nth flush fails, and only that one: so does Linux, which has
 *			then dropped what the flush was for
 *	FAULT_CLOCK=1	10 s pass whenever somebody looks
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#define LEAP_NS 10000000000ULL

int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);
uint64_t __real_cli_now_ns(void);
uint64_t __wrap_cli_now_ns(void);

int __wrap_fdatasync(int fd)
{
	static unsigned int calls;
	const char *number = getenv("FAULT_FLUSH");

	if (!number || (unsigned int)atoi(number) != ++calls)
		return __real_fdatasync(fd);
	errno = EIO;
	return -1;
}

uint64_t __wrap_cli_now_ns(void)
{
	static uint64_t leaps;

	if (getenv("FAULT_CLOCK"))
		leaps++;
	return __real_cli_now_ns() + leaps * LEAP_NS;
}
