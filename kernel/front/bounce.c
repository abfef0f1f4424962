// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads through memory of the kernel: the whole grains around the wanted bytes.
 */
#include <linux/atomic.h>
#include <linux/gfp.h>

#include "front/bounce.h"
#include "front/patch.h"
#include "types/disk.h"

/**
 * chario_bounce_init() - allocate the memory of a bounce
 * @bounce: zeroed
 * @size: most bytes that are read at a time, whole grains
 *
 * Return: 0 or ENOMEM.
 */
int chario_bounce_init(struct chario_bounce *bounce, u32 size)
{
	bounce->size = size;
	bounce->spare = alloc_pages_exact(size, GFP_KERNEL_ACCOUNT);
	return bounce->spare ? 0 : -ENOMEM;
}

/**
 * chario_bounce_deinit() - undo chario_bounce_init()
 * @bounce: not in use by any read
 */
void chario_bounce_deinit(struct chario_bounce *bounce)
{
	if (bounce->spare)
		free_pages_exact(bounce->spare, bounce->size);
}

/*
 * After a failure the drive may still access the memory, so other memory replaces it.
 * The core holds the old pages until the drive has finished with them.
 */
static void *replace(struct chario_bounce *bounce, void *spare)
{
	free_pages_exact(spare, bounce->size);
	return alloc_pages_exact(bounce->size, GFP_KERNEL_ACCOUNT);
}

/**
 * chario_bounce_read() - read some of the next bytes of a call
 * @cf: the file
 * @bounce: bounce of the file
 * @iter: destination of the bytes
 * @pos: byte offset on the disk
 *
 * Return: number of bytes that have been read, or -errno.
 */
ssize_t chario_bounce_read(struct chario_file *cf, struct chario_bounce *bounce,
			   struct iov_iter *iter, u64 pos)
{
	const u32 mask = cf->disk->grain_mask;
	u32 skip = pos & mask;
	size_t bytes = min_t(size_t, iov_iter_count(iter),
			     bounce->size - skip);
	struct chario_move m = {
		.op = CHARIO_OP_READ,
		.pos = pos - skip,
		.bytes = (skip + bytes + mask) & ~mask,
	};
	void *spare = xchg(&bounce->spare, NULL);
	int error;

	m.memory = spare ?: alloc_pages_exact(m.bytes, GFP_KERNEL_ACCOUNT);
	if (!m.memory)
		return -ENOMEM;
	error = chario_move(cf, &m);
	if (!error)
		bytes = copy_to_iter(m.memory + skip, bytes, iter);
	if (!spare)
		free_pages_exact(m.memory, m.bytes);
	else
		/* Pairs with the xchg() of the next reader. */
		smp_store_release(&bounce->spare,
				  error ? replace(bounce, spare) : spare);
	if (error)
		return error;
	return bytes ?: -EFAULT;
}
