/* SPDX-License-Identifier: MIT */
/*
 * Where a recording comes from: a stream of bytes (a file, a pipe, a connection), or
 * datagrams, each of which is a record.
 */
#ifndef CHARIO_CLI_INTAKE_H
#define CHARIO_CLI_INTAKE_H

#include "cli.h"

/**
 * struct cli_intake - an open source
 * @name: as it was given
 * @fd: to poll and to read
 * @datagrams: each read is a record
 * @socket: datagrams come with a time and a count of those that were lost
 * @path: of a socket that was made here and goes at the end; else NULL
 * @overflow: of the socket: datagrams that the kernel had no room for, so far
 */
struct cli_intake {
	const char *name;
	int fd;
	bool datagrams;
	bool socket;
	const char *path;
	uint32_t overflow;
};

/**
 * struct cli_taken - what a read has given
 * @bytes: of it; of a datagram all that it had, more than were asked for where it was
 *	too long
 * @time_ns: when it arrived, nanoseconds since 1970; 0 where nobody knows
 * @lost: datagrams before it that the kernel had no room for
 */
struct cli_taken {
	size_t bytes;
	uint64_t time_ns;
	uint64_t lost;
};

/*
 * "-", FILE, unix:PATH, udp:HOST:PORT or tcp:HOST:PORT.  CLI_OK, or a message and an
 * exit code.
 */
int cli_intake_open(const struct cli *cli, struct cli_intake *intake, const char *from);
void cli_intake_close(struct cli_intake *intake);

/* 1 for some bytes, 0 for the end, -EAGAIN for nothing now, or a negative errno. */
int cli_intake_read(struct cli_intake *intake, void *memory, size_t bytes, struct cli_taken *taken);

#endif /* CHARIO_CLI_INTAKE_H */
