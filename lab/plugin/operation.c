// SPDX-License-Identifier: MIT
#include "operation.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record.h"
#include "scores.h"

/* Operations of a series that are also recorded by symbol. */
#define DETAILED_OPERATIONS 256

struct operation {
	bool open;
	bool detailed;
	struct counters begin[SCORES_MAX_VCPUS];
	uint64_t *symbols[SCORES_MAX_VCPUS]; /* at BEGIN, of each CPU */
	struct points points;
};

/* Held while operations are looked at, and while one is recorded. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct operation operations[SCORES_MAX_VCPUS]; /* by the CPU that began it */
static size_t nr_begun;

void operation_begin_series(void)
{
	pthread_mutex_lock(&lock);
	nr_begun = 0;
	for (unsigned int i = 0; i < scores_vcpus(); i++)
		operations[i].open = false;
	record_segment();
	pthread_mutex_unlock(&lock);
}

void operation_end_series(void)
{
	pthread_mutex_lock(&lock);
	record_flush();
	pthread_mutex_unlock(&lock);
}

static void copy_symbols(struct operation *operation, unsigned int vcpu)
{
	uint64_t **copy = &operation->symbols[vcpu];

	if (!*copy)
		*copy = calloc(MAP_MAX_SYMBOLS, sizeof(**copy));
	if (!*copy) {
		fprintf(stderr, "counter: out of memory\n");
		exit(EXIT_FAILURE);
	}
	memcpy(*copy, scores_symbols(vcpu), map_size() * sizeof(**copy));
}

void operation_begin(unsigned int vcpu)
{
	struct operation *operation = &operations[vcpu];

	pthread_mutex_lock(&lock);
	operation->open = true;
	operation->points = (struct points){ 0 };
	operation->detailed = nr_begun++ < DETAILED_OPERATIONS;
	for (unsigned int i = 0; i < scores_vcpus(); i++) {
		if (operation->detailed)
			copy_symbols(operation, i);
		operation->begin[i] = scores_read(i);
	}
	pthread_mutex_unlock(&lock);
}

static void take_snapshot(struct operation *operation, unsigned int vcpu, unsigned int point)
{
	struct snapshot *snapshot = points_reach(&operation->points, point, vcpu);

	for (unsigned int i = 0; i < scores_vcpus(); i++)
		for (size_t layer = 0; layer < MAP_MAX_LAYERS; layer++)
			snapshot->layer[layer] +=
				scores_counters(i)->layer[layer] - operation->begin[i].layer[layer];
}

void operation_reach(unsigned int vcpu, unsigned int point)
{
	if (!map_has_points())
		return;
	pthread_mutex_lock(&lock);
	if (operations[vcpu].open)
		take_snapshot(&operations[vcpu], vcpu, point);
	for (unsigned int i = 0; i < scores_vcpus() && !operations[vcpu].open; i++)
		if (operations[i].open)
			take_snapshot(&operations[i], vcpu, point);
	pthread_mutex_unlock(&lock);
}

/* The operation that ends on @vcpu; if it has begun none, the only one that is open. */
static struct operation *find_open(unsigned int vcpu)
{
	struct operation *found = NULL;

	if (operations[vcpu].open)
		return &operations[vcpu];
	for (unsigned int i = 0; i < scores_vcpus(); i++) {
		if (!operations[i].open)
			continue;
		if (found)
			return NULL;
		found = &operations[i];
	}
	return found;
}

/*
 * Another CPU may run, and then its symbols are read at another instant than its
 * layers. Sum up the layers of the kernel from the symbols, so that both agree;
 * for a CPU that is halted, that makes no difference.
 */
static void sum_symbols(struct counters *end, const struct counters *begin, const uint64_t *from,
			const uint64_t *to)
{
	const uint64_t user = end->layer[0];

	memcpy(end->layer, begin->layer, sizeof(end->layer));
	for (size_t i = 0; i < map_size(); i++)
		end->layer[map_layer(i)] += to[i] - from[i];
	end->layer[0] = user;
}

static void record_other(const struct operation *operation, unsigned int vcpu, struct counters *end)
{
	static uint64_t symbols[MAP_MAX_SYMBOLS];
	const struct counters *begin = &operation->begin[vcpu];

	/* The time that has passed is told by the CPU that began the operation. */
	end->elapsed_ns = begin->elapsed_ns;
	if (!memcmp(begin, end, sizeof(*end)))
		return;
	if (operation->detailed) {
		memcpy(symbols, scores_symbols(vcpu), map_size() * sizeof(*symbols));
		sum_symbols(end, begin, operation->symbols[vcpu], symbols);
	}
	record_counters(RECORD_OTHER_VCPU, vcpu, begin, end);
	if (operation->detailed)
		record_symbols(operation->symbols[vcpu], symbols, map_size());
}

static void record_operation(const struct operation *operation, struct counters *end)
{
	unsigned int own = (unsigned int)(operation - operations);

	record_counters(RECORD_OPERATION, own, &operation->begin[own], &end[own]);
	if (operation->detailed)
		record_symbols(operation->symbols[own], scores_symbols(own), map_size());
	for (unsigned int i = 0; i < scores_vcpus(); i++)
		if (i != own)
			record_other(operation, i, &end[i]);
	record_points(&operation->points);
}

void operation_end(unsigned int vcpu)
{
	struct counters end[SCORES_MAX_VCPUS];
	struct operation *operation;

	pthread_mutex_lock(&lock);
	for (unsigned int i = 0; i < scores_vcpus(); i++)
		end[i] = scores_read(i);
	operation = find_open(vcpu);
	if (operation) {
		record_operation(operation, end);
		operation->open = false;
	} else {
		fprintf(stderr, "counter: CPU %u ends an operation that nobody began there\n",
			vcpu);
	}
	pthread_mutex_unlock(&lock);
}
