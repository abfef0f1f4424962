/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The contract between the front ends and the core: what a front end fills in
 * and what it gets back.
 */
#ifndef CHARIO_CORE_CALL_H
#define CHARIO_CORE_CALL_H

#include <linux/uio.h>

#include <chario/uapi.h>

#include "chario.h"

/**
 * struct chario_async - a caller who does not wait
 * @tell: called once with bytes or -errno, and with what chario_queue_poll_for()
 *	was told of who looks, or NULL; any context but under the queue's lock
 * @who: for @tell; NULL for a caller who waits
 * @queue: where the queue of the request is noted before it can end, for who
 *	polls
 */
struct chario_async {
	void (*tell)(void *who, ssize_t result, const void *looker);
	void *who;
	struct chario_queue **queue;
};

/* What a command asks of the device. */
#define CHARIO_CONTROL_FUA		BIT(0)	/* durable at completion */
#define CHARIO_CONTROL_LIMITED_RETRY	BIT(1)	/* an error rather than retries */

/* What a call owes to others than its caller. */
#define CHARIO_DUTY_EDGE	BIT(0)	/* writes the block that is changed in part */
#define CHARIO_DUTY_STAY	BIT(1)	/* ends as it should, caller killed or not */

/**
 * struct chario_call - what a caller wants, checked by the front end
 * @cio: the disk
 * @origin: the open file
 * @irq_queue: queue for each CPU that completes by interrupt
 * @poll_queue: the same for polling
 * @taken: a command that has been taken for it, or NULL
 * @taken_from: its queue
 * @iter: the caller's memory; NULL for a buffer, and for a flush
 * @buffers: of the open file, when the memory is a buffer; else NULL
 * @buffer_id: its name
 * @buffer_offset: of the first byte in it
 * @slice_bytes: length that must lie in the buffer
 * @bytes: the part of it that lies on the disk
 * @pos: byte offset on the disk, a multiple of the logical block
 * @op: &enum chario_op
 * @control: CHARIO_CONTROL_* bits
 * @nowait: EAGAIN rather than wait for a free command
 * @completion: &enum chario_completion, not DEFAULT
 * @spin_ns: how long SPIN looks; set for SPIN only
 * @expires: jiffies at which the caller wants ETIMEDOUT
 * @duty: CHARIO_DUTY_* bits
 * @async: the caller, if it does not wait
 *
 * The front end guarantees: the range is inside the disk, offset and every
 * vector element are multiples of the logical block, every address is aligned
 * for DMA.
 */
struct chario_call {
	struct chario_device *cio;
	struct chario_origin *origin;
	struct chario_queue *const *irq_queue;
	struct chario_queue *const *poll_queue;
	struct chario_command *taken;
	struct chario_queue *taken_from;
	struct iov_iter *iter;
	struct chario_buffers *buffers;
	u32 buffer_id;
	u64 buffer_offset;
	u64 slice_bytes;
	size_t bytes;
	u64 pos;
	enum chario_op op;
	u16 control;
	bool nowait;
	u32 completion;
	u32 spin_ns;
	unsigned long expires;
	u8 duty;
	struct chario_async async;
};

/* core/request.c */
ssize_t chario_request_run(struct chario_call *call);

#endif /* CHARIO_CORE_CALL_H */
