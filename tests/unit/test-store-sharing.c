// SPDX-License-Identifier: MIT
/*
 * One store, many processes and threads: changed, read and written at once, by
 * some that are killed and some that are stopped in the middle of a change.
 *
 * Nothing here depends on how long something takes; the alarm ends what hangs.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chario/area.h>
#include <chario/check.h>

#include "log-device.h"
#include "store/inner.h"
#include "tap.h"

#define FILE_BYTES (8 << 20)
#define PROCESSES  3
#define THREADS    7
#define ROUNDS     40
#define KILLS      30
#define STOPS      20
#define ALARM_S    300

static char path[] = "/tmp/chario-sharing-XXXXXX";

static void make_store(void)
{
	const struct chario_store_layout layout = { .size = sizeof(layout), .max_areas = 100 };
	int fd;

	alarm(ALARM_S);
	strcpy(path + sizeof(path) - 7, "XXXXXX");
	fd = mkstemp(path);
	if (fd < 0 || ftruncate(fd, FILE_BYTES) || chario_store_format(path, &layout))
		abort();
	close(fd);
}

static void drop_store(void)
{
	unlink(path);
}

/* workers */

/**
 * struct worker - a thread that uses the store
 * @thread: it
 * @store: which it shares with the threads of its process
 * @number: of it, among all processes
 * @random: decides what it does
 * @err: what went wrong, 0 for nothing
 */
struct worker {
	pthread_t thread;
	struct chario_store *store;
	unsigned int number;
	uint64_t random;
	int err;
};

/* What may happen to a name that others use too. */
static int let_pass(int err)
{
	switch (err) {
	case -EEXIST:
	case -ENOENT:
	case -EBUSY:
	case -ENOSPC:
	case -EMFILE:
		return 0;
	default:
		return err;
	}
}

static int complain(const char *what, int err)
{
	if (err)
		printf("# %s: %d\n", what, err);
	return err;
}

static void fill(uint64_t *words, size_t count, uint64_t state)
{
	for (size_t i = 0; i < count; i++)
		words[i] = log_random(&state);
}

/* Write an area that is this thread's alone, and read it again. */
static int use_own(struct worker *worker, const char *name)
{
	uint64_t written[1000], read[1000];
	struct chario_area *area;
	uint64_t offset = log_below(&worker->random, 2000);
	int err = chario_area_open(worker->store, name, O_RDWR, &area);

	if (err)
		return complain("opening what nobody else opens", err);
	fill(written, 1000, log_random(&worker->random));
	if (chario_area_write(area, written, sizeof(written), offset) != sizeof(written) ||
	    chario_area_read(area, read, sizeof(read), offset) != sizeof(read))
		err = -EIO;
	else if (memcmp(written, read, sizeof(read)))
		err = -EBADMSG;
	chario_area_close(area);
	return complain("using what nobody else uses", err);
}

/* Where a processor is slow a change may wait longer than its 10 s: the alarm rules. */
#define PERSIST(call)                   \
	({                              \
		int err_;               \
		do                      \
			err_ = (call);  \
		while (err_ == -EBUSY); \
		err_;                   \
	})

/* No other changes these names: all must go well. */
static int change_own(struct worker *worker)
{
	struct chario_area_info info;
	char name[32], other[32];
	int err;

	snprintf(name, sizeof(name), "own-%u", worker->number);
	snprintf(other, sizeof(other), "other-%u", worker->number);
	err = complain("creating", PERSIST(chario_store_create(worker->store, name, 10000, 0)));
	if (!err)
		err = use_own(worker, name);
	if (!err)
		err = complain("renaming",
			       PERSIST(chario_store_rename(worker->store, name, other)));
	if (!err)
		err = complain("finding",
			       chario_store_find(worker->store, other, &info, sizeof(info)));
	if (!err && chario_store_find(worker->store, name, &info, sizeof(info)) != -ENOENT)
		err = complain("finding an old name", -ESTALE);
	if (!err)
		err = use_own(worker, other);
	return err ? err : complain("removing", PERSIST(chario_store_remove(worker->store, other)));
}

static int read_shared(struct chario_store *store, const char *name)
{
	struct chario_area *area;
	char memory[100];
	ssize_t got;
	int err = chario_area_open(store, name, O_RDONLY, &area);

	if (err)
		return err;
	got = chario_area_read(area, memory, sizeof(memory), 50);
	chario_area_close(area);
	return got == sizeof(memory) ? 0 : -EIO;
}

