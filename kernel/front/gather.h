/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A gather: small writes that follow one another, on their way to become a whole
 * command.
 */
#ifndef CHARIO_FRONT_GATHER_H
#define CHARIO_FRONT_GATHER_H

#include <linux/spinlock.h>
#include <linux/uio.h>

#include "front/front.h"

/**
 * struct chario_gather - bytes that have been gathered
 * @cf: the file that they are written to
 * @size: of @memory, a power of two
 * @memory: a piece of the disk, which begins at a multiple of @size; bytes @start to
 *	@end of the disk are there
 * @bounce: a block, for parts of one; both are NULL until they are needed, and
 *	after a failure
 * @lock: protects @start and @end against chario_gather_meets(); all else is
 *	protected by whose it is
 * @start: byte offset on the disk of what has been gathered
 * @end: behind it; nothing is gathered when it is @start
 * @error: of bytes that are lost, 0 for none; whoever tells of it resets it
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

/* Does it end where its piece of the disk ends? */
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
