// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A queue that is a ring of io_uring.
 *
 * CharIO's commands, like most requests, complete as task work of the thread that submitted
 * them.  By default the kernel interrupts that thread for each; with
 * IORING_SETUP_COOP_TASKRUN it leaves it alone until the thread enters the kernel anyway,
 * which a program does that submits its next transfers: results are there then, and reaping
 * them costs no call.  IORING_SETUP_TASKRUN_FLAG tells when work waits, so that a look at
 * an empty ring enters the kernel only if results can appear.  IORING_SETUP_DEFER_TASKRUN
 * would save a little more in the kernel, but each reap would be a call, and the queue
 * could never change its thread; for the latter reason the ring's descriptor is not
 * registered with the thread either.
 *
 * The ring's own descriptor is readable while results wait.  An eventfd would have to be
 * written for each result, and read again.
 */
#include "queue/queue.h"

#include <errno.h>
#include <liburing.h>
#include <stdlib.h>

#include "device/ops.h"
#include "system/sys.h"

/**
 * struct slot - a transfer under way
 * @transfer: transfer
 * @user: user data of the caller
 * @expected: number of bytes below which a result is short; 0 if any result is final
 * @early: result of a transfer that needs no I/O, valid if @prepared is not set
 * @prepared: true if the submission entry does the transfer
 * @used: true from adding to reaping
 * @next: next in the list of free slots
 */
struct slot {
	struct chario_transfer transfer;
	uint64_t user;
	uint32_t expected;
	int early;
	bool prepared;
	bool used;
	struct slot *next;
};

struct uring {
	struct chario_queue base;
	struct io_uring ring;
	struct slot *free;
	struct slot slots[];
};

static struct uring *uring_of(struct chario_queue *queue)
{
	return (struct uring *)queue;
}

/*
 * An entry is always free: the ring has as many as there are slots.  A refused transfer
 * goes through the ring as well, so that its result arrives like all others.
 */
static void prepare(struct uring *uring, struct slot *slot)
{
	const struct chario_device *device = uring->base.device;
	struct io_uring_sqe *sqe = io_uring_get_sqe(&uring->ring);

	slot->early = device->ops->prepare(device, &slot->transfer, sqe, &slot->expected);
	slot->prepared = slot->early == 1;
	if (slot->prepared)
		sqe->flags |= IOSQE_FIXED_FILE;
	else
		io_uring_prep_nop(sqe);
	io_uring_sqe_set_data(sqe, slot);
}

static void add(struct chario_queue *queue, const struct chario_transfer *transfer, uint64_t user)
{
	struct uring *uring = uring_of(queue);
	struct slot *slot = uring->free;

	uring->free = slot->next;
	slot->transfer = *transfer;
	slot->transfer.size = sizeof(slot->transfer);
	slot->user = user;
	slot->used = true;
	prepare(uring, slot);
}

/* More than one call is needed only after the kernel ran out of memory midway. */
static int submit(struct chario_queue *queue)
{
	struct io_uring *ring = &uring_of(queue)->ring;
	int ret;

	do {
		ret = io_uring_submit(ring);
		queue->flying += queue->added - io_uring_sq_ready(ring);
		queue->added = io_uring_sq_ready(ring);
	} while (queue->added && (ret > 0 || ret == -EINTR));
	if (!queue->added)
		return 0;
	return ret < 0 ? ret : -EAGAIN;
}

/*
 * A signal or a full disk can leave a transfer of a file half done.  The rest is moved
 * synchronously, while the caller reaps: this is rare.
 */
static int64_t do_rest(const struct chario_device *device, struct slot *slot, int result)
{
	uint32_t moved = result > 0 ? (uint32_t)result : 0;
	ssize_t ret;

	slot->transfer.bytes = slot->expected - moved;
	slot->transfer.buffer_offset += moved;
	slot->transfer.disk_offset += moved;
	ret = device->ops->transfer(device, &slot->transfer);
	if (!moved)
		return ret;
	return ret > 0 ? moved + ret : moved;
}

static bool is_short(const struct slot *slot, int result)
{
	if (!slot->expected)
		return false;
	return result == -EINTR || (result > 0 && (uint32_t)result < slot->expected);
}

static int64_t conclude(const struct chario_device *device, struct slot *slot, int64_t result)
{
	slot->used = false;
	if (slot->prepared && device->ops->conclude)
		return device->ops->conclude(device, &slot->transfer, result);
	return result;
}

static void finish(struct uring *uring, const struct io_uring_cqe *cqe,
		   struct chario_queue_result *result)
{
	const struct chario_device *device = uring->base.device;
	struct slot *slot = io_uring_cqe_get_data(cqe);

