/* SPDX-License-Identifier: MIT */
/*
 * Programs that do what their input says, one thing a line, and answer each with a line.
 */
#ifndef GUEST_SCRIPT_H
#define GUEST_SCRIPT_H

#include "common.h"

#define MAX_WORDS 16

struct line {
	char *words[MAX_WORDS];
	int count;
};

/* The number at a place of a line; 0 where the line is shorter. */
static inline uint64_t word(const struct line *l, int index)
{
	return index < l->count ? number(l->words[index]) : 0;
}

static inline bool is(const struct line *l, const char *name)
{
	return !strcmp(l->words[0], name);
}

/* The next line that is not empty; its words last until the one after. */
static inline bool next_line(struct line *l)
{
	static char text[1024];

	do {
		if (!fgets(text, sizeof(text), stdin))
			return false;
		l->count = 0;
		for (char *w = strtok(text, " \n"); w && l->count < MAX_WORDS;
		     w = strtok(NULL, " \n"))
			l->words[l->count++] = w;
	} while (!l->count);
	return true;
}

/* A number, or the name of a negative errno. */
static inline void answer(long result)
{
	if (result < 0)
		printf("%s", strerrorname_np((int)-result));
	else
		printf("%ld", result);
}

#endif /* GUEST_SCRIPT_H */
