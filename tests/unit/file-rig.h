/* SPDX-License-Identifier: MIT */
/*
 * A plain file as a device, and a buffer as long as it: before each test, and after.
 * They are in the folder of scratch.h.
 */
#ifndef CHARIO_FILE_RIG_H
#define CHARIO_FILE_RIG_H

#include <chario/buffer.h>

#include "scratch.h"

#define BLOCK ((size_t)4096)
#define SIZE  (64 * BLOCK)

static struct chario_device *device;
static struct chario_buffer *buffer;
static unsigned char *memory;

/* The one that each test begins with, and comes back to after another. */
static struct chario_device *first;

static inline int open_file(const char *name, int flags)
{
	return chario_device_open_any(name, flags, &device);
}

static inline void close_file(void)
{
	chario_device_close(device);
	device = first;
}

static inline ssize_t run(enum chario_transfer_op op, uint32_t id, uint64_t offset, uint64_t bytes,
			  uint64_t at, uint32_t flags)
{
	struct chario_transfer transfer = {
		.op = op,
		.flags = flags,
		.buffer = id,
		.buffer_offset = offset,
		.disk_offset = at,
		.bytes = bytes,
	};

	return chario_transfer(device, &transfer, sizeof(transfer));
}

static inline void begin(void)
{
	scratch_file("disk", SIZE);
	tap_need(!open_file("disk", O_RDWR) && !chario_buffer_pool(device, SIZE, 0, &buffer),
		 "the file cannot be opened");
	first = device;
	memory = chario_buffer_memory(buffer);
}

static inline void end(void)
{
	chario_buffer_free(buffer);
	chario_device_close(device);
}

#endif /* CHARIO_FILE_RIG_H */
