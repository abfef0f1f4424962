/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The start of a call with the options of its disk and its file, for every front end.
 */
#ifndef CHARIO_FRONT_CALL_H
#define CHARIO_FRONT_CALL_H

#include <linux/jiffies.h>

#include "front/front.h"
#include "types/disk.h"

/*
 * Returns the deadline of a call that begins now, in jiffies; the 1 is for the current
 * tick.
 */
static inline unsigned long chario_call_expires(const struct chario_file *cf)
{
	return jiffies + 1 +
	       (READ_ONCE(cf->deadline) ?: READ_ONCE(cf->disk->deadline));
}

/*
 * Starts a synchronous call without memory, with the options of disk and file; @pos is that
 * of the file.
 */
static inline void chario_call_start(struct chario_call *call,
				     struct chario_file *cf,
				     enum chario_op op, u64 pos)
{
	struct chario_disk *disk = cf->disk;

	call->disk = disk;
	call->origin = &cf->origin;
	call->irq_queue = READ_ONCE(cf->irq_queue);
	call->poll_queue = READ_ONCE(cf->poll_queue);
	call->taken = NULL;
	call->iter = NULL;
	call->buffers = NULL;
	call->pos = cf->first + pos;
	call->op = op;
	call->control = READ_ONCE(disk->control);
	call->nowait = false;
	call->duty = 0;
	call->async.who = NULL;
	call->completion = READ_ONCE(cf->completion) ?:
			   READ_ONCE(disk->completion);
	if (unlikely(call->completion == CHARIO_COMPLETION_SPIN))
		call->spin_ns = READ_ONCE(cf->spin_ns) ?:
				READ_ONCE(disk->spin_ns);
	call->expires = chario_call_expires(cf);
}

/* Makes a write durable; without a write cache each write is durable anyway. */
static inline void chario_call_set_durable(struct chario_call *call)
{
	if (call->op == CHARIO_OP_WRITE &&
	    (call->disk->features & CHARIO_FEATURE_WRITE_CACHE))
		call->control |= CHARIO_CONTROL_FUA;
}

/* Returns the length of the part of a call that lies in the file, or -errno. */
static inline ssize_t chario_call_clip(const struct chario_file *cf, u64 pos,
				       size_t bytes, enum chario_op op)
{
	const struct chario_disk *disk = cf->disk;

	if (unlikely(READ_ONCE(disk->removed)))
		return -ENODEV;
	if (unlikely(!bytes))
		return 0;
	if (unlikely(pos & disk->grain_mask))
		return -EINVAL;
	if (unlikely(pos >= cf->capacity_bytes))
		return op == CHARIO_OP_WRITE ? -ENOSPC : 0;
	return min_t(u64, bytes, cf->capacity_bytes - pos);
}

#endif /* CHARIO_FRONT_CALL_H */
