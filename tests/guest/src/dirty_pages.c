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
#include <liburing.h>

#include "common.h"

static void touch(const char *path)
{
	int fd = open(path, O_CREAT | O_WRONLY, 0600);

	if (fd < 0)
		die("%s", path);
	close(fd);
}

static long by_ring(int fd, char *to, unsigned int bytes, unsigned int flags, const char *sent)
{
	struct io_uring ring;
	struct io_uring_cqe *cqe;

	errno = -io_uring_queue_init(1, &ring, flags);
	if (errno)
		die("io_uring_queue_init");
	io_uring_prep_read(io_uring_get_sqe(&ring), fd, to, bytes, 0);
	if (io_uring_submit(&ring) != 1)
		die("io_uring_submit");
	touch(sent);
	errno = -io_uring_wait_cqe(&ring, &cqe);
	if (errno)
		die("io_uring_wait_cqe");
	return cqe->res;
}

int main(int argc, char **argv)
{
	const char *way, *sent;
	unsigned int bytes;
	int disk, file;
	long got;
	char *at;

	if (argc != 6)
		die("usage: dirty_pages DEVICE FILE BYTES WAY SENT");
	bytes = (unsigned int)number(argv[3]);
	way = argv[4];
	sent = argv[5];
	disk = open(argv[1], O_RDONLY | O_DIRECT);
	file = open(argv[2], O_RDWR);
	if (disk < 0 || file < 0)
		die("cannot open %s or %s", argv[1], argv[2]);
	at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (at == MAP_FAILED)
		die("mmap");
	if (!strcmp(way, "pread")) {
		touch(sent);
		got = pread(disk, at, bytes, 0);
	} else {
		got = by_ring(disk, at, bytes, strcmp(way, "ring") ? IORING_SETUP_IOPOLL : 0, sent);
	}
	printf("%ld\n", got < 0 ? (long)-errno : got);
	return 0;
}
