/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A pool: memory that the drive accesses directly.  Where DMA is not coherent, calls hand
 * the memory over between CPU and drive.
 */
#ifndef CHARIO_POOL_H
#define CHARIO_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <chario/buffer.h>

/**
 * struct chario_pool - memory for transfers
 * @buffer: buffer for transfers
 * @memory: address for the CPU: of the buffer, or @copy
 * @copy: copy of what has been read, or NULL, see chario_pool_copy() and
 *	chario_pool_create_fitting()
 * @sync: true if DMA is not coherent
 * @owner: process that created the pool.  A child of fork(2) has the same memory and
 *	the same buffer of the same open file, but no lock against its parent
 */
struct chario_pool {
	struct chario_buffer *buffer;
	unsigned char *memory;
	unsigned char *copy;
	bool sync;
	unsigned int owner;
};

/* Create a pool; @flags are those of chario_buffer_pool().  Returns 0 or a negative errno. */
int chario_pool_create(struct chario_pool *pool, struct chario_device *device, size_t bytes,
		       unsigned int flags);

/*
 * Create a pool for reading.  If the limit of locked memory does not allow @bytes, its buffer is
 * shorter, and @copy has @bytes: see chario_pool_take_piece().  Returns 0 or a negative errno.
 */
int chario_pool_create_fitting(struct chario_pool *pool, struct chario_device *device,
			       size_t bytes);

/*
 * Keep what is read in a copy as well, which the CPU can write to: the memory of a character
 * disk that is open for reading only cannot be written.  Returns 0 or -ENOMEM.
 */
int chario_pool_copy(struct chario_pool *pool);

/* Destroy a pool.  Does nothing for a pool that is all zero or belongs to another process. */
void chario_pool_destroy(struct chario_pool *pool);

/* Returns whether this process may use the pool; if not, the functions below return -EPERM. */
bool chario_pool_is_ours(const struct chario_pool *pool);

/* Returns 0 if a transfer moved all of its bytes, else its error or -EIO. */
int chario_pool_judge(ssize_t moved, size_t bytes);

/* Returns whether an error concerns the place that was read and not the whole disk. */
bool chario_pool_is_damage(ssize_t err);

/*
 * Transfer all of these bytes; hand them over before the transfer and take them back after
 * it.  Returns 0 or a negative errno; -EIO for fewer bytes than asked.  After ETIMEDOUT it
 * waits for the drive, so that the memory can be used again after any error.
 */
int chario_pool_read(const struct chario_pool *pool, uint64_t offset, size_t bytes,
		     uint64_t disk_offset);
int chario_pool_write(const struct chario_pool *pool, uint64_t offset, size_t bytes,
		      uint64_t disk_offset, unsigned int flags);

/* Hand memory to the drive before a transfer; take it back after a transfer has written to it. */
int chario_pool_give(const struct chario_pool *pool, uint64_t offset, size_t bytes);
int chario_pool_take(const struct chario_pool *pool, uint64_t offset, size_t bytes);

/* Take a piece that has been read to the start of the buffer, and belongs at @at of @memory. */
int chario_pool_take_piece(const struct chario_pool *pool, uint64_t at, size_t bytes);

#endif /* CHARIO_POOL_H */
