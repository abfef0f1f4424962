/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* A queue inside the library: one of two kinds, each in a file of its own. */
#ifndef CHARIO_SRC_QUEUE_H
#define CHARIO_SRC_QUEUE_H

#include <stdbool.h>

#include <chario/queue.h>

/**
 * struct chario_queue_kind - the operations of a kind of queue
 * @add: takes a transfer; the caller has checked that there is room
 * @submit: starts the added transfers; returns 0 or a negative errno
 * @reap: takes results, see chario_queue_reap(); the caller has checked that some are
 *	in flight
 * @close: waits for transfers in flight and frees the queue
 *
 * All of them but @add update the counters of &struct chario_queue; chario_queue_add()
 * counts.
 */
struct chario_queue_kind {
	void (*add)(struct chario_queue *queue, const struct chario_transfer *transfer,
		    uint64_t user);
	int (*submit)(struct chario_queue *queue);
	int (*reap)(struct chario_queue *queue, struct chario_queue_result *results,
		    unsigned int max, int64_t timeout_ns);
	void (*close)(struct chario_queue *queue);
};

/**
 * struct chario_queue - the part that both kinds of queue have
 * @kind: operations
 * @device: device of the transfers
 * @depth: largest number of transfers
 * @added: number of transfers added and not submitted
 * @flying: number of transfers submitted and not reaped
 * @fd: descriptor that is readable while results wait
 * @polled: true if completions are polled for
 */
struct chario_queue {
	const struct chario_queue_kind *kind;
	struct chario_device *device;
	unsigned int depth;
	unsigned int added;
	unsigned int flying;
	int fd;
	bool polled;
};

/* Open a queue of one kind: @base is a filled-in template, the kind allocates the queue. */
int chario_queue_open_uring(const struct chario_queue *base, struct chario_queue **queue);
int chario_queue_open_threads(const struct chario_queue *base, struct chario_queue **queue);

#endif /* CHARIO_SRC_QUEUE_H */
