/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A request: the part of a call that is in flight together.
 *
 * A call is run as requests of one chunk (4 MiB) each, at most two of them in
 * flight; an asynchronous call is one request.  A request consists of device
 * commands, all on one queue.  It has no memory of its own: it lives inside
 * its first command, which is given back last.
 *
 * Owner of a request
 *
 *   from chario_queue_get():
 *          the submitter
 *   from chario_queue_post_all(), before which all commands have been prepared:
 *          the queue
 *   from the completion of its last command:
 *          the waiter, if there is one: chario_flight_finish();
 *          else the context that reaped the command: chario_complete_list()
 *
 * A caller that gives up (deadline, fatal signal) takes its waiter away from
 * the request: the request is orphaned.  Its memory stays pinned and mapped
 * (quarantined) and its commands stay taken until the device can no longer
 * touch them.  Then the request finishes like an asynchronous one, but with
 * nobody to tell.  Until then the file that it came from stays open, see
 * queue/origin.h.
 */
#ifndef CHARIO_TYPES_REQUEST_H
#define CHARIO_TYPES_REQUEST_H

#include <linux/fs.h>
#include <linux/llist.h>
#include <linux/uio.h>

#include "chario.h"
#include "types/call.h"

enum chario_wait_state {
	CHARIO_WAITING,
	CHARIO_DONE,		/* the waiter owns the request again */
	CHARIO_ORPHANED,	/* the waiter must not touch the request */
};

/**
 * struct chario_waiter - a synchronous caller, on its own stack
 * @task: task to wake; NULL if the caller polls
 * @error: reason for which the request was orphaned, -errno
 * @state: &enum chario_wait_state; written under the queue's lock, with
 *	release order so that the caller may look without the lock
 *
 * The context that writes @state must not touch the waiter afterwards.
 */
struct chario_waiter {
	struct task_struct *task;
	int error;
	int state;
};

/**
 * struct chario_request - commands in flight for one caller
 * @pending: number of commands that have not completed, counting those not yet
 *	posted; under the queue's lock once the first has been posted
 * @op: &enum chario_op
 * @orphaned: true if the caller has gone; under the queue's lock
 * @overdue: true once the deadline and the recovery age have passed and recovery
 *	has been requested; under the queue's lock
 * @duty: CHARIO_DUTY_* bits
 * @control: CHARIO_CONTROL_* bits
 * @left: number of commands of an orphan, as counted by its origin
 * @number: place in the order in which requests were submitted to the queue; wraps
 * @error: -errno of the first failed command; under the queue's lock
 * @good: bytes in front of the first failed command; under the queue's lock
 * @bytes: bytes of all commands
 * @waiter: synchronous caller or NULL; under the queue's lock
 * @async: the caller, if it does not wait; under the queue's lock
 * @disk: the disk
 * @origin: open file of the call
 * @buffer: the buffer that the commands use; NULL for pages of the caller.  This
 *	pointer keeps the buffer, see memory/buffer.h
 * @first: head of the chain of commands, in order of their place in the call
 * @expires: jiffies at which the caller wants ETIMEDOUT
 * @started: jiffies at which a command was last handed to the device, or held
 * @done_next: next entry of a list of finished requests
 * @node: entry of the queue's list of requests whose pages must be marked dirty
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
	u32 number;
	int error;
	size_t good;
	size_t bytes;
	struct chario_waiter *waiter;
	struct chario_async async;
	struct chario_disk *disk;
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
 * @bytes: length in bytes
 */
struct chario_segment {
	dma_addr_t addr;
	u32 bytes;
};

/**
 * struct chario_disk_range - a part of a disk that a discard names
 * @offset: byte offset on the disk
 * @bytes: length in bytes
 */
struct chario_disk_range {
	u64 offset;
	u32 bytes;
};

/* The reason for which the pages of a command stay in place. */
enum chario_hold {
	CHARIO_HOLD_PIN,	/* pinned by the module */
	CHARIO_HOLD_CALLER,	/* held by the caller, who waits for the request */
	CHARIO_HOLD_REFERENCE,	/* the caller has gone: references of the module */
};

