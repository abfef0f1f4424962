/* SPDX-License-Identifier: MIT */
/*
 * Many who use one store at once: threads, each with areas of its own and all with
 * some that they fight for.
 */
#ifndef CHARIO_STORE_CROWD_H
#define CHARIO_STORE_CROWD_H

#include <pthread.h>

#include "store-rig.h"

#define THREADS 7
#define ROUNDS  40

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

/* 0 for what may happen to a name that others use too, else the error. */
static inline int crowd_let_pass(int err)
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

/* Say what has gone wrong, if it has; the same error. */
static inline int crowd_complain(const char *what, int err)
{
	if (err)
		printf("# %s: %d\n", what, err);
	return err;
}

static inline void fill(uint64_t *words, size_t count, uint64_t state)
{
	for (size_t i = 0; i < count; i++)
		words[i] = log_random(&state);
}

/* Write an area that is this thread's alone, and read it again. */
static inline int use_own(struct worker *worker, const char *name)
{
	uint64_t written[1000], read[1000];
	struct chario_area *area;
	uint64_t offset = log_below(&worker->random, 2000);
	int err = chario_area_open(worker->store, name, O_RDWR, &area);

	if (err)
		return crowd_complain("opening what nobody else opens", err);
	fill(written, 1000, log_random(&worker->random));
	if (chario_area_write(area, written, sizeof(written), offset) != sizeof(written) ||
	    chario_area_read(area, read, sizeof(read), offset) != sizeof(read))
		err = -EIO;
	else if (memcmp(written, read, sizeof(read)))
		err = -EBADMSG;
	chario_area_close(area);
	return crowd_complain("using what nobody else uses", err);
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
static inline int change_own(struct worker *worker)
{
	struct chario_area_info info;
	char name[32], other[32];
	int err;

	snprintf(name, sizeof(name), "own-%u", worker->number);
	snprintf(other, sizeof(other), "other-%u", worker->number);
	err = crowd_complain("creating",
			     PERSIST(chario_store_create(worker->store, name, 10000, 0)));
	if (!err)
		err = use_own(worker, name);
	if (!err)
		err = crowd_complain("renaming",
				     PERSIST(chario_store_rename(worker->store, name, other)));
	if (!err)
		err = crowd_complain("finding",
				     chario_store_find(worker->store, other, &info, sizeof(info)));
	if (!err && chario_store_find(worker->store, name, &info, sizeof(info)) != -ENOENT)
		err = crowd_complain("finding an old name", -ESTALE);
	if (!err)
		err = use_own(worker, other);
	return err ? err :
		     crowd_complain("removing", PERSIST(chario_store_remove(worker->store, other)));
}

/* Read some of an area. */
static inline int crowd_read(struct chario_store *store, const char *name)
{
	char memory[100];

	return rig_move(store, name, O_RDONLY, memory, sizeof(memory), 50);
}

/* Do something with an area that all fight for, of which a number decides what. */
static inline int crowd_change(struct chario_store *store, uint64_t *random)
{
	char name[32], other[32];
	int count;

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
		return crowd_read(store, name);
	case 4:
		return rig_move(store, name, O_RDWR, name, 8, 4000);
	case 5:
		count = rig_count_areas(store);
		return count < 0 ? count : 0;
	default:
		return chario_store_create(store, name, 5000 + log_below(random, 10000), 0);
	}
}

static inline void *work(void *data)
{
	struct worker *worker = data;

	for (int i = 0; i < ROUNDS && !worker->err; i++) {
		worker->err = crowd_let_pass(crowd_change(worker->store, &worker->random));
		crowd_complain("a shared area", worker->err);
		if (!worker->err && i % 4 == 0)
			worker->err = change_own(worker);
	}
	return NULL;
}

/* Run the threads of a process, by its number; 0, or what went wrong in one. */
static inline int crowd_run(struct chario_store *store, unsigned int process)
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

/**
 * struct sum - a listing of a store in short
 * @count: of its areas
 * @mixed: of what each of them is
 */
struct sum {
	unsigned int count;
	uint64_t mixed;
};

static inline int add_area(const struct chario_area_info *area, void *data)
{
	struct sum *sum = data;

	sum->count++;
	sum->mixed = sum->mixed * 31 + (area->id ^ area->offset ^ area->bytes << 1);
	return 0;
}

/* Whether two who have a store open see the same areas. */
static inline bool crowd_agree(struct chario_store *one, struct chario_store *two)
{
	struct sum sums[2] = { 0 };

	return !chario_store_each(one, add_area, &sums[0]) &&
	       !chario_store_each(two, add_area, &sums[1]) && sums[0].count == sums[1].count &&
	       sums[0].mixed == sums[1].mixed;
}

#endif /* CHARIO_STORE_CROWD_H */
