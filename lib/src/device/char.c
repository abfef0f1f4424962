// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * An open character disk: the ioctls of <chario/uapi.h>, and the same commands through
 * io_uring.
 */
#include <errno.h>
#include <liburing.h>
#include <string.h>
#include <sys/mman.h>

#include "device/ops.h"
#include "system/sys.h"

static int get_info(const struct chario_device *device, struct chario_info *info, size_t size)
{
	return chario_device_get(device, CHARIO_IOC_INFO, info, size, CHARIO_INFO_MIN);
}

/* A device that is open for reading only gives memory that cannot be written. */
static int map(struct chario_buffer *buffer, uint64_t offset)
{
	int fd = buffer->device->fd;
	void *at = mmap(NULL, buffer->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);

	if (at == MAP_FAILED && errno == EACCES)
		at = mmap(NULL, buffer->bytes, PROT_READ, MAP_SHARED, fd, (off_t)offset);
	if (at == MAP_FAILED)
		return -errno;
	buffer->memory = at;
	return 0;
}

static bool is_mapped(const struct chario_buffer *buffer)
{
	return buffer->kind == CHARIO_BUFFER_POOL || buffer->kind == CHARIO_BUFFER_WINDOW;
}

static int destroy(const struct chario_buffer *buffer)
{
	struct chario_buffer_destroy destroy = { .size = sizeof(destroy), .id = buffer->id };

	return chario_sys.ioctl(buffer->device->fd, CHARIO_IOC_BUFFER_DESTROY, &destroy);
}

static int create_buffer(struct chario_buffer *buffer, struct chario_buffer_create *wanted)
{
	int ret;

	wanted->size = sizeof(*wanted);
	ret = chario_sys.ioctl(buffer->device->fd, CHARIO_IOC_BUFFER_CREATE, wanted);
	if (ret < 0)
		return ret;
	buffer->bytes = (size_t)wanted->bytes;
	buffer->id = wanted->id;
	if (buffer->kind == CHARIO_BUFFER_REGISTERED)
		buffer->memory = (void *)(uintptr_t)wanted->address;
	if (!is_mapped(buffer))
		return 0;
	buffer->has_mapping = true;
	buffer->map_offset = wanted->mmap_offset;
	ret = map(buffer, wanted->mmap_offset);
	if (ret)
		destroy(buffer);
	return ret;
}

static int free_buffer(struct chario_buffer *buffer)
{
	if (is_mapped(buffer))
		munmap(buffer->memory, buffer->bytes);
	/* A removed disk no longer touches memory. */
	return destroy(buffer) == -EINTR ? -EINTR : 0;
}

static int sync_buffer(const struct chario_buffer *buffer, struct chario_buffer_sync *sync)
{
	int ret = chario_sys.ioctl(buffer->device->fd, CHARIO_IOC_BUFFER_SYNC, sync);

	return ret < 0 ? ret : 0;
}

static ssize_t transfer(const struct chario_device *device, struct chario_transfer *transfer)
{
	return chario_sys.ioctl(device->fd, CHARIO_IOC_TRANSFER, transfer);
}

static int settle(const struct chario_device *device, uint64_t offset, uint64_t bytes,
		  uint64_t deadline_ns)
{
	struct chario_settle settle = {
		.size = sizeof(settle),
		.disk_offset = offset,
		.bytes = bytes,
		.deadline_ns = deadline_ns,
	};

	return chario_sys.ioctl(device->fd, CHARIO_IOC_SETTLE, &settle);
}

/* The module checks the transfer and restarts it where needed, so its result is final. */
static int prepare(const struct chario_device *device, const struct chario_transfer *transfer,
		   struct io_uring_sqe *sqe, uint32_t *expected)
{
	(void)device;
	io_uring_prep_rw(IORING_OP_URING_CMD, sqe, 0, NULL, 0, 0);
	sqe->cmd_op = CHARIO_IOC_TRANSFER;
	memcpy(sqe->cmd, transfer, sizeof(*transfer));
	*expected = 0;
	return 1;
}

static const struct chario_device_ops ops = {
	.get_info = get_info,
	.create_buffer = create_buffer,
	.free_buffer = free_buffer,
	.sync_buffer = sync_buffer,
	.transfer = transfer,
	.prepare = prepare,
	.settle = settle,
};

/* Another device may use the number of our ioctl for another purpose. */
static int check_is_ours(int fd)
{
	const struct chario_device file = { .fd = fd };
	struct chario_info info;
	int err = get_info(&file, &info, sizeof(info));

	if (err == -EINVAL)
		return -ENOTTY;
	if (err)
		return err;
	return info.abi_version < 1 || info.size < CHARIO_INFO_MIN ? -EPROTO : 0;
}

int chario_device_make_char(int fd, const char *path, struct chario_device **device)
{
	int err = check_is_ours(fd);

	if (err)
		return err;
	*device = chario_device_make(&ops, NULL, path);
	if (!*device)
		return -ENOMEM;
	(*device)->fd = fd;
	return 0;
}
