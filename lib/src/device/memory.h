/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Buffers of a device without a kernel module.  Such a buffer is nothing but memory of the
 * process; a table finds it by the number that a transfer names.
 */
#ifndef CHARIO_MEMORY_H
#define CHARIO_MEMORY_H

#include <pthread.h>
#include <stdint.h>

struct chario_buffer;
struct chario_buffer_create;
struct chario_device;
struct chario_transfer;

/**
 * struct chario_memory - the buffers of a device
 * @lock: lock of all other members
 * @buffers: table of buffers by number, the first number is 1; NULL marks a free entry
 * @room: number of entries
 * @lowest: index below which all entries are taken
 */
struct chario_memory {
	pthread_mutex_t lock;
	struct chario_buffer **buffers;
	uint32_t room;
	uint32_t lowest;
};

/* Make a table without buffers, or free one.  Returns NULL when there is no memory. */
struct chario_memory *chario_memory_alloc(void);
void chario_memory_destroy(struct chario_memory *memory);

/* Implement create_buffer and free_buffer of &struct chario_device_ops. */
int chario_memory_create(struct chario_buffer *buffer, struct chario_buffer_create *wanted);
int chario_memory_free(struct chario_buffer *buffer);

/*
 * Find the memory that a transfer names and keep it until chario_memory_put().  Returns 0;
 * -ENOENT if there is no such buffer; -EPERM for a read into a buffer that is only written
 * from; or -EINVAL if the slice is not inside the buffer.
 */
int chario_memory_get(const struct chario_device *device, const struct chario_transfer *transfer,
		      void **at);
void chario_memory_put(const struct chario_device *device, const struct chario_transfer *transfer);

#endif /* CHARIO_MEMORY_H */
