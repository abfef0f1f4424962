// SPDX-License-Identifier: MIT
/* The source of a recording: a file, a pipe or a socket. */
#include "intake.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <chario/recorder.h>

#include "interrupt.h"

#define PIPE_BYTES (1 << 20)

/* files */

/* Check that the source can be read, before a recording to be replaced is lost. */
static int look_at_file(const struct cli *cli, struct cli_intake *intake)
{
	int flags = fcntl(intake->fd, F_GETFL);
	struct stat file;

	if (flags < 0 || fstat(intake->fd, &file))
		return cli_fail_file(cli, -errno, "read", intake->name);
	if (S_ISDIR(file.st_mode))
		return cli_fail_file(cli, -EISDIR, "read", intake->name);
	if ((flags & O_ACCMODE) == O_WRONLY)
		return cli_fail_file(cli, -EBADF, "read", intake->name);
	/* A failure, because this is no pipe or a larger one is not allowed, does no harm. */
	fcntl(intake->fd, F_SETPIPE_SZ, PIPE_BYTES);
	return CLI_OK;
}

/* The kernel changes what comes from a terminal, unless the terminal is raw. */
static void warn_of_terminal(const struct cli *cli, const struct cli_intake *intake)
{
	const tcflag_t changes = ISTRIP | INLCR | IGNCR | ICRNL | IUCLC | IXON | PARMRK;
	struct termios mode;
	char path[128];

	if (tcgetattr(intake->fd, &mode) ||
	    !(mode.c_lflag & (ICANON | ISIG) || mode.c_iflag & changes))
		return;
	/* The terminal may have its path in another mount namespace. */
	if (ttyname_r(intake->fd, path, sizeof(path)))
		snprintf(path, sizeof(path), "TERMINAL");
	cli_say(cli,
		"\"%s\" is a terminal that takes out or changes some bytes\n"
		"stty -F %s raw makes it give each byte as it comes",
		intake->name, path);
}

static int fail_open(const struct cli *cli, const struct cli_intake *intake, int err)
{
	struct stat file;

	/* A socket cannot be opened by its path, nor by /dev/stdin. */
	if (err == -ENXIO && !stat(intake->name, &file) && S_ISSOCK(file.st_mode))
		return cli_say(cli,
			       "\"%s\" is a socket: unix:PATH connects to the socket of a program, "
			       "and - is standard input",
			       intake->name);
	if (err == -ENOENT && strchr(intake->name, ':'))
		return cli_say(
			cli,
			"there is no file \"%s\"\n"
			"a source that is no file is unix:PATH, udp:HOST:PORT or tcp:HOST:PORT",
			intake->name);
	return cli_fail_file(cli, err, "open", intake->name);
}

static int open_file(const struct cli *cli, struct cli_intake *intake)
{
	struct stat file;
	int nonblock = 0;

	if (cli_check_path(cli, intake->name))
		return CLI_FAILED;
	/* The open of a FIFO would wait for a writer, for which the recorder waits as well. */
	if (!stat(intake->name, &file) && S_ISFIFO(file.st_mode))
		nonblock = O_NONBLOCK;
	intake->fd = open(intake->name, O_RDONLY | O_CLOEXEC | O_NOCTTY | nonblock);
	/* The open of a serial port waits for its carrier. */
	if (intake->fd < 0 && errno == EINTR && cli_interrupted()) {
		intake->ended = CHARIO_RECORDER_STOPPED;
		return CLI_OK;
	}
	if (intake->fd < 0)
		return fail_open(cli, intake, -errno);
	warn_of_terminal(cli, intake);
	return look_at_file(cli, intake);
}

/*
 * Ask for a large buffer.  If the address asks for datagrams, ask also for the time of each and the
 * number of those that the kernel had no room for, before the first comes; the recorder asks again,
 * also of standard input.  A recording works without these options, too.
 */
static void prepare_socket(const struct cli *cli, const struct cli_intake *intake)
{
	const int yes = 1;

	cli_enlarge_buffer(cli, intake);
	if (!intake->datagrams)
		return;
	setsockopt(intake->fd, SOL_SOCKET, SO_RXQ_OVFL, &yes, sizeof(yes));
	setsockopt(intake->fd, SOL_SOCKET, SO_TIMESTAMPNS, &yes, sizeof(yes));
}

bool cli_is_listening(int fd)
{
	int listens = 0;
	socklen_t size = sizeof(listens);

	return !getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) && listens;
}

/* poll(2) reports more than the hangup as soon as there has been a peer. */
bool cli_is_unconnected(int fd)
{
	struct pollfd polled = { .fd = fd, .events = POLLIN };
	struct stat file;

	return !fstat(fd, &file) && S_ISSOCK(file.st_mode) && poll(&polled, 1, 0) == 1 &&
	       polled.revents == POLLHUP;
}

static int take_standard_input(const struct cli *cli, struct cli_intake *intake)
{
	int status;

	intake->name = "standard input";
	intake->fd = STDIN_FILENO;
	intake->listens = cli_is_listening(intake->fd);
	status = look_at_file(cli, intake);
	if (status)
		return status;
	if (cli_is_unconnected(intake->fd))
		return cli_say(cli,
			       "\"%s\" is a socket without a connection\n"
			       "connect it, or have it listen, before chario gets it",
			       intake->name);
	warn_of_terminal(cli, intake);
	prepare_socket(cli, intake);
	return CLI_OK;
}

int cli_intake_open(const struct cli *cli, struct cli_intake *intake, const char *from,
		    uint64_t limit_ns)
{
	int status;

	*intake = (struct cli_intake){ .name = from,
				       .fd = -1,
				       .left_ns = limit_ns ? limit_ns : UINT64_MAX };
	if (!strcmp(from, "-"))
		return take_standard_input(cli, intake);
	if (!strncmp(from, "unix:", 5)) {
		status = cli_open_unix(cli, intake, from + 5);
	} else if (!strncmp(from, "udp:", 4) || !strncmp(from, "tcp:", 4)) {
		intake->datagrams = from[0] == 'u';
		status = cli_open_network(cli, intake, from + 4);
	} else {
		return open_file(cli, intake);
	}
	if (!status && !intake->ended)
		prepare_socket(cli, intake);
	return status;
}

int cli_intake_accept(const struct cli *cli, struct cli_intake *intake)
{
	int fd = -1;

	while (intake->listens) {
		if (!cli_intake_wait(intake, intake->fd, POLLIN))
			return 0;
		fd = accept4(intake->fd, NULL, NULL, SOCK_CLOEXEC);
		/* The peer may have gone, or another program may have taken its connection. */
		if (fd < 0 && errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
			return -errno;
		intake->listens = fd < 0;
	}
	if (fd < 0)
		return 0;
	if (intake->fd > STDIN_FILENO)
		close(intake->fd);
	intake->fd = fd;
	prepare_socket(cli, intake);
	return 0;
}

void cli_intake_close(struct cli_intake *intake)
{
	cli_remove_socket(intake);
	if (intake->fd > STDIN_FILENO)
		close(intake->fd);
	intake->fd = -1;
}
