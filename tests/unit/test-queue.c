// SPDX-License-Identifier: MIT
/*
 * Queues of both kinds, on a plain file and on devices of the test's own.
 *
 * Each test runs with io_uring and with threads.  Where the machine has no
 * io_uring, it runs with threads twice, and says so.
 */
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/resource.h>

#include <chario/queue.h>

#include "kinds.h"
#include "scratch.h"
#include "slow.h"

#define BLOCK ((size_t)4096)
#define DEPTH 32U
#define SIZE  (DEPTH * BLOCK)

static struct chario_device *device;
static struct chario_buffer *buffer;
static unsigned char *memory;
static struct chario_queue *queue;
static struct chario_queue_result results[DEPTH];

static int add(uint32_t op, uint64_t place, uint64_t bytes, uint32_t flags, uint64_t user)
{
	struct chario_transfer transfer = {
		.op = op,
		.flags = flags,
		.buffer = op == CHARIO_TRANSFER_FLUSH ? 0 : chario_buffer_id(buffer),
		.buffer_offset = op == CHARIO_TRANSFER_FLUSH ? 0 : place,
		.disk_offset = op == CHARIO_TRANSFER_FLUSH ? 0 : place,
		.bytes = bytes,
	};

	return chario_queue_add(queue, &transfer, user);
}

/* All results there are, by what their transfers were added with. */
static int reap_all(unsigned int count)
{
	struct chario_queue_result some[3];
	unsigned int done = 0;

	while (done < count) {
		int ret = chario_queue_reap(queue, some, 3, -1);

		if (ret <= 0)
			return ret ? ret : -ENODATA;
		for (int i = 0; i < ret; i++)
			results[some[i].user] = some[i];
		done += (unsigned int)ret;
	}
	return (int)done;
}

/* Moves what has been added, and returns how many transfers have ended. */
static int move_all(unsigned int count)
{
	int err = chario_queue_submit(queue);

	return err ? err : reap_all(count);
}

TEST_BOTH(test_arguments, "arguments")
{
	struct chario_queue *other;

	EQUAL(chario_queue_open(device, 0, 0, &other), -EINVAL);
	EQUAL(chario_queue_open(device, CHARIO_QUEUE_DEPTH_MAX + 1, 0, &other), -EINVAL);
	EQUAL(chario_queue_open(device, 1, CHARIO_QUEUE_URGENT, &other), -EINVAL);
	EQUAL(chario_queue_open(device, 1, CHARIO_QUEUE_POLL, &other), -EOPNOTSUPP);
	EQUAL(chario_queue_open(device, CHARIO_QUEUE_DEPTH_MAX, 0, &other), 0);
	EQUAL(chario_queue_close(other), 0);
	EQUAL(chario_queue_close(NULL), 0);
}

TEST_BOTH(test_contents, "what is written is what is read")
{
	for (size_t i = 0; i < SIZE; i++)
		memory[i] = (unsigned char)(i / 61);
	for (unsigned int i = 0; i < DEPTH; i++)
		EQUAL(add(CHARIO_TRANSFER_WRITE, i * BLOCK, BLOCK, 0, i), 0);
	EQUAL(chario_queue_in_flight(queue), 0);
	EQUAL(chario_queue_submit(queue), 0);
	EQUAL(chario_queue_in_flight(queue), DEPTH);
	EQUAL(reap_all(DEPTH), DEPTH);
	EQUAL(chario_queue_in_flight(queue), 0);
	memset(memory, 0, SIZE);
	for (unsigned int i = 0; i < DEPTH; i++) {
		EQUAL(results[i].result, BLOCK);
		EQUAL(add(CHARIO_TRANSFER_READ, i * BLOCK, BLOCK, 0, i), 0);
	}
	EQUAL(move_all(DEPTH), DEPTH);
	for (size_t i = 0; i < SIZE; i++)
		EQUAL(memory[i], (unsigned char)(i / 61));
}

TEST_BOTH(test_many_rounds, "many rounds")
{
	unsigned int done = 0;
	uint64_t sum = 0;

	for (unsigned int i = 0; i < 2000; i++) {
		if (add(CHARIO_TRANSFER_READ, i % DEPTH * BLOCK, BLOCK, 0, i)) {
			int ret = chario_queue_reap(queue, results, DEPTH, -1);

			CHECK(ret > 0);
			for (int k = 0; k < ret; k++)
				sum += results[k].user;
			done += (unsigned int)ret;
			EQUAL(add(CHARIO_TRANSFER_READ, i % DEPTH * BLOCK, BLOCK, 0, i), 0);
		}
		if (i % 3 == 0)
			EQUAL(chario_queue_submit(queue), 0);
	}
	EQUAL(chario_queue_submit(queue), 0);
	while (done < 2000) {
		EQUAL(chario_queue_reap(queue, results, 1, -1), 1);
		EQUAL(results[0].result, BLOCK);
		sum += results[0].user;
		done++;
	}
	EQUAL(sum, 1999 * 1000);
}

