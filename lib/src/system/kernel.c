// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * What the running kernel can do.  Version numbers say little: features are
 * configured, forbidden, and carried back to older kernels.
 */
#include "system/kernel.h"

#include <chario/probe.h>

#include <fcntl.h>
#include <liburing.h>
#include <linux/userfaultfd.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "system/sys.h"

/* Headers of Linux 6.1 do not know these. */
#ifndef UFFD_FEATURE_WP_ASYNC
#define UFFD_FEATURE_WP_ASYNC (1 << 15)
#endif

/* struct pm_scan_arg of <linux/fs.h> since Linux 6.7: twelve words. */
struct scan {
	uint64_t size;
	uint64_t words[11];
};

#define SCAN _IOWR('f', 16, struct scan)

#define PAGEMAP_SOFT_DIRTY (1ULL << 55)

static uint64_t uring_features(void)
{
	struct io_uring_params params = { .flags = IORING_SETUP_SQE128 | IORING_SETUP_SUBMIT_ALL |
						   IORING_SETUP_COOP_TASKRUN };
	uint64_t features = CHARIO_PROBE_URING;
	struct io_uring_probe *operations;
	struct io_uring ring;

	if (chario_sys.ring(1, &ring, &params))
		return 0;
	operations = io_uring_get_probe_ring(&ring);
	if (operations && io_uring_opcode_supported(operations, IORING_OP_URING_CMD))
		features |= CHARIO_PROBE_URING_COMMAND;
	io_uring_free_probe(operations);
	io_uring_queue_exit(&ring);
	return features;
}

/* A page that is new is dirty from the beginning, where there is such a thing. */
static bool is_soft_dirty(int pagemap, const unsigned char *page, size_t page_bytes)
{
	off_t at = (off_t)((uintptr_t)page / page_bytes * sizeof(uint64_t));
	uint64_t entry;

	return pread(pagemap, &entry, sizeof(entry), at) == (ssize_t)sizeof(entry) &&
	       (entry & PAGEMAP_SOFT_DIRTY);
}

static bool has_soft_dirty(int pagemap)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	volatile unsigned char *page;
	bool found;

	page = mmap(NULL, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return false;
	*page = 1;
	found = is_soft_dirty(pagemap, (const unsigned char *)page, page_bytes);
	munmap((void *)page, page_bytes);
	return found;
}

static bool has_scan(int pagemap)
{
	struct scan nothing = { .size = sizeof(nothing) };

	return ioctl(pagemap, SCAN, &nothing) >= 0;
}

/* Faults of user space only: that needs no right. */
static bool has_async_protection(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	long fd = syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
	bool found;

	if (fd < 0)
		return false;
	found = !ioctl((int)fd, UFFDIO_API, &api) && (api.features & UFFD_FEATURE_WP_ASYNC);
	close((int)fd);
	return found;
}

uint64_t chario_kernel_features(void)
{
	uint64_t features = uring_features();
	int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);

	if (pagemap < 0)
		return features;
	if (has_soft_dirty(pagemap))
		features |= CHARIO_PROBE_SOFT_DIRTY;
	if (has_scan(pagemap) && has_async_protection())
		features |= CHARIO_PROBE_WRITE_TRACE;
	close(pagemap);
	return features;
}
