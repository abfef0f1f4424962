// SPDX-License-Identifier: GPL-2.0-only
/*
 * The gathering of small writes that follow one another, to be written as one.
 */
#include <linux/gfp.h>
#include <linux/log2.h>
#include <linux/sizes.h>
#include <linux/uaccess.h>

#include "front/gather.h"
#include "front/patch.h"
#include "types/disk.h"

#define GATHER_BYTES	SZ_128K

/**
 * chario_gather_init() - initialize an empty gather
 * @g: the gather
 * @cf: file that the bytes are written to
 * @bytes: number of bytes of the call that the gather is for; SIZE_MAX for a file
 */
void chario_gather_init(struct chario_gather *g, struct chario_file *cf,
			size_t bytes)
{
	const struct chario_disk *disk = cf->disk;
	u32 grain = disk->grain_mask + 1;
	u32 most = min_t(u32, READ_ONCE(disk->split.command_bytes),
			 GATHER_BYTES);

	/* Both ends of the call may be a part of a grain. */
	bytes = min_t(size_t, bytes, GATHER_BYTES) + 2 * grain;
	most = max_t(u32, rounddown_pow_of_two(most), grain);
	g->cf = cf;
	g->size = min_t(u32, roundup_pow_of_two(bytes), most);
	g->memory = NULL;
	g->bounce = NULL;
	spin_lock_init(&g->lock);
	g->start = 0;
	g->end = 0;
	g->error = 0;
}

static u32 grain_bytes(const struct chario_gather *g)
{
	return g->cf->disk->grain_mask + 1;
}

/**
 * chario_gather_drop_memory() - release the memory
 * @g: an empty gather
 *
 * This is also called after a failure: the command of an abandoned call is still with
 * the drive, which may access this memory, so the memory is not used again.  The core
 * holds its pages until the drive has finished with them.
 */
void chario_gather_drop_memory(struct chario_gather *g)
{
	if (g->memory)
		free_pages_exact(g->memory, g->size);
	if (g->bounce)
		free_pages_exact(g->bounce, grain_bytes(g));
	g->memory = NULL;
	g->bounce = NULL;
}

/**
 * chario_gather_get_memory() - allocate the memory unless it is there
 * @g: the gather
 *
 * Return: 0 or ENOMEM.
 */
int chario_gather_get_memory(struct chario_gather *g)
{
	if (g->memory)
		return 0;
	g->memory = alloc_pages_exact(g->size, GFP_KERNEL_ACCOUNT);
	g->bounce = alloc_pages_exact(grain_bytes(g), GFP_KERNEL_ACCOUNT);
	if (g->memory && g->bounce)
		return 0;
	chario_gather_drop_memory(g);
	return -ENOMEM;
}

static void set_range(struct chario_gather *g, u64 start, u64 end)
{
	spin_lock(&g->lock);
	g->start = start;
	g->end = end;
	spin_unlock(&g->lock);
}

/**
 * chario_gather_meets() - does a range overlap bytes that are gathered, or being
 *	written?
 * @g: the gather, which another call may be using
 * @pos: byte offset on the disk
 * @bytes: number of bytes
 */
bool chario_gather_meets(struct chario_gather *g, u64 pos, u64 bytes)
{
	bool meets;

	spin_lock(&g->lock);
	meets = pos < g->end && pos + bytes > g->start;
	spin_unlock(&g->lock);
	return meets;
}

/**
 * chario_gather_add() - gather more bytes
 * @g: gather with memory, which is empty, or ends at @pos and is not full
 * @iter: source of the bytes
 * @pos: byte offset on the disk
 *
 * This never waits for the caller's memory, because others may want the gather.
 *
 * Return: number of bytes for which there was room; EFAULT when some of these are
 * absent, for which the caller waits with chario_pages_fault_in().
 */
ssize_t chario_gather_add(struct chario_gather *g, struct iov_iter *iter,
			  u64 pos)
{
	u32 offset = pos & (g->size - 1);
	size_t bytes = min_t(size_t, iov_iter_count(iter), g->size - offset);
	size_t copied;

	pagefault_disable();
	copied = copy_from_iter(g->memory + offset, bytes, iter);
	pagefault_enable();
	if (copied != bytes) {
		iov_iter_revert(iter, copied);
		return -EFAULT;
	}
	set_range(g, chario_gather_is_empty(g) ? pos : g->start, pos + bytes);
	return bytes;
}

static int write_whole(struct chario_gather *g, u64 pos, void *from, u32 bytes,
		       bool fua)
{
	const struct chario_move m = {
		.op = CHARIO_OP_WRITE,
		.memory = from,
		.pos = pos,
		.bytes = bytes,
		.fua = fua,
		.duty = CHARIO_DUTY_STAY,
	};

	return chario_move(g->cf, &m);
}

/**
 * chario_gather_write() - write the gathered bytes
 * @g: the gather; empty afterwards, also after an error
 * @fua: durable at completion
 *
 * A fatal signal does not end this, because the writers have been told that their bytes
 * are written.
 *
 * Context: may sleep; the caller has the file open and the gather to itself.
 *
 * Return: 0 or -errno.
 */
int chario_gather_write(struct chario_gather *g, bool fua)
{
	const u32 mask = g->cf->disk->grain_mask;
	u64 pos = g->start, end = g->end;
	int ret = 0;

	while (pos < end && !ret) {
		void *from = g->memory + (pos & (g->size - 1));
		u64 stop = min(end, (pos | mask) + 1);

		if (!(pos & mask) && end - pos > mask)
			stop = end & ~(u64)mask;
		if ((pos | stop) & mask)
			ret = chario_patch_grain(g->cf, g->bounce, pos, from,
						 stop - pos, fua);
		else
			ret = write_whole(g, pos, from, stop - pos, fua);
		pos = stop;
	}
	/* Until here, reads and writes of the same bytes wait for the gather. */
	set_range(g, 0, 0);
	if (ret) {
		g->error = ret;
		chario_gather_drop_memory(g);
	}
	return ret;
}
