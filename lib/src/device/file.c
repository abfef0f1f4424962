// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * An open plain file or block device: system calls, and the same operations through
 * io_uring. device/file-info.c finds out the file's properties.
 */
#include "device/file.h"

#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "device/transfer.h"

static struct chario_file *file_of(const struct chario_device *device)
{
	return device->data;
}

/* A write can make a plain file longer, which no caller wants. */
static bool may_grow(const struct chario_file *file, const struct chario_transfer *transfer)
{
	return !file->block && transfer->op == CHARIO_TRANSFER_WRITE;
}

static bool is_inside(const struct chario_transfer *transfer, uint64_t capacity)
{
	return transfer->disk_offset <= capacity &&
	       transfer->bytes <= capacity - transfer->disk_offset;
}

/*
 * Cut a transfer at the end of the file.  Measure the file again where the transfer would
 * pass the known end, since the file may have grown, and before each write to a plain file:
 * if the file was truncated, the write would make it grow, with a hole in place of data.  A
 * handle that knew a longer file refuses transfers behind the new end until the file has
 * its length again.
 */
static ssize_t clip(const struct chario_device *device, const struct chario_transfer *transfer)
{
	struct chario_file *file = file_of(device);
	uint64_t known = __atomic_load_n(&file->capacity_bytes, __ATOMIC_RELAXED), is;
	int err;

	if (is_inside(transfer, known) && !may_grow(file, transfer))
		return chario_transfer_clip(transfer, known);
	err = chario_file_measure(device->fd, file, &is);
	if (err)
		return err;
	if (is > known)
		__atomic_store_n(&file->capacity_bytes, is, __ATOMIC_RELAXED);
	if (is < known && !is_inside(transfer, is))
		return -ESTALE;
	return chario_transfer_clip(transfer, is);
}

/*
 * Check a read or write and take a reference to its memory.  Returns the number of bytes; 0
 * or a negative errno means that no reference was taken.
 */
static ssize_t begin(const struct chario_device *device, const struct chario_transfer *transfer,
		     void **at)
{
	ssize_t bytes = clip(device, transfer);
	int err;

	if (bytes <= 0)
		return bytes;
	err = chario_memory_get(device, transfer, at);
	return err ? err : bytes;
}

static int rwf_of(const struct chario_transfer *transfer)
{
	bool durable = transfer->flags & CHARIO_TRANSFER_FUA &&
		       transfer->op == CHARIO_TRANSFER_WRITE;

	return (transfer->flags & CHARIO_TRANSFER_POLL ? RWF_HIPRI : 0) |
	       (durable ? RWF_DSYNC : 0) |
	       (transfer->flags & CHARIO_TRANSFER_NOWAIT ? RWF_NOWAIT : 0);
}

static ssize_t move_once(int fd, const struct chario_transfer *transfer, struct iovec *piece,
			 uint64_t offset)
{
	int flags = rwf_of(transfer);
	ssize_t ret;

	do
		ret = transfer->op == CHARIO_TRANSFER_READ ?
			      preadv2(fd, piece, 1, (off_t)offset, flags) :
			      pwritev2(fd, piece, 1, (off_t)offset, flags);
	while (ret < 0 && errno == EINTR);
	return ret < 0 ? -errno : ret;
}

/* Move all bytes, or stop at an error or where there is no progress. */
static ssize_t move(int fd, const struct chario_transfer *transfer, void *at, size_t bytes)
{
	size_t done = 0;
	ssize_t ret = 0;

	while (done < bytes) {
		struct iovec piece = { (char *)at + done, bytes - done };

		ret = move_once(fd, transfer, &piece, transfer->disk_offset + done);
		if (ret <= 0)
			break;
		done += (size_t)ret;
	}
	return done ? (ssize_t)done : ret;
}

/* Returns whether the file is shorter than it was: it has been truncated. */
static bool was_cut(const struct chario_device *device)
{
	const struct chario_file *file = file_of(device);
	uint64_t is;

	return !file->block && !chario_file_measure(device->fd, file, &is) &&
	       is < __atomic_load_n(&file->capacity_bytes, __ATOMIC_RELAXED);
}

static int flush(int fd)
{
	while (fdatasync(fd))
		if (errno != EINTR)
			return -errno;
	return 0;
}

