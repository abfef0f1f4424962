// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Buffers of an open device.
 */
#include <chario/buffer.h>

#include <errno.h>
#include <stdlib.h>

#include "sys.h"

/* The first version of the struct; smaller ones have never been. */
#define TRANSFER_MIN 64

struct chario_buffer {
	struct chario_device *device;
	unsigned char *memory;
	size_t bytes;
	uint32_t id;
};

int chario_buffer_register(struct chario_device *device, void *memory, size_t bytes,
			   unsigned int flags, struct chario_buffer **buffer)
{
	struct chario_buffer_create create = {
		.size = sizeof(create),
		.kind = CHARIO_BUFFER_REGISTERED,
		.flags = flags,
		.address = (uintptr_t)memory,
		.bytes = bytes,
	};
	struct chario_buffer *made = malloc(sizeof(*made));
	int ret;

	if (!made)
		return -ENOMEM;
	ret = chario_sys.ioctl(chario_device_fd(device), CHARIO_IOC_BUFFER_CREATE, &create);
	if (ret < 0) {
		free(made);
		return ret;
	}
	made->device = device;
	made->memory = memory;
	made->bytes = bytes;
	made->id = create.id;
	*buffer = made;
	return 0;
}

int chario_buffer_free(struct chario_buffer *buffer)
{
	struct chario_buffer_destroy destroy = { .size = sizeof(destroy) };
	int ret;

	if (!buffer)
		return 0;
	destroy.id = buffer->id;
	ret = chario_sys.ioctl(chario_device_fd(buffer->device), CHARIO_IOC_BUFFER_DESTROY,
			       &destroy);
	free(buffer);
	/* A disk that has been removed touches no memory. */
	return ret == -EINTR ? ret : 0;
}

void *chario_buffer_memory(const struct chario_buffer *buffer)
{
	return buffer->memory;
}

size_t chario_buffer_bytes(const struct chario_buffer *buffer)
{
	return buffer->bytes;
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
	return chario_sys.ioctl(chario_device_fd(device), CHARIO_IOC_TRANSFER, transfer);
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
