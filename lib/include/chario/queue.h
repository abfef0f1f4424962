/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A queue: many transfers of a device in flight at once, without a thread for
 * each.
 *
 * Transfers are added, submitted together, and their results are taken when
 * they are there:
 *
 *	chario_queue_add(queue, &transfer, 7);
 *	chario_queue_submit(queue);
 *	count = chario_queue_reap(queue, results, 8, -1);
 *
 * Behind it stands io_uring.  Where the kernel has none or forbids it, up to 32
 * threads do the same.  Transfers are independent of each other: they may end in
 * any order, and a flush covers the writes whose results had been taken when it
 * was submitted.
 *
 * One thread uses a queue at a time; it may be another one later.  A queue does
 * not pass fork(2): the child lets it alone.
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
 * struct chario_queue_result - how a transfer has ended
 * @user: what chario_queue_add() was given
 * @result: bytes or a negative errno, as chario_transfer() returns
 */
struct chario_queue_result {
	uint64_t user;
	int64_t result;
};

/**
 * chario_queue_open() - make a queue
 * @device: an open device, which must stay open as long as the queue
 * @depth: transfers that can be under way at once, 1 to CHARIO_QUEUE_DEPTH_MAX
 * @flags: CHARIO_QUEUE_POLL to look for the end of transfers instead of waiting
 *	for interrupts, or 0
 * @queue: where the new queue is put; the caller gives it to
 *	chario_queue_close()
 *
 * Context: may sleep.
 * Return: 0; -EINVAL where @depth or @flags is out of range, -EOPNOTSUPP where
 * the device has no queue to poll (no file and no block device has) and that is
 * asked for, -ENOMEM, -EMFILE or -ENFILE where a descriptor is wanting, -EAGAIN
 * where no thread can be made; -ENODEV when the disk has been removed.
 */
int chario_queue_open(struct chario_device *device, unsigned int depth, unsigned int flags,
		      struct chario_queue **queue);

/**
 * chario_queue_close() - end a queue
 * @queue: the queue, or NULL, which is let pass
 *
 * Waits for what is in flight.  Results that have not been taken are dropped,
 * and so are transfers that have not been submitted.  Close the queue before its
 * buffers and its device.
 *
 * Context: may sleep.
 * Return: 0.
 */
int chario_queue_close(struct chario_queue *queue);

/**
 * chario_queue_add() - add a transfer
 * @queue: the queue
 * @transfer: what to do; copied, and its size is the library's business.  With
 *	CHARIO_TRANSFER_POLL only in a queue that is polled, which polls all
 * @user: is handed back with the result
 *
 * Nothing begins before chario_queue_submit().  What is wrong with the transfer
 * is told by its result.  The buffer stays the transfer's until the result has
 * been taken.
 *
 * Context: does not sleep, allocates nothing.
 * Return: 0; -EAGAIN when as many transfers as the queue is deep have been added
 * and not reaped.
 */
int chario_queue_add(struct chario_queue *queue, const struct chario_transfer *transfer,
		     uint64_t user);

/**
 * chario_queue_submit() - begin all that has been added
 * @queue: the queue
 *
 * All go to the kernel in one call, and to the drive with one doorbell.
 *
 * Context: may sleep.
 * Return: 0; -EAGAIN or -ENOMEM where the kernel has no memory for some of them
 * now: they stay added.
 */
int chario_queue_submit(struct chario_queue *queue);

/**
 * chario_queue_reap() - take results
 * @queue: the queue
 * @results: where they are put
 * @max: how many there is room for
 * @timeout_ns: time to wait for one at least; 0 to look only, negative to wait
 *	for ever
 *
 * Costs no system call where results are there already.  A signal does not end
 * the wait.
 *
 * Context: may sleep, unless @timeout_ns is 0.
 * Return: how many; 0 when the time is over, or nothing is in flight; or a
 * negative errno, which says that the queue is broken.
 */
int chario_queue_reap(struct chario_queue *queue, struct chario_queue_result *results,
		      unsigned int max, int64_t timeout_ns);

/**
 * chario_queue_fd() - a file descriptor for an event loop
 * @queue: the queue, which goes on to own the descriptor
 *
 * It is readable, for poll(2) and epoll(7), as long as results wait to be taken.
 * Nothing else may be done with it.  epoll_wait(2) may end with EINTR when a
 * transfer does: call it again.
 *
 * Return: the descriptor; -EOPNOTSUPP where the queue is polled: nobody tells.
 */
int chario_queue_fd(const struct chario_queue *queue);

/**
 * chario_queue_in_flight() - how many transfers are under way
 * @queue: the queue
 *
 * Return: those that have been submitted and whose results have not been taken.
 */
unsigned int chario_queue_in_flight(const struct chario_queue *queue);

#ifdef __cplusplus
}
#endif

#endif /* CHARIO_QUEUE_H */
