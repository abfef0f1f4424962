/* SPDX-License-Identifier: MIT */
/*
 * A folder of a test's own, which is the current one from its beginning to its
 * end, and files in it.
 */
#ifndef CHARIO_SCRATCH_H
#define CHARIO_SCRATCH_H

#include <dirent.h>

#include "tap.h"

static char scratch_folder[] = "scratch-XXXXXX";

static void scratch_leave(void)
{
	DIR *folder = opendir(".");
	struct dirent *entry;

	while (folder && (entry = readdir(folder)))
		if (entry->d_name[0] != '.')
			unlink(entry->d_name);
	if (folder)
		closedir(folder);
	if (chdir("..") || rmdir(scratch_folder))
		printf("# %s stays\n", scratch_folder);
}

__attribute__((constructor)) static void scratch_enter(void)
{
	tap_need(mkdtemp(scratch_folder) && !chdir(scratch_folder), "no folder can be made here");
	atexit(scratch_leave);
}

static inline void scratch_file(const char *name, size_t bytes)
{
	int fd = open(name, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600);

	tap_need(fd >= 0 && !ftruncate(fd, (off_t)bytes) && !close(fd), "no file can be made here");
}

#endif /* CHARIO_SCRATCH_H */
