// SPDX-License-Identifier: MIT
/*
 * Reads a part of a disk into a mapping of a file.
 *
 *	dirty_pages DEVICE FILE BYTES WAY SENT
 *
 * FILE has BYTES bytes.  WAY is pread, ring or ring-poll.  The file SENT appears
 * when the read is about to be made, or has been submitted.  Prints what the read
 * has given.
 */
#include "ring.h"

static long by_ring(int fd, char *to, unsigned int bytes, unsigned int flags, const char *sent)
{
	struct io_uring ring;

	ring_init(&ring, 1, flags);
	io_uring_prep_read(io_uring_get_sqe(&ring), fd, to, bytes, 0);
	ring_submit(&ring, 1);
	touch(sent);
	return ring_reap(&ring);
}

int main(int argc, char **argv)
{
	const char *way, *sent;
	unsigned int bytes;
	int disk;
	long got;
	char *at;

	if (argc != 6)
		die("usage: dirty_pages DEVICE FILE BYTES WAY SENT");
	bytes = (unsigned int)number(argv[3]);
	way = argv[4];
	sent = argv[5];
	disk = must_open(argv[1], O_RDONLY | O_DIRECT);
	at = must_map(bytes, MAP_SHARED, must_open(argv[2], O_RDWR), 0);
	if (!strcmp(way, "pread")) {
		touch(sent);
		got = pread(disk, at, bytes, 0);
	} else {
		got = by_ring(disk, at, bytes, strcmp(way, "ring") ? IORING_SETUP_IOPOLL : 0, sent);
	}
	printf("%ld\n", got < 0 ? (long)-errno : got);
	return 0;
}
