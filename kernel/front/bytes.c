// SPDX-License-Identifier: GPL-2.0-only
/*
 * The front end `bytes`: a file whose reads and writes have any size, place and
 * alignment.
 *
 * A call of whole blocks from memory that is aligned is straight: it goes the way
 * of all calls (front/char.c), as many at a time as there are commands.  Only
 * synchronous writes that are small are gathered all the same (front/gather.h),
 * for the next may follow them.  What is left at both ends of other calls is a
 * block that changes in part: it is read, changed and written back behind an edge
 * (core/edge.h), so that no other writer of the disk gets lost in between.
 *
 * The file has one gather.  A call that finds it in use by another has one of its
 * own for as long as it lasts.
 *
 * What has been gathered is written by fsync and close, by a read or write that
 * meets it, by a small write elsewhere, and a second after the last write.  Until
 * then it keeps the file open: a last close writes nothing, for the locks of the
 * file have gone by then.
 */
#include <linux/file.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "core/device.h"
#include "core/edge.h"
#include "core/pages.h"
#include "front/bytes.h"
#include "front/call.h"
#include "front/front.h"
#include "front/gather.h"
#include "front/patch.h"
#include "trace.h"

/**
 * struct chario_bytes - what a file of any size has in hand
 * @lock: protects all of it; @untold is read without it, and so is where @gather
 *	lies, see chario_gather_meets()
 * @gather: bytes that have been written and are not on the disk yet; an fsync
 *	tells of those that are lost, whoever else has been told: other holders
 *	of the file have not
 * @untold: the next write is to tell of it, too
 * @holds: something is gathered, and has a reference to the file
 * @work: writes what has been left lying
 */
struct chario_bytes {
	struct mutex lock; /* all of it */
	struct chario_gather gather;
	bool untold;
	bool holds;
	struct delayed_work work;
};

/*
 * Undo mutex_lock(), and have a reference to the file as long as something is gathered.
 * The caller has the file open, or is the work, which runs on that reference; a worker
 * that drops the last one does not close the file itself.
 */
static void leave(struct chario_bytes *b)
{
	struct file *file = b->gather.cf->origin.file;
	bool held = b->holds, holds = !chario_gather_is_empty(&b->gather);

	b->holds = holds;
	if (holds && !held)
		get_file(file);
	mutex_unlock(&b->lock);
	if (held && !holds)
		fput(file);
}

/* Bytes that earlier calls have gathered: to those who trace, a request of its own. */
static int write_late(struct chario_bytes *b)
{
	const struct chario_gather *g = &b->gather;

	if (!chario_gather_is_empty(g))
		trace_enter(g->cf->cio, CHARIO_OP_WRITE, g->start,
			    g->end - g->start);
	return chario_gather_write(&b->gather, false);
}

static void write_left_lying(struct work_struct *work)
{
	struct chario_bytes *b = container_of(to_delayed_work(work),
					      struct chario_bytes, work);

	/* A call may have it for long, and the workqueue is needed by others. */
	if (!mutex_trylock(&b->lock)) {
		queue_delayed_work(chario_workqueue, &b->work, HZ);
		return;
	}
	if (write_late(b))
		WRITE_ONCE(b->untold, true);
	leave(b);
}

/*
 * How many of the next bytes can go straight to the drive: whole blocks, from aligned
 * memory, or 0.  Also 0 where fewer than @least are left, which are better gathered.
 */
static size_t direct_bytes(const struct chario_device *cio,
			   const struct iov_iter *iter, u64 pos, size_t least)
{
	if (!iter_is_ubuf(iter) || (pos & cio->block_mask) ||
	    (chario_pages_address(iter) & cio->dma_mask))
		return 0;
	if (iov_iter_count(iter) < least)
		return 0;
	return iov_iter_count(iter) & ~(size_t)cio->block_mask;
}

static ssize_t move_direct(struct chario_file *cf, struct iov_iter *iter,
			   enum chario_op op, u64 pos, size_t bytes, bool fua)
{
	size_t rest = iov_iter_count(iter) - bytes;
	struct chario_call call chario_uninitialized;
	ssize_t ret;

