// SPDX-License-Identifier: MIT
/*
 * Sources of a recording on this machine: connections to sockets, and sockets for datagrams.
 *
 * A socket stays at its path when its program is killed.  Nobody can listen at it again, so it
 * is removed.  Two recorders may find it at the same time: each moves what is at the path
 * aside, looks whether that is still the dead socket, and otherwise puts it back.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "intake.h"

/**
 * struct local - the address of a socket
 * @address: address; an abstract one begins with a zero
 * @bytes: length of @address
 * @path: path; NULL for an abstract address
 */
struct local {
	struct sockaddr_un address;
	socklen_t bytes;
	const char *path;
};

/* Open a socket.  Returns 0 if it is connected, or a negative errno, and then it is closed. */
static int try_connect(int *fd, const struct local *local, int type)
{
	int err;

	*fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (*fd < 0)
		return -errno;
	if (!connect(*fd, (const struct sockaddr *)&local->address, local->bytes))
		return 0;
	err = -errno;
	close(*fd);
	*fd = -1;
	return err;
}

/* A program that has not accepted earlier connections yet may have no room for one more. */
static int connect_socket(struct cli_intake *intake, const struct local *local)
{
	int err;

	do {
		err = try_connect(&intake->fd, local, SOCK_STREAM);
		intake->datagrams = err == -EPROTOTYPE;
		if (intake->datagrams)
			err = try_connect(&intake->fd, local, SOCK_SEQPACKET);
	} while (err == -EAGAIN && cli_intake_wait_to_retry(intake));
	return err;
}

static int bind_socket(struct cli_intake *intake, const struct local *local)
{
	struct stat status;
	int err;

	intake->datagrams = true;
	intake->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (intake->fd < 0)
		return -errno;
	if (!bind(intake->fd, (const struct sockaddr *)&local->address, local->bytes)) {
		if (local->path && !lstat(local->path, &status)) {
			intake->path = local->path;
			intake->inode = status.st_ino;
		}
		return 0;
	}
	err = -errno;
	close(intake->fd);
	intake->fd = -1;
	/* A symbolic link to nothing is in the way as a socket is. */
	if (err == -EADDRINUSE && local->path && !lstat(local->path, &status) &&
	    !S_ISSOCK(status.st_mode))
		err = -ENOTSOCK;
	return err;
}

/*
 * Returns whether no program has the socket.  A socket of another type would refuse datagrams
 * by another error, even if its program does not listen yet.
 */
static bool is_dead(const struct local *local)
{
	int fd, err = try_connect(&fd, local, SOCK_DGRAM);

	if (!err)
		close(fd);
	return err == -ECONNREFUSED;
}

/* Say where the file of another program is, which was moved aside and cannot be moved back. */
static void tell_aside(const struct cli *cli, const char *path, const char *aside, int err)
{
	cli_say(cli,
		"another program has replaced \"%s\" meanwhile; its file is now at \"%s\", and cannot "
		"be moved back: %s\n"
		"end the program that has \"%s\" now, if there is one, and move the file back: mv %s %s",
		path, aside, strerror(-err), path, aside, path);
}

/*
 * Move aside what is at the path, and remove it if it is the file that is open as @fd.
 * Returns -ENOENT if nothing is left at the path, -EADDRINUSE if another file was there, or
 * -EOWNERDEAD if the folder or its file system does not allow that.
 */
static int remove_file(const struct cli *cli, const char *path, int fd)
{
	char aside[sizeof(((struct sockaddr_un *)0)->sun_path) + 16];
	struct stat was, is;

	snprintf(aside, sizeof(aside), "%s.%d", path, getpid());
	if (fstat(fd, &was) || renameat2(AT_FDCWD, path, AT_FDCWD, aside, RENAME_NOREPLACE))
		return errno == ENOENT ? -ENOENT : -EOWNERDEAD;
	if (lstat(aside, &is) || is.st_dev != was.st_dev || is.st_ino != was.st_ino) {
		if (renameat2(AT_FDCWD, aside, AT_FDCWD, path, RENAME_NOREPLACE))
			tell_aside(cli, path, aside, -errno);
		return -EADDRINUSE;
	}
	/* The path is free, be the dead socket left beside it or not. */
	if (unlink(aside))
		cli_say(cli, "the dead socket \"%s\" cannot be removed: %s\nremove it by hand",
			aside, strerror(errno));
	return -ENOENT;
}

