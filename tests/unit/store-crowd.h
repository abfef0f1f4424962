/* SPDX-License-Identifier: MIT */
/*
 * Many who use one store at once: threads, each with areas of its own and all with
 * some that they fight for.
 */
#ifndef CHARIO_STORE_CROWD_H
#define CHARIO_STORE_CROWD_H

#include <stdbool.h>
#include <stdint.h>

#include <chario/store.h>

/* Run the threads of a process, by its number; 0, or what went wrong in one. */
int crowd_run(struct chario_store *store, unsigned int process);

/* Do something with an area that all fight for, of which a number decides what. */
int crowd_change(struct chario_store *store, uint64_t *random);

/* Read some of an area. */
int crowd_read(struct chario_store *store, const char *name);

/* 0 for what may happen to a name that others use too, else the error. */
int crowd_let_pass(int err);

/* Say what has gone wrong, if it has; the same error. */
int crowd_complain(const char *what, int err);

/* Whether two who have a store open see the same areas. */
bool crowd_agree(struct chario_store *one, struct chario_store *two);

#endif /* CHARIO_STORE_CROWD_H */
