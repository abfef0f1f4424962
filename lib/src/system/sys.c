// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The one seam between the library and the system.  See system/sys.h.
 */
#include "system/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <limits.h>
#include <poll.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A wait of 31 years is endless for any caller, and fits any time_t. */
#define LONGEST_NS 1000000000000000000

extern char **environ;

/*
 * Move a descriptor above standard error.  If a disk took the place of a closed standard
 * stream, the program's next message would be written to the disk.
 */
static int above_standard(int low)
{
	int fd = fcntl(low, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	int err = fd < 0 ? -errno : fd;

	close(low);
	return err;
}

static int real_open(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return -errno;
	return fd > STDERR_FILENO ? fd : above_standard(fd);
}

static int real_ioctl(int fd, unsigned long request, void *argument)
{
	int ret = ioctl(fd, request, argument);

	return ret < 0 ? -errno : ret;
}

static int write_all(const char *path, int flags, const char *text)
{
	size_t length = strlen(text);
	int fd = open(path, flags | O_CLOEXEC | O_NOCTTY, 0644);
	ssize_t done;
	int err = 0;

	if (fd < 0)
		return -errno;
	/* A file of sysfs takes a value in one write or not at all. */
	done = write(fd, text, length);
	if (done < 0)
		err = -errno;
	else if ((size_t)done != length)
		err = -EIO;
	if (close(fd) && !err)
		err = -errno;
	return err;
}

static int real_write(const char *path, const char *text)
{
	return write_all(path, O_WRONLY, text);
}

/* modprobe knows the modules' places, dependencies and options. */
static int real_load_module(const char *name)
{
	char *argv[] = { (char *)"modprobe", (char *)"--quiet", (char *)name, NULL };
	int status;
	pid_t pid;
	int err = posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ);

	if (err)
		return -err;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : -ENOENT;
}

static void real_sleep_ms(unsigned int milliseconds)
{
	struct timespec time = {
		.tv_sec = (time_t)(milliseconds / 1000),
		.tv_nsec = (long)(milliseconds % 1000 * 1000000),
	};

	/*
	 * A signal with a handler only ends the sleep early; callers check their condition
	 * again.
	 */
	nanosleep(&time, NULL);
}

static int real_poll(int fd, unsigned int timeout_ms)
{
	struct pollfd file = { .fd = fd, .events = POLLPRI };
	int timeout = timeout_ms > INT_MAX ? INT_MAX : (int)timeout_ms;

	return poll(&file, 1, timeout) < 0 && errno != EINTR ? -errno : 0;
}

struct chario_sys chario_sys = {
	.root = "",
	.open = real_open,
	.ioctl = real_ioctl,
	.write = real_write,
	.load_module = real_load_module,
	.sleep_ms = real_sleep_ms,
	.poll = real_poll,
	.ring = io_uring_queue_init_params,
};

static int build_path(char path[PATH_MAX], const char *format, va_list args)
{
	int root = snprintf(path, PATH_MAX, "%s", chario_sys.root);
	int rest;

	if (root < 0 || root >= PATH_MAX)
		return -ENAMETOOLONG;
	rest = vsnprintf(path + root, (size_t)(PATH_MAX - root), format, args);
	return rest < 0 || rest >= PATH_MAX - root ? -ENAMETOOLONG : 0;
}

/* Build a path from the last arguments of a variadic function. */
#define BUILD_PATH(path, format)                        \
	({                                              \
		va_list args_;                          \
		int err_;                               \
		va_start(args_, format);                \
		err_ = build_path(path, format, args_); \
		va_end(args_);                          \
		err_;                                   \
	})

static int read_line(char *text, size_t size, const char *path)
{
	int fd CHARIO_SCOPED(chario_scope_close) = real_open(path, O_RDONLY);
	char line[PATH_MAX];
	ssize_t got;
	size_t end;

	if (fd < 0)
		return fd;
	got = read(fd, line, sizeof(line) - 1);
	if (got < 0)
		return -errno;
	line[got] = '\0';
	end = strcspn(line, "\n");
	while (end && (line[end - 1] == ' ' || line[end - 1] == '\t'))
		end--;
	line[end] = '\0';
	chario_sys_copy(text, size, line + strspn(line, " \t"));
	return 0;
}

int chario_sys_read(char *text, size_t size, const char *format, ...)
{
	char path[PATH_MAX];
	int err = BUILD_PATH(path, format);

	return err ? err : read_line(text, size, path);
}

int chario_sys_read_number(unsigned long long *number, const char *format, ...)
{
	char path[PATH_MAX], text[32], *end;
	int err = BUILD_PATH(path, format);

	if (!err)
		err = read_line(text, sizeof(text), path);
	if (err)
		return err;
	*number = strtoull(text, &end, 10);
	return end == text || *end ? -EPROTO : 0;
}

int chario_sys_write(const char *text, const char *format, ...)
{
	char path[PATH_MAX];
	int err = BUILD_PATH(path, format);

	return err ? err : chario_sys.write(path, text);
}

