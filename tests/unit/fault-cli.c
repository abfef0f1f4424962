// SPDX-License-Identifier: MIT
/*
 * Faults of the program chario, which the environment asks for.  The linker leads the
 * calls that are named here to these functions:
 *
 *	FAULT_FLUSH=N	the Nth flush fails, and only that one: so does Linux, which has
 *			then dropped what the flush was for
 *	FAULT_DISK=FILE	what was not flushed is not on the disk: this is, and is seen again
 *			when Linux has forgotten what it has in memory
 *	FAULT_READ=N	the block of the store at this offset cannot be read
 *	FAULT_CLOCK=1	10 s pass whenever somebody looks
 *	FAULT_TIMES=FILE	has the seconds of CLOCK_REALTIME and CLOCK_BOOTTIME for recordings
 *	FAULT_LOCK=COMMAND	is run before a file is first locked by flock(2)
 *	FAULT_CREATE=COMMAND	is run before the first area is made
 *	FAULT_WIPE=COMMAND	is run before libblkid first wipes a mark
 *	FAULT_MOVE=COMMAND	is run before renameat2() first moves a file
 *	FAULT_MOVED=COMMAND	is run after renameat2() has first moved a file
 *	FAULT_IPV6=1	the kernel has no IPv6
 *	FAULT_MEMORY=1	there is no memory for the buffers of a recording
 */
#include <blkid/blkid.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <chario/stream.h>

#include "system/sys.h"

#define LEAP_NS 10000000000ULL

int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);
int __wrap_posix_fadvise64(int fd, off_t offset, off_t bytes, int advice);
ssize_t __real_preadv64v2(int fd, const struct iovec *pieces, int nr, off_t offset, int flags);
ssize_t __wrap_preadv64v2(int fd, const struct iovec *pieces, int nr, off_t offset, int flags);
uint64_t __real_cli_now_ns(void);
uint64_t __wrap_cli_now_ns(void);
int __real_flock(int fd, int operation);
int __wrap_flock(int fd, int operation);
int __real_blkid_do_wipe(blkid_probe probe, int dry_run);
int __wrap_blkid_do_wipe(blkid_probe probe, int dry_run);
int __real_renameat2(int from, const char *path, int to, const char *name, unsigned int flags);
int __wrap_renameat2(int from, const char *path, int to, const char *name, unsigned int flags);
int __real_socket(int family, int type, int protocol);
int __wrap_socket(int family, int type, int protocol);

__typeof__(chario_sys_clock) __real_chario_sys_clock, __wrap_chario_sys_clock;
__typeof__(chario_store_create) __real_chario_store_create, __wrap_chario_store_create;
__typeof__(chario_stream_open) __real_chario_stream_open, __wrap_chario_stream_open;

static bool failed;

int __wrap_fdatasync(int fd)
{
	static unsigned int calls;
	const char *number = getenv("FAULT_FLUSH");

	if (!number || (unsigned int)atoi(number) != ++calls)
		return __real_fdatasync(fd);
	failed = true;
	errno = EIO;
	return -1;
}

int __wrap_posix_fadvise64(int fd, off_t offset, off_t bytes, int advice)
{
	static _Alignas(4096) char piece[1 << 16];
	const char *disk = failed ? getenv("FAULT_DISK") : NULL;
	int from = disk ? open(disk, O_RDONLY | O_CLOEXEC) : -1;
	ssize_t got;

	if (from < 0 || offset || bytes || advice != POSIX_FADV_DONTNEED)
		return 0;
	for (off_t at = 0; (got = pread(from, piece, sizeof(piece), at)) > 0; at += got)
		if (pwrite(fd, piece, (size_t)got, at) != got)
			abort();
	return close(from);
}

/* What is before the block is read. */
ssize_t __wrap_preadv64v2(int fd, const struct iovec *pieces, int nr, off_t offset, int flags)
{
	const char *number = getenv("FAULT_READ");
	off_t block = number ? atoll(number) : 0;
	struct iovec piece = pieces[0];

	if (!number || offset >= block + 4096 || offset + (off_t)piece.iov_len <= block)
		return __real_preadv64v2(fd, pieces, nr, offset, flags);
	if (offset >= block) {
		errno = EIO;
		return -1;
	}
	piece.iov_len = (size_t)(block - offset);
	return __real_preadv64v2(fd, &piece, 1, offset, flags);
}

uint64_t __wrap_cli_now_ns(void)
{
	static uint64_t leaps;

	if (getenv("FAULT_CLOCK"))
		leaps++;
	return __real_cli_now_ns() + leaps * LEAP_NS;
}

uint64_t __wrap_chario_sys_clock(clockid_t clock)
{
	const char *path = getenv("FAULT_TIMES");
	FILE *file = path ? fopen(path, "re") : NULL;
	unsigned long long real_s, boot_s;

	if (clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_COARSE || !file)
		real_s = boot_s = 0;
	else if (fscanf(file, "%llu %llu", &real_s, &boot_s) != 2)
		abort();
	if (file)
		fclose(file);
	if (!real_s)
		return __real_chario_sys_clock(clock);
	return (clock == CLOCK_BOOTTIME ? boot_s : real_s) * 1000000000;
}

/* Run the command that a variable has, once; what it starts has no such fault. */
static void run_once(const char *variable)
{
	char *command = getenv(variable);

	if (!command)
		return;
	command = strdup(command);
	unsetenv(variable);
	if (!command || system(command))
		abort();
	free(command);
}

int __wrap_blkid_do_wipe(blkid_probe probe, int dry_run)
{
	run_once("FAULT_WIPE");
	return __real_blkid_do_wipe(probe, dry_run);
}

int __wrap_chario_store_create(struct chario_store *store, const char *name, uint64_t bytes,
			       unsigned int flags)
{
	run_once("FAULT_CREATE");
	return __real_chario_store_create(store, name, bytes, flags);
}

int __wrap_flock(int fd, int operation)
{
	run_once("FAULT_LOCK");
	return __real_flock(fd, operation);
}

int __wrap_renameat2(int from, const char *path, int to, const char *name, unsigned int flags)
{
	int ret;

	run_once("FAULT_MOVE");
	ret = __real_renameat2(from, path, to, name, flags);
	run_once("FAULT_MOVED");
	return ret;
}

int __wrap_socket(int family, int type, int protocol)
{
	if (family != AF_INET6 || !getenv("FAULT_IPV6"))
		return __real_socket(family, type, protocol);
	errno = EAFNOSUPPORT;
	return -1;
}

int __wrap_chario_stream_open(struct chario_store *store, const char *name,
			      const struct chario_stream_options *options,
			      struct chario_stream **stream)
{
	return getenv("FAULT_MEMORY") ? -ENOMEM :
					__real_chario_stream_open(store, name, options, stream);
}