static int write_shared(struct chario_store *store, const char *name)
{
	struct chario_area *area;
	ssize_t put;
	int err = chario_area_open(store, name, O_RDWR, &area);

	if (err)
		return err;
	put = chario_area_write(area, name, 8, 4000);
	chario_area_close(area);
	return put == 8 ? 0 : -EIO;
}

static int count_area(const struct chario_area_info *area, void *data)
{
	unsigned int *count = data;

	(void)area;
	(*count)++;
	return 0;
}

/* Names that all fight for. */
static int change_shared(struct chario_store *store, uint64_t *random)
{
	unsigned int count = 0;
	char name[32], other[32];

	snprintf(name, sizeof(name), "shared-%u", (unsigned int)log_below(random, 8));
	snprintf(other, sizeof(other), "shared-%u", (unsigned int)log_below(random, 8));
	switch (log_below(random, 8)) {
	case 0:
		return chario_store_rename(store, name, other);
	case 1:
		return chario_store_remove(store, name);
	case 2:
		return chario_store_resize(store, name, 5000 + log_below(random, 20000));
	case 3:
		return read_shared(store, name);
	case 4:
		return write_shared(store, name);
	case 5:
		return chario_store_each(store, count_area, &count);
	default:
		return chario_store_create(store, name, 5000 + log_below(random, 10000), 0);
	}
}

static void *work(void *data)
{
	struct worker *worker = data;

	for (int i = 0; i < ROUNDS && !worker->err; i++) {
		worker->err = let_pass(change_shared(worker->store, &worker->random));
		complain("a shared area", worker->err);
		if (!worker->err && i % 4 == 0)
			worker->err = change_own(worker);
	}
	return NULL;
}

static int run_threads(struct chario_store *store, unsigned int process)
{
	struct worker workers[THREADS];
	int err = 0;

	for (unsigned int i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){
			.store = store,
			.number = process * THREADS + i,
			.random = process * 1000 + i,
		};
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
			abort();
	}
	for (unsigned int i = 0; i < THREADS; i++) {
		pthread_join(workers[i].thread, NULL);
		err = err ? err : workers[i].err;
	}
	return err;
}

static void run_process(unsigned int process)
{
	struct chario_store *store;
	int err = chario_store_open(path, O_RDWR, &store);

	if (!err) {
		err = run_threads(store, process);
		chario_store_close(store);
	}
	fflush(stdout);
	_exit(err ? 1 : 0);
}

static pid_t start(void (*run)(unsigned int number), unsigned int number)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		abort();
	if (!pid) {
		alarm(ALARM_S);
		run(number);
	}
	return pid;
}

static bool ends_well(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status);
}

/* what is left */

static int show_finding(const struct chario_finding *finding, void *data)
{
	(void)data;
	if (finding->severity != CHARIO_SEVERITY_NOTE)
		printf("# %s: %s\n", chario_damage_name(finding->damage), finding->text);
	return 0;
}

/**
 * struct sum - a listing of a store in short
 * @count: of its areas
 * @mixed: of what each of them is
 */
struct sum {
	unsigned int count;
	uint64_t mixed;
};

static int add_area(const struct chario_area_info *area, void *data)
{
	struct sum *sum = data;

	sum->count++;
	sum->mixed = sum->mixed * 31 + (area->id ^ area->offset ^ area->bytes << 1);
	return 0;
}

static bool agree(struct chario_store *one, struct chario_store *two)
{
	struct sum sums[2] = { 0 };

	return !chario_store_each(one, add_area, &sums[0]) &&
	       !chario_store_each(two, add_area, &sums[1]) && sums[0].count == sums[1].count &&
	       sums[0].mixed == sums[1].mixed;
}

static int remove_area(const struct chario_area_info *area, void *data)
{
	return chario_store_remove(data, area->name);
}

/* All is consistent, what is in memory is what is on the disk, and no lock is left. */
static bool is_sound(struct chario_store *since)
{
	struct chario_store *store;
	bool fine;

	if (chario_store_check(path, 0, show_finding, NULL))
		return complain("the check", -EUCLEAN);
	if (complain("opening", chario_store_open(path, O_RDWR, &store)))
		return false;
	fine = agree(since, store);
	if (!fine)
		printf("# a store that was open all the time is another\n");
	fine = fine && !complain("defrag", chario_store_defrag(store, NULL, NULL)) &&
	       !complain("removing all", chario_store_each(store, remove_area, store)) &&
	       agree(since, store);
	chario_store_close(store);
	return fine;
}

