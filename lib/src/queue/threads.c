// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A queue of a few threads, for machines without io_uring.
 *
 * A job is in one of four lines: free, added, waiting for a thread, or ended.  A job that a
 * thread works on is in none of them.
 */
#include "queue/queue.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <time.h>

#include "device/ops.h"
#include "system/scope.h"
#include "system/sys.h"

#define THREADS_MAX 32

struct job {
	struct chario_transfer transfer;
	uint64_t user;
	int64_t result;
	STAILQ_ENTRY(job) next;
};

/* Jobs in the order of their arrival. */
STAILQ_HEAD(line, job);

/**
 * struct threads - a queue of threads
 * @base: part that all queues have
 * @lock: lock of @waiting, @ended and the counter of the queue's eventfd(2)
 * @begin: semaphore that counts waiting jobs; a count without a job ends a thread
 * @end: condition that a job has ended
 * @free: unused jobs
 * @added: jobs added and not submitted
 * @waiting: jobs submitted and not begun
 * @ended: jobs with a result; the eventfd is readable while there are any
 * @nr_threads: number of threads
 * @threads: the threads
 * @jobs: the memory of all jobs
 */
struct threads {
	struct chario_queue base;
	pthread_mutex_t lock;
	sem_t begin;
	pthread_cond_t end;
	struct line free;
	struct line added;
	struct line waiting;
	struct line ended;
	unsigned int nr_threads;
	pthread_t threads[THREADS_MAX];
	struct job jobs[];
};

static struct threads *threads_of(struct chario_queue *queue)
{
	return (struct threads *)queue;
}

/* Take the first job of a line.  Returns NULL if there is none. */
static struct job *pop(struct line *line)
{
	struct job *job = STAILQ_FIRST(line);

	if (job)
		STAILQ_REMOVE_HEAD(line, next);
	return job;
}

static int64_t run(const struct chario_queue *queue, struct chario_transfer *transfer)
{
	const struct chario_device *device = queue->device;

	if (queue->polled)
		transfer->flags |= CHARIO_TRANSFER_POLL;
	else if (transfer->flags & CHARIO_TRANSFER_POLL)
		return -EINVAL;
	return device->ops->transfer(device, transfer);
}

static void put_result(struct threads *threads, struct job *job)
{
	/* The write cannot fail: nothing had ended, so the counter is 0. */
	CHARIO_LOCK(&threads->lock);
	if (STAILQ_EMPTY(&threads->ended))
		eventfd_write(threads->base.fd, 1);
	STAILQ_INSERT_TAIL(&threads->ended, job, next);
	pthread_cond_signal(&threads->end);
}

/* Wait for the next job.  Returns NULL when the thread is to end. */
static struct job *wait_for_job(struct threads *threads)
{
	while (sem_wait(&threads->begin))
		;
	CHARIO_LOCK(&threads->lock);
	return pop(&threads->waiting);
}

static void *work(void *data)
{
	struct threads *threads = data;
	struct job *job;

	while ((job = wait_for_job(threads))) {
		job->result = run(&threads->base, &job->transfer);
		put_result(threads, job);
	}
	return NULL;
}

static void add(struct chario_queue *queue, const struct chario_transfer *transfer, uint64_t user)
{
	struct threads *threads = threads_of(queue);
	struct job *job = pop(&threads->free);

	job->transfer = *transfer;
	job->transfer.size = sizeof(job->transfer);
	job->user = user;
	STAILQ_INSERT_TAIL(&threads->added, job, next);
}

static int submit(struct chario_queue *queue)
{
	struct threads *threads = threads_of(queue);
	unsigned int count = queue->added;

	queue->flying += count;
	queue->added = 0;
	pthread_mutex_lock(&threads->lock);
	STAILQ_CONCAT(&threads->waiting, &threads->added);
	pthread_mutex_unlock(&threads->lock);
	/* Post only after the jobs are in the line: a thread that finds no job ends. */
	while (count--)
		sem_post(&threads->begin);
	return 0;
}

