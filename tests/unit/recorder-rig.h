/* SPDX-License-Identifier: MIT */
/* A recorder on the recording of tape-rig.h, and its source. */
#ifndef CHARIO_RECORDER_RIG_H
#define CHARIO_RECORDER_RIG_H

#include <chario/recorder.h>

#include "tape-rig.h"

#define RECORD  1000U
#define STOPPED 77

extern struct chario_recorder recorder;
extern unsigned int calls;

/* The ends of a pipe or of a pair of sockets: what is written to the second is recorded. */
extern int ends[2];

void recorder_begin(void);
void recorder_end(void);

void drop_source(void);
int make_sockets(int type);

/* Write the records from one number to before another, each at once. */
int give(uint64_t from, uint64_t to);

void end_source(void);
int run(void);

/* A run returns a status, and the recorder says why it has ended. */
#define ENDS(status, why)                 \
	do {                              \
		EQUAL(run(), status);     \
		EQUAL(recorder.end, why); \
	} while (0)

/* The stream has recorded so many records, and lost so many, which had so many bytes. */
#define HAS(nr_records, nr_lost, bytes_lost)              \
	do {                                              \
		EQUAL(rig_look(), 0);                     \
		EQUAL(rig.status.records, nr_records);    \
		EQUAL(rig.status.lost_records, nr_lost);  \
		EQUAL(rig.status.lost_bytes, bytes_lost); \
	} while (0)

#endif /* CHARIO_RECORDER_RIG_H */