/*
 * Translate the result of a transfer.  After a failed flush Linux drops the data, and the
 * next flush succeeds; so a failed flush must never look like one that can be repeated.
 * And a write to a block device that became read-only fails with EPERM, which is also the
 * errno of a missing right.
 */
static ssize_t judge(const struct chario_device *device, const struct chario_transfer *transfer,
		     ssize_t result)
{
	if (transfer->op == CHARIO_TRANSFER_FLUSH && (result == -ETIMEDOUT || result == -EAGAIN))
		return -EIO;
	if (transfer->op == CHARIO_TRANSFER_WRITE && result == -EPERM &&
	    chario_file_is_read_only(device->fd, file_of(device)->block))
		return -EROFS;
	return result;
}

static ssize_t transfer(const struct chario_device *device, struct chario_transfer *transfer)
{
	ssize_t ret = chario_transfer_check(transfer, &file_of(device)->rules);
	ssize_t bytes;
	void *at;

	if (ret)
		return ret;
	if (transfer->op == CHARIO_TRANSFER_FLUSH)
		return judge(device, transfer, flush(device->fd));
	bytes = begin(device, transfer, &at);
	if (bytes <= 0)
		return bytes;
	ret = judge(device, transfer, move(device->fd, transfer, at, (size_t)bytes));
	chario_memory_put(device, transfer);
	return ret >= 0 && ret < bytes && was_cut(device) ? -ESTALE : ret;
}

static int prepare(const struct chario_device *device, const struct chario_transfer *transfer,
		   struct io_uring_sqe *sqe, uint32_t *expected)
{
	ssize_t ret = chario_transfer_check(transfer, &file_of(device)->rules);
	bool reads = transfer->op == CHARIO_TRANSFER_READ;
	void *at;

	*expected = 0;
	if (ret)
		return (int)ret;
	if (transfer->op == CHARIO_TRANSFER_FLUSH) {
		io_uring_prep_fsync(sqe, 0, IORING_FSYNC_DATASYNC);
		return 1;
	}
	ret = begin(device, transfer, &at);
	if (ret <= 0)
		return (int)ret;
	*expected = (uint32_t)ret;
	io_uring_prep_rw(reads ? IORING_OP_READ : IORING_OP_WRITE, sqe, 0, at, *expected,
			 transfer->disk_offset);
	sqe->rw_flags = rwf_of(transfer);
	return 1;
}

static int64_t conclude(const struct chario_device *device, const struct chario_transfer *transfer,
			int64_t result)
{
	ssize_t ret = judge(device, transfer, (ssize_t)result);

	if (transfer->op != CHARIO_TRANSFER_FLUSH)
		chario_memory_put(device, transfer);
	/* If the file was truncated within a read, transfer() finds out when it reads the rest. */
	return !ret && transfer->op == CHARIO_TRANSFER_READ && was_cut(device) ? -ESTALE : ret;
}

static void close_file(struct chario_device *device)
{
	free(device->data);
}

static const struct chario_device_ops ops = {
	.get_info = chario_file_get_info,
	.create_buffer = chario_memory_create,
	.free_buffer = chario_memory_free,
	.transfer = transfer,
	.prepare = prepare,
	.conclude = conclude,
	.close = close_file,
};

static int examine(int fd, struct chario_file *file)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0)
		return -errno;
	file->rules.access = flags & O_ACCMODE;
	/*
	 * Linux opens a read-only block device for writing all the same, and refuses each
	 * write.
	 */
	if (file->rules.access != O_RDONLY && chario_file_is_read_only(fd, file->block))
		return -EROFS;
	chario_file_align(fd, file);
	return chario_file_measure(fd, file, &file->capacity_bytes);
}

int chario_device_make_file(int fd, const char *path, struct chario_device **device)
{
	struct chario_file *file;
	struct stat status;
	int err;

	if (fstat(fd, &status))
		return -errno;
	if (!S_ISREG(status.st_mode) && !S_ISBLK(status.st_mode))
		return -ENOTTY;
	file = calloc(1, sizeof(*file));
	if (!file)
		return -ENOMEM;
	file->block = S_ISBLK(status.st_mode);
	file->number = status.st_rdev;
	err = examine(fd, file);
	*device = err ? NULL : chario_device_make(&ops, file, path);
	if (!*device) {
		free(file);
		return err ? err : -ENOMEM;
	}
	(*device)->fd = fd;
	return 0;
}
