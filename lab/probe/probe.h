/* SPDX-License-Identifier: MIT */
/*
 * What the two halves of chario-probe share.
 */
#ifndef PROBE_H
#define PROBE_H

#define MAX_FUNCTIONS 64
/* Number of the function that sleeps: its own time is nobody's. */
#define SLEEPER       0
/* The attach cookie of the function that opens and closes the gate; others have their number. */
#define GATE          MAX_FUNCTIONS

struct spent {
	unsigned long long calls;
	unsigned long long self_ns;
};

#endif /* PROBE_H */
