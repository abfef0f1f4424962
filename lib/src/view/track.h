/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * How changed blocks of a view are known: one table of operations for each kind.
 *
 *	view/track-marks.c		the program says so
 *	view/track-write-protect.c	userfaultfd(2), asynchronous
 *	view/track-compare.c		checksums
 *
 * Whatever the kind, what it finds is added to the bits of the view, and stays
 * there until the block has been written: a kind may forget what it has handed
 * over.
 */
#ifndef CHARIO_TRACK_H
#define CHARIO_TRACK_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <chario/view.h>

#include "view/dirty.h"

/**
 * struct chario_view - a loaded part of an area
 * @area: whose part it is
 * @offset: of the part in the area
 * @bytes: whole blocks
 * @buffer: where it has been loaded into
 * @buffer_offset: where in it
 * @memory: the same for the CPU, NULL where the CPU does not reach it
 * @ops: how changes are known
 * @track: what @ops work on
 * @dirty: blocks that have changed, as far as known
 * @lock: one flush, reload or count at a time; not needed for marks
 * @stale: a reload has failed, nobody knows what is in the buffer
 * @next: view of this process, under the lock of view/list.c
 */
struct chario_view {
	struct chario_area *area;
	uint64_t offset;
	size_t bytes;
	const struct chario_buffer *buffer;
	uint64_t buffer_offset;
	unsigned char *memory;
	const struct chario_track_ops *ops;
	void *track;
	struct chario_dirty *dirty;
	pthread_mutex_t lock;
	bool stale;
	struct chario_view *next;
};

/* view/view.c: hand bytes of a view over between CPU and device, where its buffer needs that. */
int chario_view_sync(const struct chario_view *view, size_t at, size_t bytes,
		     enum chario_sync direction);

/**
 * struct chario_track_ops - one kind of tracking
 * @kind: which
 * @needs_memory: of the CPU
 * @start: begin, before the view is loaded; sets @track of the view.
 *	-EOPNOTSUPP where this memory or this kernel does not have it
 * @forget: what is in the buffer is what is on the disk; -EOPNOTSUPP where it
 *	turns out that changes would not be seen
 * @collect: add to the bits what has changed since the last time, or since
 *	@forget.  Changes while this runs are found now or by the next one
 * @before_write: blocks are about to be written, their bits have been cleared; or NULL
 * @after_write: blocks have been written; or NULL
 * @stop: end what @start has begun; or NULL
 *
 * Those that return something return 0 or a negative errno.
 */
struct chario_track_ops {
	enum chario_tracking kind;
	bool needs_memory;
	int (*start)(struct chario_view *view);
	int (*forget)(struct chario_view *view);
	int (*collect)(struct chario_view *view);
	void (*before_write)(struct chario_view *view, size_t first, size_t end);
	void (*after_write)(struct chario_view *view, size_t first, size_t end);
	void (*stop)(struct chario_view *view);
};

extern const struct chario_track_ops chario_track_marks;
extern const struct chario_track_ops chario_track_write_protect;
extern const struct chario_track_ops chario_track_compare;

#endif /* CHARIO_TRACK_H */
