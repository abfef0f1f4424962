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
#include <liburing.h>
#include <linux/userfaultfd.h>
#include <sys/syscall.h>

#include "common.h"

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
	struct uffdio_api api = { .api = UFFD_API };
	char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct uffdio_register all = {
		.range = { (uintptr_t)at, bytes },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	pthread_t thread;

	faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	if (at == MAP_FAILED || faults < 0 || ioctl(faults, UFFDIO_API, &api) ||
	    ioctl(faults, UFFDIO_REGISTER, &all))
		die("userfaultfd");
	if (pthread_create(&thread, NULL, provide, &faults))
		die("no thread");
	return at;
}

static int open_disk(const char *path)
{
	struct chario_file_options options = { .size = sizeof(options),
					       .deadline_ns = DEADLINE_NS };
	int fd = open(path, O_RDONLY);

	if (fd < 0 || ioctl(fd, CHARIO_IOC_SET_FILE, &options))
		die("%s", path);
	return fd;
}

static void submit(struct io_uring *ring, int fd, unsigned int depth, size_t bytes, char *to)
{
	errno = -io_uring_queue_init(depth, ring, 0);
	if (errno)
		die("io_uring_queue_init");
	for (unsigned int i = 0; i < depth; i++)
		io_uring_prep_read(io_uring_get_sqe(ring), fd, to + i * bytes, (unsigned int)bytes,
				   i * bytes);
	if (io_uring_submit(ring) != (int)depth)
		die("io_uring_submit");
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
	fd = open_disk(argv[1]);
	depth = (unsigned int)number(argv[2]);
	bytes = number(argv[3]);
	late = map_late(depth * bytes);
	submit(&ring, fd, depth, bytes, late);
	for (unsigned int i = 0; i < depth; i++) {
		struct io_uring_cqe *cqe;

		errno = -io_uring_wait_cqe(&ring, &cqe);
		if (errno)
			die("io_uring_wait_cqe");
		errno = cqe->res < 0 ? -cqe->res : 0;
		if (errno)
			die("a read");
		come += (size_t)cqe->res;
		io_uring_cqe_seen(&ring, cqe);
	}
	plain = aligned_alloc(PAGE, depth * bytes);
	if (!plain || pread(fd, plain, depth * bytes, 0) != (ssize_t)(depth * bytes))
		die("pread");
	if (memcmp(late, plain, depth * bytes))
		die("other bytes");
	printf("%zu\n", come);
	return 0;
}
