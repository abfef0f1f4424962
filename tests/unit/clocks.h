/* SPDX-License-Identifier: MIT */
/*
 * Clocks and naps of a test's own, to which the linker leads those of the library that meson.build
 * says, so that no test waits for a time of these nor depends on it; and records that have times.
 */
#ifndef CHARIO_CLOCKS_H
#define CHARIO_CLOCKS_H

#include "system/sys.h"
#include "tape-rig.h"

#define RECORD 1000U

uint64_t __wrap_chario_sys_clock(clockid_t clock);
uint64_t __wrap_chario_sys_now(void);
int64_t __wrap_chario_sys_deadline(int64_t timeout_ns);
bool __wrap_chario_sys_nap(int64_t deadline_ns, int64_t most_ns);

/* The clock that is set, the one that is not, and the time asleep, which CLOCK_MONOTONIC does not count. */
static int64_t clock_ns, boot_ns, asleep_ns;
static unsigned int naps, looks;

/* By how much the next look at the clock that is set is late; the one after it is later. */
static int64_t delay_ns;

uint64_t __wrap_chario_sys_clock(clockid_t clock)
{
	looks++;
	if (clock == CLOCK_REALTIME) {
		clock_ns += delay_ns;
		boot_ns += delay_ns;
		delay_ns *= 2;
	}
	if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)
		return (uint64_t)clock_ns;
	return (uint64_t)(clock == CLOCK_BOOTTIME ? boot_ns : boot_ns - asleep_ns);
}

uint64_t __wrap_chario_sys_now(void)
{
	return (uint64_t)boot_ns;
}

int64_t __wrap_chario_sys_deadline(int64_t timeout_ns)
{
	return boot_ns + (timeout_ns < 0 ? INT64_MAX / 2 : timeout_ns);
}

bool __wrap_chario_sys_nap(int64_t deadline_ns, int64_t most_ns)
{
	int64_t left = deadline_ns - boot_ns;

	if (left <= 0)
		return false;
	naps++;
	boot_ns += left < most_ns ? left : most_ns;
	return true;
}

/* Record a record of a time, or of that of the clock if it is 0. */
static inline int record_at(uint64_t sequence, uint64_t at_ns, unsigned int flags)
{
	unsigned char memory[RECORD];

	lab_fill(memory, RECORD, sequence);
	return chario_stream_write(rig.stream, memory, RECORD, at_ns, flags, -1);
}

#endif /* CHARIO_CLOCKS_H */
