// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* A queue of the kind that this machine allows. */
#include "queue/queue.h"

#include <errno.h>

#include "device/ops.h"

static int check_polling(struct chario_device *device)
{
	struct chario_info info;
	int err = chario_device_get_info(device, &info, sizeof(info));

	if (err)
		return err;
	return info.features & CHARIO_FEATURE_POLL ? 0 : -EOPNOTSUPP;
}

/*
 * io_uring may be missing, forbidden by seccomp or sysctl, or too old for the flags that we
 * need; or its memory counts against a limit on locked memory, as it did before Linux 5.12.
 */
static bool is_unavailable(int err)
{
	return err == -ENOSYS || err == -EPERM || err == -EACCES || err == -EINVAL ||
	       err == -ENOMEM || err == -EOPNOTSUPP;
}

int chario_queue_open(struct chario_device *device, unsigned int depth, unsigned int flags,
		      struct chario_queue **queue)
{
	struct chario_queue base = {
		.device = device,
		.depth = depth,
		.polled = flags & CHARIO_QUEUE_POLL,
	};
	int err;

	if (!depth || depth > CHARIO_QUEUE_DEPTH_MAX || (flags & ~CHARIO_QUEUE_POLL))
		return -EINVAL;
	err = base.polled ? check_polling(device) : 0;
	if (err)
		return err;
	err = device->ops->prepare ? chario_queue_open_uring(&base, queue) : -ENOSYS;
	return is_unavailable(err) ? chario_queue_open_threads(&base, queue) : err;
}

int chario_queue_close(struct chario_queue *queue)
{
	if (queue)
		queue->kind->close(queue);
	return 0;
}

int chario_queue_add(struct chario_queue *queue, const struct chario_transfer *transfer,
		     uint64_t user)
{
	if (queue->added + queue->flying >= queue->depth)
		return -EAGAIN;
	queue->kind->add(queue, transfer, user);
	queue->added++;
	return 0;
}

int chario_queue_submit(struct chario_queue *queue)
{
	return queue->added ? queue->kind->submit(queue) : 0;
}

int chario_queue_reap(struct chario_queue *queue, struct chario_queue_result *results,
		      unsigned int max, int64_t timeout_ns)
{
	return queue->flying && max ? queue->kind->reap(queue, results, max, timeout_ns) : 0;
}

int chario_queue_fd(const struct chario_queue *queue)
{
	return queue->polled ? -EOPNOTSUPP : queue->fd;
}

unsigned int chario_queue_in_flight(const struct chario_queue *queue)
{
	return queue->flying;
}
