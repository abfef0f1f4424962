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
};

/* Held while operations are looked at, and while one is recorded. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct operation operations[SCORES_MAX_VCPUS]; /* by the CPU that began it */
static size_t nr_begun;

void operation_begin_series(void)
{
	pthread_mutex_lock(&lock);
	nr_begun = 0;
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
	operation->detailed = nr_begun++ < DETAILED_OPERATIONS;
	for (unsigned int i = 0; i < scores_vcpus(); i++) {
		if (operation->detailed)
			copy_symbols(operation, i);
		operation->begin[i] = *scores_counters(i);
	}
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

static void record_vcpu(const struct operation *operation, unsigned int vcpu, enum record_kind kind,
			const struct counters *end)
{
	record_counters(kind, vcpu, &operation->begin[vcpu], end);
	if (operation->detailed)
		record_symbols(operation->symbols[vcpu], scores_symbols(vcpu), map_size());
}

static void record_operation(const struct operation *operation, const struct counters *end)
{
	unsigned int own = (unsigned int)(operation - operations);

	record_vcpu(operation, own, RECORD_OPERATION, &end[own]);
	for (unsigned int i = 0; i < scores_vcpus(); i++)
		if (i != own && memcmp(&operation->begin[i], &end[i], sizeof(end[i])) != 0)
			record_vcpu(operation, i, RECORD_OTHER_VCPU, &end[i]);
}

void operation_end(unsigned int vcpu)
{
	struct counters end[SCORES_MAX_VCPUS];
	struct operation *operation;

	pthread_mutex_lock(&lock);
	for (unsigned int i = 0; i < scores_vcpus(); i++)
		end[i] = *scores_counters(i);
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
