// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Sockets as sources.
 *
 * The kernel counts the datagrams that it has dropped because the program was too slow.  A
 * datagram that arrives later brings the count, SO_RXQ_OVFL of socket(7), and so the place of
 * the loss; SO_MEMINFO reads the count without a datagram.
 */
#include <errno.h>
#include <linux/sock_diag.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "stream/source.h"

#define NS_PER_S 1000000000ULL

/* The memory of a datagram beside its data is larger than this in all releases of Linux. */
#define OVERHEAD 256U

void chario_source_prepare_socket(struct stream_source *source)
{
	const int yes = 1;
	int domain = AF_UNSPEC;
	socklen_t length = sizeof(domain);

	getsockopt(source->fd, SOL_SOCKET, SO_DOMAIN, &domain, &length);
	source->is_unix = domain == AF_UNIX;

	/* Protocols without these options have no count of losses, and no time of arrival. */
	setsockopt(source->fd, SOL_SOCKET, SO_RXQ_OVFL, &yes, sizeof(yes));
	source->has_times = !setsockopt(source->fd, SOL_SOCKET, SO_TIMESTAMPNS, &yes, sizeof(yes));
}

/*
 * Returns the number of losses that a count of the kernel adds.  A datagram may have been
 * queued with a count that is older than the last one seen; counts wrap around.
 */
static uint64_t advance(struct stream_source *source, uint32_t dropped)
{
	uint32_t more = dropped - source->dropped;

	if (more > INT32_MAX)
		return 0;
	source->dropped = dropped;
	return more;
}

static void look_at(struct stream_source *source, struct cmsghdr *message,
		    struct stream_taken *taken)
{
	struct timespec time;
	uint32_t dropped;

	if (message->cmsg_level != SOL_SOCKET)
		return;
	if (message->cmsg_type == SO_RXQ_OVFL) {
		memcpy(&dropped, CMSG_DATA(message), sizeof(dropped));
		taken->lost = advance(source, dropped);
	} else if (message->cmsg_type == SO_TIMESTAMPNS) {
		memcpy(&time, CMSG_DATA(message), sizeof(time));
		taken->time_ns = (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_nsec;
	}
}

static ssize_t receive(struct stream_source *source, void *memory, size_t bytes,
		       struct stream_taken *taken)
{
	union {
		char bytes[256];
		struct cmsghdr align;
	} control;
	/*
	 * A sender of unix(7) may pass descriptors, which are given behind the time.  There is no
	 * room for them: the end of a foreign file may last, and close(2) waits for it.  These
	 * sockets drop no datagrams, so no count of losses needs room, either.
	 */
	size_t times = source->has_times ? CMSG_SPACE(sizeof(struct timespec)) : 0;
	struct iovec piece = { memory, bytes };
	struct msghdr message = {
		.msg_iov = &piece,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = source->is_unix ? times : sizeof(control.bytes),
	};
	ssize_t got = recvmsg(source->fd, &message, MSG_DONTWAIT | MSG_TRUNC);
	struct cmsghdr *header;

	for (header = got < 0 ? NULL : CMSG_FIRSTHDR(&message); header;
	     header = CMSG_NXTHDR(&message, header))
		look_at(source, header, taken);
	/* Not all protocols return the whole length of a datagram that was cut. */
	taken->cut = got >= 0 && message.msg_flags & MSG_TRUNC;
	return got;
}

/*
 * Returns whether a read without bytes is the end.  A datagram may be empty, but nothing
 * follows when the peer has gone, or this side was shut down, and the queue has no bytes.
 */
static bool is_end(const struct stream_source *source)
{
	struct pollfd polled = { .fd = source->fd, .events = POLLRDHUP };
	int bytes = 0;

	if (poll(&polled, 1, 0) <= 0 || !(polled.revents & (POLLRDHUP | POLLHUP)))
		return false;
	return ioctl(source->fd, FIONREAD, &bytes) || !bytes;
}

int chario_source_receive(struct stream_source *source, void *memory, size_t bytes,
			  struct stream_taken *taken)
{
	ssize_t got = receive(source, memory, bytes, taken);

	/* netlink(7) counts what ENOBUFS reports as dropped; ECONNREFUSED is of what was sent. */
	if (got < 0 && (errno == EINTR || errno == ENOBUFS || errno == ECONNREFUSED))
		return -EAGAIN;
	if (got < 0 && errno != EAGAIN)
		return -errno;
	if (got <= 0 && is_end(source))
		return 0;
	if (got < 0)
		return -EAGAIN;
	taken->bytes = (size_t)got;
	taken->charge = taken->bytes + OVERHEAD;
	return 1;
}

/*
 * Messages of the error queue, ip(7), are reports of what a program with the same socket has
 * sent, such as errors that ICMP brings, or times of sending.  None of them is data.
 */
int chario_source_take_errors(const struct stream_source *source)
{
	struct msghdr message = { 0 };
	socklen_t length = sizeof(int);
	int nr_taken = 0, err = 0;

	if (!source->is_socket)
		return -ENOTSOCK;
	if (getsockopt(source->fd, SOL_SOCKET, SO_ERROR, &err, &length))
		return -errno;
	/*
	 * The count of losses tells of ENOBUFS, see chario_source_receive(); that nobody takes what
	 * was sent is no matter of what comes.
	 */
	if (err)
		return err == ENOBUFS || err == ECONNREFUSED ? 0 : -err;
	while (recvmsg(source->fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT) >= 0)
		nr_taken++;
	return nr_taken ? 0 : -EIO;
}

static bool get_memory(const struct stream_source *source, uint32_t (*memory)[SK_MEMINFO_VARS])
{
	socklen_t length = sizeof(*memory);

	return !getsockopt(source->fd, SOL_SOCKET, SO_MEMINFO, *memory, &length) &&
	       length == sizeof(*memory);
}

uint64_t chario_source_find_dropped(struct stream_source *source)
{
	uint32_t memory[SK_MEMINFO_VARS];

	if (source->kind != STREAM_SOURCE_DATAGRAMS || !get_memory(source, &memory))
		return 0;
	return advance(source, memory[SK_MEMINFO_DROPS]);
}

/* Returns an upper bound of the charge of all datagrams that are queued. */
uint64_t chario_source_queued(const struct stream_source *source)
{
	uint32_t memory[SK_MEMINFO_VARS];

	/* The memory of unix(7) is counted at the senders. */
	if (source->is_unix || !get_memory(source, &memory))
		return STREAM_SOURCE_QUEUE;
	return memory[SK_MEMINFO_RMEM_ALLOC];
}
