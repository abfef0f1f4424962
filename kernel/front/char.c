// SPDX-License-Identifier: GPL-2.0-only
/*
 * The front end `char`: /dev/chardiskN and /dev/chardiskNpM as files.
 *
 * A disk supports read, write, their vector and positioned forms, lseek, fsync,
 * O_DSYNC, O_DIRECT, IOPOLL, and io_uring and aio with many calls in flight.
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/module.h>

#include "disk/disk.h"
#include "front/bytes.h"
#include "front/call.h"
#include "front/front.h"
#include "memory/buffer.h"
#include "memory/pages.h"
#include "queue/queue.h"
#include "request/single.h"
#include "request/run.h"
#include "trace.h"

static int chario_open(struct inode *inode, struct file *file)
{
	struct chario_node *node = container_of(inode->i_cdev, struct chario_node, cdev);
	const struct chario_disk *disk = node->disk;
	bool writes = file->f_mode & FMODE_WRITE;
	struct chario_file *cf;
	int ret;

	if (READ_ONCE(disk->removed))
		return -ENODEV;
	if (writes && (disk->features & CHARIO_FEATURE_READ_ONLY))
		return -EROFS;
	ret = chario_node_enter(node, writes);
	if (ret)
		return ret;
	cf = chario_file_create(node->disk, file);
	if (IS_ERR(cf)) {
		chario_node_leave(node, writes);
		return PTR_ERR(cf);
	}
	cf->node = node;
	cf->first = node->first;
	cf->capacity_bytes = node->bytes;
	return 0;
}

static int chario_release(struct inode *inode, struct file *file)
{
	struct chario_file *cf = file->private_data;
	struct chario_node *node;
	struct file *parent;

	/* A file that could not be confined ends before it is one of a disk. */
	if (!cf) {
		chario_confine_leave();
		return 0;
	}
	node = cf->node;
	parent = cf->parent;
	chario_file_destroy(cf);
	if (parent) {
		chario_confine_leave();
		fput(parent);
	} else {
		chario_node_leave(node, file->f_mode & FMODE_WRITE);
	}
	return 0;
}

/* Runs in each close(2), so that its caller learns of an error. */
static int chario_flush(struct file *file, fl_owner_t id)
{
	struct chario_file *cf = file->private_data;

	return READ_ONCE(cf->bytes) ? chario_bytes_flush(cf, false) : 0;
}

/* The flags that char_apply_flags() examines. */
#define SPECIAL	(IOCB_NOWAIT | IOCB_DSYNC | IOCB_HIPRI | IOCB_APPEND)

/*
 * A write with O_APPEND is at the end of the disk, where it finds no space, as on a
 * block device.
 */
static __always_inline int char_apply_flags(struct chario_call *call, int flags)
{
	if (call->op == CHARIO_OP_WRITE && (flags & IOCB_APPEND))
		return -ENOSPC;
	call->nowait = flags & IOCB_NOWAIT;
	if (flags & IOCB_DSYNC)
		chario_call_set_durable(call);
	if (flags & IOCB_HIPRI)
		call->completion = CHARIO_COMPLETION_POLL;
	return 0;
}

/* Reports the end of an asynchronous call. */
static void char_tell(void *who, ssize_t result, const void *looker)
{
	struct kiocb *iocb = who;

	if (result > 0)
		iocb->ki_pos += result;
	iocb->ki_complete(iocb, result);
}

static ssize_t char_transfer(struct kiocb *iocb, struct iov_iter *iter,
			     enum chario_op op)
{
	struct chario_file *cf = iocb->ki_filp->private_data;
	struct chario_call call chario_uninitialized;
	ssize_t ret;

