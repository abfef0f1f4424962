/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Moves between memory of the kernel and the disk, of whole grains and of a part of
 * one.
 */
#ifndef CHARIO_FRONT_PATCH_H
#define CHARIO_FRONT_PATCH_H

#include "chario.h"

/**
 * struct chario_move - a move between memory of the kernel and the disk
 * @op: read or write
 * @memory: memory of the kernel
 * @pos: byte offset on the disk
 * @bytes: number of bytes
 * @fua: durable at completion
 * @duty: CHARIO_DUTY_* bits
 * @q: queue of @taken
 * @taken: command that has been taken for the move, or NULL
 */
struct chario_move {
	enum chario_op op;
	void *memory;
	u64 pos;
	u32 bytes;
	bool fua;
	u8 duty;
	struct chario_queue *q;
	struct chario_command *taken;
};

/* front/patch.c */
int chario_move(struct chario_file *cf, const struct chario_move *m);
int chario_patch_grain(struct chario_file *cf, void *bounce, u64 pos,
		       const void *from, u32 bytes, bool fua);

#endif /* CHARIO_FRONT_PATCH_H */
