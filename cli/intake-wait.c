// SPDX-License-Identifier: MIT
/*
 * The waits for the peer of a source.  A signal that asks the program to end also ends them, and
 * so does the end of the time to record.
 *
 * These signals are blocked outside of ppoll(2), so none arrives unseen between the look at the
 * requests and the wait.
 */
#include <poll.h>
#include <signal.h>
#include <sys/param.h>
#include <time.h>

#include <chario/recorder.h>

#include "intake.h"
#include "interrupt.h"
#include "progress.h"

#define TICK_NS 1000000000U

/* A socket of unix(7) does not tell when a program has room for one more connection. */
#define RETRY_NS 20000000U

/* Returns whether the descriptor is ready, after @most_ns at most. */
static bool wait_once(struct cli_intake *intake, struct pollfd *polled, uint64_t most_ns,
		      const sigset_t *mask)
{
	uint64_t begin_ns = cli_now_ns();
	const struct timespec time = { .tv_sec = (time_t)(most_ns / NS_PER_S),
				       .tv_nsec = (long)(most_ns % NS_PER_S) };
	bool is_ready = ppoll(polled, 1, &time, mask) > 0;

	if (intake->left_ns != UINT64_MAX)
		intake->left_ns -= MIN(intake->left_ns, cli_now_ns() - begin_ns);
	return is_ready;
}

/* Returns whether the recording ends before its source is there. */
static bool is_ended(struct cli_intake *intake)
{
	if (cli_interrupted())
		intake->ended = CHARIO_RECORDER_STOPPED;
	else if (!intake->left_ns)
		intake->ended = CHARIO_RECORDER_LIMIT;
	return intake->ended;
}

/* Wait until the descriptor is ready; without one, until a part of the time has passed. */
static bool wait_for(struct cli_intake *intake, struct pollfd *polled, uint64_t part_ns)
{
	bool is_ready = false;
	sigset_t requests, mask;

	sigemptyset(&requests);
	sigaddset(&requests, SIGINT);
	sigaddset(&requests, SIGTERM);
	sigaddset(&requests, SIGHUP);
	sigprocmask(SIG_BLOCK, &requests, &mask);
	while (!is_ended(intake) && !is_ready)
		is_ready = wait_once(intake, polled, MIN(intake->left_ns, part_ns), &mask) ||
			   polled->fd < 0;
	sigprocmask(SIG_SETMASK, &mask, NULL);
	return !intake->ended;
}

bool cli_intake_wait(struct cli_intake *intake, int fd, short events)
{
	return wait_for(intake, &(struct pollfd){ .fd = fd, .events = events }, TICK_NS);
}

bool cli_intake_wait_to_retry(struct cli_intake *intake)
{
	return wait_for(intake, &(struct pollfd){ .fd = -1 }, RETRY_NS);
}
