// SPDX-License-Identifier: MIT
/*
 * Makes the kernel's n-th allocation fail, n = 1, 2, 3, ..., around one step,
 * until the step gets through without meeting a failure.  With FIRST and STRIDE
 * it is each STRIDE-th failure from FIRST on.
 *
 *   fault_nth write FILE TEXT UNDO_FILE [FIRST [STRIDE]]   write TEXT to FILE;
 *                                  where that succeeds, write it to UNDO_FILE, unharmed
 *   fault_nth switch FILE [FIRST [STRIDE]]   write 1 to FILE, and 0 where that
 *                                  succeeds; then write 0, unharmed
 *   fault_nth work FILE [FIRST [STRIDE]]     the same; what fails is allocations of the
 *                                  kernel's workers meanwhile
 *   fault_nth load MODULE NAME PARAMETERS [FIRST [STRIDE]]   load a module, and
 *                                  unload it where that succeeds
 *   fault_nth open DISK            open and close
 *   fault_nth call DISK read|write|fsync|poll     one call on an open file,
 *                                  whose memory is there
 *   fault_nth setup DISK KIND [MORE]   open, one call of fault_nth/setup.c, close
 *
 * Prints "N RESULT" for each failure met, RESULT being 0 or -errno, and at the
 * end "END N".  Needs the files fail-nth of /proc.
 */
#include <glob.h>
#include <limits.h>
#include <sys/syscall.h>

#include "common.h"
#include "fault_nth/setup.h"

#define BYTES   (1u << 20)
#define POINTS  100000
#define WORKERS 256
/* A worker that was made meanwhile may have done the work unharmed. */
#define TRIES   4
#define OWN     "/proc/thread-self/fail-nth"

/* The tasks whose allocations fail. */
static int nth_fds[WORKERS], nr_harmed;
static char *buffer;

static void add_harmed(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd >= 0 && nr_harmed < WORKERS)
		nth_fds[nr_harmed++] = fd;
}

/* Those workers that do work of no particular processor. */
static void find_workers(void)
{
	glob_t found;

	while (nr_harmed)
		close(nth_fds[--nr_harmed]);
	if (glob("/proc/[0-9]*/comm", 0, NULL, &found))
		die("/proc");
	for (size_t i = 0; i < found.gl_pathc; i++) {
		char path[64], name[32] = "";
		int pid = atoi(found.gl_pathv[i] + strlen("/proc/"));
		int fd = open(found.gl_pathv[i], O_RDONLY);

		if (fd < 0)
			continue;
		if (read(fd, name, sizeof(name) - 1) > 0 &&
		    !strncmp(name, "kworker/u", strlen("kworker/u"))) {
			snprintf(path, sizeof(path), "/proc/%d/task/%d/fail-nth", pid, pid);
			add_harmed(path);
		}
		close(fd);
	}
	globfree(&found);
}

/* A worker may have gone. */
static void arm(int n)
{
	char text[16];
	int bytes = snprintf(text, sizeof(text), "%d", n);

	for (int i = 0; i < nr_harmed; i++)
		if (write(nth_fds[i], text, (size_t)bytes) != bytes && errno != ESRCH)
			die("fail-nth");
}

/* How many allocations more it would have taken; 0 when one has failed. */
static int disarm(void)
{
	int left = INT_MAX;

	for (int i = 0; i < nr_harmed; i++) {
		char text[16] = "";

		if (pread(nth_fds[i], text, sizeof(text) - 1, 0) < 0) {
			if (errno != ESRCH)
				die("fail-nth");
		} else if (atoi(text) < left) {
			left = atoi(text);
		}
	}
	arm(0);
	return left;
}

static int put(const char *path, const char *text)
{
	int fd = must_open(path, O_WRONLY), ret = 0;

	if (write(fd, text, strlen(text)) < 0)
		ret = -errno;
	close(fd);
	return ret;
}

/* Switches something on and off again. */
static int flip(int fd)
{
	return pwrite(fd, "1", 1, 0) < 0 ? -1 : (int)pwrite(fd, "0", 1, 0);
}

static bool is_switch(char **arg)
{
	return !strcmp(arg[1], "switch") || !strcmp(arg[1], "work");
}

/* One step, with an allocation failing; opens @fd where the step needs it. */
static int harmed(char **arg, int disk, int *fd)
{
	CASE(arg[1], "write", (int)write(*fd, arg[3], strlen(arg[3])));
	if (is_switch(arg))
		return flip(*fd);
	CASE(arg[1], "load", (int)syscall(SYS_finit_module, *fd, arg[4], 0));
	CASE(arg[1], "open", *fd = open(arg[2], O_RDWR));
	CASE(arg[1], "setup", setup_run(arg[3], *fd));
	CASE(arg[3], "read", (int)pread(disk, buffer, BYTES, 0));
	CASE(arg[3], "write", (int)pwrite(disk, buffer, BYTES, 0));
	CASE(arg[3], "poll", (int)preadv2(disk, &(struct iovec){ buffer, BYTES }, 1, 0, RWF_HIPRI));
	return fsync(disk);
}

static void undo(char **arg)
{
	if (!strcmp(arg[1], "write") && put(arg[4], arg[3]))
		die("cannot undo the write to %s", arg[2]);
	if (!strcmp(arg[1], "load") && syscall(SYS_delete_module, arg[3], 0))
		die("cannot unload %s", arg[3]);
}

static int step(char **arg, int disk, int n, int *left)
{
	int fd = -1, ret;

	if (!strcmp(arg[1], "write") || is_switch(arg))
		fd = open(arg[2], O_WRONLY);
	if (!strcmp(arg[1], "load"))
		fd = open(arg[2], O_RDONLY);
	if (!strcmp(arg[1], "setup"))
		fd = open(arg[2], O_RDWR);
	if (!strcmp(arg[1], "work"))
		find_workers();
	arm(n);
	errno = 0;
	ret = harmed(arg, disk, &fd) < 0 ? -errno : 0;
	*left = disarm();
	if (fd >= 0)
		close(fd);
	if (!ret)
		undo(arg);
	if (!strcmp(arg[1], "setup"))
		setup_undo(arg[3]);
	if (is_switch(arg) && put(arg[2], "0"))
		die("cannot switch %s off", arg[2]);
	return ret;
}

int main(int argc, char **argv)
{
	bool call = argc > 3 && !strcmp(argv[1], "call");
	bool setup = argc > 3 && !strcmp(argv[1], "setup");
	/* A sweep that is sampled has its numbers last. */
	int last = argc > 1 && is_switch(argv) ? 3 : 5;
	int n = argc > last ? atoi(argv[last]) : 1;
	int stride = argc > last + 1 ? atoi(argv[last + 1]) : 1;
	int disk = -1;

	if (argc < 3)
		die("usage: fault_nth write|switch|work|load|open|call|setup ARGUMENT...");
	add_harmed(OWN);
	if (!nr_harmed)
		die("this kernel cannot make allocations fail: " OWN);
	buffer = must_map_own(BYTES, MAP_POPULATE | MAP_LOCKED);
	if (call)
		disk = must_open(argv[2], O_RDWR);
	if (setup)
		setup_prepare(argv[3], argc > 4 ? argv[4] : "");
	for (; n < POINTS; n += stride) {
		int left, ret, tries = strcmp(argv[1], "work") ? 1 : TRIES;

		do
			ret = step(argv, disk, n, &left);
		while (left && --tries);
		if (left) {
			printf("END %d %d\n", n, ret);
			return 0;
		}
		printf("%d %d\n", n, ret);
		fflush(stdout);
	}
	die("no end after %d failures", n);
}
