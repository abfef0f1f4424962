// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "workers.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TASKS     "/proc/self/task"
#define MAX_VCPUS 64

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pid_t vcpus[MAX_VCPUS];
static unsigned int nr_vcpus;

void workers_except_me(void)
{
	static _Thread_local bool known;

	if (known)
		return;
	known = true;
	pthread_mutex_lock(&lock);
	if (nr_vcpus < MAX_VCPUS)
		vcpus[nr_vcpus++] = gettid();
	pthread_mutex_unlock(&lock);
}

static bool is_worker(pid_t thread)
{
	bool is_vcpu = false;

	pthread_mutex_lock(&lock);
	for (unsigned int i = 0; i < nr_vcpus; i++)
		is_vcpu |= vcpus[i] == thread;
	pthread_mutex_unlock(&lock);
	return !is_vcpu && thread != getpid();
}

/* By the letter behind the name of the thread, which is in brackets. */
static bool is_busy(const char *thread)
{
	char path[sizeof(TASKS) + NAME_MAX + sizeof("//stat")], line[128];
	const char *state = NULL;
	FILE *file;

	snprintf(path, sizeof(path), TASKS "/%s/stat", thread);
	file = fopen(path, "re");
	if (!file)
		return false;
	if (fgets(line, sizeof(line), file))
		state = strrchr(line, ')');
	fclose(file);
	return state && (state[2] == 'R' || state[2] == 'D');
}

bool workers_are_busy(void)
{
	struct dirent *entry;
	bool busy = false;
	DIR *tasks;

	tasks = opendir(TASKS);
	if (!tasks)
		return false;
	while (!busy && (entry = readdir(tasks)))
		if (entry->d_name[0] != '.' && is_worker((pid_t)strtol(entry->d_name, NULL, 10)))
			busy = is_busy(entry->d_name);
	closedir(tasks);
	return busy;
}