/*
 * Remove a socket that no program has.  Its inode is held open meanwhile, so that its number
 * is not used again.  Returns as remove_file(), or -ENOTSOCK.
 */
static int remove_dead(const struct cli *cli, const struct local *local)
{
	int err, fd = open(local->path, O_PATH | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY);
	struct stat status;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &status))
		err = -errno;
	else if (!S_ISSOCK(status.st_mode))
		err = -ENOTSOCK;
	else if (!is_dead(local))
		err = -EADDRINUSE;
	else
		err = remove_file(cli, local->path, fd);
	close(fd);
	return err;
}

/* A dead socket is removed, but not one that a link points to. */
static int fail_file(const struct cli *cli, const char *path)
{
	struct stat status;

	if (!lstat(path, &status) && S_ISLNK(status.st_mode))
		return cli_say(cli,
			       "\"%s\" is a symbolic link, and no program has a socket where it "
			       "points\nname the path that it points to, or remove the link",
			       path);
	return cli_say(cli, "\"%s\" is no socket\nremove it, or name another path", path);
}

static int fail_socket(const struct cli *cli, const struct cli_intake *intake,
		       const struct local *local, int err)
{
	switch (err) {
	case -ENOTSOCK:
		return fail_file(cli, local->path);
	case -EOWNERDEAD:
		return cli_say(cli,
			       "the socket \"%s\" is left of a program that has ended, and cannot "
			       "be removed\nremove it by hand, or name another path",
			       local->path);
	case -EPROTOTYPE:
	case -EADDRINUSE:
		return cli_say(cli,
			       "another program has the socket \"%s\"\n"
			       "end it, or name another path; ss -xap shows which it is",
			       intake->name);
	default:
		return cli_fail_file(cli, err, intake->datagrams ? "make the socket" : "connect to",
				     intake->name);
	}
}

/* Fill in the address of a path, or of an abstract name, which begins with "@". */
static bool set_local(struct local *local, const char *path)
{
	size_t length = strlen(path);

	*local = (struct local){ .address.sun_family = AF_UNIX };
	if (!length)
		return false;
	memcpy(local->address.sun_path, path, length);
	local->bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
	if (*path == '@')
		local->address.sun_path[0] = '\0';
	else
		local->path = path;
	return *path != '@' || length > 1;
}

int cli_open_unix(const struct cli *cli, struct cli_intake *intake, const char *path)
{
	struct local local;
	int err;

	if (strlen(path) >= sizeof(local.address.sun_path))
		return cli_usage(cli,
				 "\"%s\" is too long for the path of a socket, which has at most "
				 "%zu bytes; one that begins in the working directory is shorter",
				 path, sizeof(local.address.sun_path) - 1);
	if (!set_local(&local, path))
		return cli_usage(cli, "\"%s\" is not the path of a socket", path);
	err = connect_socket(intake, &local);
	/* Nobody listens there; an abstract name leaves nothing behind. */
	if (err == -ECONNREFUSED)
		err = local.path ? remove_dead(cli, &local) : -ENOENT;
	if (err == -ENOENT)
		err = bind_socket(intake, &local);
	return err && !intake->ended ? fail_socket(cli, intake, &local, err) : CLI_OK;
}

void cli_remove_socket(struct cli_intake *intake)
{
	struct stat status;

	if (intake->path && !lstat(intake->path, &status) && status.st_ino == intake->inode)
		unlink(intake->path);
	intake->path = NULL;
}
