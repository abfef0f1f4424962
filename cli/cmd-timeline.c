// SPDX-License-Identifier: MIT
/*
 * chario timeline: record the stages of requests, of a program or for a time.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chario/device.h>

#include "timeline.h"

#define TAGS            4096
#define DEFAULT_RECORDS 16384

/* Exit code of a shell for a program that it cannot run. */
#define CANNOT_RUN 127

static void interrupted(int signal)
{
	(void)signal;
}

static void wait_for(const struct chario_timeline *timeline, double seconds)
{
	struct pollfd frozen = { .fd = chario_timeline_fd(timeline), .events = POLLIN };
	struct timespec time = {
		.tv_sec = (time_t)seconds,
		.tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9),
	};

	ppoll(&frozen, 1, seconds > 0 ? &time : NULL, NULL);
}

/* In the child: the program can join the timeline by the descriptor that it inherits. */
static _Noreturn void become(const struct cli *cli, const struct chario_timeline *timeline)
{
	int fd = dup(chario_timeline_fd(timeline));
	char text[16];

	snprintf(text, sizeof(text), "%d", fd);
	setenv(CHARIO_TIMELINE_FD, text, 1);
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	execvp(cli->argv[1], &cli->argv[1]);
	cli_fail_file(cli, -errno, "run", cli->argv[1]);
	_exit(CANNOT_RUN);
}

/* Run a program.  Returns CLI_OK if its exit code is 0. */
static int run_program(const struct cli *cli, const struct chario_timeline *timeline)
{
	pid_t pid;
	int status;

	fflush(stdout);
	pid = fork();
	if (!pid)
		become(cli, timeline);
	if (pid < 0)
		return cli_fail(cli, -errno, "cannot make a process");
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return cli_fail(cli, -errno, "cannot wait for \"%s\"", cli->argv[1]);
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return CLI_OK;
	if (WIFEXITED(status))
		return cli_say(cli, "\"%s\" ended with exit status %d", cli->argv[1],
			       WEXITSTATUS(status));
	return cli_say(cli, "\"%s\" was ended by signal %d", cli->argv[1], WTERMSIG(status));
}

static int record(const struct cli *cli, const struct timeline_job *job,
		  const struct chario_timeline *timeline)
{
	int err, status = CLI_OK;

	/* An interrupt ends the recording, not the program. */
	signal(SIGINT, interrupted);
	signal(SIGTERM, interrupted);
	if (cli->argc > 1)
		status = run_program(cli, timeline);
	else
		wait_for(timeline, job->seconds);
	err = chario_timeline_control(timeline, CHARIO_TIMELINE_FREEZE, job->stop_above_ns);
	if (err)
		return cli_fail(cli, err, "cannot end the recording");
	err = timeline_report(cli, job, timeline);
	return status ? status : err;
}

/* Make rings as long as asked for or, if nobody asked, as the limit of locked memory allows. */
static int make_rings(const struct cli *cli, const struct timeline_job *job,
		      struct chario_timeline **timeline)
{
	struct chario_timeline_open options = {
		.records = job->records ? job->records : DEFAULT_RECORDS,
		.tags = TAGS,
		.stop_above_ns = job->stop_above_ns,
	};
	int err;

	while ((err = chario_timeline_open(cli->disk, &options, sizeof(options), timeline)) ==
		       -ENOMEM &&
	       !job->records && options.records > CHARIO_TIMELINE_RECORDS_MIN)
		options.records /= 2;
	if (!err && !job->records && options.records < DEFAULT_RECORDS)
		cli_say(cli,
			"the limit of locked memory (ulimit -l) leaves room for the last %" PRIu32
			" records of a queue, not %d",
			options.records, DEFAULT_RECORDS);
	return err;
}

/* While it records, the program does not hold the disk itself open. */
static int open_timeline(struct cli *cli, const struct timeline_job *job,
			 struct chario_timeline **timeline)
{
	int err;

	if (!cli_open_disk(cli))
		return CLI_FAILED;
	err = make_rings(cli, job, timeline);
	chario_device_close(cli->disk);
	cli->disk = NULL;
	if (!err)
		return CLI_OK;
	if (err == -EBUSY)
		return cli_say(cli,
			       "somebody records the drive of \"%s\" already: wait until they end",
			       cli->argv[0]);
	return cli_fail(cli, err, "cannot record \"%s\"", cli->argv[0]);
}

/* Put a tag, in a program that a chario timeline runs. */
static int put_tag(const struct cli *cli, uint64_t value)
{
	struct chario_timeline *timeline;
	int err = chario_timeline_join(&timeline);

	if (err == -ENOENT)
		return cli_say(
			cli,
			"no timeline is being recorded: run this from \"chario timeline DISK -- PROGRAM\"");
	if (err)
		return cli_fail(cli, err, "cannot join the timeline of " CHARIO_TIMELINE_FD);
	chario_timeline_tag(timeline, value);
	chario_timeline_close(timeline);
	return CLI_OK;
}

static int parse_tag(const struct cli *cli, char *text, void *to)
{
	struct timeline_job *job = to;
	char *end;

	errno = 0;
	job->value = strtoull(text, &end, 0);
	job->tag = end != text && !*end && *text != '-' && !errno;
	return job->tag ? CLI_OK : cli_usage(cli, "\"%s\" is not a number below 2^64", text);
}

static int parse_options(struct cli *cli, struct timeline_job *job)
{
	const struct cli_value values[] = {
		{ 's', .seconds = &job->seconds },
		{ 'u', .number = &job->stop_above_ns,
		  .range = { "a number of microseconds", .least = 1, .most = UINT64_MAX / 1000,
			     .is_c = true, .unit = 1000 } },
		{ 'r', .small = &job->records,
		  .range = { "a power of two from 64 to 1048576",
			     .least = CHARIO_TIMELINE_RECORDS_MIN,
			     .most = CHARIO_TIMELINE_RECORDS_MAX, .is_power = true,
			     .is_c = true } },
		{ 't', .parse = parse_tag, .to = job },
		{ 'a', .flag = &job->all },
		{ 0 },
	};

	if (cli_parse(cli, values))
		return CLI_USAGE;
	if (job->tag)
		return cli_has_operands(cli, 0, 0) ? CLI_OK : CLI_USAGE;
	if (job->seconds > 0 && cli->argc > 1)
		return cli_usage(cli,
				 "record for --seconds or as long as a program runs, not both");
	return cli_has_operands(cli, 1, INT32_MAX) ? CLI_OK : CLI_USAGE;
}

int cmd_timeline(struct cli *cli)
{
	struct timeline_job job = { 0 };
	struct chario_timeline *timeline;
	int status = parse_options(cli, &job);

	if (status)
		return status;
	if (job.tag)
		return put_tag(cli, job.value);
	status = open_timeline(cli, &job, &timeline);
	if (status)
		return status;
	status = record(cli, &job, timeline);
	chario_timeline_close(timeline);
	return status;
}
