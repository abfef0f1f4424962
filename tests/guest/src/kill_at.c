// SPDX-License-Identifier: MIT
/*
 * Kill a program behind a call that may have changed a file.
 *
 *	kill_at N PROGRAM ARGUMENT...
 *
 * The Nth such call of the program is done, and nothing of the program after it.  The exit
 * code is 137 then; otherwise it is the program's.  Processes that the program starts live on.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"

static bool is_change(const struct __ptrace_syscall_info *call)
{
	switch (call->entry.nr) {
	case SYS_write:
		return call->entry.args[0] > STDERR_FILENO;
	case SYS_openat:
		return call->entry.args[2] & O_CREAT;
	case SYS_mkdir:
	case SYS_rmdir:
	case SYS_symlink:
	case SYS_unlink:
	case SYS_rename:
	case SYS_fsync:
		return true;
	default:
		return false;
	}
}

int main(int argc, char **argv)
{
	struct __ptrace_syscall_info call;
	int left = argc > 2 ? atoi(argv[1]) : 0, status;
	bool is_due = false;
	pid_t child = fork();

	if (!child) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		execvp(argv[2], argv + 2);
		die(argv[2]);
	}
	if (waitpid(child, &status, 0) != child ||
	    ptrace(PTRACE_SETOPTIONS, child, NULL, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL))
		die("ptrace");
	while (!WIFEXITED(status) && !WIFSIGNALED(status)) {
		bool is_call = WSTOPSIG(status) == (SIGTRAP | 0x80);

		if (is_call && ptrace(PTRACE_GET_SYSCALL_INFO, child, sizeof(call), &call) < 0)
			die("PTRACE_GET_SYSCALL_INFO");
		if (is_call && call.op == PTRACE_SYSCALL_INFO_ENTRY)
			is_due = is_change(&call) && !--left;
		else if (is_call && is_due)
			kill(child, SIGKILL);
		/* SIGCHLD of a process that the program has started is the program's to see. */
		ptrace(PTRACE_SYSCALL, child, NULL,
		       is_call || WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status));
		if (waitpid(child, &status, 0) != child)
			die("waitpid");
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
