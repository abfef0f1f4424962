// SPDX-License-Identifier: MIT
#include "device.h"

#include "workers.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
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
/* Announces that a virtual CPU has halted (LATE), or a question was answered (STALL). */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static atomic_int mode = DEVICE_FREE;
/* Sets of virtual CPUs, a bit each: those that are halted, and those that LATE awaits. */
static atomic_ullong idle_vcpus, awaited_vcpus;
/* A question is answered when @answered has caught up with it. */
static atomic_uint asked, answered;

__attribute__((constructor)) static void find_next_ppoll(void)
{
	const char *list = getenv("LD_PRELOAD");

	next_ppoll = (ppoll_fn *)dlsym(RTLD_NEXT, "ppoll");
	main_loop_thread = pthread_self();
	ask_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
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

static void announce(void)
{
	pthread_mutex_lock(&lock);
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

/* Wait until @arrived says so of @udata; false when that takes longer than @bound_ns. */
static bool wait_for(bool (*arrived)(unsigned int udata), unsigned int udata, long bound_ns)
{
	struct timespec deadline = deadline_after(CLOCK_REALTIME, bound_ns);
	bool there;
	int err = 0;

	pthread_mutex_lock(&lock);
	while (!(there = arrived(udata)) && !err)
		err = pthread_cond_timedwait(&changed, &lock, &deadline);
	pthread_mutex_unlock(&lock);
	return there;
}

static bool is_answered(unsigned int question)
{
	return (int)(atomic_load(&answered) - question) >= 0;
}

static bool are_idle(unsigned int unused)
{
	return !(atomic_load(&awaited_vcpus) & ~atomic_load(&idle_vcpus));
}

void device_set_mode(enum device_mode wanted, unsigned int vcpu)
{
	atomic_store(&awaited_vcpus, 1ull << vcpu);
	atomic_store(&mode, wanted);
}

bool device_rung(unsigned int vcpu)
{
	const uint64_t one = 1;
	unsigned int question;

	workers_except_me();
	atomic_fetch_or(&awaited_vcpus, 1ull << vcpu);
	if (atomic_load(&mode) != DEVICE_STALL)
		return true;
	question = atomic_fetch_add(&asked, 1) + 1;
	if (write(ask_fd, &one, sizeof(one)) != sizeof(one))
		return false;
	return wait_for(is_answered, question, STALL_BOUND_NS);
}

void device_set_idle(unsigned int vcpu, bool idle)
{
	workers_except_me();
	if (idle)
		atomic_fetch_or(&idle_vcpus, 1ull << vcpu);
	else
		atomic_fetch_and(&idle_vcpus, ~(1ull << vcpu));
	if (idle && atomic_load(&mode) == DEVICE_LATE)
		announce();
}

/* LATE: the loop was woken, perhaps by a doorbell; let its callers sleep first. */
static void hold_until_idle(void)
{
	if (atomic_load(&mode) == DEVICE_LATE)
		wait_for(are_idle, 0, LATE_BOUND_NS);
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
		announce();
}

/*
 * Whether nothing is left to do for the doorbells that were asked about. The
 * main loop had no work, so what it gave to workers has been given, and who
 * was woken for it is busy. A worker that has finished wakes the loop, which
 * then is ready.
 */
static bool is_quiet(struct pollfd *fds, nfds_t nfds, const sigset_t *mask)
{
	static const struct timespec now = { 0 };

	return !workers_are_busy() && !next_ppoll(fds, nfds, &now, mask);
}

/*
 * Wait as the main loop asked, and answer questions at the instants at which
 * it has no work: it wants to sleep, so no bottom half is pending, and none of
 * its descriptors is ready, so none was scheduled since; nor do the workers,
 * which read and write the files of a drive that has a medium. A question is read
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
		left = timeout ? time_left(&deadline) : now;
		if (question != atomic_load(&answered) && !is_quiet(fds, nfds, mask)) {
			/* The loop has timers, which must not wait for a worker. */
			if (timeout && !left.tv_sec && !left.tv_nsec)
				return 0;
			sched_yield();
			continue;
		}
		answer(question);
		memcpy(all, fds, nfds * sizeof(*fds));
		all[nfds] = (struct pollfd){ .fd = ask_fd, .events = POLLIN };
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
