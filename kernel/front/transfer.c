// SPDX-License-Identifier: GPL-2.0-only
/*
 * The front end `transfer`: reads and writes between disk and buffer, see
 * CHARIO_IOC_TRANSFER.
 */
#include <linux/fs.h>
#include <linux/uaccess.h>

#include "front/bytes.h"
#include "front/call.h"
#include "front/front.h"
#include "request/single.h"
#include "request/run.h"
#include "trace.h"
#include "types/disk.h"

#define FLAGS	(CHARIO_TRANSFER_POLL | CHARIO_TRANSFER_FUA | \
		 CHARIO_TRANSFER_NOWAIT | CHARIO_TRANSFER_PHYSICAL)

static_assert((int)CHARIO_TRANSFER_READ == (int)CHARIO_OP_READ);
static_assert((int)CHARIO_TRANSFER_WRITE == (int)CHARIO_OP_WRITE);
static_assert((int)CHARIO_TRANSFER_FLUSH == (int)CHARIO_OP_FLUSH);
static_assert(sizeof(struct chario_transfer) == 64);

/* Fetches the struct of a program that knows more members than this kernel. */
static noinline int fetch_longer(struct chario_transfer *t,
				 const void __user *user)
{
	u32 size = t->size;

	if (size < sizeof(*t) || size > PAGE_SIZE)
		return -EINVAL;
	return copy_struct_from_user(t, sizeof(*t), user, size);
}

/**
 * chario_transfer_fetch() - copy the struct of a caller
 * @t: destination
 * @user: the caller's struct
 *
 * Return: 0; EFAULT; EINVAL or E2BIG when its size is wrong.
 */
int chario_transfer_fetch(struct chario_transfer *t,
			  const void __user *user)
{
	if (unlikely(copy_from_user(t, user, sizeof(*t))))
		return -EFAULT;
	if (unlikely(t->size != sizeof(*t)))
		return fetch_longer(t, user);
	return 0;
}

/* Returns 0, or -errno for a transfer that is invalid on every disk. */
static inline int check(const struct chario_transfer *t, fmode_t mode)
{
	if (unlikely(t->op > CHARIO_TRANSFER_FLUSH || (t->flags & ~FLAGS) ||
		     t->reserved[0] | t->reserved[1]))
		return -EINVAL;
	if (unlikely(t->deadline_ns) &&
	    (t->deadline_ns < CHARIO_DEADLINE_MIN_NS ||
	     t->deadline_ns > CHARIO_DEADLINE_MAX_NS))
		return -EINVAL;
	if (unlikely(!(mode & (t->op == CHARIO_TRANSFER_READ ? FMODE_READ :
			       FMODE_WRITE))))
		return -EBADF;
	return 0;
}

/*
 * Fills in the call of a transfer.  An asynchronous call is polled only if its flags
 * request that.
 */
static __always_inline void transfer_start(struct chario_call *call,
					   struct chario_file *cf,
					   const struct chario_transfer *t,
					   size_t bytes, bool is_async)
{
	chario_call_start(call, cf, t->op, t->disk_offset);
	if (t->flags & CHARIO_TRANSFER_POLL)
		call->completion = CHARIO_COMPLETION_POLL;
	else if (is_async)
		call->completion = CHARIO_COMPLETION_IRQ;
	if (unlikely(t->flags & (CHARIO_TRANSFER_FUA | CHARIO_TRANSFER_NOWAIT))) {
		call->nowait = t->flags & CHARIO_TRANSFER_NOWAIT;
		if (t->flags & CHARIO_TRANSFER_FUA)
			chario_call_set_durable(call);
	}
	if (unlikely(t->deadline_ns))
		call->expires = jiffies + 1 +
				nsecs_to_jiffies(t->deadline_ns + TICK_NSEC - 1);
	call->buffers = cf->buffers;
	call->handle = t->buffer;
	call->buffer_offset = t->buffer_offset;
	call->slice_bytes = t->bytes;
	call->bytes = bytes;
}

/* Writes the bytes that a file of any size has gathered. */
static int flush_bytes(struct chario_file *cf, bool nowait)
{
	if (!READ_ONCE(cf->bytes))
		return 0;
	return nowait ? -EAGAIN : chario_bytes_flush(cf, true);
}

