/* SPDX-License-Identifier: MIT */
/*
 * How many threads this program has; those that the kernel has made for it count.
 */
#ifndef GUEST_THREADS_H
#define GUEST_THREADS_H

#include <dirent.h>

#include "common.h"

static inline unsigned int count_threads(void)
{
	DIR *tasks = opendir("/proc/self/task");
	unsigned int count = 0;

	if (!tasks)
		die("/proc/self/task");
	for (struct dirent *entry; (entry = readdir(tasks));)
		count += entry->d_name[0] != '.';
	closedir(tasks);
	return count;
}

#endif /* GUEST_THREADS_H */
