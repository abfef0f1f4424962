/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the files of the character device share: an open disk.
 */
#ifndef CHARIO_FRONT_H
#define CHARIO_FRONT_H

#include <linux/uio.h>

#include <chario/uapi.h>

#include "chario.h"
#include "core/call.h"
#include "core/origin.h"

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
int chario_timeline_get_fd(struct chario_device *cio,
			   const struct chario_timeline_open *args);

/* front/ioctl.c */
long chario_ioctl(struct file *file, unsigned int cmd, unsigned long arg);

/**
 * struct chario_file - one open of a disk
 * @cio: the disk; holds a reference
 * @origin: what keeps the file open when its callers have gone
 * @completion: &enum chario_completion, may be DEFAULT
 * @spin_ns: 0 for the disk's own
 * @deadline_ns: as set by the user, 0 for the disk's own
 * @deadline: the same in jiffies
 * @buffers: its buffers
 * @irq_queue: queue for each CPU that completes by interrupt
 * @poll_queue: the same for polling
 * @own_queue: its own queue, or NULL; stays until the last close
 * @own_queues: the same, for each CPU
 * @bytes: for a file of any size; stays until the last close
 * @single_bytes: where @single_bytes of the disk stands, or a 0: which calls
 *	are one command
 * @pinned: CHARIO_PIN_* bits that it asks for; changed by the back end
 */
struct chario_file {
	struct chario_device *cio;
	struct chario_origin origin;
	u32 completion;
	u32 spin_ns;
	u64 deadline_ns;
	unsigned long deadline;
	struct chario_buffers *buffers;
	struct chario_queue *const *irq_queue;
	struct chario_queue *const *poll_queue;
	struct chario_queue *own_queue;
	struct chario_queue **own_queues;
	struct chario_bytes *bytes;
	const u32 *single_bytes;
	u32 pinned;
};

#endif /* CHARIO_FRONT_H */