static noinline ssize_t flush(struct chario_file *cf,
			      const struct chario_transfer *t, bool nowait)
{
	struct chario_call call chario_uninitialized;
	int ret;

	if (t->buffer || t->buffer_offset || t->disk_offset || t->bytes ||
	    (t->flags & CHARIO_TRANSFER_PHYSICAL))
		return -EINVAL;
	if (READ_ONCE(cf->disk->removed))
		return -ENODEV;
	ret = flush_bytes(cf, nowait || (t->flags & CHARIO_TRANSFER_NOWAIT));
	if (ret)
		return ret;
	if (!(cf->disk->features & CHARIO_FEATURE_WRITE_CACHE))
		return 0;
	/* A flush sleeps: io_uring repeats it on a thread that may. */
	if (nowait)
		return -EAGAIN;
	trace_enter(cf->disk, CHARIO_OP_FLUSH, 0, 0);
	transfer_start(&call, cf, t, 0, false);
	call.duty = READ_ONCE(cf->duty);
	call.buffers = NULL;
	return chario_run(&call);
}

/* Transfers with any number of commands, or memory that is named by its address. */
static noinline ssize_t transfer_any(struct chario_file *cf,
				     const struct chario_transfer *t,
				     size_t bytes,
				     const struct chario_async *async,
				     bool nowait)
{
	struct chario_call call chario_uninitialized;
	int ret;

	transfer_start(&call, cf, t, bytes, async);
	call.duty = READ_ONCE(cf->duty);
	if (async) {
		call.async = *async;
		call.nowait |= nowait;
	}
	if (t->flags & CHARIO_TRANSFER_PHYSICAL) {
		if (t->buffer)
			return -EINVAL;
		ret = chario_handles_resolve(cf->buffers, t->buffer_offset,
					     &call.handle, &call.buffer_offset);
		if (ret)
			return ret;
	}
	return chario_run(&call);
}

/*
 * Performs a transfer.  A call of one command is made here, where it can live in
 * registers.
 */
static __always_inline ssize_t transfer(struct file *file,
					const struct chario_transfer *t,
					const struct chario_async *async,
					bool nowait)
{
	struct chario_file *cf = file->private_data;
	struct chario_call call chario_uninitialized;
	ssize_t bytes, ret;

	ret = check(t, file->f_mode);
	if (unlikely(ret))
		return ret;
	if (unlikely(t->op == CHARIO_TRANSFER_FLUSH))
		return flush(cf, t, nowait);
	trace_enter(cf->disk, t->op, t->disk_offset, t->bytes);
	if (unlikely((t->buffer_offset & cf->disk->dma_mask) ||
		     (t->bytes & cf->disk->grain_mask)))
		return -EINVAL;
	bytes = chario_call_clip(cf, t->disk_offset,
				 min_t(u64, t->bytes, CHARIO_TRANSFER_MAX),
				 t->op);
	if (unlikely(bytes <= 0))
		return bytes;
	if (unlikely((t->flags & CHARIO_TRANSFER_PHYSICAL) ||
		     bytes - 1 >= READ_ONCE(*READ_ONCE(cf->single_bytes))))
		return transfer_any(cf, t, bytes, async, nowait);
	transfer_start(&call, cf, t, bytes, async);
	if (!async)
		return chario_single_run(&call, 0, bytes);
	ret = chario_single_send(&call, bytes, async);
	return likely(ret != -EAGAIN) ? ret :
	       transfer_any(cf, t, bytes, async, nowait);
}

/**
 * chario_transfer_run() - perform a transfer for an asynchronous caller
 * @file: the open disk
 * @t: the transfer
 * @async: the caller
 * @nowait: return EAGAIN rather than sleep
 *
 * Return: -EIOCBQUEUED when @async will be called; else see chario_transfer().
 */
ssize_t chario_transfer_run(struct file *file, const struct chario_transfer *t,
			    const struct chario_async *async, bool nowait)
{
	return transfer(file, t, async, nowait);
}

/**
 * chario_transfer() - CHARIO_IOC_TRANSFER
 * @file: the open disk
 * @user: &struct chario_transfer
 *
 * Return: number of bytes or -errno, see &struct chario_transfer.
 */
long chario_transfer(struct file *file, const void __user *user)
{
	struct chario_transfer t chario_uninitialized;
	int ret = chario_transfer_fetch(&t, user);

	return likely(!ret) ? transfer(file, &t, NULL, false) : ret;
}
