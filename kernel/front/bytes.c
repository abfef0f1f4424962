// SPDX-License-Identifier: GPL-2.0-only
/*
 * The front end `bytes`: files whose reads and writes have any size, place and
 * alignment.
 *
 * A call of whole grains from aligned memory is straight: it takes the path of other
 * files (front/char.c), and as many run at once as there are commands.  Only small
 * synchronous writes are gathered nevertheless (front/gather.h), because the next write
 * may follow them.  Other calls have grains at their ends that change in part: such a
 * grain is read, changed and written back behind an edge (queue/edge.h), so that no
 * write of another caller is lost in between.
 *
 * A file has one gather.  A call that finds it in use has a gather of its own until the
 * call ends.  The user of a gather waits only for the drive, which answers or is
 * recovered, and never for a caller's memory.
 *
 * Gathered bytes are written by fsync and close, by a read or write that overlaps them,
 * by a small write elsewhere, and a second after the last write.  Until then they keep
 * the file open: a last close writes nothing, because the locks of the file are gone by
 * then.
 */
#include <linux/file.h>
#include <linux/slab.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "base/workers.h"
#include "disk/disk.h"
#include "front/bounce.h"
#include "front/bytes.h"
#include "front/call.h"
#include "front/front.h"
#include "front/gather.h"
#include "front/patch.h"
#include "memory/locked.h"
#include "memory/pages.h"
#include "queue/edge.h"
#include "request/run.h"
#include "trace.h"
#include "types/queue.h"

/**
 * struct chario_bytes - the state of a file of any size
 * @in_use: bit 0: lock taken by bytes_enter(), which protects all members below except
 *	@bounce; @untold and the range of @gather are also read without it, see
 *	chario_gather_meets()
 * @idle: calls that wait for @in_use
 * @gather: bytes that have been written and are not on the disk yet; an fsync returns
 *	its error even if another call has returned it, because that was to another
 *	holder of the file
 * @untold: the next write also returns the error of @gather
 * @holds: bytes are gathered, and hold a reference to the file
 * @bounce: memory for reads; not protected by @in_use
 * @locked: locked memory as which @gather and @bounce count
 * @work: writes bytes that have stayed gathered for a second
 */
struct chario_bytes {
	unsigned long in_use;
	wait_queue_head_t idle;
	struct chario_gather gather;
	bool untold;
	bool holds;
	struct chario_bounce bounce;
	struct chario_locked locked;
	struct delayed_work work;
};

static bool bytes_try_enter(struct chario_bytes *b)
{
	return !test_and_set_bit_lock(0, &b->in_use);
}

/* Takes the gather of the file.  Returns 0; ETIMEDOUT; EINTR on a fatal signal. */
static int bytes_enter(struct chario_bytes *b)
{
	unsigned long expires = chario_call_expires(b->gather.cf);
	long left = wait_event_killable_timeout(b->idle, bytes_try_enter(b),
						chario_jiffies_left(expires));

	if (likely(left > 0))
		return 0;
	return left ? -EINTR : chario_disk_count_timeout(b->gather.cf->disk, -ETIMEDOUT);
}

/*
 * Undoes bytes_enter().  While bytes are gathered they hold a reference to the file, which is
 * taken before the bit is cleared, and dropped after.  @b outlives this call: the
 * caller has the file open, or is the work, for which the last close waits.
 */
static void leave(struct chario_bytes *b)
{
	struct file *file = b->gather.cf->origin.file;
	bool held = b->holds, holds = !chario_gather_is_empty(&b->gather);

	b->holds = holds;
	if (holds && !held)
		get_file(file);
	clear_bit_unlock(0, &b->in_use);
	/* The barrier pairs with that in prepare_to_wait(). */
	smp_mb__after_atomic();
	/* The barrier above orders this read. */
	if (unlikely(waitqueue_active(&b->idle)))
		wake_up(&b->idle);
	if (held && !holds)
		fput(file);
}

/*
 * Writes the bytes that earlier calls have gathered, which the trace shows as a call of
 * its own.
 */
