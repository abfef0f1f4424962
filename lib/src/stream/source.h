/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A source: the descriptor that a recorder reads.
 *
 * A read of a stream of bytes may end anywhere.  A read of any other source takes a whole
 * unit from the kernel, and the kernel drops the part that the reader has no room for.
 *
 * source.c		the kind of a source, its pipes and devices
 * source-socket.c	sockets
 */
#ifndef CHARIO_STREAM_SOURCE_H
#define CHARIO_STREAM_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Length of a read that cuts no packet of a pipe, which is at most a page, nor an event of most
 * devices.
 */
#define STREAM_SOURCE_UNIT 65536U

/* Bytes that a drain takes at most of a source that does not tell how many wait. */
#define STREAM_SOURCE_QUEUE (16U << 20)

/**
 * enum stream_source_kind - the kind of a source
 * @STREAM_SOURCE_BYTES: a stream of bytes
 * @STREAM_SOURCE_PIPE: a pipe: bytes, or packets if the writer has set O_DIRECT
 * @STREAM_SOURCE_DATAGRAMS: a socket that keeps the boundaries of messages
 * @STREAM_SOURCE_EVENTS: a device, or a descriptor such as that of inotify(7), of which each
 *	read gives whole events
 */
enum stream_source_kind {
	STREAM_SOURCE_BYTES,
	STREAM_SOURCE_PIPE,
	STREAM_SOURCE_DATAGRAMS,
	STREAM_SOURCE_EVENTS,
};

/**
 * struct stream_source - a source
 * @fd: descriptor to poll and to read
 * @kind: kind of the source
 * @dropped: number of datagrams that the kernel had no room for, as far as they are counted
 * @probe: pipe that shows whether a pipe gives packets; only of a pipe
 * @is_socket: true for a socket of any kind
 * @is_unix: true for a datagram socket of unix(7)
 * @has_times: true for a socket whose datagrams have a time of arrival
 * @is_device: true for a character device
 * @is_log: true for the log of the kernel, /dev/kmsg
 * @next_line: number of the next line of this log; 0 before the first
 */
struct stream_source {
	int fd;
	enum stream_source_kind kind;
	uint32_t dropped;
	int probe[2];
	bool is_socket;
	bool is_unix;
	bool has_times;
	bool is_device;
	bool is_log;
	uint64_t next_line;
};

/**
 * struct stream_taken - the result of a read
 * @bytes: number of bytes read; of a datagram its whole length, if the protocol tells it
 * @cut: true if the kernel has dropped the end of a datagram
 * @time_ns: time of arrival in nanoseconds since 1970; 0 if unknown
 * @lost: number of units before this one that the kernel had no room for
 * @charge: memory of the kernel that the read has freed, at least, in bytes
 */
struct stream_taken {
	size_t bytes;
	bool cut;
	uint64_t time_ns;
	uint64_t lost;
	uint64_t charge;
};

/* Find the kind of a descriptor.  Returns 0 or a negative errno. */
int chario_source_open(struct stream_source *source, int fd);
void chario_source_close(struct stream_source *source);

/*
 * Returns 1 if the next read takes a whole unit, 0 if not, or a negative errno: -ENOBUFS if
 * there is no room for the look at a pipe.  Only a pipe that is readable is asked.
 */
int chario_source_is_whole(struct stream_source *source);

/*
 * Read once.  Returns 1 if there were bytes or an empty datagram, 0 at the end, -EAGAIN if there
 * is nothing now, or another negative errno.
 */
int chario_source_read(struct stream_source *source, void *memory, size_t bytes,
		       struct stream_taken *taken);

/*
 * Returns an upper bound of the memory in which data wait in the kernel, which ends a drain of
 * a source that never stops; 0 if no data can be lost there.
 */
uint64_t chario_source_waiting(const struct stream_source *source);

/* Returns the number of bytes that wait in the kernel, as far as the kernel tells it. */
uint64_t chario_source_unread(const struct stream_source *source);

/* of source-socket.c */

/*
 * Take the errors that poll(2) reports of a socket without data, those of its error queue too.
 * Returns 0, a negative errno that a read would have returned, -EIO if the error stays, or
 * -ENOTSOCK.
 */
int chario_source_take_errors(const struct stream_source *source);

void chario_source_prepare_socket(struct stream_source *source);
int chario_source_receive(struct stream_source *source, void *memory, size_t bytes,
			  struct stream_taken *taken);

/* Returns the number of datagrams that the kernel has dropped and no datagram has reported. */
uint64_t chario_source_find_dropped(struct stream_source *source);

uint64_t chario_source_queued(const struct stream_source *source);

#endif /* CHARIO_STREAM_SOURCE_H */
