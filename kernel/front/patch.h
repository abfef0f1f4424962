/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory of the kernel to and from the disk, whole blocks and parts of one.
 */
#ifndef CHARIO_FRONT_PATCH_H
#define CHARIO_FRONT_PATCH_H

#include "chario.h"

/**
 * struct chario_move - memory of the kernel to or from the disk
 * @op: read or write
 * @memory: of the kernel
 * @pos: byte offset on the disk
 * @bytes: length
 * @fua: durable at completion
 * @duty: CHARIO_DUTY_* bits
 * @q: queue of @taken
 * @taken: a command for it, or NULL
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
int chario_patch_block(struct chario_file *cf, void *bounce, u64 pos,
		       const void *from, u32 bytes, bool fua);

#endif /* CHARIO_FRONT_PATCH_H */