static int write_late(struct chario_bytes *b)
{
	const struct chario_gather *g = &b->gather;

	if (!chario_gather_is_empty(g))
		trace_enter(g->cf->disk, CHARIO_OP_WRITE, g->start,
			    g->end - g->start);
	return chario_gather_write(&b->gather, false);
}

static void write_left_lying(struct work_struct *work)
{
	struct chario_bytes *b = container_of(to_delayed_work(work),
					      struct chario_bytes, work);

	/*
	 * Never wait: a call may use the gather for long, and other files need this
	 * worker.
	 */
	if (!bytes_try_enter(b)) {
		queue_delayed_work(chario_workqueue, &b->work, HZ);
		return;
	}
	if (write_late(b))
		WRITE_ONCE(b->untold, true);
	leave(b);
}

/*
 * Returns how many of the next bytes can go straight to the drive, as whole grains from
 * aligned memory; 0 if none can, or if fewer than @least are left, which are better
 * gathered.
 */
static size_t direct_bytes(const struct chario_disk *disk,
			   const struct iov_iter *iter, u64 pos, size_t least)
{
	if (!iter_is_ubuf(iter) || (pos & disk->grain_mask) ||
	    (chario_pages_address(iter) & disk->dma_mask))
		return 0;
	if (iov_iter_count(iter) < least)
		return 0;
	return iov_iter_count(iter) & ~(size_t)disk->grain_mask;
}

static ssize_t move_direct(struct chario_file *cf, struct iov_iter *iter,
			   enum chario_op op, u64 pos, size_t bytes, bool fua)
{
	size_t rest = iov_iter_count(iter) - bytes;
	struct chario_call call chario_uninitialized;
	ssize_t ret;

	iov_iter_truncate(iter, bytes);
	chario_call_start(&call, cf, op, pos);
	call.duty = READ_ONCE(cf->duty);
	call.iter = iter;
	if (fua)
		chario_call_set_durable(&call);
	ret = chario_run(&call);
	/* A call that was cut short ends here: @iter has been advanced too far. */
	if (ret == bytes)
		iov_iter_reexpand(iter, rest);
	else
		iov_iter_truncate(iter, 0);
	return ret;
}

/* Must a call deal with the gathered bytes before it goes on? */
static bool is_met(struct chario_bytes *b, enum chario_op op, u64 pos,
		   size_t bytes)
{
	return (op == CHARIO_OP_WRITE && READ_ONCE(b->untold)) ||
	       chario_gather_meets(&b->gather, pos, bytes);
}

/* Returns the error of lost bytes once, for a write. */
static int take_untold(struct chario_bytes *b)
{
	int error = b->untold ? b->gather.error : 0;

	WRITE_ONCE(b->untold, false);
	return error;
}

/*
 * Writes the gathered bytes that a call overlaps.  Returns 0, the error of that write,
 * or, for a write, the error of bytes that were lost before.
 */
static int make_way(struct chario_bytes *b, enum chario_op op, u64 pos,
		    size_t bytes)
{
	int ret = 0;

	if (likely(!is_met(b, op, pos, bytes)))
		return 0;
	ret = bytes_enter(b);
	if (ret)
		return ret;
	if (op == CHARIO_OP_WRITE)
		ret = take_untold(b);
	ret = ret ?: write_late(b);
	leave(b);
	return ret;
}

/* Gathers some of the next bytes of a write, and returns their number. */
static ssize_t bytes_add(struct chario_gather *g, struct iov_iter *iter, u64 pos,
			 bool durable)
{
	int ret = 0;

	if (!chario_gather_is_empty(g) &&
	    (pos != g->end || chario_gather_is_full(g)))
		ret = chario_gather_write(g, durable);
	ret = ret ?: chario_gather_get_memory(g);
	return ret ?: chario_gather_add(g, iter, pos);
}

