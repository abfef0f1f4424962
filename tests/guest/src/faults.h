/* SPDX-License-Identifier: MIT */
/*
 * Memory whose pages come when this program provides them.
 */
#ifndef GUEST_FAULTS_H
#define GUEST_FAULTS_H

#include <linux/userfaultfd.h>
#include <sys/syscall.h>

#include "common.h"

/* The descriptor at which the kernel asks for pages of some memory that are not there. */
static inline int faults_of(void *memory, size_t bytes)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register all = {
		.range = { (uintptr_t)memory, bytes },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	int faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	if (faults < 0 || ioctl(faults, UFFDIO_API, &api) || ioctl(faults, UFFDIO_REGISTER, &all))
		die("userfaultfd");
	return faults;
}

#endif /* GUEST_FAULTS_H */
