/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A pool: memory that the drive reads and writes directly, also where somebody has
 * to say when it is whose.
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
 * @buffer: as transfers name it
 * @memory: where it is for the CPU
 * @sync: DMA is not coherent here
 * @owner: process that has made it: a child of fork(2) has the same memory, and the same
 *	buffer of the same open file, but no lock that would keep the two apart
 */
struct chario_pool {
	struct chario_buffer *buffer;
	unsigned char *memory;
	bool sync;
	unsigned int owner;
};

/* Make a pool; @flags as for chario_buffer_pool().  0 or a negative errno. */
int chario_pool_create(struct chario_pool *pool, struct chario_device *device, size_t bytes,
		       unsigned int flags);

/* Also of a pool that is all zero; one of another process stays what it is. */
void chario_pool_destroy(struct chario_pool *pool);

/* Whether this process may use it: 0, or -EPERM, as all functions below have it. */
int chario_pool_check(const struct chario_pool *pool);

/* 0 where a transfer has moved all of its bytes, its error, or -EIO. */
int chario_pool_judge(ssize_t moved, size_t bytes);

/* Whether an error is of the place that was read, and not of all of the disk. */
bool chario_pool_is_damage(ssize_t err);

/*
 * One transfer of all of these bytes, handed over before and taken back after it.
 * 0 or a negative errno; -EIO for fewer bytes than asked.  After ETIMEDOUT the drive
 * is waited for, so that the memory may be used again after any error.
 */
int chario_pool_read(const struct chario_pool *pool, uint64_t offset, size_t bytes,
		     uint64_t disk_offset);
int chario_pool_write(const struct chario_pool *pool, uint64_t offset, size_t bytes,
		      uint64_t disk_offset, unsigned int flags);

/* Before a transfer reads it or writes to it; after one has written to it. */
int chario_pool_give(const struct chario_pool *pool, uint64_t offset, size_t bytes);
int chario_pool_take(const struct chario_pool *pool, uint64_t offset, size_t bytes);

#endif /* CHARIO_POOL_H */
