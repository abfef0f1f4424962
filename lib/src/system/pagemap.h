/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * /proc/self/pagemap: what the kernel knows of the pages of this process, see
 * Documentation/admin-guide/mm/pagemap.rst of Linux.
 */
#ifndef CHARIO_PAGEMAP_H
#define CHARIO_PAGEMAP_H

#include <stddef.h>
#include <stdint.h>

/**
 * struct chario_pagemap_region - struct page_region of Linux 6.7
 * @start: address of its first byte
 * @end: address behind its last byte
 * @categories: what holds for all of its pages
 */
struct chario_pagemap_region {
	uint64_t start;
	uint64_t end;
	uint64_t categories;
};

/* Open it; a descriptor or a negative errno. */
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
 * Find the written ones among the pages from *@start up to @end, which an
 * asynchronous userfaultfd has: PAGEMAP_SCAN of Linux 6.7.  *@start is set to
 * where the search has ended, for the next call.  Returns how many regions have
 * been filled in, or a negative errno.
 *
 * The second one protects the same pages again, each in one step with its being
 * reported; without regions it protects all.
 */
int chario_pagemap_find(int fd, uint64_t *start, uint64_t end,
			struct chario_pagemap_region *regions, size_t nr_regions);
int chario_pagemap_protect(int fd, uint64_t *start, uint64_t end,
			   struct chario_pagemap_region *regions, size_t nr_regions);

#endif /* CHARIO_PAGEMAP_H */
