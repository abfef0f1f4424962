// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Memory of the module, synchronised only where DMA is not coherent. */
#include "device/pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "device/ops.h"
#include "system/process.h"

int chario_pool_create(struct chario_pool *pool, struct chario_device *device, size_t bytes,
		       unsigned int flags)
{
	int err = chario_buffer_pool(device, bytes, flags, &pool->buffer);

	pool->owner = chario_process();
	pool->sync = err == -EOPNOTSUPP;
	if (pool->sync)
		err = chario_buffer_pool(device, bytes, flags | CHARIO_BUFFER_STREAMING,
					 &pool->buffer);
	if (err)
		pool->buffer = NULL;
	else
		pool->memory = chario_buffer_memory(pool->buffer);
	return err;
}

/* Least bytes of a buffer, and a divisor of them: a shorter one would cost many commands. */
#define FITTING_LEAST ((size_t)64 << 10)

int chario_pool_create_fitting(struct chario_pool *pool, struct chario_device *device, size_t bytes)
{
	size_t fitting = bytes;
	int err = chario_pool_create(pool, device, bytes, 0);

	while (err == -ENOMEM && fitting > FITTING_LEAST) {
		fitting = MAX(fitting / 2 / FITTING_LEAST, 1) * FITTING_LEAST;
		err = chario_pool_create(pool, device, fitting, 0);
	}
	if (err || fitting == bytes)
		return err;
	pool->copy = calloc(1, bytes);
	if (!pool->copy) {
		chario_pool_destroy(pool);
		return -ENOMEM;
	}
	pool->memory = pool->copy;
	return 0;
}

int chario_pool_copy(struct chario_pool *pool)
{
	pool->copy = calloc(1, chario_buffer_bytes(pool->buffer));
	if (!pool->copy)
		return -ENOMEM;
	pool->memory = pool->copy;
	return 0;
}

void chario_pool_destroy(struct chario_pool *pool)
{
	free(pool->copy);
	if (chario_pool_is_ours(pool))
		chario_buffer_free(pool->buffer);
	*pool = (struct chario_pool){ 0 };
}

bool chario_pool_is_ours(const struct chario_pool *pool)
{
	return pool->owner == chario_process();
}

static int sync_bytes(const struct chario_pool *pool, uint64_t offset, size_t bytes,
		      enum chario_sync direction)
{
	if (!chario_pool_is_ours(pool))
		return -EPERM;
	return pool->sync ? chario_buffer_sync(pool->buffer, offset, bytes, direction) : 0;
}

int chario_pool_give(const struct chario_pool *pool, uint64_t offset, size_t bytes)
{
	return sync_bytes(pool, offset, bytes, CHARIO_SYNC_FOR_DEVICE);
}

int chario_pool_take(const struct chario_pool *pool, uint64_t offset, size_t bytes)
{
	int err = sync_bytes(pool, offset, bytes, CHARIO_SYNC_FOR_CPU);

	if (!err && pool->copy)
		memcpy(pool->copy + offset, chario_buffer_memory(pool->buffer) + offset, bytes);
	return err;
}

int chario_pool_take_piece(const struct chario_pool *pool, uint64_t at, size_t bytes)
{
	int err = sync_bytes(pool, 0, bytes, CHARIO_SYNC_FOR_CPU);

	if (!err && pool->copy)
		memcpy(pool->copy + at, chario_buffer_memory(pool->buffer), bytes);
	return err;
}

int chario_pool_judge(ssize_t moved, size_t bytes)
{
	if (moved < 0)
		return (int)moved;
	return (size_t)moved == bytes ? 0 : -EIO;
}

bool chario_pool_is_damage(ssize_t err)
{
	return err == -EIO || err == -ENODATA || err == -EILSEQ;
}

int chario_pool_read(const struct chario_pool *pool, uint64_t offset, size_t bytes,
		     uint64_t disk_offset)
{
	int err = chario_pool_give(pool, offset, bytes);

	if (!err)
		err = chario_pool_judge(
			chario_buffer_read(pool->buffer, offset, bytes, disk_offset, 0), bytes);
	chario_buffer_outlast(pool->buffer, err, 0);
	return err ? err : chario_pool_take(pool, offset, bytes);
}

int chario_pool_write(const struct chario_pool *pool, uint64_t offset, size_t bytes,
		      uint64_t disk_offset, unsigned int flags)
{
	int err = chario_pool_give(pool, offset, bytes);

	if (!err)
		err = chario_pool_judge(chario_buffer_write(pool->buffer, offset, bytes,
							    disk_offset, flags),
					bytes);
	return (int)chario_buffer_outlast(pool->buffer, err, 0);
}
