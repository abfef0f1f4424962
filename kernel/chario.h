/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The glossary of the module: its things.
 *
 *   device   the hardware that a back end drives
 *   drive    struct chario_drive, the device behind one or more disks: queues,
 *            state, recovery
 *   disk     struct chario_disk, what /dev/chardiskN stands for.  Local: disk
 *   file     struct chario_file, an open file of a disk
 *   call     struct chario_call, a read, write or flush of a caller; lives
 *            on the caller's stack
 *   buffer   struct chario_buffer, memory that is mapped once, for many calls;
 *            belongs to a file.                                    Local: buf
 *   request  struct chario_request, the part of a call that is in flight
 *            together; lives in its first command.                 Local: req
 *   command  struct chario_command, one device command with its memory; a
 *            slot of a queue, made before the first call.          Local: cmd
 *   queue    struct chario_queue, a submission and completion pair. Local: q
 *   timeline struct chario_timeline, the recorder of stages; one track, a ring
 *            that user space maps, for each queue.                 Local: tl
 *
 * Most of these structures are in types/.  front/ knows callers, back/ knows devices, and
 * the folders between know neither: main.c gives them the parts that they start.  A
 * folder includes those before it in the table of docs/architecture.md.
 *
 * A request can be followed by opening files in the order of Kbuild.
 */
#ifndef CHARIO_H
#define CHARIO_H

#include <linux/types.h>

struct chario_buffer;
struct chario_buffers;
struct chario_bytes;
struct chario_call;
struct chario_command;
struct chario_disk;
struct chario_drive;
struct chario_edge;
struct chario_file;
struct chario_medium;
struct chario_queue;
struct chario_request;
struct chario_tags;
struct chario_timeline;
struct chario_track;
struct chario_waiter;

/* The operation of a request. */
enum chario_op {
	CHARIO_OP_READ,
	CHARIO_OP_WRITE,
	CHARIO_OP_FLUSH,
	CHARIO_OP_DISCARD,	/* the content of ranges is not needed any more */
	CHARIO_OP_WRITE_ZEROES,
	CHARIO_NR_OPS,
};

#endif /* CHARIO_H */
