/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A source: the descriptor that a recorder reads; it gives a stream of bytes, or datagrams.
 */
#ifndef CHARIO_STREAM_SOURCE_H
#define CHARIO_STREAM_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * struct stream_source - a source
 * @fd: descriptor to poll and to read
 * @datagrams: true for a socket, of which each read gives one record
 * @overflow: number of datagrams that the kernel had no room for, so far
 */
struct stream_source {
	int fd;
	bool datagrams;
	uint32_t overflow;
};

/**
 * struct stream_taken - the result of a read
 * @bytes: number of bytes read; of a datagram its whole length, which is more than was
 *	asked for if it was too long
 * @time_ns: time of arrival in nanoseconds since 1970; 0 if unknown
 * @lost: number of datagrams before this one that the kernel had no room for
 */
struct stream_taken {
	size_t bytes;
	uint64_t time_ns;
	uint64_t lost;
};

/*
 * Read once.  Returns 1 if there were bytes, 0 at the end, -EAGAIN if there is nothing now, or
 * another negative errno.
 */
int chario_source_read(struct stream_source *source, void *memory, size_t bytes,
		       struct stream_taken *taken);

#endif /* CHARIO_STREAM_SOURCE_H */
