// SPDX-License-Identifier: MIT
/*
 * Process 1 of a guest: runs commands for the host and reports how they ended.
 *
 * The host writes one JSON object a line to the virtio-serial port, the agent
 * answers with one a line, in the order in which things end.  Its first line has
 * no question:
 *
 *	{"id": 0, "release": "6.1.0"}
 *	{"id": 1, "op": "run", "argv": [...], "timeout_s": 60, "cwd": "/", "env": {},
 *	 "stdin": "", "tty": null}
 *		{"id": 1, "rc": 0, "stdout": ..., "stderr": ..., "timed_out": false, "stuck": null}
 *	{"id": 2, "op": "kill", "job": 1, "signal": 9}		{"id": 2, "killed": true}
 *	{"id": 3, "op": "kmsg", "after": 41}			{"id": 3, "records": [...], "last": 44}
 *	{"id": 4, "op": "read", "path": "/proc/cmdline"}	{"id": 4, "value": ...} or {"id": 4, "errno": 2}
 *		likewise read_folder, list, resolve, touch, remove, and write with "text"
 *	{"id": 5, "op": "exit", "code": 0}			nothing: the machine ends
 *
 * Bytes are sent as they are, also where they are not UTF-8.
 *
 * One loop serves everything, so no command can hold up another; a file is read
 * or written by the loop itself, so it has to be one that answers at once.  A
 * command is a process group of its own; at its time limit the whole group is
 * killed.  A process that SIGKILL does not end within GRACE_S is reported as
 * stuck, with its kernel stack.  Output goes to files in memory, never to a
 * pipe, so that a daemon which keeps its descriptors open holds up nobody.
 *
 * It is a static program because starting an interpreter, and forking one for
 * each command, costs an emulated processor as much as the rest of its work.
 */
#include "agent.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define EXIT_PORT 0xf4
#define PORT_NAME "chario.agent"

/* Leave QEMU with exit status (code << 1) | 1, or else by power off. */
static void end_machine(int64_t code)
{
	unsigned char byte = (unsigned char)code;
	int fd = open("/dev/port", O_WRONLY | O_CLOEXEC);

	if (fd >= 0 && pwrite(fd, &byte, 1, EXIT_PORT) == 1)
		return;
	fd = open("/proc/sysrq-trigger", O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "o", 1) != 1)
		die("the end of the machine");
}

static void serve(struct json_object *request)
{
	const char *operation = string_in(request, "op");

	if (!strcmp(operation, "run"))
		run(request);
	else if (!strcmp(operation, "kill"))
		kill_job(request);
	else if (!strcmp(operation, "kmsg"))
		read_kmsg(request);
	else if (!strcmp(operation, "exit"))
		end_machine(number_in(request, "code"));
	else if (!answer(request))
		die(operation);
}

/* Tell the host that we are here. */
static void greet(void)
{
	struct json_object *reply = reply_to(0);
	struct utsname name;

	uname(&name);
	json_object_object_add(reply, "release", json_object_new_string(name.release));
	send_reply(reply);
}

/* A descriptor that can be read when a child has ended. */
static int watch_children(void)
{
	sigset_t children;
	int fd;

	sigemptyset(&children);
	sigaddset(&children, SIGCHLD);
	fd = signalfd(-1, &children, SFD_NONBLOCK | SFD_CLOEXEC);
	if (fd < 0 || sigprocmask(SIG_BLOCK, &children, NULL))
		die("signals");
	return fd;
}

/* A test gives another port, to an agent beside the one that is process 1. */
int main(int argc, char **argv)
{
	struct signalfd_siginfo ended;
	struct pollfd ready[2] = { { .events = POLLIN }, { .events = POLLIN } };

	open_kmsg();
	open_port(argc > 1 ? argv[1] : PORT_NAME);
	ready[0].fd = port_descriptor();
	ready[1].fd = watch_children();
	greet();
	for (;;) {
		/* Signals are told once for several children: the descriptor is emptied before they are collected. */
		while (read(ready[1].fd, &ended, sizeof(ended)) > 0)
			;
		reap();
		expire();
		if (poll(ready, 2, patience_ms()) < 0)
			die("poll");
		/* When the host has closed its end, nobody needs this guest. */
		if (ready[0].revents && !receive(ready[0].revents, serve))
			end_machine(0);
	}
}
