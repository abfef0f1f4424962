/* SPDX-License-Identifier: MIT */
/*
 * A store in a file, for tests with several processes.  Nothing in them depends on how long
 * something takes; the alarm ends what hangs.
 */
#ifndef CHARIO_STORE_FILE_H
#define CHARIO_STORE_FILE_H

#include <chario/check.h>
#include <chario/store.h>

#include "store/inner.h"
#include "tap.h"

#define ALARM_S 240

static char path[] = "/tmp/chario-store-XXXXXX";

/* Make a new file of zeroes at "path". */
static inline void make_file(off_t bytes)
{
	int fd;

	alarm(ALARM_S);
	strcpy(path + sizeof(path) - 7, "XXXXXX");
	fd = mkstemp(path);
	if (fd < 0 || ftruncate(fd, bytes))
		abort();
	close(fd);
}

static inline void make_file_store(off_t bytes)
{
	const struct chario_store_layout layout = { .size = sizeof(layout), .max_areas = 100 };

	make_file(bytes);
	if (chario_store_format(path, &layout))
		abort();
}

static inline int let_finding_pass(const struct chario_finding *finding, void *data)
{
	return 0;
}

/* Whether nobody else has this byte locked. */
static inline bool is_free(int fd, uint64_t byte)
{
	if (chario_lock_try(fd, byte, true))
		return false;
	chario_lock_drop(fd, byte);
	return true;
}

static inline void drop_file(void)
{
	unlink(path);
}

#endif /* CHARIO_STORE_FILE_H */