	trace_enter(cf->disk, op, iocb->ki_pos, iov_iter_count(iter));
	if (unlikely(READ_ONCE(cf->bytes))) {
		if (!chario_bytes_are_straight(iocb, iter, op))
			return chario_bytes_transfer(iocb, iter, op);
		ret = chario_bytes_make_way(iocb, iter);
		if (ret)
			return ret;
	}
	ret = chario_call_clip(cf, iocb->ki_pos, iov_iter_count(iter), op);
	if (unlikely(ret <= 0))
		return ret;
	if (unlikely(chario_pages_check(cf->disk, iter)))
		return -EINVAL;
	iov_iter_truncate(iter, ret);
	chario_call_start(&call, cf, op, iocb->ki_pos);
	call.duty = READ_ONCE(cf->duty);
	call.iter = iter;
	if (!is_sync_kiocb(iocb)) {
		/* An asynchronous call is polled only if its flags request that. */
		call.async.tell = char_tell;
		call.async.who = iocb;
		call.async.queue = (struct chario_queue **)&iocb->private;
		call.completion = CHARIO_COMPLETION_IRQ;
	}
	if (unlikely(iocb->ki_flags & SPECIAL)) {
		ret = char_apply_flags(&call, iocb->ki_flags);
		if (ret)
			return ret;
	}
	ret = chario_run(&call);
	if (ret > 0)
		iocb->ki_pos += ret;
	return ret;
}

/* A common call is one valid command; errors take the slow path. */
static __always_inline bool is_common(const struct chario_file *cf,
				      unsigned long addr, size_t bytes, u64 pos)
{
	const struct chario_disk *disk = cf->disk;

	return likely(!READ_ONCE(disk->removed) &&
		      bytes - 1 < READ_ONCE(*READ_ONCE(cf->single_bytes)) &&
		      !chario_pages_is_misaligned(disk, addr, bytes | pos) &&
		      pos + bytes <= cf->capacity_bytes);
}

static __always_inline int start_common(struct chario_call *call,
					struct chario_file *cf, u64 pos,
					enum chario_op op, int flags)
{
	chario_call_start(call, cf, op, pos);
	return unlikely(flags & SPECIAL) ? char_apply_flags(call, flags) : 0;
}

/*
 * Repeats a common call whose memory is absent.  The call is built anew, because a
 * struct whose address is passed to a function cannot live in registers.
 */
static noinline ssize_t transfer_late(struct chario_file *cf,
				      unsigned long addr, size_t bytes,
				      loff_t pos, enum chario_op op, int flags)
{
	struct chario_call call chario_uninitialized;
	int ret = start_common(&call, cf, pos, op, flags);

	return ret ?: chario_single_run_late(&call, addr, bytes);
}

static __always_inline ssize_t transfer_common(struct chario_file *cf,
					       unsigned long addr, size_t bytes,
					       loff_t *pos, enum chario_op op,
					       int flags)
{
	struct chario_call call chario_uninitialized;
	ssize_t ret;

	trace_enter(cf->disk, op, *pos, bytes);
	ret = start_common(&call, cf, *pos, op, flags);
	if (ret)
		return ret;
	ret = chario_single_run(&call, addr, bytes);
	if (unlikely(ret == -EFAULT))
		ret = transfer_late(cf, addr, bytes, *pos, op, flags);
	if (likely(ret > 0))
		*pos += ret;
	return ret;
}

/* Performs preadv2() and the like. */
static __always_inline ssize_t transfer_sync(struct kiocb *iocb,
					     struct iov_iter *iter,
					     enum chario_op op)
{
	struct chario_file *cf = iocb->ki_filp->private_data;
	unsigned long addr;
	ssize_t ret;

	if (!chario_pages_is_piece(iter))
		return char_transfer(iocb, iter, op);
	addr = chario_pages_address(iter);
	if (!is_common(cf, addr, iter->count, iocb->ki_pos))
		return char_transfer(iocb, iter, op);
	ret = transfer_common(cf, addr, iter->count, &iocb->ki_pos, op,
			      iocb->ki_flags);
	if (likely(ret > 0))
		chario_pages_pass(iter, ret);
	return ret;
}

/* These two are not inlined, so that asynchronous calls do not pay for their stack. */
static noinline ssize_t read_sync(struct kiocb *iocb, struct iov_iter *iter)
{
	return transfer_sync(iocb, iter, CHARIO_OP_READ);
}

static noinline ssize_t write_sync(struct kiocb *iocb, struct iov_iter *iter)
{
	return transfer_sync(iocb, iter, CHARIO_OP_WRITE);
}

