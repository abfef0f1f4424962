/* SPDX-License-Identifier: MIT */
/*
 * The Test Anything Protocol, as much of it as the unit tests need.
 *
 * TEST() begins a test, a function without arguments.  TEST_MAIN() makes a
 * program of the tests in a file: it runs them in their order, each between two
 * other functions.  A test makes its claims with CHECK() and EQUAL(); the first
 * one that fails ends it.  A test that cannot be run here ends with SKIP() and
 * says why.
 */
#ifndef CHARIO_TAP_H
#define CHARIO_TAP_H

/* A callback of a test need not look at all that it is given. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* What nearly every test needs comes with this header. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

struct tap_test {
	const char *claim;
	void (*run)(void);
};

/* A test of the file, in the list of all of them. */
struct tap_entry {
	struct tap_test test;
	int line;
	struct tap_entry *next;
};

extern bool tap_failed;
extern const char *tap_skipped;
extern struct tap_entry *tap_entries;

static inline void tap_nothing(void)
{
}

/* The compiler is free to call constructors in an order of its own: the lines decide. */
static inline void tap_add(struct tap_entry *entry)
{
	struct tap_entry **place = &tap_entries;

	while (*place && (*place)->line <= entry->line)
		place = &(*place)->next;
	entry->next = *place;
	*place = entry;
}

/* Has the function run as a test.  The claim is what its line of TAP says. */
#define TAP_ADD(function, claim)                                                         \
	__attribute__((constructor)) static void function##_added(void)                  \
	{                                                                                \
		static struct tap_entry entry = { { claim, function }, __LINE__, NULL }; \
		tap_add(&entry);                                                         \
	}

#define TEST(function, claim)       \
	static void function(void); \
	TAP_ADD(function, claim)    \
	static void function(void)

#define TAP_FAIL(...)                                    \
	do {                                             \
		tap_failed = true;                       \
		printf("# %s:%d: ", __FILE__, __LINE__); \
		printf(__VA_ARGS__);                     \
		printf("\n");                            \
	} while (0)

#define CHECK(condition)                            \
	do {                                        \
		if (!(condition)) {                 \
			TAP_FAIL("%s", #condition); \
			return;                     \
		}                                   \
	} while (0)

#define EQUAL(is, should)                                                                  \
	do {                                                                               \
		long long is_ = (long long)(is), should_ = (long long)(should);            \
		if (is_ != should_) {                                                      \
			TAP_FAIL("%s is %lld, not %s = %lld", #is, is_, #should, should_); \
			return;                                                            \
		}                                                                          \
	} while (0)

#define SAME_TEXT(is, should)                                                    \
	do {                                                                     \
		const char *is_ = (is), *should_ = (should);                     \
		if (strcmp(is_, should_)) {                                      \
			TAP_FAIL("%s is \"%s\", not \"%s\"", #is, is_, should_); \
			return;                                                  \
		}                                                                \
	} while (0)

/* The same for a condition that a child of fork() finds. */
#define CHECK_IN_CHILD(condition)                                                        \
	do {                                                                             \
		int status_ = -1;                                                        \
		pid_t child_ = fork();                                                   \
		if (!child_)                                                             \
			_exit((condition) ? 0 : 1);                                      \
		CHECK(child_ > 0 && waitpid(child_, &status_, 0) == child_ && !status_); \
	} while (0)

#define SKIP(why)                    \
	do {                         \
		tap_skipped = (why); \
		return;              \
	} while (0)

/* Ends the program where there is nothing to test with. */
static inline void tap_need(bool condition, const char *what)
{
	if (condition)
		return;
	printf("Bail out! %s\n", what);
	exit(1);
}

static inline void tap_note_signal(int number)
{
}

/* Has a signal interrupt the program at each such period from now on, or none any more if it is 0. */
static inline int tap_interrupt(suseconds_t period_us)
{
	const struct itimerval timer = { { 0, period_us }, { 0, period_us } };
	const struct sigaction action = { .sa_handler = tap_note_signal };

	return sigaction(SIGALRM, &action, NULL) ?: setitimer(ITIMER_REAL, &timer, NULL);
}

/* Runs a test and returns whether it has failed. */
static inline int tap_run(const struct tap_test *test, size_t number, void (*before)(void),
			  void (*after)(void))
{
	tap_failed = false;
	tap_skipped = NULL;
	before();
	test->run();
	after();
	printf("%sok %zu - %s%s%s\n", tap_failed ? "not " : "", number, test->claim,
	       tap_skipped ? " # SKIP " : "", tap_skipped ? tap_skipped : "");
	return tap_failed;
}

static inline void tap_begin(size_t nr_tests)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("1..%zu\n", nr_tests);
}

#define TEST_MAIN(before, after)                                                    \
	bool tap_failed;                                                            \
	const char *tap_skipped;                                                    \
	struct tap_entry *tap_entries;                                              \
	int main(void)                                                              \
	{                                                                           \
		const struct tap_entry *entry;                                      \
		size_t nr_tests = 0;                                                \
		int status = 0;                                                     \
		for (entry = tap_entries; entry; entry = entry->next)               \
			nr_tests++;                                                 \
		tap_begin(nr_tests);                                                \
		nr_tests = 0;                                                       \
		for (entry = tap_entries; entry; entry = entry->next)               \
			status |= tap_run(&entry->test, ++nr_tests, before, after); \
		return status;                                                      \
	}

/* The same where one statement each begins and ends a test. */
#define TEST_MAIN_WITH(begin, end)   \
	static void tap_before(void) \
	{                            \
		begin;               \
	}                            \
	static void tap_after(void)  \
	{                            \
		end;                 \
	}                            \
	TEST_MAIN(tap_before, tap_after)

#endif /* CHARIO_TAP_H */
