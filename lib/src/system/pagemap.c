// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * /proc/self/pagemap.
 */
#include "system/pagemap.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "system/sys.h"

/* struct pm_scan_arg of Linux 6.7; the headers of Debian 12 do not have it. */
struct scan {
	uint64_t size;
	uint64_t flags;
	uint64_t start;
	uint64_t end;
	uint64_t walk_end;
	uint64_t regions;
	uint64_t nr_regions;
	uint64_t max_pages;
	uint64_t category_inverted;
	uint64_t category_mask;
	uint64_t category_anyof_mask;
	uint64_t return_mask;
};

#define SCAN             _IOWR('f', 16, struct scan)
#define SCAN_PROTECT     (1U << 0) /* PM_SCAN_WP_MATCHING */
#define SCAN_CHECK_ASYNC (1U << 1) /* PM_SCAN_CHECK_WPASYNC */
#define CATEGORY_WRITTEN (1U << 1) /* PAGE_IS_WRITTEN */

/* Largest number of regions that one call of the kernel lists. */
#define NR_REGIONS 256

/* These features are of Linux 6.4 and 6.7; the headers of Debian 12 do not have them. */
#define FEATURE_WP_UNPOPULATED (UINT64_C(1) << 13)
#define FEATURE_WP_ASYNC       (UINT64_C(1) << 15)

int chario_pagemap_open(void)
{
	return chario_sys.open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
}

int chario_pagemap_open_faults(void)
{
	struct uffdio_api api = {
		.api = UFFD_API,
		.features = UFFD_FEATURE_PAGEFAULT_FLAG_WP | UFFD_FEATURE_WP_HUGETLBFS_SHMEM |
			    FEATURE_WP_UNPOPULATED | FEATURE_WP_ASYNC,
	};
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);
	int err;

	if (fd < 0)
		return -errno;
	err = chario_sys.ioctl(fd, UFFDIO_API, &api);
	if (!err)
		return fd;
	close(fd);
	return err;
}

int chario_pagemap_each(int fd, bool protect, uint64_t start, uint64_t end,
			chario_pagemap_visit *visit, void *data)
{
	struct chario_pagemap_region regions[NR_REGIONS];
	struct scan args = {
		.size = sizeof(args),
		.flags = SCAN_CHECK_ASYNC | (protect ? SCAN_PROTECT : 0),
		.walk_end = start,
		.end = end,
		.regions = visit ? (uintptr_t)regions : 0,
		.nr_regions = visit ? NR_REGIONS : 0,
		.category_mask = CATEGORY_WRITTEN,
		.return_mask = CATEGORY_WRITTEN,
	};

	do {
		int nr;

		args.start = args.walk_end;
		nr = chario_sys.ioctl(fd, SCAN, &args);
		if (nr < 0)
			return nr;
		/* Without progress the walk would never end. */
		if (args.walk_end <= args.start && args.start < end)
			return -EIO;
		for (int i = 0; i < nr; i++)
			visit(&regions[i], data);
	} while (args.walk_end < end);
	return 0;
}
