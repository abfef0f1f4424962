/* SPDX-License-Identifier: MIT */
/*
 * Devices for tests of queues: one that waits until it may go on, and one whose
 * ring does half of what it is asked.
 */
#ifndef CHARIO_SLOW_H
#define CHARIO_SLOW_H

#include <pthread.h>

#include <liburing.h>

#include "device/ops.h"
#include "tap.h"

struct slow {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool open;
	unsigned int nr_transfers;
	uint64_t rest_offset;
	uint64_t rest_bytes;
};

static struct slow slow = { .lock = PTHREAD_MUTEX_INITIALIZER,
			    .changed = PTHREAD_COND_INITIALIZER };

static int slow_info(const struct chario_device *own, struct chario_info *info, size_t size)
{
	memset(info, 0, size);
	info->features = CHARIO_FEATURE_POLL;
	info->dma_alignment_bytes = 4;
	return 0;
}

static ssize_t slow_transfer(const struct chario_device *own, struct chario_transfer *transfer)
{
	pthread_mutex_lock(&slow.lock);
	while (!slow.open)
		pthread_cond_wait(&slow.changed, &slow.lock);
	slow.nr_transfers++;
	slow.rest_offset = transfer->disk_offset;
	slow.rest_bytes = transfer->bytes;
	pthread_mutex_unlock(&slow.lock);
	return transfer->flags & CHARIO_TRANSFER_POLL ? 4711 : (ssize_t)transfer->bytes;
}

static void open_slow(bool open)
{
	pthread_mutex_lock(&slow.lock);
	slow.open = open;
	pthread_cond_broadcast(&slow.changed);
	pthread_mutex_unlock(&slow.lock);
}

/* Half of what is to be read comes, into the data of the device. */
static int half_prepare(const struct chario_device *own, const struct chario_transfer *transfer,
			struct io_uring_sqe *sqe, uint32_t *expected)
{
	*expected = (uint32_t)transfer->bytes;
	io_uring_prep_read(sqe, 0, own->data, *expected / 2, transfer->disk_offset);
	return 1;
}

static const struct chario_device_ops slow_ops = { .get_info = slow_info,
						   .transfer = slow_transfer };
static const struct chario_device_ops half_ops = { .get_info = slow_info,
						   .transfer = slow_transfer,
						   .prepare = half_prepare };

#endif /* CHARIO_SLOW_H */