TEST_BOTH(test_full, "a queue that is full")
{
	EQUAL(chario_queue_reap(queue, results, DEPTH, -1), 0);
	EQUAL(chario_queue_submit(queue), 0);
	for (unsigned int i = 0; i < DEPTH; i++)
		EQUAL(add(CHARIO_TRANSFER_READ, 0, BLOCK, 0, i), 0);
	EQUAL(add(CHARIO_TRANSFER_READ, 0, BLOCK, 0, 0), -EAGAIN);
	EQUAL(chario_queue_reap(queue, results, DEPTH, -1), 0);
	EQUAL(chario_queue_submit(queue), 0);
	EQUAL(add(CHARIO_TRANSFER_READ, 0, BLOCK, 0, 0), -EAGAIN);
	EQUAL(chario_queue_reap(queue, results, 0, -1), 0);
	EQUAL(chario_queue_reap(queue, results, 1, -1), 1);
	EQUAL(add(CHARIO_TRANSFER_READ, 0, BLOCK, 0, results[0].user), 0);
	EQUAL(move_all(DEPTH), DEPTH);
}

/* One bad transfer does not hold up those beside it. */
TEST_BOTH(test_errors, "errors")
{
	struct chario_transfer unknown = { .op = CHARIO_TRANSFER_READ,
					   .buffer = 77,
					   .bytes = BLOCK };

	EQUAL(chario_queue_add(queue, &unknown, 0), 0);
	EQUAL(add(CHARIO_TRANSFER_WRITE, 0, BLOCK, 0, 1), 0);
	EQUAL(add(CHARIO_TRANSFER_WRITE, 0, BLOCK - 1, 0, 2), 0);
	EQUAL(add(CHARIO_TRANSFER_WRITE, SIZE, BLOCK, 0, 3), 0);
	EQUAL(add(CHARIO_TRANSFER_READ, SIZE, BLOCK, 0, 4), 0);
	EQUAL(add(CHARIO_TRANSFER_READ, SIZE - BLOCK, 2 * BLOCK, 0, 5), 0);
	EQUAL(add(CHARIO_TRANSFER_READ, 0, BLOCK, CHARIO_TRANSFER_POLL, 6), 0);
	EQUAL(add(9, 0, BLOCK, 0, 7), 0);
	EQUAL(add(CHARIO_TRANSFER_READ, 0, 0, 0, 8), 0);
	EQUAL(add(CHARIO_TRANSFER_READ, 0, BLOCK, 0, 9), 0);
	EQUAL(move_all(10), 10);
	EQUAL(results[0].result, -ENOENT);
	EQUAL(results[1].result, BLOCK);
	EQUAL(results[2].result, -EINVAL);
	EQUAL(results[3].result, -ENOSPC);
	EQUAL(results[4].result, 0);
	EQUAL(results[5].result, -EINVAL);
	EQUAL(results[6].result, -EINVAL);
	EQUAL(results[7].result, -EINVAL);
	EQUAL(results[8].result, 0);
	EQUAL(results[9].result, BLOCK);
}

TEST_BOTH(test_durable, "flush and FUA")
{
	EQUAL(add(CHARIO_TRANSFER_WRITE, 0, BLOCK, CHARIO_TRANSFER_FUA, 0), 0);
	EQUAL(add(CHARIO_TRANSFER_FLUSH, 0, 0, 0, 1), 0);
	EQUAL(move_all(2), 2);
	EQUAL(results[0].result, BLOCK);
	EQUAL(results[1].result, 0);
}

static int is_readable(int timeout_ms)
{
	struct pollfd file = { .fd = chario_queue_fd(queue), .events = POLLIN };

	return poll(&file, 1, timeout_ms);
}

