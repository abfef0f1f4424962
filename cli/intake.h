/* SPDX-License-Identifier: MIT */
/*
 * The source of a recording: a file, a pipe, a device, a connection or a socket for datagrams.
 * The library finds out where its records begin and end.
 */
#ifndef CHARIO_CLI_INTAKE_H
#define CHARIO_CLI_INTAKE_H

#include <sys/types.h>

#include "cli.h"

/**
 * struct cli_intake - an open source
 * @name: name as given, for messages
 * @fd: descriptor to poll and to read
 * @datagrams: true if the address asks for datagrams; of standard input the library finds it out
 * @path: path of a socket that was created here and is removed at the end; else NULL
 * @inode: number of the inode of @path
 * @listens: true if @fd is a socket that waits for a connection
 * @left_ns: time in nanoseconds that is left to record; UINT64_MAX without a limit
 * @ended: CHARIO_RECORDER_STOPPED or CHARIO_RECORDER_LIMIT if a signal or @left_ns has ended the
 *	wait for the peer; else 0
 */
struct cli_intake {
	const char *name;
	int fd;
	bool datagrams;
	const char *path;
	ino_t inode;
	bool listens;
	uint64_t left_ns;
	unsigned int ended;
};

/*
 * Open "-", FILE, unix:PATH, udp:[SOURCE@]HOST[%INTERFACE]:PORT or
 * tcp:HOST[%INTERFACE]:PORT, for a recording of @limit_ns; 0 for no limit.  Returns CLI_OK,
 * also if that has ended, see @ended, or an exit code after a message.
 */
int cli_intake_open(const struct cli *cli, struct cli_intake *intake, const char *from,
		    uint64_t limit_ns);
void cli_intake_close(struct cli_intake *intake);

/*
 * Have the first connection as the source if the socket waits for one.  Returns 0, also if that
 * has ended, see @ended, or a negative errno.
 */
int cli_intake_accept(const struct cli *cli, struct cli_intake *intake);

/* Returns whether this is a socket for connections, such as those of inetd and of systemd. */
bool cli_is_listening(int fd);

/* Returns whether this is a socket that has no peer, and none is on its way. */
bool cli_is_unconnected(int fd);

/* intake-wait.c */

/* Wait for the events of poll(2).  Returns false if that has ended, see @ended. */
bool cli_intake_wait(struct cli_intake *intake, int fd, short events);

/* Wait before a call that has failed is tried again.  Returns as cli_intake_wait(). */
bool cli_intake_wait_to_retry(struct cli_intake *intake);

/* network.c */

/* Open an address of the network, for datagrams or a connection.  Returns as cli_intake_open(). */
int cli_open_network(const struct cli *cli, struct cli_intake *intake, const char *text);

/* Ask for a large buffer for the datagrams of a socket; say so if the kernel refuses it. */
void cli_enlarge_buffer(const struct cli *cli, const struct cli_intake *intake);

/* unix-socket.c */

/*
 * Connect to the socket at a path, or make one for datagrams if there is none, or only one
 * that a killed program has left.  Returns as cli_intake_open().
 */
int cli_open_unix(const struct cli *cli, struct cli_intake *intake, const char *path);

/* Remove the socket that cli_open_unix() has made, unless another is at its path by now. */
void cli_remove_socket(struct cli_intake *intake);

#endif /* CHARIO_CLI_INTAKE_H */
