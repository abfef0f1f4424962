// SPDX-License-Identifier: MIT
/*
 * Calls on a disk with nothing around them, for the kernel's tracing.
 *
 *	hotpath DEVICE KIND BYTES CALLS
 *
 * KIND is read, write, read-polled, write-polled, uring-read, uring-write, or
 * control: a pipe made and closed, which allocates.  After a warm-up the
 * process switches tracing on for itself, makes the calls, and switches it off:
 * whoever runs it has chosen the events.
 *
 *	hotpath DEVICE KIND BYTES CALLS fail
 *
 * Instead of tracing, every allocation of the process is made to fail during
 * the calls: the slab's and the page allocator's fault injection must have been set
 * up with task-filter.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <liburing.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common.h"

#define WARM_UP 64
#define TRACING "/sys/kernel/tracing/"
#define FAIL    "/proc/self/make-it-fail"

static struct io_uring ring;
static char *buffer;
static int fd;

static void put(int file, const char *text)
{
	if (pwrite(file, text, strlen(text), 0) != (ssize_t)strlen(text))
		die("cannot write %s", text);
}

static ssize_t by_ring(bool write, uint64_t bytes)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);
	struct io_uring_cqe *cqe;
	ssize_t done;

	if (write)
		io_uring_prep_write(sqe, fd, buffer, (unsigned int)bytes, 0);
	else
		io_uring_prep_read(sqe, fd, buffer, (unsigned int)bytes, 0);
	if (io_uring_submit_and_wait(&ring, 1) != 1 || io_uring_wait_cqe(&ring, &cqe))
		die("io_uring_enter");
	done = cqe->res;
	io_uring_cqe_seen(&ring, cqe);
	return done;
}

static ssize_t control(uint64_t bytes)
{
	int ends[2];

	if (pipe(ends))
		return -1;
	close(ends[0]);
	close(ends[1]);
	return (ssize_t)bytes;
}

static ssize_t call(const char *kind, uint64_t bytes)
{
	struct iovec v = { buffer, bytes };

	if (!strcmp(kind, "read"))
		return pread(fd, buffer, bytes, 0);
	if (!strcmp(kind, "write"))
		return pwrite(fd, buffer, bytes, 0);
	if (!strcmp(kind, "read-polled"))
		return preadv2(fd, &v, 1, 0, RWF_HIPRI);
	if (!strcmp(kind, "write-polled"))
		return pwritev2(fd, &v, 1, 0, RWF_HIPRI);
	if (!strcmp(kind, "uring-read"))
		return by_ring(false, bytes);
	if (!strcmp(kind, "uring-write"))
		return by_ring(true, bytes);
	if (!strcmp(kind, "control"))
		return control(bytes);
	die("no such kind: %s", kind);
}

/* Calls that came to all they should. */
static uint64_t run(const char *kind, uint64_t bytes, uint64_t calls)
{
	uint64_t good = 0;

	for (uint64_t i = 0; i < calls; i++)
		good += call(kind, bytes) == (ssize_t)bytes;
	return good;
}

int main(int argc, char **argv)
{
	uint64_t bytes, calls, good;
	int file;
	bool fail;

	if (argc < 5)
		die("usage: hotpath DEVICE KIND BYTES CALLS [fail]");
	bytes = number(argv[3]);
	calls = number(argv[4]);
	fail = argc > 5;
	fd = open(argv[1], O_RDWR);
	if (fd < 0)
		die("%s", argv[1]);
	buffer = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (buffer == MAP_FAILED || io_uring_queue_init(8, &ring, 0))
		die("set up");
	file = open(fail ? FAIL : TRACING "tracing_on", O_WRONLY);
	if (file < 0)
		die("%s", fail ? FAIL : TRACING);
	if (run(argv[2], bytes, WARM_UP) != WARM_UP)
		die("%s does not work", argv[2]);
	put(file, "1");
	good = run(argv[2], bytes, calls);
	put(file, "0");
	printf("%lu\n", good);
	return 0;
}
