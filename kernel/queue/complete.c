// SPDX-License-Identifier: GPL-2.0-only
/*
 * The way back: a completed command ends its request, the request tells its
 * caller, and the memory is let go.
 */
#include <linux/sched.h>

#include "memory/pages.h"
#include "queue/isolation.h"
#include "queue/origin.h"
#include "queue/queue.h"
#include "trace.h"
#include "types/disk.h"

static void note_error(struct chario_request *req, size_t good, int error)
{
	if (req->error && good >= req->good)
		return;
	req->error = error;
	req->good = good;
}

/*
 * Tell a waiter.  After the store the waiter may return and its task may exit.  The
 * task structure stays: interrupts are off, which holds up RCU.
 */
static inline void complete_tell(struct chario_waiter *waiter, enum chario_wait_state state)
{
	struct task_struct *task = waiter->task;

	/* Pairs with smp_load_acquire() in chario_flight_waits(). */
	smp_store_release(&waiter->state, state);
	if (task)
		wake_up_process(task);
}

/**
 * chario_complete_request() - end a request whose last command has completed
 * @q: queue of the request
 * @req: the request; only its new owner may touch it afterwards
 *
 * Context: under q->lock.
 */
void chario_complete_request(struct chario_queue *q, struct chario_request *req)
{
	struct chario_waiter *waiter = req->waiter;

	q->ended = true;
	if (!waiter) {
		req->done_next = q->done;
		q->done = req;
		return;
	}
	complete_tell(waiter, CHARIO_DONE);
}

/**
 * chario_complete_note_error() - note that a command has failed
 * @cmd: the command
 * @error: -errno
 *
 * Context: under q->lock.
 */
void chario_complete_note_error(struct chario_command *cmd, int error)
{
	struct chario_request *req = cmd->req;

	WRITE_ONCE(req->disk->last_error, error);
	note_error(req, cmd->req_offset, error);
}

/**
 * chario_complete_reaped() - count, trace and complete a command that came back
 * @q: the queue of the command
 * @cmd: the command; it may be gone afterwards
 * @error: 0, or -errno of a status of the device
 *
 * Context: under q->lock.
 */
void chario_complete_reaped(struct chario_queue *q, struct chario_command *cmd,
			    int error)
{
	/* An abort, which only recovery asks for. */
	if (error == -ECANCELED && chario_request_is_given_up(cmd->req))
		error = chario_request_give_up_error(cmd->req);
	if (error)
		this_cpu_inc(cmd->req->disk->counters->errors);
	trace_reap(q, cmd, error);
	chario_complete_command(q, cmd, error);
}

/**
 * chario_complete_orphan() - detach a request from its caller
 * @req: a request in flight, not orphaned
 * @error: result for the caller, -errno
 *
 * The memory stays pinned and mapped until the device is done with it.
 *
 * Context: under the queue's lock.
 * Return: the asynchronous caller, to be told after the lock has been released; its
 * @who is NULL if the caller was a synchronous one, who has been told.
 */
struct chario_async chario_complete_orphan(struct chario_request *req, int error)
{
	struct chario_waiter *waiter = req->waiter;
	struct chario_async async = req->async;
	struct chario_command *cmd;

	req->left = 0;
	/* All commands have been prepared before the first was posted. */
	chario_for_each_command(cmd, req) {
		chario_pages_keep(cmd);
		req->left++;
	}
	req->orphaned = true;
	chario_origin_get(req->origin, req->left);
	req->waiter = NULL;
	req->async.who = NULL;
	if (!waiter)
		return async;
	waiter->error = error;
	complete_tell(waiter, CHARIO_ORPHANED);
	return async;
}

/**
 * chario_complete_abandon() - orphan the request of a caller who was killed
 * @q: queue of the request
 * @waiter: the caller itself
 * @req: request of the caller
 * @error: result of the caller, -errno
 *
 * Return: true if the request has been orphaned, false if it had ended.
 */
bool chario_complete_abandon(struct chario_queue *q,
			     struct chario_waiter *waiter,
			     struct chario_request *req, int error)
{
	unsigned long flags;
	bool waiting;

	raw_spin_lock_irqsave(&q->lock, flags);
	waiting = waiter->state == CHARIO_WAITING;
	if (waiting) {
		this_cpu_inc(req->disk->counters->interrupted);
		waiter->task = NULL;
		chario_complete_orphan(req, error);
	}
	raw_spin_unlock_irqrestore(&q->lock, flags);
	return waiting;
}

/* Returns the bytes in front of the first failed command, or the error if none. */
static ssize_t result_of(const struct chario_request *req)
{
	if (likely(!req->error))
		return req->bytes;
	return req->good ? req->good : req->error;
}

