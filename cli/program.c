// SPDX-License-Identifier: MIT
/* A program that a verb runs, see program.h. */
#include "program.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

/* Exit codes of a shell for a program that was not found, and for one that a signal ended. */
#define NOT_FOUND   127
#define SIGNAL_BASE 128

static int end_of(pid_t child)
{
	int status;

	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return CLI_FAILED;
	return WIFEXITED(status) ? WEXITSTATUS(status) : SIGNAL_BASE + WTERMSIG(status);
}

int cli_run_program(const struct cli *cli, char **argv, int fd, int as)
{
	posix_spawn_file_actions_t actions;
	pid_t child;
	int err;

	posix_spawn_file_actions_init(&actions);
	if (fd >= 0)
		posix_spawn_file_actions_adddup2(&actions, fd, as);
	err = posix_spawnp(&child, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (err) {
		cli_fail_file(cli, -err, "start", argv[0]);
		return NOT_FOUND;
	}
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	return end_of(child);
}
