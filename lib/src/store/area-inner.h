/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * An open area from the inside.
 */
#ifndef CHARIO_AREA_INNER_H
#define CHARIO_AREA_INNER_H

#include <chario/area.h>

#include "store/inner.h"

/* What an area is open for. */
enum area_use {
	AREA_READ,
	AREA_WRITE, /* by its only writer */
	AREA_ALONE, /* to be moved or removed: nobody else has it open */
};

/**
 * struct chario_area - an open area
 * @store: whose
 * @use: what it is open for
 * @lock_fd: holds its locks, but for the fence
 * @slot: of its entry
 * @fields: as in the table
 * @name: when it was opened, and the attributes behind it; then an empty text
 * @mutex: protects @bounce
 * @bounce: for bytes that are not whole blocks; zero until it is needed
 */
struct chario_area {
	struct chario_store *store;
	enum area_use use;
	int lock_fd;
	uint64_t slot;
	struct store_fields fields;
	pthread_mutex_t mutex;
	struct chario_pool bounce;
	char name[CHARIO_STORE_NAME_MAX + 2];
};

/**
 * struct chario_area_end - how a recording was closed
 * @sequence: number behind the last record
 * @records: that were committed
 * @bytes: of their data
 * @segment: the last
 * @time_ns: when, since 1970; 0 where it was not closed
 */
struct chario_area_end {
	uint64_t sequence;
	uint64_t records;
	uint64_t bytes;
	uint64_t segment;
	uint64_t time_ns;
};

/**
 * struct chario_area_stream - the recording of an area
 * @session: a number of its own
 * @segment_bytes: of a segment
 * @nr_buffers: segments that may have been in flight at a time
 * @ring: when the area is full the oldest goes
 * @end: of it, or of an earlier part
 */
struct chario_area_stream {
	uint64_t session;
	uint32_t segment_bytes;
	uint32_t nr_buffers;
	bool ring;
	struct chario_area_end end;
};

/* chario_area_open() for any use; -EBUSY where others have it open. */
int chario_area_open_for(struct chario_store *store, const char *name, enum area_use use,
			 struct chario_area **area);

/*
 * Open an area alone, at once: -EBUSY where others have it open, or writes of a process that
 * has died follow.  Between the begin and the end of a change.
 */
int chario_area_seize(struct chario_store *store, const struct store_item *item,
		      struct chario_area **area);

/*
 * Its entry of the index; NULL where its block has been damaged meanwhile, or has been given
 * up and its slot is another's.
 */
const struct store_item *chario_area_item(const struct chario_area *area);

/* Say in the table what recording an area holds: one change. */
int chario_area_set_stream(struct chario_area *area, const struct chario_area_stream *stream);

/* Say in the table how it was closed: one change. */
int chario_area_end_stream(struct chario_area *area, const struct chario_area_end *end);

/* Say that it is not closed any more: one change. */
int chario_area_reopen_stream(struct chario_area *area);

/* What the table says now: 0, -ENODATA, -EUCLEAN where it has lost the area, or an error. */
int chario_area_get_stream(struct chario_area *area, struct chario_area_stream *stream);

/*
 * Where bytes of an area are on the disk.  Returns how many of them lie there in
 * one piece, 0 behind the end of its space.
 */
uint64_t chario_area_place(const struct chario_area *area, uint64_t offset, uint64_t bytes,
			   uint64_t *disk_offset);

/* Whether somebody else has the area open for writing, or has died and still writes to it. */
bool chario_area_has_writer(const struct chario_area *area);

struct chario_device *chario_area_device(const struct chario_area *area);

#endif /* CHARIO_AREA_INNER_H */