static unsigned int take(struct threads *threads, struct chario_queue_result *results,
			 unsigned int max)
{
	unsigned int count = 0;
	struct job *job;
	eventfd_t value;

	while (count < max && (job = pop(&threads->ended))) {
		results[count++] = (struct chario_queue_result){ job->user, job->result };
		STAILQ_INSERT_TAIL(&threads->free, job, next);
	}
	if (count && STAILQ_EMPTY(&threads->ended))
		eventfd_read(threads->base.fd, &value);
	threads->base.flying -= count;
	return count;
}

static void wait_for_one(struct threads *threads, int64_t timeout_ns)
{
	int64_t deadline_ns = chario_sys_deadline(timeout_ns);
	struct timespec until = { deadline_ns / 1000000000, deadline_ns % 1000000000 };
	int over = 0;

	while (STAILQ_EMPTY(&threads->ended) && !over)
		over = pthread_cond_timedwait(&threads->end, &threads->lock, &until);
}

static int reap(struct chario_queue *queue, struct chario_queue_result *results, unsigned int max,
		int64_t timeout_ns)
{
	struct threads *threads = threads_of(queue);

	CHARIO_LOCK(&threads->lock);
	if (timeout_ns)
		wait_for_one(threads, timeout_ns);
	return (int)take(threads, results, max);
}

static void stop(struct threads *threads)
{
	for (unsigned int i = 0; i < threads->nr_threads; i++)
		sem_post(&threads->begin);
	for (unsigned int i = 0; i < threads->nr_threads; i++)
		pthread_join(threads->threads[i], NULL);
}

static void free_all(struct threads *threads)
{
	sem_destroy(&threads->begin);
	pthread_cond_destroy(&threads->end);
	pthread_mutex_destroy(&threads->lock);
	chario_scope_close(&threads->base.fd);
	free(threads);
}

static void close_queue(struct chario_queue *queue)
{
	struct chario_queue_result result;

	while (queue->flying)
		reap(queue, &result, 1, -1);
	stop(threads_of(queue));
	free_all(threads_of(queue));
}

static const struct chario_queue_kind kind = {
	.add = add,
	.submit = submit,
	.reap = reap,
	.close = close_queue,
};

static void init_sync(struct threads *threads)
{
	pthread_condattr_t clock;

	pthread_mutex_init(&threads->lock, NULL);
	sem_init(&threads->begin, 0, 0);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&threads->end, &clock);
	pthread_condattr_destroy(&clock);
}

static void init_lines(struct threads *threads)
{
	STAILQ_INIT(&threads->free);
	STAILQ_INIT(&threads->added);
	STAILQ_INIT(&threads->waiting);
	STAILQ_INIT(&threads->ended);
	for (unsigned int i = 0; i < threads->base.depth; i++)
		STAILQ_INSERT_TAIL(&threads->free, &threads->jobs[i], next);
}

/* Block all signals in the threads: they belong to the program's own threads. */
static int start(struct threads *threads)
{
	unsigned int wanted = threads->base.depth < THREADS_MAX ? threads->base.depth : THREADS_MAX;
	sigset_t all, before;
	int err = 0;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (!err && threads->nr_threads < wanted) {
		err = pthread_create(&threads->threads[threads->nr_threads], NULL, work, threads);
		threads->nr_threads += !err;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	/* A queue works with fewer threads than wanted. */
	return threads->nr_threads ? 0 : -err;
}

int chario_queue_open_threads(const struct chario_queue *base, struct chario_queue **queue)
{
	struct threads *threads = calloc(1, sizeof(*threads) + base->depth * sizeof(struct job));
	int err;

	if (!threads)
		return -ENOMEM;
	threads->base = *base;
	threads->base.kind = &kind;
	init_lines(threads);
	init_sync(threads);
	threads->base.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = threads->base.fd < 0 ? -errno : start(threads);
	if (err) {
		free_all(threads);
		return err;
	}
	*queue = &threads->base;
	return 0;
}