static ssize_t chario_read_iter(struct kiocb *iocb, struct iov_iter *iter)
{
	return is_sync_kiocb(iocb) ? read_sync(iocb, iter) :
				     char_transfer(iocb, iter, CHARIO_OP_READ);
}

static ssize_t chario_write_iter(struct kiocb *iocb, struct iov_iter *iter)
{
	return is_sync_kiocb(iocb) ? write_sync(iocb, iter) :
				     char_transfer(iocb, iter, CHARIO_OP_WRITE);
}

/* Performs a read() or write() that is not a common call. */
static noinline ssize_t transfer_other(struct file *file, char __user *buf,
				       size_t bytes, loff_t *pos,
				       enum chario_op op)
{
	struct iov_iter iter;
	struct kiocb iocb;
	ssize_t ret;

	init_sync_kiocb(&iocb, file);
	iocb.ki_pos = *pos;
	iov_iter_ubuf(&iter, op == CHARIO_OP_READ ? ITER_DEST : ITER_SOURCE,
		      buf, bytes);
	ret = char_transfer(&iocb, &iter, op);
	*pos = iocb.ki_pos;
	return ret;
}

/*
 * Performs read() and write(), without the structures that only vectors and io_uring
 * need.
 */
static __always_inline ssize_t transfer_user(struct file *file,
					     char __user *buf, size_t bytes,
					     loff_t *pos, enum chario_op op)
{
	const unsigned long addr = (unsigned long)buf;
	struct chario_file *cf = file->private_data;

	if (!is_common(cf, addr, bytes, *pos))
		return transfer_other(file, buf, bytes, pos, op);
	return transfer_common(cf, addr, bytes, pos, op,
			       op == CHARIO_OP_WRITE ? file->f_iocb_flags : 0);
}

static ssize_t chario_read(struct file *file, char __user *buf, size_t bytes,
			   loff_t *pos)
{
	return transfer_user(file, buf, bytes, pos, CHARIO_OP_READ);
}

static ssize_t chario_write(struct file *file, const char __user *buf,
			    size_t bytes, loff_t *pos)
{
	return transfer_user(file, (char __user *)buf, bytes, pos,
			     CHARIO_OP_WRITE);
}

static int chario_iopoll(struct kiocb *iocb, struct io_comp_batch *batch,
			 unsigned int flags)
{
	struct chario_queue *q = READ_ONCE(iocb->private);

	return q ? chario_queue_poll(q) : 0;
}

static loff_t chario_llseek(struct file *file, loff_t offset, int whence)
{
	struct chario_file *cf = file->private_data;

	return fixed_size_llseek(file, offset, whence, cf->capacity_bytes);
}

static int chario_fsync(struct file *file, loff_t start, loff_t end,
			int datasync)
{
	struct chario_file *cf = file->private_data;
	struct chario_call call;
	int ret;

	if (READ_ONCE(cf->disk->removed))
		return -ENODEV;
	if (READ_ONCE(cf->bytes)) {
		ret = chario_bytes_flush(cf, true);
		if (ret)
			return ret;
	}
	if (!(cf->disk->features & CHARIO_FEATURE_WRITE_CACHE))
		return 0;
	trace_enter(cf->disk, CHARIO_OP_FLUSH, 0, 0);
	chario_call_start(&call, cf, CHARIO_OP_FLUSH, 0);
	call.duty = READ_ONCE(cf->duty);
	return chario_run(&call);
}

static int chario_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct chario_file *cf = file->private_data;

	if (READ_ONCE(cf->disk->removed))
		return -ENODEV;
	return chario_buffer_mmap(cf->buffers, vma);
}

const struct file_operations chario_char_fops = {
	.owner		= THIS_MODULE,
	.open		= chario_open,
	.flush		= chario_flush,
	.release	= chario_release,
	.read		= chario_read,
	.write		= chario_write,
	.read_iter	= chario_read_iter,
	.write_iter	= chario_write_iter,
	.iopoll		= chario_iopoll,
	.uring_cmd	= chario_uring_cmd,
	.uring_cmd_iopoll = chario_uring_cmd_iopoll,
	.llseek		= chario_llseek,
	.fsync		= chario_fsync,
	.mmap		= chario_mmap,
	.unlocked_ioctl	= chario_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
};
