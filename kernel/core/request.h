/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A request: the part of a call that is in flight together.
 *
 * A call is run as requests of one chunk (4 MiB) each, at most two of them in
 * flight; an asynchronous call is one request.  A request consists of device
 * commands, all on one queue.  It has no memory of its own: it lives inside
 * its first command, which is given back last.
 *
 * Who owns a request
 *
 *   from   chario_queue_get()         the submitter
 *   from   its first chario_queue_post()  the queue: the submitter may only
 *          go on to post its further commands
 *   from   the completion of its last command
 *            - the waiter, when there is one: chario_flight_land()
 *            - else whoever reaped it: chario_complete_list()
 *
 * A caller that gives up (deadline, fatal signal) takes its waiter away from
 * the request: the request is orphaned.  Its memory stays pinned and mapped
 * (quarantined) and its commands stay taken until the device can no longer
 * touch them; then it finishes like an asynchronous one, with nobody to tell.
 * Until then the file that it came from stays open, see core/origin.h.
 */
#ifndef CHARIO_CORE_REQUEST_H
#define CHARIO_CORE_REQUEST_H

#include <linux/fs.h>
#include <linux/llist.h>
#include <linux/uio.h>

#include "chario.h"
#include "core/call.h"
#include "core/origin.h"
#include "core/split.h"

enum chario_wait_state {
	CHARIO_WAITING,
	CHARIO_DONE,		/* the waiter owns the request again */
	CHARIO_ORPHANED,	/* the waiter must not touch the request */
};

/**
 * struct chario_waiter - a synchronous caller, on its own stack
 * @task: to be woken; NULL when the caller polls
 * @error: why it was orphaned
 * @state: &enum chario_wait_state; written under the queue's lock, with
 *	release order so that the caller may look without the lock
 *
 * Whoever writes @state must not touch the waiter afterwards.
 */
struct chario_waiter {
	struct task_struct *task;
	int error;
	int state;
};

/**
 * struct chario_request - commands in flight for one caller
 * @pending: commands that have not completed, counting those not yet posted;
 *	under the queue's lock once the first has been posted
 * @op: &enum chario_op
 * @orphaned: the caller has gone; under the queue's lock
 * @overdue: its deadline has passed, it is old enough, and recovery has been asked
 *	for; under the queue's lock
 * @duty: CHARIO_DUTY_* bits
 * @control: CHARIO_CONTROL_* bits
 * @left: once it is orphaned: its commands, as its origin has counted them
 * @error: of the first failed command; under the queue's lock
 * @good: bytes in front of the first failed command; under the queue's lock
 * @bytes: bytes of all commands
 * @waiter: synchronous caller or NULL; under the queue's lock
 * @async: the caller, if it does not wait; under the queue's lock
 * @cio: the disk
 * @origin: the open file that it comes from
 * @buffer: whose memory it is; NULL for pages of the caller.  That it stands here
 *	keeps the buffer, see core/buffer.h
 * @first: head of the chain of commands, in order of their place in the call
 * @expires: jiffies at which the caller wants ETIMEDOUT
 * @started: jiffies at which a command of it was last handed over, or had to wait
 * @done_next: on a list of finished requests
 * @node: on the queue's list of requests whose pages must be marked dirty
 *	by a context that can sleep
 */
struct chario_request {
	unsigned int pending;
	u8 op;
	bool orphaned;
	bool overdue;
	u8 duty;
	u16 control;
	u16 left;
	int error;
	size_t good;
	size_t bytes;
	struct chario_waiter *waiter;
	struct chario_async async;
	struct chario_device *cio;
	struct chario_origin *origin;
	struct chario_buffer *buffer;
	struct chario_command *first;
	unsigned long expires;
	unsigned long started;
	union {
		struct chario_request *done_next;
		struct llist_node node;
	};
};

/**
 * struct chario_segment - a piece of memory as the device sees it
 * @addr: DMA address
 * @bytes: length
 */
struct chario_segment {
	dma_addr_t addr;
	u32 bytes;
};

/* What keeps the pages of a command in place. */
enum chario_hold {
	CHARIO_HOLD_PIN,	/* pinned by us */
	CHARIO_HOLD_CALLER,	/* registered by the caller, who waits for us */
	CHARIO_HOLD_REFERENCE,	/* the caller has gone: our own references */
};

