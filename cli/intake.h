/* SPDX-License-Identifier: MIT */
/*
 * The source of a recording: a stream of bytes (a file, a pipe, a connection), or
 * datagrams, each of which is a record.
 */
#ifndef CHARIO_CLI_INTAKE_H
#define CHARIO_CLI_INTAKE_H

#include <sys/types.h>

#include "cli.h"

/**
 * struct cli_intake - an open source
 * @name: name as given, for messages
 * @fd: descriptor to poll and to read
 * @datagrams: true if each read gives one datagram, which is a record
 * @path: path of a socket that was created here and is removed at the end; else NULL
 * @inode: number of the inode of @path
 */
struct cli_intake {
	const char *name;
	int fd;
	bool datagrams;
	const char *path;
	ino_t inode;
};

/*
 * Open "-", FILE, unix:PATH, udp:[SOURCE@]HOST[%INTERFACE]:PORT or
 * tcp:HOST[%INTERFACE]:PORT.  Returns CLI_OK, or an exit code after a message.
 */
int cli_intake_open(const struct cli *cli, struct cli_intake *intake, const char *from);
void cli_intake_close(struct cli_intake *intake);

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
