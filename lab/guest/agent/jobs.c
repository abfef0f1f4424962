// SPDX-License-Identifier: MIT
/* Commands of the host: each is a process group of its own, with a time limit. */
#define _GNU_SOURCE /* O_TMPFILE */
#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define GRACE_S    10.0
#define OUTPUT_CUT "\n[agent: output cut here]\n"
#define CANNOT_RUN 127

static const char *const environment[][2] = {
	{ "PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" },
	{ "HOME", "/root" },
	{ "LANG", "C.UTF-8" },
	{ "TERM", "linux" },
};

/* One command: from its request to the report of its end. */
struct job {
	struct job *next;
	int64_t id;
	pid_t pid;
	double deadline;
	bool timed_out;
	int out, err;
};

static struct job *jobs;

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* A file in memory that goes with its last descriptor. */
static int spool(void)
{
	int fd = open(SPOOL, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0)
		die(SPOOL);
	return fd;
}

static int spool_with(struct json_object *text)
{
	size_t bytes = (size_t)json_object_get_string_len(text);
	int fd = spool();

	if (write(fd, json_object_get_string(text), bytes) != (ssize_t)bytes ||
	    lseek(fd, 0, SEEK_SET))
		die("input");
	return fd;
}

static void set_environment(struct json_object *more)
{
	clearenv();
	for (size_t i = 0; i < sizeof(environment) / sizeof(*environment); i++)
		setenv(environment[i][0], environment[i][1], 1);
	json_object_object_foreach(more, name, value)
		setenv(name, json_object_get_string(value), 1);
}

/* The words of a command, with a NULL behind them. */
static char **words_of(struct json_object *list)
{
	size_t count = json_object_array_length(list);
	char **words = calloc(count + 1, sizeof(*words));

	for (size_t i = 0; words && i < count; i++)
		words[i] = strdup(json_object_get_string(json_object_array_get_idx(list, i)));
	return words;
}

/* In the new process: become the command, or say why not. */
static void become(struct json_object *request, int out, int err)
{
	char **words = words_of(json_object_object_get(request, "argv"));
	const char *tty = string_in(request, "tty"), *cwd = string_in(request, "cwd");
	int in = spool_with(json_object_object_get(request, "stdin"));
	sigset_t none;

	setsid();
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	dup2(out, 1);
	dup2(err, 2);
	/* The first terminal a session leader opens becomes its own. */
	if (tty)
		in = open(tty, O_RDWR | O_CLOEXEC);
	if (dup2(in, 0) < 0 || (tty && (dup2(in, 1) < 0 || dup2(in, 2) < 0)))
		fprintf(stderr, "agent: cannot use %s as its terminal\n", tty);
	else if (chdir(cwd))
		fprintf(stderr, "agent: cannot enter %s: %s\n", cwd, strerror(errno));
	else {
		set_environment(json_object_object_get(request, "env"));
		execvp(words[0], words);
		fprintf(stderr, "agent: cannot run %s: %s\n", words[0], strerror(errno));
	}
	_exit(CANNOT_RUN);
}

void run(struct json_object *request)
{
	struct job *job = calloc(1, sizeof(*job));

	if (!job)
		die("memory");
	job->id = number_in(request, "id");
	job->deadline =
		now() + json_object_get_double(json_object_object_get(request, "timeout_s"));
	job->out = spool();
	job->err = spool();
	job->pid = fork();
	if (job->pid < 0)
		die("fork");
	if (job->pid == 0)
		become(request, job->out, job->err);
	job->next = jobs;
	jobs = job;
}

/* A command's output, cut at a limit that is far above any sane test; closes the file. */
static struct json_object *output_of(int fd)
{
	struct bytes bytes = { NULL, 0, 0 };

	if (lseek(fd, 0, SEEK_SET) || !slurp(fd, &bytes))
		die("output");
	close(fd);
	if (bytes.used > OUTPUT_LIMIT_BYTES) {
		bytes.used = OUTPUT_LIMIT_BYTES;
		append(&bytes, OUTPUT_CUT);
	}
	return take_text(&bytes);
}

/* Tell the host how a job ended and forget it.  `rc` and `stuck` are NULL where there is none. */
static void report(struct job *job, struct json_object *rc, struct json_object *stuck)
{
	struct json_object *reply = reply_to(job->id);
	struct job **place = &jobs;

	json_object_object_add(reply, "rc", rc);
	json_object_object_add(reply, "stuck", stuck);
	json_object_object_add(reply, "timed_out", json_object_new_boolean(job->timed_out));
	json_object_object_add(reply, "stdout", output_of(job->out));
	json_object_object_add(reply, "stderr", output_of(job->err));
	while (*place != job)
		place = &(*place)->next;
	*place = job->next;
	free(job);
	send_reply(reply);
}

/* Where a process sits that cannot be killed. */
static struct json_object *kernel_stack(pid_t pid)
{
	struct bytes stack = { NULL, 0, 0 };
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stack", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || !slurp(fd, &stack)) {
		append(&stack, "its stack cannot be read: ");
		append(&stack, strerror(errno));
	}
	if (fd >= 0)
		close(fd);
	return take_text(&stack);
}

/* Time is up for some jobs: kill first; when that did not help, give up. */
void expire(void)
{
	struct job *next;

	for (struct job *job = jobs; job; job = next) {
		next = job->next;
		if (job->deadline > now())
			continue;
		if (job->timed_out) {
			report(job, NULL, kernel_stack(job->pid));
			continue;
		}
		job->timed_out = true;
		job->deadline = now() + GRACE_S;
		kill(-job->pid, SIGKILL);
	}
}

/* Milliseconds to the next deadline, for poll(); -1 where there is none. */
int patience_ms(void)
{
	double wait_s = -1;

	for (struct job *job = jobs; job; job = job->next) {
		double left_s = job->deadline > now() ? job->deadline - now() : 0;

		if (wait_s < 0 || left_s < wait_s)
			wait_s = left_s;
	}
	return wait_s < 0 ? -1 : (int)(wait_s * 1000) + 1;
}

/* Collect dead children, ours and those that process 1 inherits. */
void reap(void)
{
	struct job *job;
	int status, rc;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		for (job = jobs; job && job->pid != pid;)
			job = job->next;
		/* A signal is a negative code, as in Python. */
		rc = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
		if (job)
			report(job, json_object_new_int(rc), NULL);
	}
}

/* Signal the whole process group of a job. */
void kill_job(struct json_object *request)
{
	struct json_object *reply = reply_to(number_in(request, "id"));
	bool killed = false;

	for (struct job *job = jobs; job; job = job->next)
		if (job->id == number_in(request, "job"))
			killed = !kill(-job->pid, (int)number_in(request, "signal"));
	json_object_object_add(reply, "killed", json_object_new_boolean(killed));
	send_reply(reply);
}
