/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Files of any size: reads and writes that need not be whole grains.
 */
#ifndef CHARIO_FRONT_BYTES_H
#define CHARIO_FRONT_BYTES_H

#include <linux/fs.h>

#include "front/front.h"

/* front/bytes.c */
int chario_bytes_enable(struct chario_file *cf);
int chario_bytes_disable(struct chario_file *cf);
int chario_bytes_flush(struct chario_file *cf, bool sync);
bool chario_bytes_are_straight(struct kiocb *iocb, struct iov_iter *iter,
			       enum chario_op op);
int chario_bytes_make_way(struct kiocb *iocb, const struct iov_iter *iter);
ssize_t chario_bytes_transfer(struct kiocb *iocb, struct iov_iter *iter,
			      enum chario_op op);

#endif /* CHARIO_FRONT_BYTES_H */