enum chario_command_state {
	CHARIO_COMMAND_IDLE,	/* free, or being prepared */
	CHARIO_COMMAND_HELD,	/* wants to be posted, must wait: see hand_over() */
	CHARIO_COMMAND_SUBMITTING, /* the device may touch its memory; see submit.c */
	CHARIO_COMMAND_POSTED,	/* the device may touch its memory */
	CHARIO_COMMAND_ENDED,	/* completed while it was being submitted */
	CHARIO_COMMAND_DONE,	/* completed; its memory is still mapped */
};

/**
 * struct chario_command - one device command, a slot of its queue
 * @req: the request it belongs to
 * @next: next command of the same request
 * @disk_offset: byte offset on the disk
 * @req_offset: byte offset in the request
 * @bytes: length
 * @buffer_offset: offset of the first byte in the buffer, where there is one
 * @page_offset: offset of the first byte in the first page
 * @tag: index in the queue
 * @state: &enum chario_command_state; under the queue's lock
 * @hold: &enum chario_hold; under the queue's lock once posted
 * @number: place in the order in which commands were submitted to the queue; wraps
 * @nr_pages: pages in @pages
 * @nr_segments: segments in @segments
 * @error: what it has come to in state ENDED, 0 or -errno
 * @id: what the device calls it; the back end's, under the queue's lock
 * @nr_runs: once mapped: as many, where each is a run of neighbouring pages; else
 *	@nr_pages
 * @pages: room for the queue's max_pages, made with the queue
 * @segments: as many
 * @own: the request that lives here when this command is its first
 * @back: the back end's own, queue_ops->command_bytes long
 */
struct chario_command {
	struct chario_request *req;
	struct chario_command *next;
	u64 disk_offset;
	u64 buffer_offset;
	size_t req_offset;
	u32 bytes;
	u32 page_offset;
	u32 number;
	u16 tag;
	u8 state;
	u8 hold;
	u16 nr_pages;
	u16 nr_segments;
	u16 id;
	u16 nr_runs;
	int error;
	struct page **pages;
	struct chario_segment *segments;
	struct chario_request own;
	u8 back[] __aligned(8);
};

/* May the device touch the memory of a command? */
static inline bool chario_command_is_with_device(const struct chario_command *cmd)
{
	return cmd->state == CHARIO_COMMAND_POSTED ||
	       cmd->state == CHARIO_COMMAND_SUBMITTING;
}

static inline bool chario_command_in_flight(const struct chario_command *cmd)
{
	return chario_command_is_with_device(cmd) ||
	       cmd->state == CHARIO_COMMAND_HELD;
}

#define chario_for_each_command(cmd, req) \
	for ((cmd) = (req)->first; (cmd); (cmd) = (cmd)->next)

/* core/complete.c */
void chario_complete_error(struct chario_command *cmd, int error);
void chario_complete_request(struct chario_queue *q,
			     struct chario_request *req);
void chario_complete_missing(struct chario_queue *q,
			     struct chario_request *req, unsigned int missing,
			     int error);
struct chario_async chario_complete_orphan(struct chario_request *req, int error);
bool chario_complete_abandon(struct chario_queue *q,
			     struct chario_waiter *waiter,
			     struct chario_request *req, int error);
void chario_complete_seen(struct chario_queue *q, struct chario_request *done,
			  const void *looker);
void chario_complete_dirty(struct work_struct *work);
void chario_complete_release(struct chario_queue *q,
			     struct chario_request *req, bool mark_dirty,
			     ssize_t result);

/**
 * chario_complete_command() - the device is done with a command
 * @q: its queue
 * @cmd: the command
 * @error: 0 or -errno
 *
 * Context: under q->lock.
 */
static inline void chario_complete_command(struct chario_queue *q,
					   struct chario_command *cmd,
					   int error)
{
	struct chario_request *req = cmd->req;

	cmd->state = CHARIO_COMMAND_DONE;
	if (unlikely(error))
		chario_complete_error(cmd, error);
	if (!--req->pending)
		chario_complete_request(q, req);
}

/* chario_complete_seen() for who does not look on behalf of somebody. */
static inline void chario_complete_list(struct chario_queue *q,
					struct chario_request *done)
{
	chario_complete_seen(q, done, NULL);
}

#endif /* CHARIO_CORE_REQUEST_H */
