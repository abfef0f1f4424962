// SPDX-License-Identifier: MIT
#include "device.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_SEC     1000000000L
#define LATE_BOUND_NS  20000000L
#define STALL_BOUND_NS NS_PER_SEC
#define MAX_FDS        256

typedef int ppoll_fn(struct pollfd *fds, nfds_t nfds, const struct timespec *timeout,
		     const sigset_t *mask);

static ppoll_fn *next_ppoll;
static pthread_t main_loop_thread;
static bool preloaded;
/* Wakes the main loop to look whether its work is done (STALL). */
static int ask_fd = -1;
static sem_t idle_sem; /* posted when the virtual CPU halts (LATE) */
static sem_t done_sem; /* posted when a question was answered (STALL) */
static atomic_int mode = DEVICE_FREE;
static atomic_bool vcpu_idle;
/* A question is answered when @answered has caught up with @asked. */
static atomic_uint asked, answered;

__attribute__((constructor)) static void find_next_ppoll(void)
{
	const char *list = getenv("LD_PRELOAD");

	next_ppoll = (ppoll_fn *)dlsym(RTLD_NEXT, "ppoll");
	main_loop_thread = pthread_self();
	ask_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	sem_init(&idle_sem, 0, 0);
	sem_init(&done_sem, 0, 0);
	preloaded = next_ppoll && ask_fd >= 0 && list && *list;
}

bool device_is_preloaded(void)
{
	return preloaded;
}

static struct timespec deadline_after(clockid_t clock, long ns)
{
	struct timespec now;

	clock_gettime(clock, &now);
	now.tv_sec += (now.tv_nsec + ns) / NS_PER_SEC;
	now.tv_nsec = (now.tv_nsec + ns) % NS_PER_SEC;
	return now;
}

static bool wait_for(sem_t *sem, long bound_ns)
{
	struct timespec deadline = deadline_after(CLOCK_REALTIME, bound_ns);
	int err;

	do {
		err = sem_timedwait(sem, &deadline);
	} while (err && errno == EINTR);
	return !err;
}

static void drain(sem_t *sem)
{
	while (!sem_trywait(sem))
		;
}

void device_set_mode(enum device_mode wanted)
{
	drain(&idle_sem);
	drain(&done_sem);
	atomic_store(&mode, wanted);
}

bool device_wait_done(void)
{
	const uint64_t one = 1;
	unsigned int question;

	if (atomic_load(&mode) != DEVICE_STALL)
		return true;
	question = atomic_fetch_add(&asked, 1) + 1;
	if (write(ask_fd, &one, sizeof(one)) != sizeof(one))
		return false;
	while (atomic_load(&answered) != question)
		if (!wait_for(&done_sem, STALL_BOUND_NS))
			return false;
	return true;
}

void device_set_idle(bool idle)
{
	atomic_store(&vcpu_idle, idle);
	if (idle)
		sem_post(&idle_sem);
}

/* LATE: the loop was woken, perhaps by a doorbell; let the caller sleep first. */
static void hold_until_idle(void)
{
	if (atomic_load(&mode) != DEVICE_LATE)
		return;
	drain(&idle_sem);
	while (!atomic_load(&vcpu_idle))
		if (!wait_for(&idle_sem, LATE_BOUND_NS))
			break;
}

static struct timespec time_left(const struct timespec *deadline)
{
	struct timespec now, left;

	clock_gettime(CLOCK_MONOTONIC, &now);
	left.tv_sec = deadline->tv_sec - now.tv_sec;
	left.tv_nsec = deadline->tv_nsec - now.tv_nsec;
	if (left.tv_nsec < 0) {
		left.tv_nsec += NS_PER_SEC;
		left.tv_sec--;
	}
	if (left.tv_sec < 0)
		left = (struct timespec){ 0 };
	return left;
}

static void answer(unsigned int question)
{
	if (atomic_exchange(&answered, question) != question)
		sem_post(&done_sem);
}

/*
 * Wait as the main loop asked, and answer questions at the instants at which
 * it has no work: it wants to sleep, so no bottom half is pending, and none of
 * its descriptors is ready, so none was scheduled since. A question is read
 * before the descriptors are looked at, and was asked after the doorbell store
 * had woken the loop, so what the answer says holds for that doorbell.
 */
static int wait_answering(struct pollfd *fds, nfds_t nfds, const struct timespec *timeout,
			  const sigset_t *mask)
{
	static const struct timespec now = { 0 };
	struct timespec deadline = { 0 }, left;
	struct pollfd all[MAX_FDS];
	uint64_t drained;
	unsigned int question;
	int ready;

	if (timeout)
		deadline = deadline_after(CLOCK_MONOTONIC, timeout->tv_nsec);
	if (timeout)
		deadline.tv_sec += timeout->tv_sec;
	for (;;) {
		question = atomic_load(&asked);
		ready = next_ppoll(fds, nfds, &now, mask);
		if (ready)
			return ready;
		answer(question);
		memcpy(all, fds, nfds * sizeof(*fds));
		all[nfds] = (struct pollfd){ .fd = ask_fd, .events = POLLIN };
		left = timeout ? time_left(&deadline) : now;
		ready = next_ppoll(all, nfds + 1, timeout ? &left : NULL, mask);
		if (ready > 0 && all[nfds].revents) {
			while (read(ask_fd, &drained, sizeof(drained)) > 0)
				;
			continue;
		}
		for (nfds_t i = 0; i < nfds; i++)
			fds[i].revents = all[i].revents;
		return ready;
	}
}

__attribute__((visibility("default"))) int
ppoll(struct pollfd *fds, nfds_t nfds, const struct timespec *timeout, const sigset_t *mask)
{
	bool sleeps = !timeout || timeout->tv_sec || timeout->tv_nsec;
	int ready;

	if (!sleeps || nfds >= MAX_FDS || !pthread_equal(pthread_self(), main_loop_thread))
		return next_ppoll(fds, nfds, timeout, mask);
	ready = wait_answering(fds, nfds, timeout, mask);
	if (ready > 0)
		hold_until_idle();
	return ready;
}
