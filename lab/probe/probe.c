// SPDX-License-Identifier: MIT
/*
 * chario-probe: own times of a few functions of the kernel while a program
 * runs, by eBPF, whose probes are attached all at once (kprobe.multi).
 *
 *	chario-probe check
 *	chario-probe OUT SLEEPER[,FUNCTION...] PROGRAM [ARGUMENT...]
 *
 * A function that this kernel does not let probe is passed over. SLEEPER is
 * the one that sleeps: its own time is not counted. What counts comes
 * between the program's second and third write to /dev/null (chario-bench
 * gate=/dev/null). A line of OUT is a function, its calls and nanoseconds of
 * its own; the last line is "lost" and a number of events.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probe.h"
#include "probe.skel.h"

#define TRACEABLE "/sys/kernel/tracing/available_filter_functions"
#define GATE_NAME "write_null"

struct functions {
	const char *names[MAX_FUNCTIONS + 1];
	__u64 cookies[MAX_FUNCTIONS + 1];
	size_t nr;
};

static _Noreturn void fail(const char *what)
{
	fprintf(stderr, "chario-probe: %s: %s\n", what, strerror(errno));
	exit(EXIT_FAILURE);
}

/* Mark all of @names that the kernel lets probe. */
static void find_traceable(const struct functions *wanted, bool *found)
{
	FILE *file = fopen(TRACEABLE, "r");
	char line[512];

	if (!file)
		fail(TRACEABLE);
	while (fgets(line, sizeof(line), file)) {
		line[strcspn(line, " \n")] = '\0';
		for (size_t i = 0; i < wanted->nr; i++)
			found[i] |= !strcmp(line, wanted->names[i]);
	}
	fclose(file);
}

/* The gate has a number of its own, others that of their place in @words. */
static struct functions parse_functions(char *words)
{
	struct functions wanted = { .names = { GATE_NAME }, .cookies = { GATE }, .nr = 1 };
	struct functions all = { .nr = 0 };
	bool found[MAX_FUNCTIONS + 1] = { false };

	for (char *word = strtok(words, ","); word; word = strtok(NULL, ",")) {
		if (wanted.nr > MAX_FUNCTIONS) {
			errno = E2BIG;
			fail("too many functions");
		}
		wanted.cookies[wanted.nr] = wanted.nr - 1;
		wanted.names[wanted.nr++] = word;
	}
	find_traceable(&wanted, found);
	for (size_t i = 0; i < wanted.nr; i++) {
		if (!found[i])
			continue;
		all.cookies[all.nr] = wanted.cookies[i];
		all.names[all.nr++] = wanted.names[i];
	}
	return all;
}

static void attach(struct probe_bpf *probe, struct functions *functions)
{
	LIBBPF_OPTS(bpf_kprobe_multi_opts, options, .syms = functions->names,
		    .cookies = functions->cookies, .cnt = functions->nr);

	probe->links.enter =
		bpf_program__attach_kprobe_multi_opts(probe->progs.enter, NULL, &options);
	options.retprobe = true;
	if (probe->links.enter)
		probe->links.leave =
			bpf_program__attach_kprobe_multi_opts(probe->progs.leave, NULL, &options);
	if (!probe->links.leave)
		fail("kprobe.multi");
}

/* The program starts when the probes are attached: until then it reads from an empty pipe. */
static pid_t start(char **words, int *go)
{
	int ends[2];
	char byte;
	pid_t child;

	if (pipe(ends))
		fail("pipe");
	child = fork();
	if (child < 0)
		fail("fork");
	if (!child) {
		close(ends[1]);
		if (read(ends[0], &byte, 1) != 1)
			_exit(EXIT_FAILURE);
		close(ends[0]);
		execvp(words[0], words);
		fail(words[0]);
	}
	close(ends[0]);
	*go = ends[1];
	return child;
}

static void print_spent(const char *path, const struct probe_bpf *probe,
			const struct functions *functions)
{
	FILE *file = fopen(path, "w");

	if (!file)
		fail(path);
	for (size_t i = 0; i < functions->nr; i++) {
		const struct spent *spent = probe->bss->spent + functions->cookies[i];

		if (functions->cookies[i] != GATE && spent->calls)
			fprintf(file, "%s %llu %llu\n", functions->names[i], spent->calls,
				spent->self_ns);
	}
	fprintf(file, "lost %llu\n", (unsigned long long)probe->bss->lost);
	if (fclose(file))
		fail(path);
}

int main(int argc, char **argv)
{
	struct probe_bpf *probe = probe_bpf__open_and_load();
	char only_gate[] = "";
	struct functions functions;
	int status, go;
	pid_t child;

	if (!probe)
		fail("eBPF");
	if (argc == 2 && !strcmp(argv[1], "check")) {
		functions = parse_functions(only_gate);
		attach(probe, &functions);
		return EXIT_SUCCESS;
	}
	if (argc < 4) {
		fprintf(stderr,
			"usage: chario-probe OUT SLEEPER[,FUNCTION...] PROGRAM [ARGUMENT...]\n");
		return EXIT_FAILURE;
	}
	functions = parse_functions(argv[2]);
	child = start(argv + 3, &go);
	probe->bss->target = (__u32)child;
	attach(probe, &functions);
	if (write(go, "", 1) != 1 || waitpid(child, &status, 0) != child)
		fail(argv[3]);
	probe_bpf__detach(probe);
	print_spent(argv[1], probe, &functions);
	return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE;
}
