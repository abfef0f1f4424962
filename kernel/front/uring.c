// SPDX-License-Identifier: GPL-2.0-only
/*
 * The front end `uring`: transfers as commands of io_uring, with the number
 * CHARIO_IOC_TRANSFER.
 *
 * A submission entry of 128 bytes contains the struct, one of 64 bytes its address.
 * The completion is posted from the task of the caller, or found by polling.
 */
#include <linux/fs.h>
#include <linux/io_uring_types.h>
#include <linux/uaccess.h>

#include "front/front.h"
#include "queue/queue.h"
#include "types/disk.h"

/**
 * struct note - the state of a transfer, in the 32 bytes that a command of io_uring has
 * @queue: queue of the request
 * @result: number of bytes or -errno
 * @polled: the ring polls, so that no task needs to be woken
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

static void uring_end(struct io_uring_cmd *ioucmd, unsigned int issue_flags)
{
	io_uring_cmd_done(ioucmd, note_of(ioucmd)->result, 0, issue_flags);
}

/*
 * Completes a transfer.  For a ring that polls, this only posts the completion, in any
 * context.  io_uring may keep the memory of the command for the next one only under the
 * lock of its ring, which is held if that ring itself looks for completions.  The
 * command may also be found by another ring that polls the same queue.
 */
static void uring_tell(void *who, ssize_t result, const void *looker)
{
	struct io_uring_cmd *ioucmd = who;
	struct note *note = note_of(ioucmd);

	note->result = result;
	if (note->polled)
		io_uring_cmd_done(ioucmd, result, 0,
				  looker == ring_of(ioucmd) ?
					  0 : IO_URING_F_UNLOCKED);
	else
		io_uring_cmd_complete_in_task(ioucmd, uring_end);
}

/*
 * Fetches the transfer of a command.  The submission entry is shared with user space, so
 * each byte is read once.  A ring that polls, polls all of its transfers; another ring
 * polls none.
 */
static int read_entry(struct chario_transfer *t, struct io_uring_cmd *ioucmd,
		      unsigned int issue_flags)
{
	const void *entry = chario_compat_uring_payload(ioucmd);
	int ret = 0;

	if (ioucmd->cmd_op != CHARIO_IOC_TRANSFER)
		return -ENOTTY;
	if (ioucmd->flags & IORING_URING_CMD_FIXED)
		return -EINVAL;
	if (issue_flags & IO_URING_F_SQE128) {
		memcpy(t, entry, sizeof(*t));
		barrier();
		ret = t->size == sizeof(*t) ? 0 : -EINVAL;
	} else {
		u64 address = READ_ONCE(*(const u64 *)entry);

		ret = chario_transfer_fetch(t, u64_to_user_ptr(address));
	}
	if (unlikely(ret))
		return ret;
	if (issue_flags & IO_URING_F_IOPOLL)
		t->flags |= CHARIO_TRANSFER_POLL;
	else if (t->flags & CHARIO_TRANSFER_POLL)
		return -EINVAL;
	return 0;
}

/**
 * chario_uring_cmd() - run a command of io_uring
 * @ioucmd: the command
 * @issue_flags: IO_URING_F_* bits
 *
 * Return: -EIOCBQUEUED if the result is posted; -EAGAIN if io_uring must repeat the
 * call on a thread that may sleep.
 */
int chario_uring_cmd(struct io_uring_cmd *ioucmd, unsigned int issue_flags)
{
	const bool nowait = issue_flags & IO_URING_F_NONBLOCK;
	struct note *note = note_of(ioucmd);
	const struct chario_async async = {
		.tell = uring_tell,
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
 * chario_uring_cmd_iopoll() - look for the completion of a command
 * @ioucmd: a command in flight
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
