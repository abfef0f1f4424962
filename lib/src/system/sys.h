/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The one seam between the library and the system: every open of a device, every ioctl and
 * every file of sysfs, procfs and /run passes through here.
 *
 * The unit tests replace the members of chario_sys: @root moves all paths into a tree of
 * the test, and the test's functions stand in for the kernel.
 */
#ifndef CHARIO_SYS_H
#define CHARIO_SYS_H

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

#include "system/scope.h"

struct io_uring;
struct io_uring_params;

#define CHARIO_PRINTF(text, first) __attribute__((__format__(__printf__, text, first)))

/* Bytes of the longest attribute that the library reads, with its NUL. */
#define CHARIO_SYS_TEXT 256

/**
 * struct chario_sys - the system as the library sees it
 * @root: prefix of every path; "" except in tests
 * @open: opens a device; returns a descriptor or a negative errno
 * @ioctl: performs one ioctl; returns 0 or more, or a negative errno
 * @write: writes a text to a file that exists; returns 0 or a negative errno
 * @load_module: loads a kernel module by name; returns 0 or a negative errno
 * @sleep_ms: sleeps for a number of milliseconds
 * @poll: waits until a file of sysfs, which has been read, reports a change; returns
 *	0, also after the timeout or a signal, or a negative errno
 * @ring: makes a ring of io_uring like io_uring_queue_init_params(3); returns 0 or a
 *	negative errno
 */
struct chario_sys {
	const char *root;
	int (*open)(const char *path, int flags);
	int (*ioctl)(int fd, unsigned long request, void *argument);
	int (*write)(const char *path, const char *text);
	int (*load_module)(const char *name);
	void (*sleep_ms)(unsigned int milliseconds);
	int (*poll)(int fd, unsigned int timeout_ms);
	int (*ring)(unsigned int entries, struct io_uring *ring, struct io_uring_params *params);
};

extern struct chario_sys chario_sys;

/*
 * The paths below are printf(3) formats of absolute paths without the root.  All functions
 * return a negative errno when they fail, and -ENAMETOOLONG for a path that is too long.
 */

/* Read the first line of a file, without its newline and outer blanks, like chario_sys_copy(). */
int chario_sys_read(char *text, size_t size, const char *format, ...) CHARIO_PRINTF(3, 4);

/* Read a file that holds one number, in decimal. */
int chario_sys_read_number(unsigned long long *number, const char *format, ...) CHARIO_PRINTF(2, 3);

/* Write a text to a file that exists. */
int chario_sys_write(const char *text, const char *format, ...) CHARIO_PRINTF(2, 3);

/* Create or replace a file, its folder too, with a text that is one line. */
int chario_sys_create(const char *text, const char *format, ...) CHARIO_PRINTF(2, 3);

/* Remove a file; a missing file counts as removed. */
int chario_sys_remove(const char *format, ...) CHARIO_PRINTF(1, 2);

/*
 * Create a file and its folder, and lock the file, waiting for other holders.  Returns a
 * descriptor; closing the descriptor releases the lock.
 */
int chario_sys_lock(const char *format, ...) CHARIO_PRINTF(1, 2);

/* Open a file of many lines for reading.  Returns NULL and sets errno on failure. */
FILE *chario_sys_fopen(const char *format, ...) CHARIO_PRINTF(1, 2);

/* Returns 0 if the caller may write to a file, else -EACCES or another errno of access(2). */
int chario_sys_may_write(const char *format, ...) CHARIO_PRINTF(1, 2);

/* Returns whether a path exists. */
bool chario_sys_exists(const char *format, ...) CHARIO_PRINTF(1, 2);

/* Get the status of a file; a relative path starts at the caller's folder, not at the root. */
int chario_sys_stat(struct stat *status, const char *path);

/* Find the absolute path, without the root, that a path leads to after all symbolic links. */
int chario_sys_resolve(char path[PATH_MAX], const char *format, ...) CHARIO_PRINTF(2, 3);

/* Read the text of a symbolic link as it is. */
int chario_sys_read_link(char *text, size_t size, const char *format, ...) CHARIO_PRINTF(3, 4);

/**
 * struct chario_names - the names in a folder
 * @entries: names in @d_name
 * @count: number of names
 */
struct chario_names {
	struct dirent **entries;
	int count;
};

/*
 * List the names in a folder, sorted like version numbers: "nvme2" before "nvme10".  A missing
 * folder has no names; neither does one that cannot be listed.
 */
int chario_sys_names(struct chario_names *names, const char *format, ...) CHARIO_PRINTF(2, 3);
void chario_sys_free_names(struct chario_names *names);

/* Declare names that are freed at the end of their scope. */
#define CHARIO_NAMES(names) struct chario_names names CHARIO_SCOPED(chario_sys_free_names) = { 0 }

/* Nanoseconds of a clock, and of CLOCK_MONOTONIC. */
uint64_t chario_sys_clock(clockid_t clock);
uint64_t chario_sys_now(void);

/*
 * Returns the time of chario_sys_now() at which a timeout from now ends, in nanoseconds.  A
 * negative timeout is endless.
 */
int64_t chario_sys_deadline(int64_t timeout_ns);

/* Returns the nanoseconds until a deadline; 0 if it has passed. */
int64_t chario_sys_left(int64_t deadline_ns);

/*
 * Sleep until a deadline, but no longer than @most_ns, which is less than a second; a signal
 * with a handler ends the sleep early.  Returns false if the deadline had passed before.
 */
bool chario_sys_nap(int64_t deadline_ns, int64_t most_ns);

/*
 * Copy a struct to a caller whose version of it has @size bytes.  @first is the size of the
 * first version; a caller with a smaller one is refused.  Returns 0 or -EINVAL.
 */
int chario_sys_give(void *to, size_t size, const void *from, size_t from_size, size_t first);

/* Copy a string and cut it to @size; the rest of the room becomes zero. */
void chario_sys_copy(char *to, size_t size, const char *from);

#endif /* CHARIO_SYS_H */
