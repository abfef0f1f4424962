/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The pieces of a buffer, for devices without tables of their own: see pieces.c.
 */
#ifndef CHARIO_MEMORY_PIECES_H
#define CHARIO_MEMORY_PIECES_H

#include <linux/types.h>

struct chario_buffer;
struct chario_command;
struct chario_pieces;

/* memory/pieces.c */
int chario_pieces_create(struct chario_buffer *buf);
void chario_pieces_destroy(struct chario_buffer *buf);
void chario_pieces_cut(const struct chario_pieces *pieces,
		       struct chario_command *cmd);

#endif /* CHARIO_MEMORY_PIECES_H */
