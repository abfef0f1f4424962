/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Scopes: a function gives back what it has locked, opened or allocated wherever it returns.
 */
#ifndef CHARIO_SCOPE_H
#define CHARIO_SCOPE_H

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

/* Call a function with the address of a variable at the end of the scope of the variable. */
#define CHARIO_SCOPED(function) __attribute__((__cleanup__(function)))

/* Free memory; the argument is the address of the pointer to it. */
static inline void chario_scope_free(void *pointer)
{
	free(*(void **)pointer);
}

/* Close a descriptor, unless it is negative. */
static inline void chario_scope_close(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void chario_scope_unlock(pthread_mutex_t **mutex)
{
	pthread_mutex_unlock(*mutex);
}

static inline pthread_mutex_t *chario_scope_lock(pthread_mutex_t *mutex)
{
	pthread_mutex_lock(mutex);
	return mutex;
}

/* Unlock a mutex that is locked already at the end of the scope. */
#define CHARIO_HELD(mutex) pthread_mutex_t *held_ CHARIO_SCOPED(chario_scope_unlock) = (mutex)

/* Lock a mutex until the end of the scope. */
#define CHARIO_LOCK(mutex) CHARIO_HELD(chario_scope_lock(mutex))

#endif /* CHARIO_SCOPE_H */
