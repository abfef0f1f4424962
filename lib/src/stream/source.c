// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* The source of a recorder: its kind, pipes and devices. */
#include "stream/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "system/scope.h"

/* Documentation/admin-guide/devices.txt of Linux. */
#define MEMORY_MAJOR 1
#define LOG_MINOR    11

static bool is_log(const struct stat *file)
{
	return S_ISCHR(file->st_mode) && major(file->st_rdev) == MEMORY_MAJOR &&
	       minor(file->st_rdev) == LOG_MINOR;
}

/* Returns whether a descriptor has a place that moves, as that of a disk has. */
static bool has_place(int fd)
{
	off_t place = lseek(fd, 0, SEEK_CUR);

	if (place < 0 || lseek(fd, 1, SEEK_CUR) == place)
		return false;
	return lseek(fd, place, SEEK_SET) == place;
}

/*
 * Returns whether a character device is a stream of bytes: a terminal, a disk, /dev/zero and
 * its like.  All others may give whole events, and lose the part of one that is not read.
 */
static bool is_stream(int fd, const struct stat *file)
{
	if (is_log(file))
		return false;
	return major(file->st_rdev) == MEMORY_MAJOR || isatty(fd) || has_place(fd);
}

static enum stream_source_kind kind_of_socket(int fd)
{
	int type = SOCK_STREAM;
	socklen_t length = sizeof(type);

	getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length);
	return type == SOCK_STREAM ? STREAM_SOURCE_BYTES : STREAM_SOURCE_DATAGRAMS;
}

/* Poll reports a socket that listens only when somebody connects, and no read gives any data. */
static bool is_listening(int fd)
{
	socklen_t length = sizeof(int);
	int is = 0;

	return !getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &is, &length) && is;
}

static enum stream_source_kind kind_of(int fd, const struct stat *file)
{
	if (S_ISSOCK(file->st_mode))
		return kind_of_socket(fd);
	if (S_ISFIFO(file->st_mode))
		return STREAM_SOURCE_PIPE;
	if (S_ISCHR(file->st_mode))
		return is_stream(fd, file) ? STREAM_SOURCE_BYTES : STREAM_SOURCE_EVENTS;
	/* Descriptors without a file, such as those of inotify(7), have no type. */
	return file->st_mode & S_IFMT ? STREAM_SOURCE_BYTES : STREAM_SOURCE_EVENTS;
}

int chario_source_open(struct stream_source *source, int fd)
{
	int flags = fcntl(fd, F_GETFL);
	struct stat file;

	*source = (struct stream_source){ .fd = fd, .probe = { -1, -1 } };
	if (flags < 0 || fstat(fd, &file))
		return -errno;
	/* Poll reports nothing to read of the end of a pipe that is written. */
	if ((flags & O_ACCMODE) == O_WRONLY)
		return -EBADF;
	source->kind = kind_of(fd, &file);
	source->is_socket = S_ISSOCK(file.st_mode);
	source->is_device = S_ISCHR(file.st_mode);
	source->is_log = is_log(&file);
	if (source->is_socket && is_listening(fd))
		return -ENOTCONN;
	if (source->kind == STREAM_SOURCE_DATAGRAMS)
		chario_source_prepare_socket(source);
	if (source->kind == STREAM_SOURCE_PIPE && pipe2(source->probe, O_CLOEXEC | O_NONBLOCK))
		return -errno;
	return 0;
}

void chario_source_close(struct stream_source *source)
{
	for (int i = 0; i < 2; i++)
		if (source->probe[i] >= 0)
			close(source->probe[i]);
}

/*
 * Returns 1 if a pipe has a packet first, 0 if it has bytes or nothing, or a negative errno.
 *
 * The reader's flags do not tell, because O_DIRECT is the writer's.  So the first byte is
 * copied to a pipe of our own with another byte behind it: a read of both ends after the first
 * only if it is of a packet.  The writer may set the flag at any time, so each read of the
 * recorder is preceded by such a look.
 */
static int has_packet(const struct stream_source *source)
{
	char bytes[2] = { 0 };
	ssize_t copied = tee(source->fd, source->probe[1], 1, SPLICE_F_NONBLOCK);
	int err = 0, is_packet;

	/* A pipe of notifications, O_NOTIFICATION_PIPE, refuses copies by EINVAL. */
	if (copied != 1)
		return !copied || errno == EAGAIN || errno == EINTR || errno == EINVAL ? 0 : -errno;
	if (write(source->probe[1], bytes, 1) != 1)
		err = errno == EAGAIN ? -ENOBUFS : -errno;
	is_packet = read(source->probe[0], bytes, 2) == 1;
	if (err)
		return err;
	return is_packet && read(source->probe[0], bytes, 1) == 1;
}

int chario_source_is_whole(struct stream_source *source)
{
	if (source->kind == STREAM_SOURCE_PIPE)
		return has_packet(source);
	return source->kind != STREAM_SOURCE_BYTES;
}

/*
 * Count the lines that were overwritten before they were read.  A line begins with its
 * priority and its number: Documentation/ABI/testing/dev-kmsg of Linux.
 */
static void count_lines(struct stream_source *source, const char *memory, size_t bytes,
			struct stream_taken *taken)
{
	char line[64];
	unsigned long long number;

	snprintf(line, sizeof(line), "%.*s", (int)bytes, memory);
	if (sscanf(line, "%*u,%llu,", &number) != 1)
		return;
	if (source->next_line && number > source->next_line)
		taken->lost = number - source->next_line;
	source->next_line = number + 1;
}

static int fail(const struct stream_source *source)
{
	/* The log of the kernel reports lines that were overwritten by EPIPE, once. */
	return errno == EINTR || (errno == EPIPE && source->is_log) ? -EAGAIN : -errno;
}

int chario_source_read(struct stream_source *source, void *memory, size_t bytes,
		       struct stream_taken *taken)
{
	ssize_t got;

	*taken = (struct stream_taken){ 0 };
	if (source->kind == STREAM_SOURCE_DATAGRAMS)
		return chario_source_receive(source, memory, bytes, taken);
	/* A socket that has nothing but an error in its queue would block a read. */
	got = source->is_socket ? recv(source->fd, memory, bytes, MSG_DONTWAIT) :
				  read(source->fd, memory, bytes);
	if (got <= 0)
		return got ? fail(source) : 0;
	taken->bytes = taken->charge = (size_t)got;
	if (source->is_log)
		count_lines(source, memory, taken->bytes, taken);
	return 1;
}

/* Returns whether poll(2) can tell that the descriptor has nothing; epoll takes no other. */
static bool is_pollable(int fd)
{
	int epoll CHARIO_SCOPED(chario_scope_close) = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event event = { .events = EPOLLIN };

	return epoll >= 0 && !epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

uint64_t chario_source_unread(const struct stream_source *source)
{
	int bytes = 0;

	return !ioctl(source->fd, FIONREAD, &bytes) && bytes > 0 ? (uint64_t)bytes : 0;
}

uint64_t chario_source_waiting(const struct stream_source *source)
{
	if (source->kind == STREAM_SOURCE_DATAGRAMS)
		return chario_source_queued(source);
	/* A file or a disk loses nothing, and poll(2) reports each of them as readable. */
	if (!is_pollable(source->fd))
		return 0;
	/* All others hold more than they tell: a terminal, or the peer of a connection. */
	return source->kind == STREAM_SOURCE_PIPE ? chario_source_unread(source) :
						    STREAM_SOURCE_QUEUE;
}
