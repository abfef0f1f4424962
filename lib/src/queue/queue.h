/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * What a queue is inside the library: one of two kinds, each in a file of its
 * own.
 */
#ifndef CHARIO_SRC_QUEUE_H
#define CHARIO_SRC_QUEUE_H

#include <stdbool.h>

#include <chario/queue.h>

/**
 * struct chario_queue_kind - how a queue works
 * @add: take a transfer; there is room for it
 * @submit: begin what was added; 0 or a negative errno
 * @reap: take results, see chario_queue_reap(); something is in flight
 * @fd: see chario_queue_fd(); the queue is not polled
 * @close: wait for what is in flight and free all
 *
 * They keep the counters of &struct chario_queue, but for @add: it adds.
 */
struct chario_queue_kind {
	void (*add)(struct chario_queue *queue, const struct chario_transfer *transfer,
		    uint64_t user);
	int (*submit)(struct chario_queue *queue);
	int (*reap)(struct chario_queue *queue, struct chario_queue_result *results,
		    unsigned int max, int64_t timeout_ns);
	int (*fd)(const struct chario_queue *queue);
	void (*close)(struct chario_queue *queue);
};

/**
 * struct chario_queue - what both kinds have
 * @kind: which one it is
 * @device: whose transfers they are
 * @depth: transfers that it has room for
 * @added: have not been submitted
 * @flying: have been submitted, and not reaped
 * @polled: completions are looked for
 */
struct chario_queue {
	const struct chario_queue_kind *kind;
	struct chario_device *device;
	unsigned int depth;
	unsigned int added;
	unsigned int flying;
	bool polled;
};

/* The caller fills in what both kinds have; the kind allocates. */
int chario_queue_open_uring(const struct chario_queue *base, struct chario_queue **queue);
int chario_queue_open_threads(const struct chario_queue *base, struct chario_queue **queue);

/* When a time from now will be over, on CLOCK_MONOTONIC. */
int64_t chario_queue_deadline(int64_t timeout_ns);

/* What is left until then; 0 when it is over. */
int64_t chario_queue_left(int64_t deadline_ns);

#endif /* CHARIO_SRC_QUEUE_H */
