// SPDX-License-Identifier: MIT
/* A recorder on the recording of tape-rig.h, and its source. */
#include "recorder-rig.h"

#include <sys/socket.h>

#include "tap.h"

struct chario_recorder recorder;
unsigned int calls;

int ends[2];

void recorder_begin(void)
{
	rig_begin_usual();
	tap_need(!pipe(ends) && !rig_open(&rig_small), "no pipe or no recording can be made");
	recorder = (struct chario_recorder){ .size = sizeof(recorder), .record_bytes = RECORD };
	calls = 0;
}

void drop_source(void)
{
	for (int i = 0; i < 2; i++) {
		if (ends[i] >= 0)
			close(ends[i]);
		ends[i] = -1;
	}
}

void recorder_end(void)
{
	drop_source();
	rig_end();
}

int make_sockets(int type)
{
	drop_source();
	return socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends);
}

int give(uint64_t from, uint64_t to)
{
	unsigned char memory[RECORD];

	for (uint64_t i = from; i < to; i++) {
		lab_fill(memory, RECORD, i);
		if (write(ends[1], memory, RECORD) != RECORD)
			return -errno;
	}
	return 0;
}

void end_source(void)
{
	close(ends[1]);
	ends[1] = -1;
}

int run(void)
{
	return chario_recorder_run(rig.stream, ends[0], &recorder);
}
