// SPDX-License-Identifier: MIT
/*
 * Block devices, without rights or a disk: a plain file, and system calls that answer as
 * a block device does.
 */
#include <liburing.h>
#include <linux/fs.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "device/file.h"
#include "fake.h"
#include "file-rig.h"
#include "system/sys.h"

static int read_only;
static int flush_error;
static int write_error;
static int write_flags;

static int fail(int error)
{
	errno = error;
	return -1;
}

/* They stand before those of the C library. */
int ioctl(int fd, unsigned long request, ...)
{
	void *argument;
	va_list args;

	va_start(args, request);
	argument = va_arg(args, void *);
	va_end(args);
	if (request == BLKROGET)
		*(int *)argument = read_only;
	else if (request == BLKGETSIZE64)
		*(uint64_t *)argument = SIZE;
	else
		return fail(ENOTTY);
	return 0;
}

int fdatasync(int fd)
{
	return flush_error ? fail(flush_error) : (int)syscall(SYS_fdatasync, fd);
}

ssize_t pwritev2(int fd, const struct iovec *pieces, int nr_pieces, off_t offset, int flags)
{
	write_flags = flags;
	return write_error ? fail(write_error) : pwritev(fd, pieces, nr_pieces, offset);
}

static void begin_block(void)
{
	begin();
	((struct chario_file *)device->data)->block = true;
}

static void end_block(void)
{
	read_only = flush_error = write_error = 0;
	end();
}

static int64_t conclude(enum chario_transfer_op op, int64_t result)
{
	const struct chario_transfer transfer = { .op = op };

	return device->ops->conclude(device, &transfer, result);
}

/* What it was for may be gone: it is not made again. */
TEST(test_flushes, "a flush that failed is not one to make again")
{
	static const int errors[] = { ETIMEDOUT, EAGAIN, EIO };

	for (size_t i = 0; i < 3; i++) {
		flush_error = errors[i];
		EQUAL(run(CHARIO_TRANSFER_FLUSH, 0, 0, 0, 0, 0), -EIO);
		EQUAL(conclude(CHARIO_TRANSFER_FLUSH, -errors[i]), -EIO);
	}
	flush_error = ENOSPC;
	EQUAL(run(CHARIO_TRANSFER_FLUSH, 0, 0, 0, 0, 0), -ENOSPC);
	flush_error = 0;
	EQUAL(run(CHARIO_TRANSFER_FLUSH, 0, 0, 0, 0, 0), 0);
}

/* The data of a write are still there: it may be made again. */
TEST(test_writes, "a write that failed may be")
{
	write_error = ETIMEDOUT;
	EQUAL(chario_buffer_write(buffer, 0, BLOCK, 0, 0), -ETIMEDOUT);
	write_error = 0;
	EQUAL(chario_buffer_write(buffer, 0, BLOCK, 0, 0), BLOCK);
}

/* The flags that io_uring is given for a transfer of a block. */
static int queued_flags(enum chario_transfer_op op, uint32_t flags)
{
	const struct chario_transfer transfer = {
		.op = op,
		.flags = flags,
		.buffer = chario_buffer_id(buffer),
		.bytes = BLOCK,
	};
	struct io_uring_sqe sqe = { 0 };
	uint32_t expected;

	if (device->ops->prepare(device, &transfer, &sqe, &expected) != 1)
		TAP_FAIL("it cannot be prepared");
	device->ops->conclude(device, &transfer, (int64_t)expected);
	return sqe.rw_flags;
}

/* A kill shows nothing of it, and a file system does not tell. */
TEST(test_durable, "a durable write says so to Linux")
{
	EQUAL(chario_buffer_write(buffer, 0, BLOCK, 0, CHARIO_TRANSFER_FUA), BLOCK);
	EQUAL(write_flags, RWF_DSYNC);
	EQUAL(chario_buffer_write(buffer, 0, BLOCK, 0, 0), BLOCK);
	EQUAL(write_flags, 0);
	EQUAL(queued_flags(CHARIO_TRANSFER_WRITE, CHARIO_TRANSFER_FUA), RWF_DSYNC);
	EQUAL(queued_flags(CHARIO_TRANSFER_WRITE, 0), 0);
	EQUAL(queued_flags(CHARIO_TRANSFER_READ, CHARIO_TRANSFER_FUA), 0);
}

TEST(test_read_only, "a block device that was made read-only says so")
{
	write_error = EPERM;
	EQUAL(chario_buffer_write(buffer, 0, BLOCK, 0, 0), -EPERM);
	read_only = 1;
	EQUAL(chario_buffer_write(buffer, 0, BLOCK, 0, 0), -EROFS);
}

static bool has_cache(const char *mode)
{
	struct chario_info info;

	fake_file(mode, "/sys/dev/block/0:0/queue/write_cache");
	if (chario_device_get_info(device, &info, sizeof(info)))
		TAP_FAIL("it says nothing of itself");
	return info.features & CHARIO_FEATURE_WRITE_CACHE;
}

/* The page cache is one too, whatever the drive has. */
TEST(test_write_cache, "the page cache is a write cache")
{
	const struct chario_sys system = chario_sys;
	const int flags = fcntl(chario_device_fd(device), F_GETFL);

	fake_begin();
	EQUAL(fcntl(chario_device_fd(device), F_SETFL, flags | O_DIRECT), 0);
	CHECK(has_cache("write back"));
	CHECK(!has_cache("write through"));
	EQUAL(fcntl(chario_device_fd(device), F_SETFL, flags & ~O_DIRECT), 0);
	CHECK(has_cache("write through"));
	fake_end();
	chario_sys = system;
}

TEST_MAIN(begin_block, end_block)
