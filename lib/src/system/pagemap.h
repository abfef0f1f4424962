/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * /proc/self/pagemap: the kernel's state of the pages of this process, see
 * Documentation/admin-guide/mm/pagemap.rst of Linux.
 */
#ifndef CHARIO_PAGEMAP_H
#define CHARIO_PAGEMAP_H

#include <stddef.h>
#include <stdint.h>

/**
 * struct chario_pagemap_region - struct page_region of Linux 6.7
 * @start: address of the first byte
 * @end: address behind the last byte
 * @categories: PAGE_IS_* bits that hold for all pages of the region
 */
struct chario_pagemap_region {
	uint64_t start;
	uint64_t end;
	uint64_t categories;
};

/* Open /proc/self/pagemap.  Returns a descriptor or a negative errno. */
int chario_pagemap_open(void);

/*
 * Open a userfaultfd(2) of Linux 6.7 that protects pages asynchronously: the first write to
 * a page lifts its protection, and nobody is told.  A descriptor or a negative errno.
 *
 * It needs no right, as it is one of UFFD_USER_MODE_ONLY: that forbids to handle faults of
 * the kernel, and here no fault is handled.
 */
int chario_pagemap_open_faults(void);

/*
 * Find the written pages between *@start and @end in memory with an asynchronous
 * userfaultfd (PAGEMAP_SCAN of Linux 6.7).  Sets *@start to the end of the search, for the
 * next call.  Returns the number of regions filled in, or a negative errno.
 *
 * chario_pagemap_protect() also protects each page again in the same step that reports it;
 * without regions it protects all pages.
 */
int chario_pagemap_find(int fd, uint64_t *start, uint64_t end,
			struct chario_pagemap_region *regions, size_t nr_regions);
int chario_pagemap_protect(int fd, uint64_t *start, uint64_t end,
			   struct chario_pagemap_region *regions, size_t nr_regions);

#endif /* CHARIO_PAGEMAP_H */
