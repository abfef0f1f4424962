// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The locks of a store.
 *
 * The locks belong to open files (F_OFD_SETLK) and cover bytes that no disk has.  The
 * kernel drops them when the last descriptor of the open file is closed.  So a process that
 * has died holds no lock, unless a child of fork(2) still has its descriptors; these are
 * closed when the child ends or calls execve(2).  Closing an area or a store drops its
 * locks at once.  Each open area and each store has an open file of its own, so threads of
 * one process exclude each other as processes do.  The fences of fence.c are locks as well,
 * but of the open file that the transfers use.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "device/ops.h"
#include "store/inner.h"
#include "system/sys.h"

/* No disk has a byte at this offset, and the last lock is below the largest offset. */
#define FIRST_BYTE ((1LL << 62) - 1)

#define SHORT_NS  50000L
#define LONG_NS   5000000L
#define SECOND_NS 1000000000LL

/* Check that two descriptors are of one file.  Returns 0 or -ESTALE. */
static int compare(int one, int other)
{
	struct stat first, second;

	if (fstat(one, &first) || fstat(other, &second))
		return -errno;
	return first.st_dev == second.st_dev && first.st_ino == second.st_ino ? 0 : -ESTALE;
}

/* Open by path if /proc is missing or forbidden; the path may lead elsewhere by now. */
static int open_by_path(const struct chario_device *device, int flags)
{
	int fd = chario_sys.open(chario_device_path(device), flags);
	int err = fd < 0 || device->fd < 0 ? 0 : compare(fd, device->fd);

	if (!err)
		return fd;
	close(fd);
	return err;
}

/*
 * Open the same file again even if its path leads elsewhere by now: the program may have
 * changed its folder, or the file may have been renamed or replaced.  Locks on another file
 * would exclude nobody.
 */
int chario_lock_open(const struct chario_device *device, bool writable)
{
	int flags = writable ? O_RDWR : O_RDONLY;
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", device->fd);
	fd = device->fd < 0 ? -EBADF : chario_sys.open(path, flags);
	return fd < 0 ? open_by_path(device, flags) : fd;
}

static struct flock lock_of(short type, uint64_t byte)
{
	return (struct flock){
		.l_type = type,
		.l_whence = SEEK_SET,
		.l_start = FIRST_BYTE + (off_t)byte,
		.l_len = 1,
	};
}

static int apply(int fd, uint64_t byte, short type)
{
	struct flock lock = lock_of(type, byte);

	if (!fcntl(fd, F_OFD_SETLK, &lock))
		return 0;
	return errno == EAGAIN || errno == EACCES ? -EBUSY : -errno;
}

int chario_lock_try(int fd, uint64_t byte, bool exclusive)
{
	return apply(fd, byte, exclusive ? F_WRLCK : F_RDLCK);
}

void chario_lock_drop(int fd, uint64_t byte)
{
	apply(fd, byte, F_UNLCK);
}

void chario_lock_close(int fd, bool drop)
{
	struct flock all = { .l_type = F_UNLCK, .l_whence = SEEK_SET, .l_start = FIRST_BYTE };

	if (fd < 0)
		return;
	/* A child of fork(2) that still has the file would keep the locks. */
	if (drop)
		fcntl(fd, F_OFD_SETLK, &all);
	close(fd);
}

bool chario_lock_is_held(int fd, uint64_t byte)
{
	struct flock lock = lock_of(F_RDLCK, byte);

	return !fcntl(fd, F_OFD_GETLK, &lock) && lock.l_type == F_WRLCK;
}

/* The pause grows to 5 ms.  From 1 s on it shrinks, so that long waiters win over new ones. */
int chario_lock_wait(int fd, uint64_t byte, bool exclusive, int64_t ns)
{
	struct timespec pause = { .tv_nsec = SHORT_NS };
	uint64_t begin_ns = chario_sys_now();
	int64_t waited_ns = 0;
	int err;

	while ((err = chario_lock_try(fd, byte, exclusive)) == -EBUSY && waited_ns < ns) {
		nanosleep(&pause, NULL);
		waited_ns = (int64_t)(chario_sys_now() - begin_ns);
		pause.tv_nsec = (long)(waited_ns < LONG_NS ? waited_ns : LONG_NS);
		pause.tv_nsec /= 1 + (long)(waited_ns / SECOND_NS);
		pause.tv_nsec += SHORT_NS;
	}
	return err;
}