	iov_iter_truncate(iter, bytes);
	chario_call_start(&call, cf, op, pos);
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

/* Write or gather some of the next bytes of a write: how many.  @least: as above. */
static ssize_t write_part(struct chario_gather *g, struct iov_iter *iter,
			  u64 pos, size_t least, bool fua)
{
	size_t direct = direct_bytes(g->cf->cio, iter, pos, least);
	int ret = 0;

	if (!chario_gather_is_empty(g) &&
	    (direct || pos != g->end || chario_gather_is_full(g)))
		ret = chario_gather_write(g, fua);
	if (ret)
		return ret;
	if (direct)
		return move_direct(g->cf, iter, CHARIO_OP_WRITE, pos, direct,
				   fua);
	ret = chario_gather_get_memory(g);
	return ret ?: chario_gather_add(g, iter, pos);
}

/* All of a write.  What is in the gather at the end is written by the caller, or stays. */
static ssize_t write_parts(struct chario_gather *g, struct iov_iter *iter,
			   u64 pos, size_t least, bool fua)
{
	ssize_t ret = 0, total = 0;

	while (ret >= 0 && iov_iter_count(iter)) {
		ret = write_part(g, iter, pos + total, least, fua);
		total += max_t(ssize_t, ret, 0);
	}
	/* Memory that cannot be read ends a call that has begun. */
	return ret < 0 && !(ret == -EFAULT && total) ? ret : total;
}

/* A write by the gather of the file, in which its last bytes stay. */
static ssize_t write_shared(struct chario_bytes *b, struct iov_iter *iter,
			    u64 pos, bool durable)
{
	struct chario_gather *g = &b->gather;
	ssize_t ret = b->untold ? g->error : 0;

	WRITE_ONCE(b->untold, false);
	if (!ret)
		ret = write_parts(g, iter, pos, g->size, durable);
	if (ret >= 0 && (durable || chario_gather_is_full(g)))
		ret = chario_gather_write(g, durable) ?: ret;
	if (!chario_gather_is_empty(g))
		mod_delayed_work(chario_workqueue, &b->work, HZ);
	return ret;
}

/* A write by a gather of its own, which ends with the call. */
static ssize_t write_alone(struct chario_gather *g, struct iov_iter *iter,
			   u64 pos, bool durable)
{
	ssize_t ret = write_parts(g, iter, pos, 1, durable);

	if (!chario_gather_is_empty(g) && ret >= 0)
		ret = chario_gather_write(g, durable) ?: ret;
	return ret;
}

/* Through the bounce memory, whole blocks around what is wanted. */
static ssize_t read_bounced(struct chario_gather *g, struct iov_iter *iter,
			    u64 pos)
{
	const u32 mask = g->cf->cio->block_mask;
	u32 skip = pos & mask;
	size_t bytes = min_t(size_t, iov_iter_count(iter), g->size - skip);
	struct chario_move m = {
		.op = CHARIO_OP_READ,
		.pos = pos - skip,
		.bytes = (skip + bytes + mask) & ~mask,
	};
	ssize_t ret = chario_gather_get_memory(g);

	if (ret)
		return ret;
	m.memory = g->bounce;
	ret = chario_move(g->cf, &m);
	if (ret) {
		chario_gather_drop_memory(g);
		return ret;
	}
	ret = copy_to_iter(g->bounce + skip, bytes, iter);
	return ret ?: -EFAULT;
}

static ssize_t read_parts(struct chario_gather *g, struct iov_iter *iter,
			  u64 pos)
{
	struct chario_file *cf = g->cf;
	ssize_t ret = 0, total = 0;

	while (ret >= 0 && iov_iter_count(iter)) {
		size_t direct = direct_bytes(cf->cio, iter, pos + total,
					     cf->cio->block_mask + 1);

		if (direct)
			ret = move_direct(cf, iter, CHARIO_OP_READ,
					  pos + total, direct, false);
		else
			ret = read_bounced(g, iter, pos + total);
		total += max_t(ssize_t, ret, 0);
	}
	return total ?: ret;
}

static ssize_t transfer_shared(struct chario_bytes *b, struct iov_iter *iter,
			       enum chario_op op, u64 pos, bool durable)
{
	struct chario_gather *g = &b->gather;
	ssize_t ret = 0;

	if (op == CHARIO_OP_WRITE)
		return write_shared(b, iter, pos, durable);
	if (chario_gather_meets(g, pos, iov_iter_count(iter)))
		ret = chario_gather_write(g, false);
	return ret ?: read_parts(g, iter, pos);
}

static ssize_t transfer_alone(struct chario_file *cf, struct iov_iter *iter,
			      enum chario_op op, u64 pos, bool durable)
{
	struct chario_gather own;
	ssize_t ret;

