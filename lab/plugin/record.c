// SPDX-License-Identifier: MIT
#include "record.h"

#include <stdio.h>
#include <stdlib.h>

static FILE *file;

static void put(const uint64_t *words, size_t count)
{
	if (fwrite(words, sizeof(*words), count, file) == count)
		return;
	perror("counter: cannot write the counts");
	exit(EXIT_FAILURE);
}

static void put_head(enum record_kind kind, size_t words)
{
	uint64_t head = (uint64_t)kind | (uint64_t)words << 32;

	put(&head, 1);
}

bool record_open(const char *path)
{
	const uint64_t head[] = { RECORD_MAGIC, MAP_MAX_LAYERS };

	file = fopen(path, "we");
	if (!file) {
		fprintf(stderr, "counter: cannot create %s\n", path);
		return false;
	}
	put(head, sizeof(head) / sizeof(head[0]));
	return true;
}

void record_segment(void)
{
	put_head(RECORD_SEGMENT, 0);
}

void record_counters(enum record_kind kind, unsigned int vcpu, const struct counters *begin,
		     const struct counters *end)
{
	enum { MEMBERS = sizeof(*begin) / sizeof(uint64_t) };
	const uint64_t *from = (const uint64_t *)begin;
	const uint64_t *to = (const uint64_t *)end;
	uint64_t words[1 + MEMBERS] = { vcpu };

	for (size_t i = 0; i < MEMBERS; i++)
		words[1 + i] = to[i] - from[i];
	put_head(kind, 1 + MEMBERS);
	put(words, 1 + MEMBERS);
}

void record_symbols(const uint64_t *begin, const uint64_t *end, size_t count)
{
	static uint64_t words[MAP_MAX_SYMBOLS];
	size_t touched = 0;

	for (size_t i = 0; i < count; i++)
		if (end[i] != begin[i])
			words[touched++] = (uint64_t)i | (end[i] - begin[i]) << 32;
	put_head(RECORD_SYMBOLS, touched);
	put(words, touched);
}

void record_points(const struct points *points)
{
	for (size_t i = 0; i < points->nr_snapshots; i++) {
		const struct snapshot *snapshot = &points->snapshots[i];

		put_head(RECORD_POINT, sizeof(*snapshot) / sizeof(uint64_t));
		put((const uint64_t *)snapshot, sizeof(*snapshot) / sizeof(uint64_t));
	}
}

void record_flush(void)
{
	fflush(file);
}
