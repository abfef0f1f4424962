/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* Moving an area to another place of the disk, and back if a block cannot be copied. */
#ifndef CHARIO_STORE_MOVE_H
#define CHARIO_STORE_MOVE_H

#include "store/inner.h"

/* Courses of a move. */
enum store_course {
	MOVE_FORTH,
	MOVE_BACK,  /* a block cannot be copied: the area returns to its old place */
	MOVE_STUCK, /* nor can another be copied back: the area stays in two pieces */
};

/**
 * struct store_move - an area that is being moved
 * @store: store of the area
 * @slot: slot of the area, which nobody has open
 * @progress: function that is told of progress, or NULL
 * @data: argument of @progress
 * @done_bytes: bytes that have been copied
 * @total_bytes: bytes to copy
 * @first_bytes: @done_bytes before this area
 * @course: course of this area's move
 */
struct store_move {
	struct chario_store *store;
	uint64_t slot;
	chario_store_progress *progress;
	void *data;
	uint64_t done_bytes;
	uint64_t total_bytes;
	uint64_t first_bytes;
	enum store_course course;
};

/*
 * Record in the table that an area lies at @offset and that none of it has been copied.
 * Call this between the begin and the end of a change.
 */
int chario_move_begin(struct chario_store *store, uint64_t slot, uint64_t offset);

/*
 * Copy the rest of the area; this also continues a move that was interrupted.  The result is
 * 0, too, if a block cannot be copied: @course says so.
 */
int chario_move_run(struct store_move *move);

#endif /* CHARIO_STORE_MOVE_H */
