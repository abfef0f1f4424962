/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The contract between the front ends and the core: the call that a front end
 * fills in, and the results that it gets back.
 */
#ifndef CHARIO_TYPES_CALL_H
#define CHARIO_TYPES_CALL_H

#include <linux/uio.h>

#include <chario/uapi.h>

#include "chario.h"

/**
 * struct chario_async - a caller who does not wait
 * @tell: function that is called once with bytes or -errno, and with the looker of
 *	chario_queue_poll_for() or NULL; any context but under the queue's lock
 * @who: argument of @tell; NULL for a caller who waits
 * @queue: place where the queue of the request is noted before it can end, for a
 *	caller who polls
 */
struct chario_async {
	void (*tell)(void *who, ssize_t result, const void *looker);
	void *who;
	struct chario_queue **queue;
};

/* Demands that a command makes on the device. */
#define CHARIO_CONTROL_FUA		BIT(0)	/* durable at completion */
#define CHARIO_CONTROL_LIMITED_RETRY	BIT(1)	/* fail rather than retry for long */

#define CHARIO_CONTROL_MAY_DISCARD	BIT(2)	/* Write Zeroes: deallocate the blocks */

/* Duties of a call towards others than its caller. */
#define CHARIO_DUTY_EDGE	BIT(0)	/* its own edge does not hold it up */
#define CHARIO_DUTY_STAY	BIT(1)	/* waits for its end, caller killed or not */

/*
 * The caller is told only when the device has let go of the memory: its pages cannot be
 * kept for a device that is late.  The deadline starts recovery, as for others, and what
 * recovery takes back from the device ends with ETIMEDOUT.  What ends late has its own
 * result.  The caller waits in spite of a fatal signal, too: CHARIO_DUTY_STAY, or it is
 * an asynchronous one.
 */
#define CHARIO_DUTY_LET_GO	BIT(2)

/*
 * The slot is lent to the caller, an asynchronous one with one command: it stays when the
 * request has ended.
 */
#define CHARIO_DUTY_LENT	BIT(3)

/* The block side stands back from the beginning of the call until after its end. */
#define CHARIO_DUTY_URGENT	BIT(4)
#define CHARIO_DUTY_END_URGENT	BIT(5)	/* it ends when the caller is told */

/**
 * struct chario_call - the parameters of a call, checked by the front end
 * @disk: the disk
 * @origin: the open file
 * @irq_queue: for each CPU, its queue that completes by interrupt
 * @poll_queue: for each CPU, its queue for polling
 * @taken: command that has already been taken for this call, which is then one command;
 *	or NULL
 * @taken_from: queue of @taken
 * @iter: memory of the caller; NULL for a buffer, and for a flush
 * @buffers: buffers of the open file, if the memory is a buffer; else NULL
 * @handle: handle of the buffer
 * @buffer_offset: byte offset of the first byte in the buffer
 * @slice_bytes: bytes that must lie in the buffer
 * @bytes: the part of @slice_bytes that lies on the disk; set if @buffers is
 * @pos: byte offset on the disk, a multiple of the grain
 * @op: &enum chario_op
 * @control: CHARIO_CONTROL_* bits
 * @nowait: true to fail with EAGAIN rather than wait for a free command
 * @completion: &enum chario_completion, not DEFAULT
 * @spin_ns: time that SPIN polls before it sleeps, nanoseconds; set for SPIN only
 * @expires: jiffies at which the caller wants ETIMEDOUT
 * @duty: CHARIO_DUTY_* bits
 * @async: the caller, if it does not wait
 *
 * The front end guarantees that the range is inside the disk, that the offset and
 * the length of every vector element are multiples of the grain, and that
 * every address is aligned for DMA.
 */
struct chario_call {
	struct chario_disk *disk;
	struct chario_origin *origin;
	struct chario_queue *const *irq_queue;
	struct chario_queue *const *poll_queue;
	struct chario_command *taken;
	struct chario_queue *taken_from;
	struct iov_iter *iter;
	struct chario_buffers *buffers;
	u32 handle;
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

#endif /* CHARIO_TYPES_CALL_H */
