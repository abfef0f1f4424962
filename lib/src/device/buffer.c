// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Buffers of an open device.
 */
#include <chario/buffer.h>

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "device/ops.h"

/* Size in bytes of the first version of the struct. */
#define TRANSFER_MIN 64

/* Interval between two looks at a buffer that the drive still uses. */
#define LOOK_US 1000

/* Create a buffer; @wanted has its kind and its place. */
static int create(struct chario_device *device, struct chario_buffer_create wanted, size_t bytes,
		  unsigned int flags, struct chario_buffer **buffer)
{
	struct chario_buffer *made = calloc(1, sizeof(*made));
	int err;

	if (!made)
		return -ENOMEM;
	wanted.bytes = bytes;
	wanted.flags = flags;
	made->device = device;
	made->kind = wanted.kind;
	made->flags = flags;
	err = device->ops->create_buffer(made, &wanted);
	if (err)
		free(made);
	else
		*buffer = made;
	return err;
}

int chario_buffer_register(struct chario_device *device, void *memory, size_t bytes,
			   unsigned int flags, struct chario_buffer **buffer)
{
	struct chario_buffer_create wanted = {
		.kind = CHARIO_BUFFER_REGISTERED,
		.address = (uintptr_t)memory,
	};

	return create(device, wanted, bytes, flags, buffer);
}

int chario_buffer_pool(struct chario_device *device, size_t bytes, unsigned int flags,
		       struct chario_buffer **buffer)
{
	struct chario_buffer_create wanted = { .kind = CHARIO_BUFFER_POOL };

	return create(device, wanted, bytes, flags, buffer);
}

int chario_buffer_window(struct chario_device *device, uint64_t address, size_t bytes,
			 unsigned int flags, struct chario_buffer **buffer)
{
	struct chario_buffer_create wanted = { .kind = CHARIO_BUFFER_WINDOW, .address = address };

	return create(device, wanted, bytes, flags, buffer);
}

int chario_buffer_import(struct chario_device *device, int fd, size_t bytes, unsigned int flags,
			 struct chario_buffer **buffer)
{
	struct chario_buffer_create wanted = { .kind = CHARIO_BUFFER_DMABUF, .fd = fd };

	return create(device, wanted, bytes, flags, buffer);
}

int chario_buffer_inside(struct chario_device *device, size_t bytes, unsigned int flags,
			 struct chario_buffer **buffer)
{
	struct chario_buffer_create wanted = { .kind = CHARIO_BUFFER_CMB };

	return create(device, wanted, bytes, flags, buffer);
}

int chario_buffer_export(const struct chario_buffer *buffer, int *fd)
{
	struct chario_buffer_export export = {
		.size = sizeof(export),
		.id = buffer->id,
	};
	int ret = chario_device_ioctl(buffer->device, CHARIO_IOC_BUFFER_EXPORT, &export);

	/* Only the kernel module can export a buffer. */
	if (ret < 0)
		return ret == -ENOTTY ? -EOPNOTSUPP : ret;
	*fd = export.fd;
	return 0;
}

static int check_sync(const struct chario_buffer_sync *sync, size_t bytes)
{
	if (sync->direction < CHARIO_SYNC_FOR_DEVICE || sync->direction > CHARIO_SYNC_IDLE)
		return -EINVAL;
	return sync->offset > bytes || sync->bytes > bytes - sync->offset ? -EINVAL : 0;
}

int chario_buffer_sync(const struct chario_buffer *buffer, uint64_t offset, size_t bytes,
		       enum chario_sync direction)
{
	const struct chario_device_ops *ops = buffer->device->ops;
	struct chario_buffer_sync sync = {
		.size = sizeof(sync),
		.id = buffer->id,
		.offset = offset,
		.bytes = bytes,
		.direction = direction,
	};

	return ops->sync_buffer ? ops->sync_buffer(buffer, &sync) :
				  check_sync(&sync, buffer->bytes);
}

ssize_t chario_buffer_outlast(const struct chario_buffer *buffer, ssize_t result, size_t bytes)
{
	if (result != (ssize_t)bytes)
		while (!chario_buffer_is_idle(buffer))
			usleep(LOOK_US);
	return result;
}

bool chario_buffer_is_idle(const struct chario_buffer *buffer)
{
	return chario_buffer_sync(buffer, 0, 0, CHARIO_SYNC_IDLE) != -EBUSY;
}

int chario_buffer_free(struct chario_buffer *buffer)
{
	int err;

	if (!buffer)
		return 0;
	err = buffer->device->ops->free_buffer(buffer);
	if (err != -EBUSY)
		free(buffer);
	return err;
}

void *chario_buffer_memory(const struct chario_buffer *buffer)
{
	return buffer->memory;
}

size_t chario_buffer_bytes(const struct chario_buffer *buffer)
{
	return buffer->bytes;
}

int chario_buffer_mapping(const struct chario_buffer *buffer, uint64_t *offset)
{
	if (!buffer->has_mapping)
		return -EOPNOTSUPP;
	*offset = buffer->map_offset;
	return buffer->device->fd;
}

uint32_t chario_buffer_id(const struct chario_buffer *buffer)
{
	return buffer->id;
}

ssize_t chario_transfer(const struct chario_device *device, struct chario_transfer *transfer,
			size_t size)
{
	if (size < TRANSFER_MIN || size > UINT32_MAX)
		return -EINVAL;
	transfer->size = (uint32_t)size;
	return device->ops->transfer(device, transfer);
}

static ssize_t run(const struct chario_buffer *buffer, enum chario_transfer_op op,
		   uint64_t buffer_offset, size_t bytes, uint64_t disk_offset, unsigned int flags)
{
	struct chario_transfer transfer = {
		.op = op,
		.flags = flags,
		.buffer = buffer->id,
		.buffer_offset = buffer_offset,
		.disk_offset = disk_offset,
		.bytes = bytes,
	};

	return chario_transfer(buffer->device, &transfer, sizeof(transfer));
}

ssize_t chario_buffer_read(const struct chario_buffer *buffer, uint64_t buffer_offset, size_t bytes,
			   uint64_t disk_offset, unsigned int flags)
{
	return run(buffer, CHARIO_TRANSFER_READ, buffer_offset, bytes, disk_offset, flags);
}

ssize_t chario_buffer_write(const struct chario_buffer *buffer, uint64_t buffer_offset,
			    size_t bytes, uint64_t disk_offset, unsigned int flags)
{
	return run(buffer, CHARIO_TRANSFER_WRITE, buffer_offset, bytes, disk_offset, flags);
}
