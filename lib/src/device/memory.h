/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Memory: buffers of a device without a kernel module.  They are memory of the
 * process and nothing else; a table finds them by the number that a transfer
 * names.
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
 * @lock: held around all access
 * @buffers: by number, the first is 1; NULL where there is none
 * @room: entries that there are
 * @lowest: all entries below it are taken
 */
struct chario_memory {
	pthread_mutex_t lock;
	struct chario_buffer **buffers;
	uint32_t room;
	uint32_t lowest;
};

/* A table without buffers, NULL when there is no memory; and its end. */
struct chario_memory *chario_memory_alloc(void);
void chario_memory_destroy(struct chario_memory *memory);

/* &struct chario_device_ops.create_buffer and free_buffer. */
int chario_memory_create(struct chario_buffer *buffer, struct chario_buffer_create *wanted);
int chario_memory_free(struct chario_buffer *buffer);

/*
 * Find the memory that a transfer names, and keep it until chario_memory_put().
 * Returns 0, -ENOENT without such a buffer, -EPERM for a read into one that is
 * only written from, -EINVAL where the slice is not inside it.
 */
int chario_memory_get(const struct chario_device *device, const struct chario_transfer *transfer,
		      void **at);
void chario_memory_put(const struct chario_device *device, const struct chario_transfer *transfer);

#endif /* CHARIO_MEMORY_H */