static void all_work_at_once(void)
{
	struct chario_store *store;
	pid_t pids[PROCESSES];
	bool fine = true;

	for (unsigned int i = 0; i < PROCESSES; i++)
		pids[i] = start(run_process, i);
	EQUAL(chario_store_open(path, O_RDONLY, &store), 0);
	for (unsigned int i = 0; i < PROCESSES; i++)
		fine = ends_well(pids[i]) && fine;
	fine = fine && is_sound(store);
	chario_store_close(store);
	CHECK(fine);
	EQUAL(chario_store_check(path, CHARIO_CHECK_REPAIR, show_finding, NULL), 0);
}

/* kills */

/* Change things until the end, which comes from outside. */
static void run_for_ever(unsigned int number)
{
	struct chario_store *store;
	uint64_t random = number;
	int err = chario_store_open(path, O_RDWR, &store);

	while (!err) {
		err = let_pass(change_shared(store, &random));
		if (!err && !log_below(&random, 20))
			err = let_pass(chario_store_defrag(store, NULL, NULL));
	}
	printf("# process %u: %d\n", number, err);
	fflush(stdout);
	_exit(1);
}

/* Whether it was killed, rather than gave up. */
static bool end(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	return waitpid(pid, &status, 0) == pid && WIFSIGNALED(status);
}

static void some_are_killed(void)
{
	struct chario_store *store;
	pid_t pids[PROCESSES];
	uint64_t random = 3;
	bool fine = true;

	for (unsigned int i = 0; i < PROCESSES; i++)
		pids[i] = start(run_for_ever, i);
	/* Nothing of this process is open meanwhile: who is forked has what its parent has. */
	for (unsigned int i = 0; i < KILLS; i++) {
		unsigned int which = i % PROCESSES;

		usleep((useconds_t)log_below(&random, 20000));
		fine = end(pids[which]) && fine;
		pids[which] = start(run_for_ever, PROCESSES + i);
	}
	EQUAL(chario_store_open(path, O_RDONLY, &store), 0);
	for (unsigned int i = 0; i < PROCESSES; i++)
		fine = end(pids[i]) && fine;
	fine = fine && is_sound(store);
	chario_store_close(store);
	CHECK(fine);
	EQUAL(chario_store_check(path, CHARIO_CHECK_REPAIR, show_finding, NULL), 0);
}

/* stops */

static bool table_is_locked(int fd)
{
	if (chario_lock_try(fd, STORE_LOCK_TABLE, true))
		return true;
	chario_lock_drop(fd, STORE_LOCK_TABLE);
	return false;
}

static bool read_all(struct chario_store *store)
{
	struct chario_store_info info;
	struct chario_store *other;
	bool fine;

	if (complain("opening", chario_store_open(path, O_RDONLY, &other)))
		return false;
	fine = agree(store, other) && !chario_store_get_info(other, &info, sizeof(info)) &&
	       !read_shared(store, "still");
	chario_store_close(other);
	return fine;
}

/* Stop it at moments that are as good as any, until enough were in mid-change. */
static bool stop_often(pid_t pid, struct chario_store *store, int fd)
{
	uint64_t random = 5;
	int stops = 0, status;

	while (stops < STOPS) {
		usleep((useconds_t)log_below(&random, 3000));
		kill(pid, SIGSTOP);
		if (waitpid(pid, &status, WUNTRACED) != pid || !WIFSTOPPED(status))
			return false;
		stops += table_is_locked(fd);
		if (!read_all(store))
			return false;
		kill(pid, SIGCONT);
	}
	return true;
}

static void readers_wait_for_nobody(void)
{
	struct chario_store *store;
	bool fine;
	pid_t pid;
	int fd;

	EQUAL(chario_store_open(path, O_RDWR, &store), 0);
	EQUAL(chario_store_create(store, "still", 4096, 0), 0);
	chario_store_close(store);
	pid = start(run_for_ever, 1);
	EQUAL(chario_store_open(path, O_RDONLY, &store), 0);
	fd = open(path, O_RDWR | O_CLOEXEC);
	fine = stop_often(pid, store, fd);
	/* It dies stopped, most probably in the middle of a change. */
	kill(pid, SIGSTOP);
	fine = end(pid) && fine;
	close(fd);
	fine = fine && is_sound(store);
	chario_store_close(store);
	CHECK(fine);
}

static const struct tap_test tests[] = {
	{ "processes and threads change a store at once", all_work_at_once },
	{ "processes that are killed leave a sound store", some_are_killed },
	{ "readers wait for nobody", readers_wait_for_nobody },
};

TAP_MAIN(tests, make_store, drop_store)
