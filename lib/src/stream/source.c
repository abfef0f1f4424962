// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The source of a recorder.
 *
 * The kernel counts the datagrams that it has dropped because the program was too slow:
 * SO_RXQ_OVFL of socket(7).  They are lost records like all others.
 */
#include "stream/source.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000ULL

/* Close the descriptors that a datagram has brought, which nobody asked for. */
static void close_all(const struct cmsghdr *message)
{
	size_t bytes = message->cmsg_len - CMSG_LEN(0);
	int fd;

	for (size_t at = 0; at < bytes; at += sizeof(fd)) {
		memcpy(&fd, CMSG_DATA(message) + at, sizeof(fd));
		close(fd);
	}
}

static void look_at(struct stream_source *source, struct cmsghdr *message,
		    struct stream_taken *taken)
{
	struct timespec time;
	uint32_t overflow;

	if (message->cmsg_level != SOL_SOCKET)
		return;
	if (message->cmsg_type == SO_RXQ_OVFL) {
		memcpy(&overflow, CMSG_DATA(message), sizeof(overflow));
		taken->lost = overflow - source->overflow;
		source->overflow = overflow;
	} else if (message->cmsg_type == SO_TIMESTAMPNS) {
		memcpy(&time, CMSG_DATA(message), sizeof(time));
		taken->time_ns = (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_nsec;
	} else if (message->cmsg_type == SCM_RIGHTS) {
		close_all(message);
	}
}

static ssize_t receive(struct stream_source *source, void *memory, size_t bytes,
		       struct stream_taken *taken)
{
	union {
		char bytes[256];
		struct cmsghdr align;
	} control;
	struct iovec piece = { memory, bytes };
	struct msghdr message = {
		.msg_iov = &piece,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	ssize_t got = recvmsg(source->fd, &message, MSG_DONTWAIT | MSG_TRUNC | MSG_CMSG_CLOEXEC);
	struct cmsghdr *header;

	for (header = got < 0 ? NULL : CMSG_FIRSTHDR(&message); header;
	     header = CMSG_NXTHDR(&message, header))
		look_at(source, header, taken);
	return got;
}

/*
 * Returns whether an empty read is the end: it is, except for a datagram socket, whose
 * datagrams may be empty.
 */
static bool is_end(const struct stream_source *source)
{
	int type = 0;
	socklen_t length = sizeof(type);

	return !source->datagrams || getsockopt(source->fd, SOL_SOCKET, SO_TYPE, &type, &length) ||
	       type != SOCK_DGRAM;
}

int chario_source_read(struct stream_source *source, void *memory, size_t bytes,
		       struct stream_taken *taken)
{
	ssize_t got;

	*taken = (struct stream_taken){ 0 };
	got = source->datagrams ? receive(source, memory, bytes, taken) :
				  read(source->fd, memory, bytes);
	if (got < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	taken->bytes = (size_t)got;
	if (got)
		return 1;
	return is_end(source) ? 0 : -EAGAIN;
}
