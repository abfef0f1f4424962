/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A device inside the library: a table of operations and their data.  A character disk has
 * the kernel module behind it (device/char.c), a plain file and a block device have system
 * calls (device/file.c), and a test may have a table of its own:
 *
 *	device/device.c	opening a device of any kind, and the common part
 *	device/buffer.c	buffers of any device
 *	device/memory.c	buffers in memory of the process
 *	device/transfer.c	the rules of a transfer without a module
 *	queue/		many transfers at once
 */
#ifndef CHARIO_DEVICE_OPS_H
#define CHARIO_DEVICE_OPS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <chario/buffer.h>
#include <chario/device.h>

#include "device/memory.h"

struct io_uring_sqe;

/**
 * struct chario_buffer - memory of a device
 * @device: device that it belongs to
 * @memory: address for the CPU, or NULL
 * @bytes: length in bytes
 * @id: number that transfers use
 * @kind: &enum chario_buffer_kind
 * @flags: CHARIO_BUFFER_* bits
 * @users: number of transfers in flight that device/memory.c knows of
 * @has_mapping: true if a mapping of the device's file at @map_offset reaches the
 *	buffer
 * @map_offset: offset in the device's file in bytes, see @has_mapping
 */
struct chario_buffer {
	struct chario_device *device;
	unsigned char *memory;
	size_t bytes;
	uint32_t id;
	uint32_t kind;
	uint32_t flags;
	unsigned int users;
	bool has_mapping;
	uint64_t map_offset;
};

/**
 * struct chario_device_ops - one kind of device
 * @get_info: fills in @info, of which the caller knows @size bytes
 * @create_buffer: creates the buffer that @wanted describes; fills in memory, bytes
 *	and id of @buffer, whose other members are set.  A device without a kernel module
 *	can use chario_memory_create()
 * @free_buffer: frees the buffer's memory; @buffer itself stays the caller's, and
 *	stays valid on -EBUSY.  A device without a kernel module can use
 *	chario_memory_free()
 * @sync_buffer: hands bytes over between CPU and device; NULL if there is nothing to
 *	do
 * @transfer: performs a transfer and waits for it; returns bytes or a negative errno
 * @prepare: fills in a submission entry that does the transfer, except for its file,
 *	which is registered, and its user data.  Returns 1.  Any other value, 0 or a
 *	negative errno, is the result of the transfer, and the entry is not used.  Sets
 *	@expected to the number of bytes below which a result is short and the rest must be
 *	prepared; 0 if any result is final.  NULL if the device cannot use io_uring
 * @conclude: ends a transfer that @prepare has prepared, and returns the result for
 *	the caller.  NULL if the result needs no change
 * @settle: implements chario_device_settle(); NULL if no transfer is ever given up
 * @close: frees @data
 *
 * Unless said otherwise, operations return 0 or a negative errno.  Several threads may call
 * them at once, except @close.
 */
struct chario_device_ops {
	int (*get_info)(const struct chario_device *device, struct chario_info *info, size_t size);
	int (*create_buffer)(struct chario_buffer *buffer, struct chario_buffer_create *wanted);
	int (*free_buffer)(struct chario_buffer *buffer);
	int (*sync_buffer)(const struct chario_buffer *buffer, struct chario_buffer_sync *sync);
	ssize_t (*transfer)(const struct chario_device *device, struct chario_transfer *transfer);
	int (*prepare)(const struct chario_device *device, const struct chario_transfer *transfer,
		       struct io_uring_sqe *sqe, uint32_t *expected);
	int64_t (*conclude)(const struct chario_device *device,
			    const struct chario_transfer *transfer, int64_t result);
	int (*settle)(const struct chario_device *device, uint64_t offset, uint64_t bytes,
		      uint64_t deadline_ns);
	void (*close)(struct chario_device *device);
};

/**
 * struct chario_device - an open device
 * @ops: operations
 * @data: private data of the operations
 * @memory: table of the buffers that device/memory.c has made
 * @fd: file descriptor, or -1
 * @path: path that it was opened by
 */
struct chario_device {
	const struct chario_device_ops *ops;
	void *data;
	struct chario_memory *memory;
	int fd;
	char path[];
};

/*
 * Make a device of these operations.  chario_device_close() calls @ops->close, if there is
 * one, and frees the rest.  Returns NULL when there is no memory.
 */
struct chario_device *chario_device_make(const struct chario_device_ops *ops, void *data,
					 const char *path);

/*
 * Make a device of an open character disk, or of an open plain file or block device.
 * Returns -ENOTTY if the file is something else.  The device owns the file on success; on
 * any error the caller keeps it.
 */
int chario_device_make_char(int fd, const char *path, struct chario_device **device);
int chario_device_make_file(int fd, const char *path, struct chario_device **device);

/* Perform an ioctl of a device.  Returns -ENOTTY if the device has no file. */
int chario_device_ioctl(const struct chario_device *device, unsigned long request, void *argument);

/*
 * Perform an ioctl with a struct that begins with its size, of which the caller knows @size
 * bytes: chario_device_get() lets the kernel fill in the struct, chario_device_set() gives
 * the kernel a copy of it.  Returns -EINVAL if @size is less than @first_bytes, the size of
 * its first version.
 */
int chario_device_get(const struct chario_device *device, unsigned long request, void *argument,
		      size_t size, size_t first_bytes);
int chario_device_set(const struct chario_device *device, unsigned long request,
		      const void *argument, size_t size, size_t first_bytes);

/*
 * Returns whether the drive is done with a buffer.  If a transfer moved less than it was
 * asked for, one of its commands may have passed its deadline, whatever the result says:
 * the drive may still read or write the memory and the disk until recovery has ended the
 * command.
 */
bool chario_buffer_is_idle(const struct chario_buffer *buffer);

/* Wait until the drive is done, if @result is less than was asked.  Returns @result. */
ssize_t chario_buffer_outlast(const struct chario_buffer *buffer, ssize_t result, size_t bytes);

/* Closes a device, if there is one, at the end of its scope: for CHARIO_SCOPED(). */
static inline void chario_device_leave(struct chario_device **device)
{
	chario_device_close(*device);
}

/* Size in bytes of the first version of struct chario_info. */
#define CHARIO_INFO_MIN 208

#endif /* CHARIO_DEVICE_OPS_H */
