// SPDX-License-Identifier: MIT
/*
 * chario run: a program that is given one area, as a descriptor, and nothing else of the
 * disk.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <chario/area.h>
#include <chario/device.h>

#include "program.h"
#include "store.h"

/* The descriptor that the program finds the area at, unless it is one of the standard ones. */
#define DESCRIPTOR 3

/**
 * struct job - the job of the verb
 * @area: name of the area
 * @descriptor: descriptor of the program that stands for the area
 * @read_only: true if the program may not write
 * @force: true although a recording is there, which the program may destroy
 */
struct job {
	const char *area;
	int descriptor;
	bool read_only;
	bool force;
};

/* Refuse an area that the program cannot have.  Returns CLI_OK, or CLI_FAILED after a message. */
static int check(const struct cli *cli, const struct job *job, const struct chario_area *area)
{
	struct chario_area_info info;
	int err = chario_area_get_info(area, &info, sizeof(info));

	if (err)
		return cli_fail_area(cli, err, "cannot open \"%s\"", job->area);
	if ((info.flags & CHARIO_AREA_STREAM) && !job->read_only && !job->force)
		return cli_say(
			cli,
			"\"%s\" is a recording\n--read-only keeps it; with --force the program "
			"may write over it",
			job->area);
	if (info.flags & CHARIO_AREA_MOVING)
		return cli_say(cli,
			       "\"%s\" lies in two pieces, because a move was interrupted; chario "
			       "defrag completes it, or takes it back",
			       job->area);
	return CLI_OK;
}

/* The file that the program has keeps the area locked, also when this process has ended. */
static int run(struct cli *cli, const struct job *job)
{
	struct chario_device *confined;
	struct chario_area *area;
	char path[32];
	int err =
		chario_area_open(cli->store, job->area, job->read_only ? O_RDONLY : O_RDWR, &area);

	if (err)
		return cli_fail_area(cli, err, "cannot open \"%s\"", job->area);
	if (check(cli, job, area))
		return CLI_FAILED;
	err = chario_area_confine(area, job->read_only ? CHARIO_CONFINE_READ_ONLY : 0, &confined);
	if (err == -ENOTTY)
		return cli_say(cli,
			       "the store is on no character disk: only the module confines files");
	if (err)
		return cli_fail_store(cli, err, "cannot confine a file to \"%s\"", job->area);
	snprintf(path, sizeof(path), "/dev/fd/%d", job->descriptor);
	setenv("CHARIO_AREA", path, 1);
	return cli_run_program(cli, cli->argv, chario_device_fd(confined), job->descriptor);
}

int cmd_run(struct cli *cli)
{
	struct job job = { .descriptor = DESCRIPTOR };
	bool is_input = false, is_output = false;
	const struct cli_value values[] = {
		{ 'A', .text = &job.area },  { 'i', .flag = &is_input },
		{ 'o', .flag = &is_output }, { 'r', .flag = &job.read_only },
		{ 'f', .flag = &job.force }, { 0 },
	};

	if (cli_parse(cli, values) || !cli_has_operands(cli, 1, INT_MAX))
		return CLI_USAGE;
	if (!job.area)
		return cli_usage(cli, "--area says which area the program is to have");
	if (is_input && is_output)
		return cli_usage(cli, "the area is one descriptor: give --stdin or --stdout");
	if (job.read_only && job.force)
		return cli_usage(cli, "--read-only keeps a recording, and --force lets the program "
				      "write over it: give one of them");
	if (is_input || is_output)
		job.descriptor = is_input ? STDIN_FILENO : STDOUT_FILENO;
	if (!cli_open_store(cli, job.read_only ? O_RDONLY : O_RDWR))
		return CLI_FAILED;
	return run(cli, &job);
}
