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
#include "request/flight.h"
#include "request/request.h"
#include "trace.h"
#include "types/device.h"

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
__always_inline int chario_transfer_fetch(struct chario_transfer *t,
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

static inline void transfer_start(struct chario_call *call, struct chario_file *cf,
				  const struct chario_transfer *t)
{
	chario_call_start(call, cf, t->op, t->disk_offset);
	if (t->flags & CHARIO_TRANSFER_POLL)
		call->completion = CHARIO_COMPLETION_POLL;
	if (unlikely(t->flags & (CHARIO_TRANSFER_FUA | CHARIO_TRANSFER_NOWAIT))) {
		call->nowait = t->flags & CHARIO_TRANSFER_NOWAIT;
		if (t->flags & CHARIO_TRANSFER_FUA)
			chario_call_set_durable(call);
	}
	if (unlikely(t->deadline_ns))
		call->expires = jiffies + 1 +
				nsecs_to_jiffies(t->deadline_ns + TICK_NSEC - 1);
}

/* Writes the bytes that a file of any size has gathered. */
static int flush_bytes(struct chario_file *cf, bool nowait)
{
	if (!READ_ONCE(cf->bytes))
		return 0;
	return nowait ? -EAGAIN : chario_bytes_flush(cf, true);
}

static ssize_t flush(struct chario_file *cf, const struct chario_transfer *t,
		     bool nowait)
{
	struct chario_call call chario_uninitialized;
	int ret;

	if (t->buffer || t->buffer_offset || t->disk_offset || t->bytes ||
	    (t->flags & CHARIO_TRANSFER_PHYSICAL))
		return -EINVAL;
	ret = flush_bytes(cf, nowait);
	if (ret)
		return ret;
	if (!(cf->cio->features & CHARIO_FEATURE_WRITE_CACHE))
		return 0;
	/* A flush sleeps: io_uring repeats it on a thread that may. */
	if (nowait)
		return -EAGAIN;
	trace_enter(cf->cio, CHARIO_OP_FLUSH, 0, 0);
	transfer_start(&call, cf, t);
	return chario_request_run(&call);
}

static inline void set_slice(struct chario_call *call,
			     struct chario_file *cf,
			     const struct chario_transfer *t, size_t bytes)
{
	call->buffers = cf->buffers;
	call->handle = t->buffer;
	call->buffer_offset = t->buffer_offset;
	call->slice_bytes = t->bytes;
	call->bytes = bytes;
}

/* Transfers by one command, for a caller that waits: the call can live in registers. */
static __always_inline ssize_t transfer_single(struct chario_file *cf,
					       const struct chario_transfer *t,
					       u32 bytes)
{
	struct chario_call call chario_uninitialized;

	transfer_start(&call, cf, t);
	set_slice(&call, cf, t, bytes);
	return chario_flight_try_single(&call, 0, bytes);
}

/* An asynchronous call is polled only if its flags request that. */
static inline void set_async(struct chario_call *call,
			     const struct chario_transfer *t, bool nowait)
{
	call->nowait |= nowait;
	if (!(t->flags & CHARIO_TRANSFER_POLL))
		call->completion = CHARIO_COMPLETION_IRQ;
}

/*
 * Transfers by one command, for a caller that does not wait.  Returns EAGAIN when no
 * command is free.
 */
static __always_inline ssize_t
transfer_single_async(struct chario_file *cf, const struct chario_transfer *t,
		      u32 bytes, const struct chario_async *async)
{
	struct chario_call call chario_uninitialized;

	transfer_start(&call, cf, t);
	set_slice(&call, cf, t, bytes);
	set_async(&call, t, true);
	return chario_flight_send(&call, bytes, async);
}

static noinline ssize_t transfer_any(struct chario_file *cf,
				     const struct chario_transfer *t,
				     size_t bytes,
				     const struct chario_async *async,
				     bool nowait)
{
	struct chario_call call chario_uninitialized;

	transfer_start(&call, cf, t);
	set_slice(&call, cf, t, bytes);
	if (async) {
		call.async = *async;
		set_async(&call, t, nowait);
	}
	return chario_request_run(&call);
}

static noinline ssize_t transfer_physical(struct chario_file *cf,
					  const struct chario_transfer *t,
					  size_t bytes,
					  const struct chario_async *async,
					  bool nowait)
{
	struct chario_transfer resolved = *t;
	int ret;

	if (t->buffer)
		return -EINVAL;
	ret = chario_handles_resolve(cf->buffers, t->buffer_offset,
				     &resolved.buffer, &resolved.buffer_offset);
	return ret ?: transfer_any(cf, &resolved, bytes, async, nowait);
}

static __always_inline ssize_t transfer_transfer(struct chario_file *cf,
						 const struct chario_transfer *t,
						 const struct chario_async *async,
						 bool nowait)
{
	size_t bytes;
	ssize_t ret;

	trace_enter(cf->cio, t->op, t->disk_offset, t->bytes);
	if (unlikely((t->buffer_offset & cf->cio->dma_mask) ||
		     (t->bytes & cf->cio->block_mask)))
		return -EINVAL;
	ret = chario_call_clip(cf->cio, t->disk_offset,
			       min_t(u64, t->bytes, CHARIO_TRANSFER_MAX),
			       t->op);
	if (unlikely(ret <= 0))
		return ret;
	if (unlikely(t->flags & CHARIO_TRANSFER_PHYSICAL))
		return transfer_physical(cf, t, ret, async, nowait);
	if (unlikely(!chario_flight_is_single(cf->cio, ret)))
		return transfer_any(cf, t, ret, async, nowait);
	if (!async)
		return transfer_single(cf, t, ret);
	bytes = ret;
	ret = transfer_single_async(cf, t, bytes, async);
	if (unlikely(ret == -EAGAIN))
		return transfer_any(cf, t, bytes, async, nowait);
	return ret;
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
	struct chario_file *cf = file->private_data;
	int ret = check(t, file->f_mode);

	if (unlikely(ret))
		return ret;
	if (unlikely(t->op == CHARIO_TRANSFER_FLUSH))
		return flush(cf, t, nowait);
	return transfer_transfer(cf, t, async, nowait);
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
	struct chario_file *cf = file->private_data;
	struct chario_transfer t chario_uninitialized;
	ssize_t ret;

	ret = chario_transfer_fetch(&t, user);
	if (unlikely(ret))
		return ret;
	ret = check(&t, file->f_mode);
	if (unlikely(ret))
		return ret;
	if (unlikely(t.op == CHARIO_TRANSFER_FLUSH))
		return flush(cf, &t, false);
	return transfer_transfer(cf, &t, NULL, false);
}