	chario_gather_init(&own, cf, iov_iter_count(iter));
	if (op == CHARIO_OP_WRITE)
		ret = write_alone(&own, iter, pos, durable);
	else
		ret = read_parts(&own, iter, pos);
	chario_gather_drop_memory(&own);
	return ret;
}

/* Without waiting: a small write that only adds to what is gathered, else -EAGAIN. */
static ssize_t gather_now(struct chario_bytes *b, struct iov_iter *iter,
			  u64 pos)
{
	struct chario_gather *g = &b->gather;
	size_t bytes = iov_iter_count(iter);

	if (!g->memory || b->untold ||
	    (pos & (g->size - 1)) + bytes >= g->size)
		return -EAGAIN;
	if (!chario_gather_is_empty(g) &&
	    (pos != g->end || chario_gather_is_full(g)))
		return -EAGAIN;
	return write_shared(b, iter, pos, false);
}

static ssize_t transfer_now(struct chario_bytes *b, struct iov_iter *iter,
			    enum chario_op op, u64 pos, bool durable)
{
	ssize_t ret;

	if (op == CHARIO_OP_READ || durable || !mutex_trylock(&b->lock))
		return -EAGAIN;
	ret = gather_now(b, iter, pos);
	leave(b);
	return ret;
}

static ssize_t transfer(struct chario_file *cf, struct iov_iter *iter,
			enum chario_op op, u64 pos, bool durable)
{
	struct chario_bytes *b = cf->bytes;
	ssize_t ret;

	if (READ_ONCE(b->untold) ||
	    chario_gather_meets(&b->gather, pos, iov_iter_count(iter))) {
		if (mutex_lock_killable(&b->lock))
			return -EINTR;
	} else if (!mutex_trylock(&b->lock)) {
		return transfer_alone(cf, iter, op, pos, durable);
	}
	ret = transfer_shared(b, iter, op, pos, durable);
	leave(b);
	return ret;
}

/**
 * chario_bytes_are_straight() - does a call go the way of all calls?
 * @iocb: of a file of any size
 * @iter: the caller's memory
 * @op: read or write
 */
bool chario_bytes_are_straight(struct kiocb *iocb, struct iov_iter *iter,
			       enum chario_op op)
{
	const struct chario_file *cf = iocb->ki_filp->private_data;
	const struct chario_bytes *b = cf->bytes;
	size_t bytes = iov_iter_count(iter);

	if (!bytes || ((iocb->ki_pos | bytes) & cf->cio->block_mask) ||
	    chario_pages_check(cf->cio, iter))
		return false;
	if (op == CHARIO_OP_READ)
		return true;
	return !READ_ONCE(b->untold) &&
	       (bytes >= b->gather.size || !is_sync_kiocb(iocb) ||
		(iocb->ki_flags & IOCB_DSYNC));
}

/**
 * chario_bytes_make_way() - write what a straight call meets
 * @iocb: of a file of any size
 * @iter: the caller's memory
 *
 * Return: 0; EAGAIN when that cannot be done now; EINTR; or what became of it.
 */
int chario_bytes_make_way(struct kiocb *iocb, const struct iov_iter *iter)
{
	const struct chario_file *cf = iocb->ki_filp->private_data;
	struct chario_bytes *b = cf->bytes;
	int ret;

	if (likely(!chario_gather_meets(&b->gather, iocb->ki_pos,
					iov_iter_count(iter))))
		return 0;
	if (iocb->ki_flags & IOCB_NOWAIT)
		return -EAGAIN;
	if (mutex_lock_killable(&b->lock))
		return -EINTR;
	ret = write_late(b);
	leave(b);
	return ret;
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
	bool durable = iocb->ki_flags & IOCB_DSYNC;
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
	iov_iter_truncate(iter, cio->capacity_bytes - pos);
	if (iocb->ki_flags & IOCB_NOWAIT)
		ret = transfer_now(cf->bytes, iter, op, pos, durable);
	else
		ret = transfer(cf, iter, op, pos, durable);
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
	ret = b->gather.error;
	if (sync) {
		b->gather.error = 0;
		WRITE_ONCE(b->untold, false);
	}
	leave(b);
	return ret;
}

static struct chario_bytes *alloc_bytes(struct chario_file *cf)
{
	struct chario_bytes *b = kzalloc(sizeof(*b), GFP_KERNEL_ACCOUNT);

	if (!b)
		return NULL;
	mutex_init(&b->lock);
	chario_gather_init(&b->gather, cf, SIZE_MAX);
	INIT_DELAYED_WORK(&b->work, write_left_lying);
	if (!chario_gather_get_memory(&b->gather))
		return b;
	kfree(b);
	return NULL;
}

static void free_bytes(struct chario_bytes *b)
{
	chario_gather_drop_memory(&b->gather);
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
	int ret = cf->bytes->gather.error;

	cancel_delayed_work_sync(&cf->bytes->work);
	free_bytes(cf->bytes);
	chario_edge_disable(cf->cio);
	return ret;
}
