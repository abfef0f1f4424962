/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A gather: small writes that follow one another, which become one command.
 */
#ifndef CHARIO_FRONT_GATHER_H
#define CHARIO_FRONT_GATHER_H

#include <linux/spinlock.h>
#include <linux/uio.h>

#include "front/front.h"

/**
 * struct chario_gather - bytes that have been gathered
 * @cf: file that the bytes are written to
 * @size: length of @memory in bytes, a power of two
 * @memory: memory for a piece of the disk that begins at a multiple of @size; holds the
 *	bytes from @start to @end
 * @bounce: memory for a grain that changes in part; like @memory, NULL until it is
 *	needed, and after a failure
 * @lock: protects @start and @end against chario_gather_meets(); all other members
 *	belong to the user of the gather
 * @start: byte offset on the disk of the first gathered byte
 * @end: byte offset behind the last gathered byte; @start if the gather is empty
 * @error: errno of bytes that are lost, 0 for none; the caller that returns it to the
 *	user resets it
 */
struct chario_gather {
	struct chario_file *cf;
	u32 size;
	void *memory;
	void *bounce;
	spinlock_t lock; /* start, end */
	u64 start;
	u64 end;
	int error;
};

static inline bool chario_gather_is_empty(const struct chario_gather *g)
{
	return g->start == g->end;
}

/* Do the gathered bytes end where their piece of the disk ends? */
static inline bool chario_gather_is_full(const struct chario_gather *g)
{
	return !(g->end & (g->size - 1));
}

/* front/gather.c */
void chario_gather_init(struct chario_gather *g, struct chario_file *cf,
			size_t bytes);
int chario_gather_get_memory(struct chario_gather *g);
void chario_gather_drop_memory(struct chario_gather *g);
bool chario_gather_meets(struct chario_gather *g, u64 pos, u64 bytes);
ssize_t chario_gather_add(struct chario_gather *g, struct iov_iter *iter,
			  u64 pos);
int chario_gather_write(struct chario_gather *g, bool fua);

#endif /* CHARIO_FRONT_GATHER_H */
