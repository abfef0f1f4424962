/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A source: a descriptor that a recorder reads, of a stream of bytes or of datagrams.
 */
#ifndef CHARIO_STREAM_SOURCE_H
#define CHARIO_STREAM_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * struct stream_source - a source
 * @fd: to poll and to read
 * @datagrams: it is a socket, and each read is a record
 * @overflow: datagrams that the kernel had no room for, so far
 */
struct stream_source {
	int fd;
	bool datagrams;
	uint32_t overflow;
};

/**
 * struct stream_taken - what a read has given
 * @bytes: of it; of a datagram all that it had, more than were asked for where it was
 *	too long
 * @time_ns: when it arrived, nanoseconds since 1970; 0 where nobody knows
 * @lost: datagrams before it that the kernel had no room for
 */
struct stream_taken {
	size_t bytes;
	uint64_t time_ns;
	uint64_t lost;
};

/* 1 for some bytes, 0 for the end, -EAGAIN for nothing now, or a negative errno. */
int chario_source_read(struct stream_source *source, void *memory, size_t bytes,
		       struct stream_taken *taken);

#endif /* CHARIO_STREAM_SOURCE_H */
