/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * /proc/self/pagemap: the kernel's state of the pages of this process, see
 * Documentation/admin-guide/mm/pagemap.rst of Linux.
 */
#ifndef CHARIO_PAGEMAP_H
#define CHARIO_PAGEMAP_H

#include <stdbool.h>
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

/* is told of a region of written pages */
typedef void chario_pagemap_visit(const struct chario_pagemap_region *region, void *data);

/*
 * Find the written pages between @start and @end in memory with an asynchronous userfaultfd
 * (PAGEMAP_SCAN of Linux 6.7).  With @protect each page is also protected again in the same
 * step that reports it; without a visitor all pages are protected.  Returns 0 or a negative
 * errno.
 */
int chario_pagemap_each(int fd, bool protect, uint64_t start, uint64_t end,
			chario_pagemap_visit *visit, void *data);

#endif /* CHARIO_PAGEMAP_H */