/* Writes with the gather of the file, in which the last bytes of the call stay. */
static ssize_t write_shared(struct chario_bytes *b, struct iov_iter *iter,
			    u64 pos, bool durable)
{
	struct chario_gather *g = &b->gather;
	ssize_t ret = take_untold(b) ?: bytes_add(g, iter, pos, durable);

	if (ret > 0 && (durable || chario_gather_is_full(g)))
		ret = chario_gather_write(g, durable) ?: ret;
	if (!chario_gather_is_empty(g))
		mod_delayed_work(chario_workqueue, &b->work, HZ);
	return ret;
}

/* Writes while another call uses the gather of the file. */
static ssize_t write_alone(struct chario_file *cf, struct iov_iter *iter,
			   u64 pos, bool durable)
{
	size_t direct = direct_bytes(cf->disk, iter, pos,
				     cf->disk->grain_mask + 1);
	struct chario_gather own;
	ssize_t ret;

	if (direct)
		return move_direct(cf, iter, CHARIO_OP_WRITE, pos, direct,
				   durable);
	chario_gather_init(&own, cf, iov_iter_count(iter));
	ret = bytes_add(&own, iter, pos, durable);
	if (ret > 0)
		ret = chario_gather_write(&own, durable) ?: ret;
	chario_gather_drop_memory(&own);
	return ret;
}

/* Writes or gathers some of the next bytes of a write, and returns their number. */
static ssize_t write_part(struct chario_file *cf, struct iov_iter *iter,
			  u64 pos, bool durable)
{
	struct chario_bytes *b = cf->bytes;
	size_t direct = direct_bytes(cf->disk, iter, pos, b->gather.size);
	ssize_t ret = 0;

	if (direct) {
		ret = make_way(b, CHARIO_OP_WRITE, pos, direct);
		return ret ?: move_direct(cf, iter, CHARIO_OP_WRITE, pos,
					  direct, durable);
	}
	if (is_met(b, CHARIO_OP_WRITE, pos, iov_iter_count(iter)))
		ret = bytes_enter(b);
	else if (!bytes_try_enter(b))
		return write_alone(cf, iter, pos, durable);
	if (ret)
		return ret;
	ret = write_shared(b, iter, pos, durable);
	leave(b);
	return ret;
}

/*
 * Waits for memory that is to be gathered, without holding anything that others need.
 * The call is cut off where its memory cannot be read.
 */
static int bytes_fault_in(struct iov_iter *iter, u32 most, unsigned long expires)
{
	size_t want = min_t(size_t, iov_iter_count(iter), most);
	ssize_t ret;

	if (!user_backed_iter(iter))
		return -EFAULT;
	ret = chario_pages_fault_in(iter, want, CHARIO_OP_WRITE);
	if (ret < 0)
		return ret;
	if (ret < want)
		iov_iter_truncate(iter, ret);
	return time_after(jiffies, expires) ? -ETIMEDOUT : 0;
}

static ssize_t write_parts(struct chario_file *cf, struct iov_iter *iter,
			   u64 pos, bool durable)
{
	unsigned long expires = chario_call_expires(cf);
	ssize_t ret, total = 0;

	while (iov_iter_count(iter)) {
		ret = write_part(cf, iter, pos + total, durable);
		if (ret >= 0) {
			total += ret;
			expires = chario_call_expires(cf);
			continue;
		}
		if (ret != -EFAULT)
			return ret;
		/* move_direct() has ended the call. */
		if (!iov_iter_count(iter))
			return total ?: ret;
		ret = bytes_fault_in(iter, cf->bytes->gather.size, expires);
		chario_disk_count_timeout(cf->disk, ret);
		/* The call ends here, as at the end of the disk. */
		if (ret)
			return total ?: ret;
	}
	return total;
}

static ssize_t read_parts(struct chario_file *cf, struct iov_iter *iter,
			  u64 pos)
{
	ssize_t ret, total = 0;

	ret = make_way(cf->bytes, CHARIO_OP_READ, pos, iov_iter_count(iter));
	while (ret >= 0 && iov_iter_count(iter)) {
		size_t direct = direct_bytes(cf->disk, iter, pos + total,
					     cf->disk->grain_mask + 1);

		if (direct)
			ret = move_direct(cf, iter, CHARIO_OP_READ,
					  pos + total, direct, false);
		else
			ret = chario_bounce_read(cf, &cf->bytes->bounce, iter,
						 pos + total);
		total += max_t(ssize_t, ret, 0);
	}
	return total ?: ret;
}

