// SPDX-License-Identifier: MIT
/*
 * Reads through io_uring into memory that is not there yet.
 *
 *	late_pages DEVICE DEPTH BYTES
 *
 * DEPTH reads of BYTES each are submitted together.  Whoever pins their memory
 * sleeps, page by page, until another thread has provided it.  What has been
 * read is compared with what ordinary calls read.  Prints how many bytes came.
 */
#include "faults.h"
#include "ring.h"

#define PAGE        4096ul
#define LATE_US     20000
#define DEADLINE_NS 60000000000ull

static void *provide(void *argument)
{
	int faults = *(int *)argument;
	struct uffd_msg message;

	while (read(faults, &message, sizeof(message)) == sizeof(message)) {
		struct uffdio_zeropage zero = {
			.range = { message.arg.pagefault.address & ~(PAGE - 1), PAGE },
		};

		usleep(LATE_US);
		if (ioctl(faults, UFFDIO_ZEROPAGE, &zero) && errno != EEXIST)
			die("UFFDIO_ZEROPAGE");
	}
	return NULL;
}

static char *map_late(size_t bytes)
{
	static int faults;
	char *at = must_map_own(bytes, 0);
	pthread_t thread;

	faults = faults_of(at, bytes);
	must_start(&thread, provide, &faults);
	return at;
}

static void submit(struct io_uring *ring, int fd, unsigned int depth, size_t bytes, char *to)
{
	ring_init(ring, depth, 0);
	for (unsigned int i = 0; i < depth; i++)
		io_uring_prep_read(io_uring_get_sqe(ring), fd, to + i * bytes, (unsigned int)bytes,
				   i * bytes);
	ring_submit(ring, depth);
}

int main(int argc, char **argv)
{
	struct io_uring ring;
	unsigned int depth;
	size_t bytes, come = 0;
	char *late, *plain;
	int fd;

	if (argc != 4)
		die("usage: late_pages DEVICE DEPTH BYTES");
	fd = must_open(argv[1], O_RDONLY);
	must_set_file(fd, DEADLINE_NS, 0);
	depth = (unsigned int)number(argv[2]);
	bytes = number(argv[3]);
	late = map_late(depth * bytes);
	submit(&ring, fd, depth, bytes, late);
	for (unsigned int i = 0; i < depth; i++)
		come += (size_t)must(ring_reap(&ring), "a read");
	plain = aligned_alloc(PAGE, depth * bytes);
	if (!plain || pread(fd, plain, depth * bytes, 0) != (ssize_t)(depth * bytes))
		die("pread");
	if (memcmp(late, plain, depth * bytes))
		die("other bytes");
	printf("%zu\n", come);
	return 0;
}
