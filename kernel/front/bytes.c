// SPDX-License-Identifier: GPL-2.0-only
/*
 * The front end `bytes`: a file whose reads and writes have any size, place and
 * alignment.
 *
 * Parts that are large and aligned go straight between the caller's memory and
 * the drive.  Small writes that follow one another are gathered until they are
 * a whole command.  What is left at both ends of a part is a block that changes
 * in part: it is read, changed and written back behind an edge (core/edge.h),
 * so that no other writer of the disk gets lost in between.
 *
 * What has been gathered is written by fsync and close, by a read or write
 * elsewhere, and a second after the last write.  Until then it keeps the file
 * open: a last close writes nothing, for the locks of the file have gone by
 * then.
 */
#include <linux/file.h>
#include <linux/gfp.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "core/device.h"
#include "core/edge.h"
#include "core/pages.h"
#include "front/bytes.h"
#include "front/call.h"
#include "front/front.h"
#include "front/patch.h"
#include "trace.h"

#define GATHER_BYTES	SZ_128K

/**
 * struct chario_bytes - what a file of any size has in hand
 * @lock: protects all of it
 * @cf: the file
 * @size: of @gathered and of @bounce, a power of two
 * @gathered: bytes @start to @end of the disk, where they lie in a piece of the
 *	disk of @size
 * @bounce: for parts of blocks, and for memory that is not aligned; both are
 *	NULL after a failure, until the next call
 * @start: of what has been gathered
 * @end: of it; nothing when it is @start
 * @error: of bytes that are lost; until an fsync has told of it, whoever else
 *	has been told: other holders of the file have not
 * @untold: the next write is to tell of it, too
 * @holds: what has been gathered keeps the file open
 * @work: writes what has been left lying
 */
struct chario_bytes {
	struct mutex lock; /* all of it */
	struct chario_file *cf;
	u32 size;
	void *gathered;
	void *bounce;
	u64 start;
	u64 end;
	int error;
	bool untold;
	bool holds;
	struct delayed_work work;
};

/*
 * A call that has been given up leaves its command with the drive, which may
 * still reach this memory: it is not used again.  The core holds its pages as
 * long as that.
 */
static void drop_memory(struct chario_bytes *b)
{
	if (b->gathered)
		free_pages_exact(b->gathered, b->size);
	if (b->bounce)
		free_pages_exact(b->bounce, b->size);
	b->gathered = NULL;
	b->bounce = NULL;
}

static int get_memory(struct chario_bytes *b)
{
	if (b->gathered)
		return 0;
	b->gathered = alloc_pages_exact(b->size, GFP_KERNEL_ACCOUNT);
	b->bounce = alloc_pages_exact(b->size, GFP_KERNEL_ACCOUNT);
	if (b->gathered && b->bounce)
		return 0;
	drop_memory(b);
	return -ENOMEM;
}

/* Undo mutex_lock(); the caller has the file open, or is what keeps it open. */
static void leave(struct chario_bytes *b)
{
	struct file *file = b->cf->origin.file;
	bool held = b->holds, holds = b->start != b->end;

	b->holds = holds;
	if (holds && !held)
		get_file(file);
	mutex_unlock(&b->lock);
	if (held && !holds)
		fput(file);
}

static int write_whole(struct chario_bytes *b, u64 pos, void *from, u32 bytes,
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

	return chario_move(b->cf, &m);
}

/*
 * Write what has been gathered.  Whatever comes of it, it is gone then.  Its
 * callers have been told that it is written: that one is killed ends nothing.
 */
static int write_gathered(struct chario_bytes *b, bool fua)
{
	const u32 mask = b->cf->cio->block_mask;
	u64 pos = b->start, end = b->end;
	int ret = 0;

	b->start = 0;
	b->end = 0;
	while (pos < end && !ret) {
		void *from = b->gathered + (pos & (b->size - 1));
		u64 stop = min(end, (pos | mask) + 1);

		if (!(pos & mask) && end - pos > mask)
			stop = end & ~(u64)mask;
		if ((pos | stop) & mask)
			ret = chario_patch_block(b->cf, b->bounce, pos, from,
						 stop - pos, fua);
		else
			ret = write_whole(b, pos, from, stop - pos, fua);
		pos = stop;
	}
	if (ret)
		drop_memory(b);
	return ret;
}

/* The same, and nobody may be there who wants to know. */
static int write_for_others(struct chario_bytes *b, bool fua)
{
	int ret = write_gathered(b, fua);

	if (ret)
		b->error = ret;
	return ret;
}

/* The same, not for a call that goes on: it is one of its own. */
static int write_late(struct chario_bytes *b)
{
	if (b->start != b->end)
		trace_enter(b->cf->cio, CHARIO_OP_WRITE, b->start,
			    b->end - b->start);
	return write_for_others(b, false);
}