	result->user = slot->user;
	if (!slot->prepared)
		result->result = slot->early;
	else if (is_short(slot, cqe->res))
		result->result = do_rest(device, slot, cqe->res);
	else
		result->result = cqe->res;
	result->result = conclude(device, slot, result->result);
	slot->next = uring->free;
	uring->free = slot;
}

/* Take the results that are present; this makes no system call. */
static unsigned int take(struct uring *uring, struct chario_queue_result *results, unsigned int max)
{
	unsigned int head, count = 0;
	struct io_uring_cqe *cqe;

	io_uring_for_each_cqe(&uring->ring, head, cqe)
	{
		if (count == max)
			break;
		finish(uring, cqe, &results[count++]);
	}
	io_uring_cq_advance(&uring->ring, count);
	uring->base.flying -= count;
	return count;
}

/* Enter the kernel only if no result is present and the kernel has some or must poll for them. */
static unsigned int look(struct uring *uring, struct chario_queue_result *results, unsigned int max)
{
	unsigned int count = take(uring, results, max);
	struct io_uring_cqe *cqe;

	if (count || io_uring_peek_cqe(&uring->ring, &cqe))
		return count;
	return take(uring, results, max);
}

/* Returns 0 also when no result may be present, so the caller looks; -ETIME after the deadline. */
static int wait_for_one(struct uring *uring, bool endless, int64_t deadline_ns)
{
	int64_t left = chario_sys_left(deadline_ns);
	struct __kernel_timespec time = { left / 1000000000, left % 1000000000 };
	struct io_uring_cqe *cqe;
	int err;

	if (!left)
		return -ETIME;
	/* The kernel does not look at the clock while it polls. */
	if (uring->base.polled && !endless)
		return 0;
	err = io_uring_wait_cqes(&uring->ring, &cqe, 1, endless ? NULL : &time, NULL);
	return err == -EINTR || err == -EAGAIN || err == -ETIME ? 0 : err;
}

static int reap(struct chario_queue *queue, struct chario_queue_result *results, unsigned int max,
		int64_t timeout_ns)
{
	struct uring *uring = uring_of(queue);
	unsigned int count = look(uring, results, max);
	int64_t deadline_ns;
	int err = 0;

	if (count || !timeout_ns)
		return (int)count;
	deadline_ns = chario_sys_deadline(timeout_ns);
	while (!count && !err) {
		err = wait_for_one(uring, timeout_ns < 0, deadline_ns);
		count = look(uring, results, max);
	}
	return count || err == -ETIME ? (int)count : err;
}

static void close_queue(struct chario_queue *queue)
{
	struct uring *uring = uring_of(queue);
	struct chario_queue_result result;

	while (queue->flying && reap(queue, &result, 1, -1) > 0)
		;
	/* Conclude transfers that were added and not submitted. */
	for (unsigned int i = 0; i < queue->depth; i++)
		if (uring->slots[i].used)
			conclude(queue->device, &uring->slots[i], -ECANCELED);
	/* The ring may outlive this call; it must not keep the device open. */
	io_uring_unregister_files(&uring->ring);
	io_uring_queue_exit(&uring->ring);
	free(uring);
}

static const struct chario_queue_kind kind = {
	.add = add,
	.submit = submit,
	.reap = reap,
	.close = close_queue,
};

/*
 * Entries of 128 bytes have room for a transfer.  IORING_SETUP_SUBMIT_ALL keeps a wrong
 * entry from holding up those submitted with it.
 */
static int make_ring(struct uring *uring)
{
	const struct chario_queue *base = &uring->base;
	struct io_uring_params params = {
		.flags = IORING_SETUP_SQE128 | IORING_SETUP_SUBMIT_ALL |
			 (base->polled ? IORING_SETUP_IOPOLL :
					 IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG),
	};
	int err = chario_sys.ring(base->depth, &uring->ring, &params);

	if (err)
		return err;
	err = io_uring_register_files(&uring->ring, &base->device->fd, 1);
	if (err)
		io_uring_queue_exit(&uring->ring);
	return err;
}

int chario_queue_open_uring(const struct chario_queue *base, struct chario_queue **queue)
{
	struct uring *uring = calloc(1, sizeof(*uring) + base->depth * sizeof(uring->slots[0]));
	int err;

	if (!uring)
		return -ENOMEM;
	uring->base = *base;
	uring->base.kind = &kind;
	err = make_ring(uring);
	if (err) {
		free(uring);
		return err;
	}
	uring->base.fd = uring->ring.ring_fd;
	for (unsigned int i = base->depth; i--;) {
		uring->slots[i].next = uring->free;
		uring->free = &uring->slots[i];
	}
	*queue = &uring->base;
	return 0;
}