/* Let go of memory that the request has mapped and pinned, not of a buffer. */
static inline void complete_let_go(struct chario_queue *q, struct chario_request *req,
				   bool mark_dirty)
{
	struct chario_command *cmd;

	chario_for_each_command(cmd, req)
		if (likely(cmd->nr_segments))
			chario_unmap(q, cmd, req->op);
	if (likely(req->first->nr_pages))
		chario_pages_unpin_all(req, mark_dirty);
}

static __always_inline void complete_put(struct chario_queue *q,
					 struct chario_request *req, bool mark_dirty,
					 ssize_t result)
{
	struct chario_command *first = req->first;
	struct chario_command *cmd;

	if (!req->buffer)
		complete_let_go(q, req, mark_dirty);
	chario_for_each_command(cmd, req)
		trace_unmap(q, cmd, 0);
	trace_finish(q, first, req->disk, req->op, first->disk_offset, result);
	chario_queue_put_chain(q, first);
}

/**
 * chario_complete_release() - let go of the memory and commands of a request
 * @q: queue of the request
 * @req: an ended request; gone afterwards
 * @mark_dirty: true if the device has written to the memory; then this may sleep
 *
 * Return: bytes in front of the first failed command; -errno if there are none.
 */
ssize_t chario_complete_release(struct chario_queue *q,
				struct chario_request *req, bool mark_dirty)
{
	ssize_t result = result_of(req);

	complete_put(q, req, mark_dirty, result);
	return result;
}

/* Finish an orphan, whose end may close the file that it came from. */
static noinline void finish_orphan(struct chario_queue *q,
				   struct chario_request *req, bool mark_dirty)
{
	struct chario_origin *origin = req->origin;
	unsigned int left = req->left;

	complete_put(q, req, mark_dirty, result_of(req));
	chario_origin_put(origin, left);
}

/* Finish an ended request without a waiter; tell its asynchronous caller, if any. */
static __always_inline void finish(struct chario_queue *q,
				   struct chario_request *req, bool mark_dirty,
				   const void *looker)
{
	struct chario_disk *disk = req->disk;
	struct chario_async async = req->async;
	enum chario_op op = req->op;
	ssize_t result;

	if (unlikely(!async.who)) {
		finish_orphan(q, req, mark_dirty);
		return;
	}
	result = result_of(req);
	if (result > 0)
		this_cpu_add(disk->counters->bytes[op], result);
	if (unlikely(req->duty & CHARIO_DUTY_END_URGENT))
		chario_isolation_exit(disk->drive);
	complete_put(q, req, mark_dirty, result);
	async.tell(async.who, result, looker);
}

/* Finish a request on a slot that is lent to its caller, who is told. */
static void finish_lent(struct chario_queue *q, struct chario_request *req,
			const void *looker)
{
	struct chario_command *cmd = req->first;
	struct chario_async async = req->async;
	ssize_t result = req->error;

	if (likely(!result)) {
		result = req->bytes;
		this_cpu_add(req->disk->counters->bytes[req->op], result);
	}
	if (likely(cmd->nr_segments))
		chario_unmap(q, cmd, req->op);
	trace_unmap(q, cmd, 0);
	trace_finish(q, cmd, req->disk, req->op, cmd->disk_offset, result);
	chario_queue_rest(q, cmd);
	async.tell(async.who, result, looker);
}

static bool must_mark_dirty(const struct chario_request *req)
{
	const struct chario_command *cmd;

	if (req->op != CHARIO_OP_READ || req->buffer)
		return false;
	chario_for_each_command(cmd, req)
		if (cmd->hold == CHARIO_HOLD_PIN && !chario_pages_is_dirty(cmd))
			return true;
	return false;
}

/**
 * chario_complete_seen() - finish requests without a waiter
 * @q: queue of the requests
 * @done: list of ended requests
 * @looker: the one who polled for the completions, see &struct chario_async; or NULL
 *
 * Requests whose pages must be marked dirty, which may sleep, are left to
 * chario_complete_dirty().
 *
 * Context: any but under q->lock.
 */
void chario_complete_seen(struct chario_queue *q, struct chario_request *done,
			  const void *looker)
{
	while (done) {
		struct chario_request *req = done;

		done = req->done_next;
		if (req->duty & CHARIO_DUTY_LENT) {
			finish_lent(q, req, looker);
		} else if (must_mark_dirty(req)) {
			llist_add(&req->node, &q->dirty);
			schedule_work(&q->dirty_work);
		} else {
			finish(q, req, false, looker);
		}
	}
}

/**
 * chario_complete_dirty() - finish requests whose pages must be marked dirty
 * @work: dirty_work of a queue
 */
void chario_complete_dirty(struct work_struct *work)
{
	struct chario_queue *q = container_of(work, struct chario_queue,
					      dirty_work);
	struct chario_request *req, *next;

	llist_for_each_entry_safe(req, next, llist_del_all(&q->dirty), node)
		finish(q, req, true, NULL);
}
