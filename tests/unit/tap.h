/* SPDX-License-Identifier: MIT */
/*
 * The Test Anything Protocol, as much of it as the unit tests need.
 *
 * A test is a function without arguments in the table that is given to
 * TAP_MAIN(), run between two other functions.  It makes its claims with CHECK() and EQUAL(); the first one that
 * fails ends it.  A test that cannot be run here ends with SKIP() and says why.
 */
#ifndef CHARIO_TAP_H
#define CHARIO_TAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct tap_test {
	const char *claim;
	void (*run)(void);
};

extern bool tap_failed;
extern const char *tap_skipped;

static inline void tap_nothing(void)
{
}

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

#define SKIP(why)                    \
	do {                         \
		tap_skipped = (why); \
		return;              \
	} while (0)

#define TAP_MAIN(tests, before, after)                                                 \
	bool tap_failed;                                                               \
	const char *tap_skipped;                                                       \
	int main(void)                                                                 \
	{                                                                              \
		int status = 0;                                                        \
		size_t nr_tests = sizeof(tests) / sizeof((tests)[0]);                  \
		setvbuf(stdout, NULL, _IOLBF, 0);                                      \
		printf("1..%zu\n", nr_tests);                                          \
		for (size_t i = 0; i < nr_tests; i++) {                                \
			tap_failed = false;                                            \
			tap_skipped = NULL;                                            \
			before();                                                      \
			(tests)[i].run();                                              \
			after();                                                       \
			printf("%sok %zu - %s%s%s\n", tap_failed ? "not " : "", i + 1, \
			       (tests)[i].claim, tap_skipped ? " # SKIP " : "",        \
			       tap_skipped ? tap_skipped : "");                        \
			status |= tap_failed;                                          \
		}                                                                      \
		return status;                                                         \
	}

#endif /* CHARIO_TAP_H */