/*
 * Performs, without waiting, a small write that only adds to the gathered bytes; else
 * returns -EAGAIN.
 */
static ssize_t gather_now(struct chario_bytes *b, struct iov_iter *iter,
			  u64 pos)
{
	struct chario_gather *g = &b->gather;
	size_t bytes = iov_iter_count(iter);
	ssize_t ret;

	if (!g->memory || b->untold ||
	    (pos & (g->size - 1)) + bytes >= g->size)
		return -EAGAIN;
	if (!chario_gather_is_empty(g) &&
	    (pos != g->end || chario_gather_is_full(g)))
		return -EAGAIN;
	ret = write_shared(b, iter, pos, false);
	return ret == -EFAULT ? -EAGAIN : ret;
}

static ssize_t transfer_now(struct chario_bytes *b, struct iov_iter *iter,
			    enum chario_op op, u64 pos, bool durable)
{
	ssize_t ret;

	if (op == CHARIO_OP_READ || durable || !bytes_try_enter(b))
		return -EAGAIN;
	ret = gather_now(b, iter, pos);
	leave(b);
	return ret;
}

/**
 * chario_bytes_are_straight() - does a call take the path of other files?
 * @iocb: a call to a file of any size
 * @iter: the caller's memory
 * @op: read or write
 */
bool chario_bytes_are_straight(struct kiocb *iocb, struct iov_iter *iter,
			       enum chario_op op)
{
	const struct chario_file *cf = iocb->ki_filp->private_data;
	const struct chario_bytes *b = cf->bytes;
	size_t bytes = iov_iter_count(iter);

	if (!bytes || ((iocb->ki_pos | bytes) & cf->disk->grain_mask) ||
	    chario_pages_check(cf->disk, iter))
		return false;
	if (op == CHARIO_OP_READ)
		return true;
	return !READ_ONCE(b->untold) &&
	       (bytes >= b->gather.size || !is_sync_kiocb(iocb) ||
		(iocb->ki_flags & IOCB_DSYNC));
}

/**
 * chario_bytes_make_way() - write the gathered bytes that a straight call overlaps
 * @iocb: a call to a file of any size
 * @iter: the caller's memory
 *
 * Return: 0; EAGAIN when that cannot be done now; EINTR; or the errno of the write.
 */
int chario_bytes_make_way(struct kiocb *iocb, const struct iov_iter *iter)
{
	const struct chario_file *cf = iocb->ki_filp->private_data;
	struct chario_bytes *b = cf->bytes;

	if ((iocb->ki_flags & IOCB_NOWAIT) &&
	    chario_gather_meets(&b->gather, iocb->ki_pos, iov_iter_count(iter)))
		return -EAGAIN;
	/* For a write, too: an error of bytes lost before stays for a later call. */
	return make_way(b, CHARIO_OP_READ, iocb->ki_pos, iov_iter_count(iter));
}

/**
 * chario_bytes_transfer() - read or write bytes of any size and place
 * @iocb: a call to a file of any size
 * @iter: the caller's memory
 * @op: read or write
 *
 * Return: number of bytes, or -errno.  A write that the drive fails returns the errno,
 * even if a part of it, or bytes gathered before, have reached the disk.
 */
ssize_t chario_bytes_transfer(struct kiocb *iocb, struct iov_iter *iter,
			      enum chario_op op)
{
	struct chario_file *cf = iocb->ki_filp->private_data;
	const struct chario_disk *disk = cf->disk;
	bool durable = iocb->ki_flags & IOCB_DSYNC;
	u64 pos = iocb->ki_pos;
	ssize_t ret;