static void write_left_lying(struct work_struct *work)
{
	struct chario_bytes *b = container_of(to_delayed_work(work),
					      struct chario_bytes, work);

	/* A call may be waiting for memory that never comes; others need us. */
	if (!mutex_trylock(&b->lock)) {
		queue_delayed_work(chario_workqueue, &b->work, HZ);
		return;
	}
	if (write_late(b))
		b->untold = true;
	leave(b);
}

/* Can this part of a call go straight to the drive?  Its length, or 0. */
static size_t direct_bytes(const struct chario_bytes *b,
			   const struct iov_iter *iter, u64 pos, size_t least)
{
	const struct chario_device *cio = b->cf->cio;

	if (!iter_is_ubuf(iter) || (pos & cio->block_mask) ||
	    (chario_pages_address(iter) & cio->dma_mask))
		return 0;
	if (iov_iter_count(iter) < least)
		return 0;
	return iov_iter_count(iter) & ~(size_t)cio->block_mask;
}

static ssize_t move_direct(struct chario_bytes *b, struct iov_iter *iter,
			   enum chario_op op, u64 pos, size_t bytes, bool fua)
{
	size_t rest = iov_iter_count(iter) - bytes;
	struct chario_call call chario_uninitialized;
	ssize_t ret;

	iov_iter_truncate(iter, bytes);
	chario_call_start(&call, b->cf, op, pos);
	call.iter = iter;
	if (fua)
		chario_call_set_durable(&call);
	ret = chario_request_run(&call);
	/* One that was cut short ends here: its memory has gone on. */
	if (ret == bytes)
		iov_iter_reexpand(iter, rest);
	else
		iov_iter_truncate(iter, 0);
	return ret;
}

/* Bytes that have been gathered, or -errno. */
static ssize_t gather(struct chario_bytes *b, struct iov_iter *iter, u64 pos)
{
	u32 offset = pos & (b->size - 1);
	size_t bytes = min_t(size_t, iov_iter_count(iter), b->size - offset);

	if (copy_from_iter(b->gathered + offset, bytes, iter) != bytes)
		return -EFAULT;
	if (b->start == b->end)
		b->start = pos;
	b->end = pos + bytes;
	return bytes;
}

static ssize_t write_part(struct chario_bytes *b, struct iov_iter *iter,
			  u64 pos, bool fua)
{
	size_t direct = direct_bytes(b, iter, pos, b->size);
	ssize_t ret = 0;

	if (b->start != b->end &&
	    (direct || pos != b->end || !(b->end & (b->size - 1))))
		ret = write_for_others(b, fua);
	if (ret)
		return ret;
	if (direct)
		return move_direct(b, iter, CHARIO_OP_WRITE, pos, direct, fua);
	return gather(b, iter, pos);
}

static ssize_t write_bytes(struct chario_bytes *b, struct iov_iter *iter,
			   u64 pos, bool durable)
{
	ssize_t ret = b->untold ? b->error : 0, total = 0;

	b->untold = false;
	while (ret >= 0 && iov_iter_count(iter)) {
		ret = write_part(b, iter, pos + total, durable);
		total += max_t(ssize_t, ret, 0);
	}
	/* Memory that cannot be read ends a call that has begun. */
	if (ret == -EFAULT && total)
		ret = 0;
	if (ret >= 0 && (durable || !(b->end & (b->size - 1))))
		ret = write_for_others(b, durable);
	if (b->start != b->end)
		mod_delayed_work(chario_workqueue, &b->work, HZ);
	return ret < 0 ? ret : total;
}

/* Through the bounce memory, whole blocks around what is wanted. */
static ssize_t read_bounced(struct chario_bytes *b, struct iov_iter *iter,
			    u64 pos)
{
	const u32 mask = b->cf->cio->block_mask;
	u32 skip = pos & mask;
	size_t bytes = min_t(size_t, iov_iter_count(iter), b->size - skip);
	const struct chario_move m = {
		.op = CHARIO_OP_READ,
		.memory = b->bounce,
		.pos = pos - skip,
		.bytes = (skip + bytes + mask) & ~mask,
	};
	ssize_t ret = chario_move(b->cf, &m);

	if (ret) {
		drop_memory(b);
		return ret;
	}
	ret = copy_to_iter(b->bounce + skip, bytes, iter);
	return ret ?: -EFAULT;
}

static ssize_t read_bytes(struct chario_bytes *b, struct iov_iter *iter,
			  u64 pos)
{
	ssize_t ret = 0, total = 0;

	if (pos < b->end && pos + iov_iter_count(iter) > b->start)
		ret = write_for_others(b, false);
	while (ret >= 0 && iov_iter_count(iter)) {
		size_t direct = direct_bytes(b, iter, pos + total,
					     b->cf->cio->block_mask + 1);

		if (direct)
			ret = move_direct(b, iter, CHARIO_OP_READ, pos + total,
					  direct, false);
		else
			ret = read_bounced(b, iter, pos + total);
		total += max_t(ssize_t, ret, 0);
	}
	return total ?: ret;
}