TEST_BOTH(test_event_loop, "an event loop")
{
	struct epoll_event event = { .events = EPOLLIN };
	int ret, loop = epoll_create1(0);

	CHECK(chario_queue_fd(queue) >= 0);
	EQUAL(epoll_ctl(loop, EPOLL_CTL_ADD, chario_queue_fd(queue), &event), 0);
	EQUAL(epoll_wait(loop, &event, 1, 0), 0);
	for (unsigned int i = 0; i < 3; i++)
		EQUAL(add(CHARIO_TRANSFER_READ, 0, BLOCK, 0, i), 0);
	EQUAL(is_readable(0), 0);
	EQUAL(chario_queue_submit(queue), 0);
	do
		ret = epoll_wait(loop, &event, 1, -1);
	while (ret < 0 && errno == EINTR);
	EQUAL(ret, 1);
	EQUAL(chario_queue_reap(queue, results, 1, 0), 1);
	EQUAL(is_readable(-1), 1);
	EQUAL(reap_all(2), 2);
	EQUAL(is_readable(0), 0);
	EQUAL(chario_queue_reap(queue, results, 1, 0), 0);
	close(loop);
}

TEST_BOTH(test_close_drops, "close drops what is left")
{
	for (unsigned int round = 0; round < 2; round++)
		for (unsigned int i = 0; i < DEPTH / 2; i++) {
			EQUAL(add(CHARIO_TRANSFER_WRITE, i * BLOCK, BLOCK, 0, i), 0);
			if (!round)
				EQUAL(chario_queue_submit(queue), 0);
		}
	EQUAL(chario_queue_close(queue), 0);
	EQUAL(chario_buffer_free(buffer), 0);
	buffer = NULL;
	queue = NULL;
}

static void *use_elsewhere(void *data)
{
	for (unsigned int i = 0; i < DEPTH; i++)
		if (add(CHARIO_TRANSFER_READ, i * BLOCK, BLOCK, 0, i))
			return NULL;
	if (chario_queue_submit(queue) || reap_all(DEPTH) != DEPTH)
		return NULL;
	return queue;
}

TEST_BOTH(test_another_thread, "another thread takes over")
{
	pthread_t thread;
	void *used;

	EQUAL(add(CHARIO_TRANSFER_READ, 0, BLOCK, 0, 0), 0);
	EQUAL(move_all(1), 1);
	EQUAL(pthread_create(&thread, NULL, use_elsewhere, NULL), 0);
	EQUAL(pthread_join(thread, &used), 0);
	CHECK(used == queue);
	EQUAL(add(CHARIO_TRANSFER_READ, 0, BLOCK, 0, 0), 0);
	EQUAL(move_all(1), 1);
}

/* A transfer wakes the thread that takes it and who waits for it, not all the others. */
TEST_BOTH(test_few_wakeups, "few sleeps for a transfer")
{
	struct rusage before, after;

	EQUAL(getrusage(RUSAGE_SELF, &before), 0);
	for (unsigned int i = 0; i < 1000; i++) {
		EQUAL(add(CHARIO_TRANSFER_READ, 0, BLOCK, 0, 0), 0);
		EQUAL(chario_queue_submit(queue), 0);
		EQUAL(reap_all(1), 1);
	}
	EQUAL(getrusage(RUSAGE_SELF, &after), 0);
	printf("# %ld sleeps for 1000 transfers\n", after.ru_nvcsw - before.ru_nvcsw);
	CHECK(after.ru_nvcsw - before.ru_nvcsw < 5000);
}

/* Nothing can be written past the limit: what lies before it is, and is told. */
TEST_BOTH(test_a_write_that_is_cut, "a write that is cut")
{
	struct rlimit before, limit;

	signal(SIGXFSZ, SIG_IGN);
	EQUAL(getrlimit(RLIMIT_FSIZE, &before), 0);
	limit = before;
	limit.rlim_cur = 2 * BLOCK;
	EQUAL(setrlimit(RLIMIT_FSIZE, &limit), 0);
	EQUAL(add(CHARIO_TRANSFER_WRITE, BLOCK, 4 * BLOCK, 0, 0), 0);
	EQUAL(add(CHARIO_TRANSFER_WRITE, 8 * BLOCK, BLOCK, 0, 1), 0);
	EQUAL(move_all(2), 2);
	EQUAL(setrlimit(RLIMIT_FSIZE, &before), 0);
	EQUAL(results[0].result, BLOCK);
	EQUAL(results[1].result, -EFBIG);
}

/* A queue on a device of the test's own. */
static struct chario_device *own;
static struct chario_queue *other;

/* Open both, and have a transfer under way there. */
static int begin_own(const struct chario_device_ops *ops, int fd, uint32_t flags, uint64_t bytes,
		     uint64_t offset)
{
	struct chario_transfer transfer = { .bytes = bytes, .disk_offset = offset };

	own = chario_device_make(ops, memory, "own");
	tap_need(own, "no device can be made");
	own->fd = fd;
	return chario_queue_open(own, 1, flags, &other)      ?:
		       chario_queue_add(other, &transfer, 5) ?:
							       chario_queue_submit(other);
}

