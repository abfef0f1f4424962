/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * What a device is inside the library: a table of operations and what they
 * work on.  A character disk has the kernel module behind it (device/char.c), a
 * plain file and a block device have system calls (device/file.c), and a test
 * may have a table of its own:
 *
 *	device/device.c	what is the same for all, and who is opened how
 *	device/buffer.c	buffers, by the operations of their device
 *	device/memory.c	buffers that are nothing but memory of the process
 *	device/transfer.c	the rules of a transfer where no module keeps them
 *	queue*.c	many transfers at once
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
 * @device: whose it is
 * @memory: where it is for the CPU, or NULL
 * @bytes: its length
 * @id: what transfers call it
 * @kind: &enum chario_buffer_kind
 * @flags: CHARIO_BUFFER_* bits
 * @users: transfers in flight that device/memory.c knows of
 * @has_mapping: the file of the device can be mapped at @map_offset to reach it
 * @map_offset: see @has_mapping
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
 * @get_info: fill in @info, of which the caller knows @size bytes
 * @create_buffer: make what @wanted says; fills in memory, bytes and id of
 *	@buffer, whose other members are set.  chario_memory_create() will do
 *	for a device without a kernel module
 * @free_buffer: take it back; @buffer itself stays the caller's, and goes on
 *	being one where this gives -EBUSY.  chario_memory_free() will do
 * @sync_buffer: hand bytes over between CPU and device; NULL where there is
 *	nothing to do
 * @transfer: do it and wait for it: bytes or a negative errno
 * @prepare: fill in a submission entry that does the transfer, but for its file,
 *	which is registered, and its user data.  Returns 1; or 0 or a negative
 *	errno, which is the result then, and the entry is not used.  @expected is
 *	set to the bytes below which a result is short, so that the rest has to be
 *	prepared; 0 where any result is the last.  NULL: io_uring cannot
 * @conclude: what @prepare has prepared is over, with this result; returns what the
 *	caller is told.  NULL where that means nothing
 * @settle: as chario_device_settle(); NULL where no transfer is ever given up
 * @close: let go of @data
 *
 * All return 0 when not said otherwise, or a negative errno, and may be called
 * by several threads at once, @close excepted.
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
 * @ops: its operations
 * @data: what they work on
 * @memory: buffers that device/memory.c has made
 * @fd: its file descriptor, -1 without one
 * @path: what it was opened by
 */
struct chario_device {
	const struct chario_device_ops *ops;
	void *data;
	struct chario_memory *memory;
	int fd;
	char path[];
};

/*
 * A device of these operations.  chario_device_close() calls @ops->close, if
 * there is one, and frees the rest.  NULL when there is no memory.
 */
struct chario_device *chario_device_make(const struct chario_device_ops *ops, void *data,
					 const char *path);

/*
 * Make a device of an open file, which then belongs to it: a character disk, or
 * a plain file or block device.  -ENOTTY where the file is something else; the
 * file stays the caller's on any error.
 */
int chario_device_make_char(int fd, const char *path, struct chario_device **device);
int chario_device_make_file(int fd, const char *path, struct chario_device **device);

/* An ioctl of a device; -ENOTTY where it has no file. */
int chario_device_ioctl(const struct chario_device *device, unsigned long request, void *argument);

/*
 * The same with a struct that begins with its size, of which the caller knows @size bytes:
 * -EINVAL where its first version has more.  The first function has the kernel fill it in,
 * the second gives a copy of it to the kernel.
 */
int chario_device_get(const struct chario_device *device, unsigned long request, void *argument,
		      size_t size, size_t first_bytes);
int chario_device_set(const struct chario_device *device, unsigned long request,
		      const void *argument, size_t size, size_t first_bytes);

/*
 * Whether the drive is done with a buffer.  Where a transfer did not move all that it
 * was asked for, one of its commands may have passed its deadline, whatever the result
 * says: the drive may still read or write the memory, and reach the disk, until recovery
 * has ended that.
 */
bool chario_buffer_is_idle(const struct chario_buffer *buffer);

/* Wait until the drive is done where a result is not all of what was asked; the result. */
ssize_t chario_buffer_outlast(const struct chario_buffer *buffer, ssize_t result, size_t bytes);

/* The first version of struct chario_info; smaller ones have never been. */
#define CHARIO_INFO_MIN 208

#endif /* CHARIO_DEVICE_OPS_H */
