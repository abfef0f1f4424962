/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The one seam between the library and the system: every open of a device,
 * every ioctl and every file of sysfs, procfs and /run passes through here.
 *
 * The unit tests replace what chario_sys holds: @root moves all paths into a
 * tree of their own, the functions stand in for the kernel.
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

struct io_uring;
struct io_uring_params;

#define CHARIO_PRINTF(text, first) __attribute__((__format__(__printf__, text, first)))

/* The longest attribute that the library reads, with its NUL. */
#define CHARIO_SYS_TEXT 256

/**
 * struct chario_sys - the system as the library sees it
 * @root: is put before every path; "" except in tests
 * @open: open a device; a descriptor or a negative errno
 * @ioctl: one ioctl; 0 or more, or a negative errno
 * @write: write a text to a file that exists; 0 or a negative errno
 * @load_module: load a kernel module by name; 0 or a negative errno
 * @sleep_ms: let milliseconds pass
 * @poll: wait until a file of sysfs, which has been read, tells of a change;
 *	0, also when the time is over or a signal came, or a negative errno
 * @ring: make a ring of io_uring, as io_uring_queue_init_params(3); 0 or a
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
 * Paths below are printf(3) formats of absolute paths without the root.  All
 * functions return a negative errno when they fail, -ENAMETOOLONG included.
 */

/* Read the first line of a file, without its newline and outer blanks. */
int chario_sys_read(char *text, size_t size, const char *format, ...) CHARIO_PRINTF(3, 4);

/* Read a file that holds one number, in decimal. */
int chario_sys_read_number(unsigned long long *number, const char *format, ...) CHARIO_PRINTF(2, 3);

/* Write a text to a file that exists. */
int chario_sys_write(const char *text, const char *format, ...) CHARIO_PRINTF(2, 3);

/* Create or replace a file, its folder too, with a text that is one line. */
int chario_sys_create(const char *text, const char *format, ...) CHARIO_PRINTF(2, 3);

/* Remove a file; one that is not there counts as removed. */
int chario_sys_remove(const char *format, ...) CHARIO_PRINTF(1, 2);

/*
 * Create a file, its folder too, and wait until nobody else holds it.  Returns
 * a descriptor; closing it lets go.
 */
int chario_sys_lock(const char *format, ...) CHARIO_PRINTF(1, 2);

/* Open a file to read, for what has many lines; NULL and errno when it fails. */
FILE *chario_sys_fopen(const char *format, ...) CHARIO_PRINTF(1, 2);

/* Whether the caller may write to a file: 0, or -EACCES and the like. */
int chario_sys_may_write(const char *format, ...) CHARIO_PRINTF(1, 2);

/* Whether a path is there. */
bool chario_sys_exists(const char *format, ...) CHARIO_PRINTF(1, 2);

/* What a file is; a relative path is that of the caller, without the root. */
int chario_sys_stat(struct stat *status, const char *path);

/* The absolute path, without the root, that a path leads to in the end. */
int chario_sys_resolve(char path[PATH_MAX], const char *format, ...) CHARIO_PRINTF(2, 3);

/* The last part of the path that a symbolic link leads to in the end. */
int chario_sys_resolve_name(char *name, size_t size, const char *format, ...) CHARIO_PRINTF(3, 4);

/* What a symbolic link says, taken literally. */
int chario_sys_read_link(char *text, size_t size, const char *format, ...) CHARIO_PRINTF(3, 4);

/*
 * The names in a folder, sorted like version numbers: "nvme2" before "nvme10".
 * Returns how many; the caller frees them with chario_sys_free_names().
 */
int chario_sys_names(struct dirent ***names, const char *format, ...) CHARIO_PRINTF(2, 3);
void chario_sys_free_names(struct dirent **names, int nr_names);

/* Nanoseconds of a clock. */
uint64_t chario_sys_clock(clockid_t clock);

/*
 * Hand a struct to a caller who knows @size bytes of it.  @first is the size
 * of its first version: who knows less does not know the struct.  Returns 0 or
 * -EINVAL.
 */
int chario_sys_give(void *to, size_t size, const void *from, size_t from_size, size_t first);

/* Copy a string that may be cut; what is left of the room is zero. */
void chario_sys_copy(char *to, size_t size, const char *from);

#endif /* CHARIO_SYS_H */
