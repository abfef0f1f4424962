// SPDX-License-Identifier: MIT
/*
 * One store, many processes and threads: changed, read and written at once, by
 * some that are killed and some that are stopped in the middle of a change.
 */
#include <inttypes.h>
#include <signal.h>

#include <chario/area.h>

#include "log-device.h"
#include "store-crowd.h"
#include "store-file.h"
#include "store-rig.h"
#include "tap.h"

#define FILE_BYTES (8 << 20)
#define PROCESSES  3
#define KILLS      30
#define STOPS      20

static void make_store(void)
{
	make_file_store(FILE_BYTES);
}

static void run_process(unsigned int process)
{
	struct chario_store *store;
	int err = chario_store_open(path, O_RDWR, &store);

	if (!err) {
		err = crowd_run(store, process);
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
	if (finding->severity != CHARIO_SEVERITY_NOTE)
		printf("# %s: %s\n", chario_damage_name(finding->damage), finding->text);
	return 0;
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
		return crowd_complain("the check", -EUCLEAN);
	if (crowd_complain("opening", chario_store_open(path, O_RDWR, &store)))
		return false;
	fine = crowd_agree(since, store);
	if (!fine)
		printf("# a store that was open all the time is another\n");
	fine = fine && !crowd_complain("defrag", chario_store_defrag(store, NULL, NULL)) &&
	       !crowd_complain("removing all", chario_store_each(store, remove_area, store)) &&
	       crowd_agree(since, store);
	chario_store_close(store);
	return fine;
}

TEST(all_work_at_once, "processes and threads change a store at once")
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
		err = crowd_let_pass(crowd_change(store, &random));
		if (!err && !log_below(&random, 20))
			err = crowd_let_pass(chario_store_defrag(store, NULL, NULL));
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

TEST(some_are_killed, "processes that are killed leave a sound store")
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

static bool read_all(struct chario_store *store)
{
	struct chario_store_info info;
	struct chario_store *other;
	bool fine;

	if (crowd_complain("opening", chario_store_open(path, O_RDONLY, &other)))
		return false;
	fine = crowd_agree(store, other) && !chario_store_get_info(other, &info, sizeof(info)) &&
	       !crowd_read(store, "still");
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
		stops += !is_free(fd, STORE_LOCK_TABLE);
		if (!read_all(store))
			return false;
		kill(pid, SIGCONT);
	}
	return true;
}

TEST(readers_wait_for_nobody, "readers wait for nobody")
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

/* damage */

/* The note of changes gets other bytes, which its checksum does not fit. */
static bool damage_note(void)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	bool done = fd >= 0 &&
		    pwrite(fd, "damage", 6, STORE_CHANGES_BLOCK * CHARIO_STORE_BLOCK + 100) == 6;

	close(fd);
	return done;
}

/* Two have the store open, and see some changes; then the note is damaged. */
static void change_behind_damage(unsigned int changes)
{
	struct chario_store *store, *other;
	char name[16];

	EQUAL(chario_store_open(path, O_RDWR, &store), 0);
	EQUAL(chario_store_open(path, O_RDWR, &other), 0);
	for (unsigned int i = 0; i < changes; i++) {
		snprintf(name, sizeof(name), "area-%u", i);
		EQUAL(chario_store_create(store, name, 4096, 0), 0);
		CHECK(rig_info(other, name).bytes);
	}
	CHECK(damage_note());
	EQUAL(chario_store_create(store, "behind damage", 4096, 0), 0);
	CHECK(rig_info(other, "behind damage").bytes);
	EQUAL(chario_store_create(other, "one more", 4096, 0), 0);
	CHECK(rig_info(store, "behind damage").bytes && rig_info(store, "one more").bytes);
	chario_store_close(other);
	chario_store_close(store);
}

/* The other one must not take the number of the new note for one that it has seen. */
TEST(a_damaged_note_hides_no_change, "a damaged note of changes hides no change")
{
	for (unsigned int changes = 0; changes < 5 && !tap_failed; changes++) {
		change_behind_damage(changes);
		drop_file();
		make_store();
	}
}

TEST_MAIN(make_store, drop_file)
