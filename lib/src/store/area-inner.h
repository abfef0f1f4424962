/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* The internals of an open area. */
#ifndef CHARIO_AREA_INNER_H
#define CHARIO_AREA_INNER_H

#include <chario/area.h>

#include "store/inner.h"

/* Purposes that an area is opened for. */
enum area_use {
	AREA_READ,
	AREA_WRITE, /* open for writing by its only writer */
	AREA_ALONE, /* open to be moved or removed; nobody else has it open */
};

/**
 * struct chario_area - an open area
 * @store: store of the area
 * @use: purpose that the area is open for
 * @lock_fd: descriptor that holds the area's locks, except the fence
 * @is_confined: true if the file of @lock_fd and its locks outlive the area
 * @slot: number of the area's entry in the table
 * @fields: fields of the entry
 * @name: name at the time of opening, the attributes behind it, and an empty text
 * @mutex: lock of @bounce
 * @bounce: buffer for bytes that are not whole blocks; zero until it is needed
 */
struct chario_area {
	struct chario_store *store;
	enum area_use use;
	int lock_fd;
	bool is_confined;
	uint64_t slot;
	struct store_fields fields;
	pthread_mutex_t mutex;
	struct chario_pool bounce;
	char name[CHARIO_STORE_NAME_MAX + 2];
};

/**
 * struct chario_area_stream - the recording of an area
 * @session: number that identifies the recording
 * @segment_bytes: bytes of a segment
 * @window: number of segments that may be written and not durable
 * @ring: true if the oldest segments are overwritten when the area is full
 * @end: end of the recording, or of an earlier part
 * @continued: true if another part was begun behind the end, of which there may be nothing; that
 *	removes the end of a ring, which need not have had one
 * @reached: number behind the last segment that has been written or, in a ring, skipped, as far as
 *	the table tells; a hint only, as programs of the first release leave what they know of an
 *	earlier recording
 */
struct chario_area_stream {
	uint64_t session;
	uint32_t segment_bytes;
	uint32_t window;
	bool ring;
	struct store_end end;
	bool continued;
	uint64_t reached;
};

/*
 * Implements chario_area_open() for any use.  Returns -EBUSY if others have had the area open for
 * all attempts, 0.1 s in all.
 */
int chario_area_open_for(struct chario_store *store, const char *name, enum area_use use,
			 struct chario_area **area);

/* Remove an area that is open for AREA_ALONE.  Returns 0 or a negative errno. */
int chario_area_remove(struct chario_area *area);

/*
 * Open an area alone, without waiting.  Returns -EBUSY if others have it open, or if a dead
 * process still has writes on their way.  Call it between the begin and the end of a
 * change.
 */
int chario_area_seize(struct chario_store *store, const struct store_item *item,
		      struct chario_area **area);

/*
 * Returns the area's item in the index.  Returns NULL if its block has been damaged
 * meanwhile, or if the block was given up and the slot now belongs to another area.
 */
const struct store_item *chario_area_item(const struct chario_area *area);

/* Record in the table which recording an area holds; this is one change. */
int chario_area_set_stream(struct chario_area *area, const struct chario_area_stream *stream);

/* Record in the table how the recording was closed; this is one change. */
int chario_area_end_stream(struct chario_area *area, const struct store_end *end);

/* Record in the table that the recording is continued behind an end; this is one change. */
int chario_area_continue_stream(struct chario_area *area, const struct store_end *end);

/*
 * Read the recording's entry from the table.  Returns 0; -ENODATA; -EUCLEAN if the table
 * has lost the area; or another error.
 */
int chario_area_get_stream(struct chario_area *area, struct chario_area_stream *stream);

/*
 * Find the place of an area's bytes on the disk.  Returns the number of them that lie there
 * in one piece; 0 behind the end of the area's space.
 */
uint64_t chario_area_place(const struct chario_area *area, uint64_t offset, uint64_t bytes,
			   uint64_t *disk_offset);

/*
 * Returns whether another handle has the area open for writing, or a dead process still
 * writes to it.
 */
bool chario_area_has_writer(const struct chario_area *area);

/* Closes an area, if there is one, at the end of its scope: for CHARIO_SCOPED(). */
static inline void chario_area_leave(struct chario_area **area)
{
	chario_area_close(*area);
}

#endif /* CHARIO_AREA_INNER_H */
