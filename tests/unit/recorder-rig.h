/* SPDX-License-Identifier: MIT */
/* A recorder on the recording of tape-rig.h, and its source. */
#ifndef CHARIO_RECORDER_RIG_H
#define CHARIO_RECORDER_RIG_H

#include <sys/socket.h>

#include <chario/recorder.h>

#include "tape-rig.h"

#define RECORD  1000U
#define STOPPED 77

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

static struct chario_recorder recorder;
static unsigned int calls;

/* The ends of a pipe or of a pair of sockets: what is written to the second is recorded. */
static int ends[2];

static inline void recorder_begin(void)
{
	rig_begin_usual();
	tap_need(!pipe(ends) && !rig_open(&rig_small), "no pipe or no recording can be made");
	recorder = (struct chario_recorder){ .size = sizeof(recorder), .record_bytes = RECORD };
	calls = 0;
}

static inline void drop_source(void)
{
	for (int i = 0; i < 2; i++) {
		if (ends[i] >= 0)
			close(ends[i]);
		ends[i] = -1;
	}
}

static inline void recorder_end(void)
{
	drop_source();
	rig_end();
}

static inline int make_sockets(int type)
{
	drop_source();
	return socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends);
}

/* Write the records from one number to before another, each at once. */
static inline int give(uint64_t from, uint64_t to)
{
	unsigned char memory[RECORD];

	for (uint64_t i = from; i < to; i++) {
		lab_fill(memory, RECORD, i);
		if (write(ends[1], memory, RECORD) != RECORD)
			return -errno;
	}
	return 0;
}

static inline void end_source(void)
{
	close(ends[1]);
	ends[1] = -1;
}

static inline int run(void)
{
	return chario_recorder_run(rig.stream, ends[0], &recorder);
}

#endif /* CHARIO_RECORDER_RIG_H */