/**
 * chario_bytes_transfer() - read or write any bytes
 * @iocb: of a file of any size
 * @iter: the caller's memory
 * @op: read or write
 *
 * Return: bytes, or -errno.  A write that the drive fails gives the errno, also
 * where a part of it, or what was gathered before, has reached the disk.
 */
ssize_t chario_bytes_transfer(struct kiocb *iocb, struct iov_iter *iter,
			      enum chario_op op)
{
	struct chario_file *cf = iocb->ki_filp->private_data;
	const struct chario_device *cio = cf->cio;
	struct chario_bytes *b = cf->bytes;
	u64 pos = iocb->ki_pos;
	ssize_t ret;

	if (READ_ONCE(cio->removed))
		return -ENODEV;
	if (!iov_iter_count(iter))
		return 0;
	if (op == CHARIO_OP_WRITE && (iocb->ki_flags & IOCB_APPEND))
		return -ENOSPC;
	if (pos >= cio->capacity_bytes)
		return op == CHARIO_OP_WRITE ? -ENOSPC : 0;
	if (iocb->ki_flags & IOCB_NOWAIT)
		return -EAGAIN;
	iov_iter_truncate(iter, cio->capacity_bytes - pos);
	if (mutex_lock_killable(&b->lock))
		return -EINTR;
	ret = get_memory(b);
	if (ret)
		goto out;
	if (op == CHARIO_OP_READ)
		ret = read_bytes(b, iter, pos);
	else
		ret = write_bytes(b, iter, pos, iocb->ki_flags & IOCB_DSYNC);
out:
	leave(b);
	if (ret > 0)
		iocb->ki_pos += ret;
	return ret;
}

/**
 * chario_bytes_flush() - write what has been gathered
 * @cf: a file of any size
 * @sync: for an fsync: afterwards an error has been told; a close may be that of
 *	a process that is not interested
 *
 * Return: 0 or -errno, also that of bytes that were lost before.
 */
int chario_bytes_flush(struct chario_file *cf, bool sync)
{
	struct chario_bytes *b = cf->bytes;
	int ret;

	mutex_lock(&b->lock);
	write_late(b);
	ret = b->error;
	if (sync) {
		b->error = 0;
		b->untold = false;
	}
	leave(b);
	return ret;
}

static struct chario_bytes *alloc_bytes(struct chario_file *cf)
{
	u32 size = min_t(u32, READ_ONCE(cf->cio->limits.command_bytes),
			 GATHER_BYTES);
	struct chario_bytes *b = kzalloc(sizeof(*b), GFP_KERNEL_ACCOUNT);

	if (!b)
		return NULL;
	b->size = max_t(u32, rounddown_pow_of_two(size),
			cf->cio->block_mask + 1);
	mutex_init(&b->lock);
	b->cf = cf;
	INIT_DELAYED_WORK(&b->work, write_left_lying);
	return b;
}

static void free_bytes(struct chario_bytes *b)
{
	drop_memory(b);
	kfree(b);
}

/**
 * chario_bytes_enable() - let calls of a file have any size
 * @cf: the file
 *
 * Return: 0, also when they could before; ENOMEM; EOPNOTSUPP where a queue holds
 * one command only.
 */
int chario_bytes_enable(struct chario_file *cf)
{
	/* Where the common call looks whether it is one command: never. */
	static const u32 none;
	struct chario_bytes *b;

	if (READ_ONCE(cf->bytes))
		return 0;
	if (!chario_device_may_patch(cf->cio))
		return -EOPNOTSUPP;
	b = alloc_bytes(cf);
	if (!b)
		return -ENOMEM;
	if (get_memory(b)) {
		free_bytes(b);
		return -ENOMEM;
	}
	chario_edge_enable(cf->cio);
	if (cmpxchg_release(&cf->bytes, NULL, b)) {
		chario_edge_disable(cf->cio);
		free_bytes(b);
		return 0;
	}
	WRITE_ONCE(cf->single_bytes, &none);
	return 0;
}

/**
 * chario_bytes_disable() - the last close of a file of any size
 * @cf: the file; nothing is gathered
 *
 * Return: 0, or what became of bytes that no fsync has told of.
 */
int chario_bytes_disable(struct chario_file *cf)
{
	int ret = cf->bytes->error;

	cancel_delayed_work_sync(&cf->bytes->work);
	free_bytes(cf->bytes);
	chario_edge_disable(cf->cio);
	return ret;
}
