/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tracepoints: one for each stage of a request, with the names of enum chario_stage,
 * and one for buffers.  A tracepoint that is off costs one nop.
 *
 * The timeline records by them too (timeline/track.c): some arguments are for it alone.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM chario

#if !defined(CHARIO_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define CHARIO_TRACE_H

#include <linux/tracepoint.h>

#include "types/buffer.h"
#include "types/disk.h"
#include "types/queue.h"

TRACE_DEFINE_ENUM(CHARIO_OP_READ);
TRACE_DEFINE_ENUM(CHARIO_OP_WRITE);
TRACE_DEFINE_ENUM(CHARIO_OP_FLUSH);
TRACE_DEFINE_ENUM(CHARIO_OP_DISCARD);
TRACE_DEFINE_ENUM(CHARIO_OP_WRITE_ZEROES);

#define chario_show_op(op)				\
	__print_symbolic(op,				\
			 { CHARIO_OP_READ, "read" },	\
			 { CHARIO_OP_WRITE, "write" },	\
			 { CHARIO_OP_FLUSH, "flush" },	\
			 { CHARIO_OP_DISCARD, "discard" }, \
			 { CHARIO_OP_WRITE_ZEROES, "write_zeroes" })

/* The fields of a call in the trace: its disk, its range, and its length or result. */
#define CHARIO_CALL_FIELDS						\
	TP_STRUCT__entry(						\
		__field(int, disk)					\
		__field(unsigned int, op)				\
		__field(u64, offset)					\
		__field(ssize_t, bytes)					\
	)
#define CHARIO_CALL_ASSIGN						\
	TP_fast_assign(							\
		__entry->disk = disk->index;				\
		__entry->op = op;					\
		__entry->offset = offset;				\
		__entry->bytes = bytes;					\
	)
#define CHARIO_CALL_PRINT						\
	TP_printk("disk=%d op=%s offset=%llu bytes=%zd",		\
		  __entry->disk, chario_show_op(__entry->op),		\
		  __entry->offset, __entry->bytes)

/* A call has reached a front end, and has no commands yet. */
TRACE_EVENT(enter,
	TP_PROTO(const struct chario_disk *disk, unsigned int op, u64 offset,
		 ssize_t bytes),
	TP_ARGS(disk, op, offset, bytes),
	CHARIO_CALL_FIELDS, CHARIO_CALL_ASSIGN, CHARIO_CALL_PRINT
);

/*
 * A request has its result.  @first has not been given back; it is NULL for a caller
 * that has abandoned its request.
 */
TRACE_EVENT(finish,
	TP_PROTO(struct chario_queue *q, const struct chario_command *first,
		 const struct chario_disk *disk, unsigned int op, u64 offset,
		 ssize_t bytes),
	TP_ARGS(q, first, disk, op, offset, bytes),
	CHARIO_CALL_FIELDS, CHARIO_CALL_ASSIGN, CHARIO_CALL_PRINT
);

/* A device command has reached a stage. */
DECLARE_EVENT_CLASS(chario_command,
	TP_PROTO(struct chario_queue *q, const struct chario_command *cmd,
		 int error),
	TP_ARGS(q, cmd, error),
	TP_STRUCT__entry(
		__field(int, disk)
		__field(unsigned int, op)
		__field(bool, fua)
		__field(unsigned int, tag)
		__field(u64, offset)
		__field(u32, bytes)
		__field(int, error)
	),
	TP_fast_assign(
		__entry->disk = cmd->req->disk->index;
		__entry->op = cmd->req->op;
		__entry->fua = cmd->req->control & CHARIO_CONTROL_FUA;
		__entry->tag = cmd->tag;
		__entry->offset = cmd->disk_offset;
		__entry->bytes = cmd->bytes;
		__entry->error = error;
	),
	TP_printk("disk=%d op=%s fua=%d tag=%u offset=%llu bytes=%u error=%d",
		  __entry->disk, chario_show_op(__entry->op), __entry->fua,
		  __entry->tag, __entry->offset, __entry->bytes,
		  __entry->error)
);

#define CHARIO_COMMAND_EVENT(stage)					\
	DEFINE_EVENT(chario_command, stage,				\
		     TP_PROTO(struct chario_queue *q,			\
			      const struct chario_command *cmd, int error), \
		     TP_ARGS(q, cmd, error))

CHARIO_COMMAND_EVENT(split);
CHARIO_COMMAND_EVENT(map);
CHARIO_COMMAND_EVENT(queue);
CHARIO_COMMAND_EVENT(post);
CHARIO_COMMAND_EVENT(reap);
CHARIO_COMMAND_EVENT(unmap);

/* A queue has had a doorbell or interrupt, which may be for several commands. */
DECLARE_EVENT_CLASS(chario_queue,
	TP_PROTO(struct chario_queue *q, unsigned int count),
	TP_ARGS(q, count),
	TP_STRUCT__entry(
		__field(const void *, queue)
		__field(bool, polled)
		__field(unsigned int, count)
	),
	TP_fast_assign(
		__entry->queue = q;
		__entry->polled = q->polled;
		__entry->count = count;
	),
	TP_printk("queue=%p polled=%d count=%u",
		  __entry->queue, __entry->polled, __entry->count)
);

DEFINE_EVENT(chario_queue, doorbell,
	TP_PROTO(struct chario_queue *q, unsigned int count),
	TP_ARGS(q, count));

DEFINE_EVENT(chario_queue, irq,
	TP_PROTO(struct chario_queue *q, unsigned int count),
	TP_ARGS(q, count));

/* A buffer has been made; @address is its first address for the device. */
TRACE_EVENT(buffer,
	TP_PROTO(const struct chario_buffer *buf),
	TP_ARGS(buf),
	TP_STRUCT__entry(
		__field(int, disk)
		__field(u32, id)
		__field(u64, bytes)
		__field(u32, extents)
		__field(u64, address)
	),
	TP_fast_assign(
		__entry->disk = buf->disk->index;
		__entry->id = buf->handle;
		__entry->bytes = buf->bytes;
		__entry->extents = buf->extents;
		__entry->address = buf->first;
	),
	TP_printk("disk=%d id=%u bytes=%llu extents=%u address=0x%llx",
		  __entry->disk, __entry->id, __entry->bytes,
		  __entry->extents, __entry->address)
);

#endif /* CHARIO_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
