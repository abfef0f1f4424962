/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A queue: many transfers of a device in flight at once, without a thread for
 * each.
 *
 * Transfers are added and submitted together, and their results are taken when they are
 * there:
 *
 *	chario_queue_add(queue, &transfer, 7);
 *	chario_queue_submit(queue);
 *	count = chario_queue_reap(queue, results, 8, -1);
 *
 * The queue uses io_uring.  If the kernel lacks or forbids io_uring, up to 32 threads do
 * the same.  Transfers are independent of each other: they may end in any order, and a
 * flush covers the writes whose results had been taken when it was submitted.
 *
 * One thread uses a queue at a time; another thread may use it later.  A child of fork(2)
 * must not use the queue of its parent.
 */
#ifndef CHARIO_QUEUE_H
#define CHARIO_QUEUE_H

#include <stdint.h>

#include <chario/buffer.h>
#include <chario/device.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The largest depth of a queue. */
#define CHARIO_QUEUE_DEPTH_MAX 4096U

/** struct chario_queue - transfers in flight; its members are private */
struct chario_queue;

/**
 * struct chario_queue_result - the end of a transfer
 * @user: argument of chario_queue_add()
 * @result: bytes or a negative errno, see chario_transfer()
 */
struct chario_queue_result {
	uint64_t user;
	int64_t result;
};

/**
 * chario_queue_open() - make a queue
 * @device: an open device, which must stay open as long as the queue
 * @depth: largest number of transfers under way at once, 1 to CHARIO_QUEUE_DEPTH_MAX
 * @flags: CHARIO_QUEUE_POLL to poll for completions instead of waiting for interrupts,
 *	or 0
 * @queue: the new queue; the caller gives it to
 *	chario_queue_close()
 *
 * Context: may sleep.
 * Return: 0; -EINVAL if @depth or @flags is out of range; -EOPNOTSUPP if CHARIO_QUEUE_POLL
 * is set and the device has no queue to poll (no file and no block device has one);
 * -ENOMEM; -EMFILE or -ENFILE if there are no descriptors left; -EAGAIN if no thread can be
 * made; -ENODEV when the disk has been removed.
 */
int chario_queue_open(struct chario_device *device, unsigned int depth, unsigned int flags,
		      struct chario_queue **queue);

/**
 * chario_queue_close() - end a queue
 * @queue: the queue, or NULL, which does nothing
 *
 * The call waits for transfers in flight.  It drops results that have not been taken and
 * transfers that have not been submitted.  Close the queue before its buffers and its
 * device.
 *
 * Context: may sleep.
 * Return: 0.
 */
int chario_queue_close(struct chario_queue *queue);

/**
 * chario_queue_add() - add a transfer
 * @queue: the queue
 * @transfer: transfer, which is copied; the library sets its size.
 *	CHARIO_TRANSFER_POLL is allowed only in a polled queue, which polls for all
 * @user: value returned with the result
 *
 * Nothing begins before chario_queue_submit().  An invalid transfer is reported by its
 * result.  The buffer must not be used otherwise until the result has been taken.
 *
 * Context: does not sleep, allocates nothing.
 * Return: 0; -EAGAIN when as many transfers as the queue is deep have been added
 * and not reaped.
 */
int chario_queue_add(struct chario_queue *queue, const struct chario_transfer *transfer,
		     uint64_t user);

/**
 * chario_queue_submit() - start all added transfers
 * @queue: the queue
 *
 * All of them go to the kernel in one call, and to the drive with one doorbell.
 *
 * Context: may sleep.
 * Return: 0; -EAGAIN or -ENOMEM if the kernel has no memory for some of them now, which
 * stay added.
 */
int chario_queue_submit(struct chario_queue *queue);

/**
 * chario_queue_reap() - take results
 * @queue: the queue
 * @results: array for the results
 * @max: number of results that the array has room for
 * @timeout_ns: longest wait for the first result in nanoseconds; 0 only looks, a
 *	negative value waits for ever
 *
 * The call makes no system call if results are already there.  A signal does not end the
 * wait.
 *
 * Context: may sleep, unless @timeout_ns is 0.
 * Return: number of results; 0 after the timeout, or if nothing is in flight; or a negative
 * errno, which means that the queue is broken.
 */
int chario_queue_reap(struct chario_queue *queue, struct chario_queue_result *results,
		      unsigned int max, int64_t timeout_ns);

/**
 * chario_queue_fd() - a file descriptor for an event loop
 * @queue: the queue, which keeps owning the descriptor
 *
 * The descriptor is readable, for poll(2) and epoll(7), as long as results wait to be
 * taken.  It must not be used for anything else. epoll_wait(2) may end with EINTR when a
 * transfer does: call it again.
 *
 * Return: the descriptor; -EOPNOTSUPP if the queue is polled, since nothing reports
 * completions then.
 */
int chario_queue_fd(const struct chario_queue *queue);

/**
 * chario_queue_in_flight() - count the transfers under way
 * @queue: the queue
 *
 * Return: the number of transfers that have been submitted and whose results have not been
 * taken.
 */
unsigned int chario_queue_in_flight(const struct chario_queue *queue);

#ifdef __cplusplus
}
#endif

#endif /* CHARIO_QUEUE_H */
