// SPDX-License-Identifier: GPL-2.0-only
/*
 * The front end `uring`: transfers as commands of io_uring, CHARIO_IOC_TRANSFER
 * as its number.
 *
 * The struct stands in the submission entry where that has 128 bytes, and its
 * address does where it has 64.  The caller is told from its own task, or finds
 * out by polling.
 */
#include <linux/fs.h>
#include <linux/io_uring_types.h>
#include <linux/uaccess.h>

#include "core/device.h"
#include "core/queue.h"
#include "front/front.h"

/**
 * struct note - what a command carries, in its 32 bytes
 * @queue: of its request
 * @result: bytes or -errno
 * @polled: nobody needs to be woken
 */
struct note {
	struct chario_queue *queue;
	ssize_t result;
	bool polled;
};

static_assert(sizeof(struct note) <= sizeof_field(struct io_uring_cmd, pdu));

static struct note *note_of(struct io_uring_cmd *ioucmd)
{
	return (struct note *)ioucmd->pdu;
}

static const void *ring_of(struct io_uring_cmd *ioucmd)
{
	return cmd_to_io_kiocb(ioucmd)->ctx;
}

static void end(struct io_uring_cmd *ioucmd, unsigned int issue_flags)
{
	io_uring_cmd_done(ioucmd, note_of(ioucmd)->result, 0, issue_flags);
}

/*
 * A ring that is polled only takes a note, from any context.  Its lock is held
 * where it looks by itself: only then may io_uring keep the memory of the command
 * for the next.  What finds the command may as well be another ring.
 */
static void tell(void *who, ssize_t result, const void *looker)
{
	struct io_uring_cmd *ioucmd = who;
	struct note *note = note_of(ioucmd);

	note->result = result;
	if (note->polled)
		io_uring_cmd_done(ioucmd, result, 0,
				  looker == ring_of(ioucmd) ?
					  0 : IO_URING_F_UNLOCKED);
	else
		io_uring_cmd_complete_in_task(ioucmd, end);
}

/* The entry is shared with user space: each byte is read once. */
static int fetch(struct chario_transfer *t, struct io_uring_cmd *ioucmd,
		 unsigned int issue_flags)
{
	const void *entry = chario_compat_uring_payload(ioucmd);

	if (!(issue_flags & IO_URING_F_SQE128)) {
		u64 address = READ_ONCE(*(const u64 *)entry);

		return chario_transfer_fetch(t, u64_to_user_ptr(address));
	}
	memcpy(t, entry, sizeof(*t));
	barrier();
	return t->size == sizeof(*t) ? 0 : -EINVAL;
}

/* A ring that is polled polls all of its transfers; no other can. */
static int apply_flags(struct chario_transfer *t, unsigned int issue_flags)
{
	if (issue_flags & IO_URING_F_IOPOLL)
		t->flags |= CHARIO_TRANSFER_POLL;
	else if (t->flags & CHARIO_TRANSFER_POLL)
		return -EINVAL;
	return 0;
}

static int read_entry(struct chario_transfer *t, struct io_uring_cmd *ioucmd,
		      unsigned int issue_flags)
{
	int ret;

	if (ioucmd->cmd_op != CHARIO_IOC_TRANSFER)
		return -ENOTTY;
	if (ioucmd->flags & IORING_URING_CMD_FIXED)
		return -EINVAL;
	ret = fetch(t, ioucmd, issue_flags);
	return ret ?: apply_flags(t, issue_flags);
}

/**
 * chario_uring_cmd() - a command of io_uring
 * @ioucmd: the command
 * @issue_flags: how io_uring runs it
 *
 * Return: -EIOCBQUEUED, the result comes by itself; -EAGAIN, to be called again
 * where it may sleep.
 */
int chario_uring_cmd(struct io_uring_cmd *ioucmd, unsigned int issue_flags)
{
	const bool nowait = issue_flags & IO_URING_F_NONBLOCK;
	struct note *note = note_of(ioucmd);
	const struct chario_async async = {
		.tell = tell,
		.who = ioucmd,
		.queue = &note->queue,
	};
	struct chario_transfer t chario_uninitialized;
	ssize_t ret;

	ret = read_entry(&t, ioucmd, issue_flags);
	if (unlikely(ret))
		goto out;
	note->queue = NULL;
	note->polled = issue_flags & IO_URING_F_IOPOLL;
	ret = chario_transfer_run(ioucmd->file, &t, &async, nowait);
	if (likely(ret == -EIOCBQUEUED))
		return ret;
	if (ret == -EAGAIN && nowait && !(t.flags & CHARIO_TRANSFER_NOWAIT))
		return ret;
out:
	io_uring_cmd_done(ioucmd, ret, 0, issue_flags);
	return -EIOCBQUEUED;
}

/**
 * chario_uring_cmd_iopoll() - has it ended?
 * @ioucmd: in flight
 * @batch: not used
 * @flags: not used
 *
 * Return: number of device commands that have completed.
 */
int chario_uring_cmd_iopoll(struct io_uring_cmd *ioucmd,
			    struct io_comp_batch *batch, unsigned int flags)
{
	struct chario_queue *q = READ_ONCE(note_of(ioucmd)->queue);

	return q ? chario_queue_poll_for(q, ring_of(ioucmd)) : 0;
}