	if (READ_ONCE(disk->removed))
		return -ENODEV;
	if (!iov_iter_count(iter))
		return 0;
	if (op == CHARIO_OP_WRITE && (iocb->ki_flags & IOCB_APPEND))
		return -ENOSPC;
	if (pos >= cf->capacity_bytes)
		return op == CHARIO_OP_WRITE ? -ENOSPC : 0;
	iov_iter_truncate(iter, cf->capacity_bytes - pos);
	if (iocb->ki_flags & IOCB_NOWAIT)
		ret = transfer_now(cf->bytes, iter, op, pos, durable);
	else if (op == CHARIO_OP_WRITE)
		ret = write_parts(cf, iter, pos, durable);
	else
		ret = read_parts(cf, iter, pos);
	if (ret > 0)
		iocb->ki_pos += ret;
	return ret;
}

/**
 * chario_bytes_flush() - write the gathered bytes
 * @cf: a file of any size
 * @sync: the caller is an fsync, after which an error counts as told; a close may be
 *	that of a process that ignores the result
 *
 * Return: 0 or -errno, also that of bytes that were lost before; ETIMEDOUT, or EINTR on
 * a fatal signal, when another call uses the gather, whose bytes are then written
 * later.
 */
int chario_bytes_flush(struct chario_file *cf, bool sync)
{
	struct chario_bytes *b = cf->bytes;
	int ret = bytes_enter(b);

	if (ret)
		return ret;
	write_late(b);
	ret = b->gather.error;
	if (sync) {
		b->gather.error = 0;
		WRITE_ONCE(b->untold, false);
	}
	leave(b);
	return ret;
}

static void free_bytes(struct chario_bytes *b)
{
	chario_gather_drop_memory(&b->gather);
	chario_bounce_deinit(&b->bounce);
	chario_locked_uncharge(&b->locked);
	kfree(b);
}

/*
 * The memory counts as locked: else any number of open files could use up all memory.
 */
static struct chario_bytes *alloc_bytes(struct chario_file *cf)
{
	struct chario_bytes *b = kzalloc(sizeof(*b), GFP_KERNEL_ACCOUNT);
	bool writes = cf->origin.file->f_mode & FMODE_WRITE;
	u32 size;

	if (!b)
		return NULL;
	init_waitqueue_head(&b->idle);
	chario_gather_init(&b->gather, cf, SIZE_MAX);
	INIT_DELAYED_WORK(&b->work, write_left_lying);
	size = b->gather.size;
	if (chario_locked_charge(&b->locked,
				 PFN_UP(writes ? 2 * size : size))) {
		kfree(b);
		return NULL;
	}
	if ((!writes || !chario_gather_get_memory(&b->gather)) &&
	    !chario_bounce_init(&b->bounce, size))
		return b;
	free_bytes(b);
	return NULL;
}

/**
 * chario_bytes_enable() - allow calls of any size on a file
 * @cf: the file
 *
 * Return: 0, also if they were allowed before; ENOMEM, also if RLIMIT_MEMLOCK is
 * exceeded; EOPNOTSUPP if a queue holds only one command.
 */
int chario_bytes_enable(struct chario_file *cf)
{
	struct chario_bytes *b;

	if (READ_ONCE(cf->bytes))
		return 0;
	if (!chario_disk_may_patch(cf->disk))
		return -EOPNOTSUPP;
	b = alloc_bytes(cf);
	if (!b)
		return -ENOMEM;
	chario_edge_enable(cf->disk);
	if (cmpxchg_release(&cf->bytes, NULL, b)) {
		chario_edge_disable(cf->disk); /* GCOVR_EXCL_LINE: a race decides */
		free_bytes(b);
		return 0; /* GCOVR_EXCL_LINE: a race decides */
	}
	chario_file_route(cf);
	return 0;
}

/**
 * chario_bytes_disable() - free the state of a file of any size, at its last close
 * @cf: the file; nothing is gathered
 *
 * Return: 0, or the errno of lost bytes that no fsync has returned.
 */
int chario_bytes_disable(struct chario_file *cf)
{
	int ret = cf->bytes->gather.error;

	cancel_delayed_work_sync(&cf->bytes->work);
	free_bytes(cf->bytes);
	chario_edge_disable(cf->disk);
	return ret;
}