static int make_folder_of(char path[PATH_MAX])
{
	char *slash = strrchr(path, '/');
	int err;

	*slash = '\0';
	err = mkdir(path, 0755) && errno != EEXIST ? -errno : 0;
	*slash = '/';
	return err;
}

int chario_sys_create(const char *text, const char *format, ...)
{
	char path[PATH_MAX];
	int err = BUILD_PATH(path, format);

	if (!err)
		err = make_folder_of(path);
	return err ? err : write_all(path, O_WRONLY | O_CREAT | O_TRUNC, text);
}

int chario_sys_lock(const char *format, ...)
{
	char path[PATH_MAX];
	int fd, err = BUILD_PATH(path, format);

	if (!err)
		err = make_folder_of(path);
	if (err)
		return err;
	/* Mode 0600: any process that can open the file could hold the lock for ever. */
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY, 0600);
	if (fd < 0)
		return -errno;
	do
		err = flock(fd, LOCK_EX) ? -errno : 0;
	while (err == -EINTR);
	if (err)
		close(fd);
	return err ? err : fd;
}

int chario_sys_remove(const char *format, ...)
{
	char path[PATH_MAX];
	int err = BUILD_PATH(path, format);

	if (err)
		return err;
	return unlink(path) && errno != ENOENT ? -errno : 0;
}

FILE *chario_sys_fopen(const char *format, ...)
{
	char path[PATH_MAX];
	int err = BUILD_PATH(path, format);

	if (err) {
		errno = -err;
		return NULL;
	}
	return fopen(path, "re");
}

int chario_sys_may_write(const char *format, ...)
{
	char path[PATH_MAX];
	int err = BUILD_PATH(path, format);

	if (err)
		return err;
	return access(path, W_OK) ? -errno : 0;
}

bool chario_sys_exists(const char *format, ...)
{
	char path[PATH_MAX];

	return !BUILD_PATH(path, format) && !access(path, F_OK);
}

int chario_sys_stat(struct stat *status, const char *path)
{
	char whole[PATH_MAX];
	const char *root = *path == '/' ? chario_sys.root : "";
	int length = snprintf(whole, sizeof(whole), "%s%s", root, path);

	if (length < 0 || length >= (int)sizeof(whole))
		return -ENAMETOOLONG;
	return stat(whole, status) ? -errno : 0;
}

int chario_sys_resolve(char path[PATH_MAX], const char *format, ...)
{
	size_t root = strlen(chario_sys.root);
	char asked[PATH_MAX];
	int err = BUILD_PATH(asked, format);

	if (err)
		return err;
	if (!realpath(asked, path))
		return -errno;
	memmove(path, path + root, strlen(path + root) + 1);
	return 0;
}

int chario_sys_read_link(char *text, size_t size, const char *format, ...)
{
	char path[PATH_MAX];
	ssize_t length;
	int err = BUILD_PATH(path, format);

	if (err)
		return err;
	length = readlink(path, text, size - 1);
	if (length < 0)
		return -errno;
	text[length] = '\0';
	return 0;
}

static int is_name(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

int chario_sys_names(struct chario_names *names, const char *format, ...)
{
	char path[PATH_MAX];
	int count, err = BUILD_PATH(path, format);

	if (err)
		return err;
	count = scandir(path, &names->entries, is_name, versionsort);
	if (count < 0)
		return errno == ENOENT ? 0 : -errno;
	names->count = count;
	return 0;
}

void chario_sys_free_names(struct chario_names *names)
{
	for (int i = 0; i < names->count; i++)
		free(names->entries[i]);
	free(names->entries);
}

uint64_t chario_sys_clock(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

uint64_t chario_sys_now(void)
{
	return chario_sys_clock(CLOCK_MONOTONIC);
}

int64_t chario_sys_deadline(int64_t timeout_ns)
{
	bool is_endless = timeout_ns < 0 || timeout_ns > LONGEST_NS;

	return (int64_t)chario_sys_now() + (is_endless ? LONGEST_NS : timeout_ns);
}

int64_t chario_sys_left(int64_t deadline_ns)
{
	int64_t left = deadline_ns - (int64_t)chario_sys_now();

	return left > 0 ? left : 0;
}

bool chario_sys_nap(int64_t deadline_ns, int64_t most_ns)
{
	int64_t left = chario_sys_left(deadline_ns);
	const struct timespec nap = { .tv_nsec = left < most_ns ? left : most_ns };

	if (left)
		nanosleep(&nap, NULL);
	return left;
}

int chario_sys_give(void *to, size_t size, const void *from, size_t from_size, size_t first)
{
	size_t known = size < from_size ? size : from_size;

	if (size < first)
		return -EINVAL;
	memcpy(to, from, known);
	memset((char *)to + known, 0, size - known);
	return 0;
}

void chario_sys_copy(char *to, size_t size, const char *from)
{
	size_t length = strnlen(from, size - 1);

	memcpy(to, from, length);
	memset(to + length, 0, size - length);
}
