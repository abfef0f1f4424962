/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An open disk, as the files of the front ends share it.
 */
#ifndef CHARIO_FRONT_H
#define CHARIO_FRONT_H

#include <linux/uio.h>

#include <chario/uapi.h>

#include "chario.h"
#include "queue/origin.h"
#include "types/call.h"

extern const struct file_operations chario_char_fops;

/* front/transfer.c */
int chario_transfer_fetch(struct chario_transfer *t, const void __user *user);
ssize_t chario_transfer_run(struct file *file, const struct chario_transfer *t,
			    const struct chario_async *async, bool nowait);
long chario_transfer(struct file *file, const void __user *user);

/* front/uring.c */
int chario_uring_cmd(struct io_uring_cmd *ioucmd, unsigned int issue_flags);
int chario_uring_cmd_iopoll(struct io_uring_cmd *ioucmd,
			    struct io_comp_batch *batch, unsigned int flags);

/* front/timeline.c */
int chario_timeline_get_fd(struct chario_disk *disk,
			   const struct chario_timeline_open *args);

/* front/ioctl.c */
long chario_ioctl(struct file *file, unsigned int cmd, unsigned long arg);

/**
 * struct chario_file - an open file of a disk
 * @disk: the disk
 * @node: node that was opened
 * @parent: file of a node that this one is confined to a range of, and keeps open; or NULL
 * @first: byte offset on the disk of the first byte of the file
 * @capacity_bytes: length of the file in bytes
 * @origin: reference that keeps the file open for orphans, see queue/origin.h
 * @completion: &enum chario_completion, may be DEFAULT
 * @spin_ns: time to spin in nanoseconds, 0 for that of the disk
 * @deadline_ns: deadline of a call in nanoseconds, as set by the user; 0 for that of
 *	the disk
 * @deadline: @deadline_ns in jiffies
 * @buffers: buffers of the file
 * @irq_queue: for each CPU, the queue that completes by interrupt
 * @poll_queue: for each CPU, the queue that is polled
 * @private_queue: private queue of the file, or NULL; stays until the last close
 * @private_queues: for each CPU, @private_queue
 * @bytes: state of a file of any size, or NULL; stays until the last close
 * @single_bytes: largest call in bytes that is one command: the member of the same name
 *	of the disk, or a 0
 * @duty: CHARIO_DUTY_URGENT if the calls of the file are urgent, else 0
 * @pinned: CHARIO_PIN_* bits that the file requests; changed by the back end
 */
struct chario_file {
	struct chario_disk *disk;
	struct chario_node *node;
	struct file *parent;
	u64 first;
	u64 capacity_bytes;
	struct chario_origin origin;
	u32 completion;
	u32 spin_ns;
	u64 deadline_ns;
	unsigned long deadline;
	struct chario_buffers *buffers;
	struct chario_queue *const *irq_queue;
	struct chario_queue *const *poll_queue;
	struct chario_queue *private_queue;
	struct chario_queue **private_queues;
	struct chario_bytes *bytes;
	const u32 *single_bytes;
	u32 duty;
	u32 pinned;
};

/* front/node.c */
int chario_node_enter(struct chario_node *node, bool writes);
void chario_node_leave(struct chario_node *node, bool writes);

/* front/confine.c */
int chario_confine(struct chario_file *cf, const struct chario_confine *range);
void chario_confine_leave(void);

/* front/open.c */
struct chario_file *chario_file_create(struct chario_disk *disk, struct file *file);
void chario_file_destroy(struct chario_file *cf);

/* front/file.c */
void chario_file_route(struct chario_file *cf);
void chario_file_set_urgent(struct chario_file *cf, bool urgent);

#endif /* CHARIO_FRONT_H */
