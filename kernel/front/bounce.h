/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A bounce: memory through which a file of any size reads bytes that cannot go straight
 * to its caller.
 */
#ifndef CHARIO_FRONT_BOUNCE_H
#define CHARIO_FRONT_BOUNCE_H

#include <linux/uio.h>

#include "front/front.h"

/**
 * struct chario_bounce - the bounce memory of a file
 * @size: length of @spare in bytes
 * @spare: the memory; NULL while a read uses it, and other reads then allocate memory
 *	of their own, so that no read waits for another
 */
struct chario_bounce {
	u32 size;
	void *spare;
};

/* front/bounce.c */
int chario_bounce_init(struct chario_bounce *bounce, u32 size);
void chario_bounce_deinit(struct chario_bounce *bounce);
ssize_t chario_bounce_read(struct chario_file *cf, struct chario_bounce *bounce,
			   struct iov_iter *iter, u64 pos);

#endif /* CHARIO_FRONT_BOUNCE_H */