static int end_own(void)
{
	int err = chario_queue_close(other);

	chario_device_close(own);
	return err;
}

/* Neither time nor signals make a result of what has not ended. */
static void wait_in_vain(void)
{
	EQUAL(tap_interrupt(1000), 0);
	EQUAL(chario_queue_reap(other, results, 1, 0), 0);
	EQUAL(chario_queue_reap(other, results, 1, 10000000), 0);
	EQUAL(chario_queue_in_flight(other), 1);
}

TEST_BOTH(test_waiting, "waiting for a device")
{
	open_slow(false);
	EQUAL(begin_own(&slow_ops, -1, 0, 512, 0), 0);
	wait_in_vain();
	open_slow(true);
	EQUAL(chario_queue_reap(other, results, 1, INT64_MAX), 1);
	EQUAL(tap_interrupt(0), 0);
	EQUAL(results[0].user, 5);
	EQUAL(results[0].result, 512);
	EQUAL(end_own(), 0);
}

/* The same for a ring: nobody writes to the pipe before the first waits are over. */
TEST_BOTH(test_waiting_in_the_kernel, "waiting for a file")
{
	int ends[2];

	EQUAL(pipe(ends), 0);
	open_slow(kinds_is_ring());
	EQUAL(begin_own(&half_ops, ends[0], 0, 8, (uint64_t)-1), 0);
	wait_in_vain();
	open_slow(true);
	EQUAL(write(ends[1], "abcd", 4), 4);
	EQUAL(chario_queue_reap(other, results, 1, -1), 1);
	EQUAL(tap_interrupt(0), 0);
	EQUAL(results[0].result, 8);
	EQUAL(end_own(), 0);
	close(ends[1]);
}

/* Of 8 blocks, the ring moves 4: the rest is moved, and counted. */
TEST_BOTH(test_short, "a short transfer goes on")
{
	open_slow(true);
	EQUAL(begin_own(&half_ops, open("disk", O_RDONLY), 0, 8 * BLOCK, BLOCK), 0);
	EQUAL(chario_queue_reap(other, results, 1, -1), 1);
	EQUAL(results[0].result, 8 * BLOCK);
	if (kinds_is_ring()) {
		EQUAL(slow.rest_offset, 5 * BLOCK);
		EQUAL(slow.rest_bytes, 4 * BLOCK);
	}
	EQUAL(end_own(), 0);
}

TEST_BOTH(test_polled, "a queue that is polled")
{
	open_slow(true);
	EQUAL(begin_own(&slow_ops, -1, CHARIO_QUEUE_POLL, 512, 0), 0);
	EQUAL(chario_queue_fd(other), -EOPNOTSUPP);
	EQUAL(chario_queue_reap(other, results, 1, -1), 1);
	EQUAL(results[0].result, 4711);
	EQUAL(end_own(), 0);
}

/* A buffer does not go while the kernel may write to it. */
TEST_BOTH(test_buffer_in_use, "a buffer that is in use")
{
	bool ring = kinds_is_ring();

	EQUAL(add(CHARIO_TRANSFER_READ, 0, BLOCK, 0, 0), 0);
	EQUAL(chario_queue_submit(queue), 0);
	if (ring)
		EQUAL(chario_buffer_free(buffer), -EBUSY);
	EQUAL(reap_all(1), 1);
	EQUAL(chario_buffer_free(buffer), 0);
	buffer = NULL;
}

TEST_BOTH(test_a_file_that_was_cut, "a file that was cut")
{
	EQUAL(ftruncate(chario_device_fd(device), 2 * (off_t)BLOCK), 0);
	EQUAL(add(CHARIO_TRANSFER_READ, 4 * BLOCK, BLOCK, 0, 0), 0);
	EQUAL(add(CHARIO_TRANSFER_READ, BLOCK, BLOCK, 0, 1), 0);
	EQUAL(move_all(2), 2);
	EQUAL(results[0].result, -ESTALE);
	EQUAL(results[1].result, BLOCK);
}

static void begin(void)
{
	kinds_next();
	scratch_file("disk", SIZE);
	tap_need(!chario_device_open_any("disk", O_RDWR, &device) &&
			 !chario_buffer_pool(device, SIZE, 0, &buffer) &&
			 !chario_queue_open(device, DEPTH, 0, &queue),
		 "the file cannot be opened");
	memory = chario_buffer_memory(buffer);
}

static void end(void)
{
	chario_queue_close(queue);
	chario_buffer_free(buffer);
	chario_device_close(device);
}

TEST_MAIN(begin, end)
