// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Buffers of an open device.
 */
#include <chario/buffer.h>

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "sys.h"

/* The first version of the struct; smaller ones have never been. */
#define TRANSFER_MIN 64

struct chario_buffer {
	struct chario_device *device;
	unsigned char *memory;
	size_t bytes;
	uint32_t id;
	bool mapped;
};

static int create(struct chario_device *device, struct chario_buffer_create *create,
		  struct chario_buffer **buffer)
{
	struct chario_buffer *made = calloc(1, sizeof(*made));
	int ret;

	if (!made)
		return -ENOMEM;
	create->size = sizeof(*create);
	ret = chario_sys.ioctl(chario_device_fd(device), CHARIO_IOC_BUFFER_CREATE, create);
	if (ret < 0) {
		free(made);
		return ret;
	}
	made->device = device;
	made->bytes = (size_t)create->bytes;
	made->id = create->id;
	*buffer = made;
	return 0;
}

int chario_buffer_register(struct chario_device *device, void *memory, size_t bytes,
			   unsigned int flags, struct chario_buffer **buffer)
{
	struct chario_buffer_create wanted = {
		.kind = CHARIO_BUFFER_REGISTERED,
		.flags = flags,
		.address = (uintptr_t)memory,
		.bytes = bytes,
	};
	int err = create(device, &wanted, buffer);

	if (!err)
		(*buffer)->memory = memory;
	return err;
}

/* A device that is open for reading only gives memory that can only be read. */
static int map(struct chario_buffer *buffer, uint64_t offset)
{
	int fd = chario_device_fd(buffer->device);
	void *at = mmap(NULL, buffer->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);

	if (at == MAP_FAILED && errno == EACCES)
		at = mmap(NULL, buffer->bytes, PROT_READ, MAP_SHARED, fd, (off_t)offset);
	if (at == MAP_FAILED)
		return -errno;
	buffer->memory = at;
	buffer->mapped = true;
	return 0;
}

/* A buffer that the module makes or finds, and its mapping. */
static int create_mapped(struct chario_device *device, struct chario_buffer_create *wanted,
			 struct chario_buffer **buffer)
{
	int err = create(device, wanted, buffer);

	if (err)
		return err;
	err = map(*buffer, wanted->mmap_offset);
	if (err)
		chario_buffer_free(*buffer);
	return err;
}

int chario_buffer_pool(struct chario_device *device, size_t bytes, unsigned int flags,
		       struct chario_buffer **buffer)
{
	struct chario_buffer_create wanted = {
		.kind = CHARIO_BUFFER_POOL,
		.flags = flags,
		.bytes = bytes,
	};

	return create_mapped(device, &wanted, buffer);
}

int chario_buffer_window(struct chario_device *device, uint64_t address, size_t bytes,
			 unsigned int flags, struct chario_buffer **buffer)
{
	struct chario_buffer_create wanted = {
		.kind = CHARIO_BUFFER_WINDOW,
		.flags = flags,
		.address = address,
		.bytes = bytes,
	};

	return create_mapped(device, &wanted, buffer);
}

int chario_buffer_import(struct chario_device *device, int fd, size_t bytes, unsigned int flags,
			 struct chario_buffer **buffer)
{
	struct chario_buffer_create wanted = {
		.kind = CHARIO_BUFFER_DMABUF,
		.flags = flags,
		.bytes = bytes,
		.fd = fd,
	};

	return create(device, &wanted, buffer);
}

int chario_buffer_inside(struct chario_device *device, size_t bytes, unsigned int flags,
			 struct chario_buffer **buffer)
{
	struct chario_buffer_create wanted = {
		.kind = CHARIO_BUFFER_CMB,
		.flags = flags,
		.bytes = bytes,
	};

	return create(device, &wanted, buffer);
}

int chario_buffer_export(const struct chario_buffer *buffer, int *fd)
{
	struct chario_buffer_export export = {
		.size = sizeof(export),
		.id = buffer->id,
	};
	int ret = chario_sys.ioctl(chario_device_fd(buffer->device), CHARIO_IOC_BUFFER_EXPORT,
				   &export);

	if (ret < 0)
		return ret;
	*fd = export.fd;
	return 0;
}

int chario_buffer_sync(const struct chario_buffer *buffer, uint64_t offset, size_t bytes,
		       enum chario_sync direction)
{
	struct chario_buffer_sync sync = {
		.size = sizeof(sync),
		.id = buffer->id,
		.offset = offset,
		.bytes = bytes,
		.direction = direction,
	};
	int ret = chario_sys.ioctl(chario_device_fd(buffer->device), CHARIO_IOC_BUFFER_SYNC, &sync);

	return ret < 0 ? ret : 0;
}

int chario_buffer_free(struct chario_buffer *buffer)
{
	struct chario_buffer_destroy destroy = { .size = sizeof(destroy) };
	int ret;

	if (!buffer)
		return 0;
	if (buffer->mapped)
		munmap(buffer->memory, buffer->bytes);
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