enum chario_command_state {
	CHARIO_COMMAND_IDLE,	/* free, or being prepared */
	CHARIO_COMMAND_HELD,	/* waits to be posted: see chario_queue_hand_over() */
	CHARIO_COMMAND_SUBMITTING, /* the device may touch its memory; see submit.c */
	CHARIO_COMMAND_POSTED,	/* the device may touch its memory */
	CHARIO_COMMAND_ENDED,	/* completed while it was being submitted */
	CHARIO_COMMAND_DONE,	/* completed; its memory is still mapped */
};

/**
 * struct chario_command - one device command, a slot of its queue
 * @req: request of the command
 * @next: next command of the same request
 * @disk_offset: byte offset on the disk; of a discard, that of its first range
 * @req_offset: byte offset in the request
 * @bytes: length in bytes; of a discard 0, because its ranges may be longer
 * @buffer_offset: byte offset of the first byte in the buffer, if there is one
 * @page_offset: byte offset of the first byte in the first page; of a slice with
 *	segments, that of its DMA address
 * @tag: index in the queue
 * @state: &enum chario_command_state; under the queue's lock
 * @hold: &enum chario_hold; under the queue's lock once posted
 * @nr_pages: number of pages in @pages
 * @nr_segments: number of segments in @segments.  Those of a slice of a buffer belong
 *	to the mapping of the buffer, and are not unmapped with the command
 * @error: result in state ENDED, 0 or -errno
 * @id: command identifier of the back end; under the queue's lock
 * @nr_runs: number of segments if the command is mapped and each segment is a run
 *	of neighbouring pages; else @nr_pages
 * @nr_ranges: number of ranges of a discard, which has no memory: they stand in its
 *	@segments, see chario_command_ranges()
 * @pages: array of the queue's max_pages entries, made with the queue
 * @segments: array of as many segments
 * @own: the request, if this is its first command
 * @back: memory of the back end, queue_ops->command_bytes long
 */
struct chario_command {
	struct chario_request *req;
	struct chario_command *next;
	u64 disk_offset;
	u64 buffer_offset;
	size_t req_offset;
	u32 bytes;
	u32 page_offset;
	u16 tag;
	u8 state;
	u8 hold;
	u16 nr_pages;
	u16 nr_segments;
	u16 id;
	union {
		u16 nr_runs;
		u16 nr_ranges;
	};
	int error;
	struct page **pages;
	struct chario_segment *segments;
	struct chario_request own;
	u8 back[] __aligned(8);
};

/* Returns the ranges of a discard. */
static inline struct chario_disk_range *
chario_command_ranges(const struct chario_command *cmd)
{
	return (struct chario_disk_range *)cmd->segments;
}

/*
 * Returns whether nobody wants the device to begin the request again: its caller has
 * gone, or recovery is to take it back from the device.
 */
static inline bool chario_request_is_given_up(const struct chario_request *req)
{
	return req->orphaned ||
	       (req->overdue && (req->duty & CHARIO_DUTY_LET_GO));
}

/* Returns the result of a command of such a request, -errno. */
static inline int chario_request_give_up_error(const struct chario_request *req)
{
	return req->orphaned ? -ECANCELED : -ETIMEDOUT;
}

/* Returns whether the device may touch the memory of a command. */
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

/* Returns whether a command was submitted to the queue before another one. */
static inline bool chario_command_is_before(const struct chario_command *cmd,
					    const struct chario_command *other)
{
	/* The signed difference is right although numbers wrap. */
	s32 requests = cmd->req->number - other->req->number;

	return requests ? requests < 0 : cmd->req_offset < other->req_offset;
}

#define chario_for_each_command(cmd, req) \
	for ((cmd) = (req)->first; (cmd); (cmd) = (cmd)->next)

#endif /* CHARIO_TYPES_REQUEST_H */
