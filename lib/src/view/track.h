/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A tracking finds the changed blocks of a view: one table of operations for each kind.
 *
 *	view/track-marks.c		marks of the program
 *	view/track-write-protect.c	userfaultfd(2), asynchronous
 *	view/track-compare.c		checksums
 *
 * Each kind sets the bits of the blocks that it finds.  A bit stays set until its block has
 * been written, so the kind may forget the change.
 */
#ifndef CHARIO_TRACK_H
#define CHARIO_TRACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <chario/view.h>

#include "system/scope.h"
#include "view/dirty.h"

/**
 * struct chario_view - a loaded part of an area
 * @area: area of the part
 * @offset: offset of the part in the area
 * @bytes: length of the part, whole blocks
 * @buffer: buffer that holds the part
 * @buffer_offset: offset of the part in the buffer
 * @memory: address of the part for the CPU; NULL if the CPU does not reach it
 * @ops: operations of the tracking
 * @track: private data of the tracking
 * @dirty: changed blocks found so far
 * @lock: lock that lets one flush, reload or count run at a time, and protects @stale and
 *	@track; marks do not need it
 * @stale: true if a reload has failed, so that the content of the buffer is unknown
 * @next: next view of this process, under the lock of view/list.c
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

/* view/view.c: hand bytes of a view over between CPU and device, if its buffer needs that. */
int chario_view_sync(const struct chario_view *view, size_t at, size_t bytes,
		     enum chario_sync direction);

/* moves bytes between an area and a buffer: chario_area_read_buffer(), or its counterpart */
typedef ssize_t chario_view_mover(struct chario_area *area, const struct chario_buffer *buffer,
				  uint64_t buffer_offset, size_t bytes, uint64_t offset,
				  unsigned int flags);

/*
 * Move the bytes from *@at up to @end, and *@at behind those that are moved.  First hand them
 * over to the device: older writes of the CPU must not overwrite what is read.
 */
int chario_view_move(const struct chario_view *view, chario_view_mover *mover, size_t *at,
		     size_t end, unsigned int flags);

/**
 * struct chario_track_ops - one kind of tracking
 * @kind: kind of the tracking
 * @needs_memory: true if the CPU must reach the memory of the view
 * @start: function that begins the tracking, before the view is loaded, and sets @track of
 *	the view; it returns -EOPNOTSUPP if this memory or this kernel has no such tracking
 * @forget: function that forgets all changes, when the buffer is equal to the disk; it
 *	returns -EOPNOTSUPP if changes could not be found
 * @collect: function that sets the bits of the blocks that have changed since its last call
 *	or that of @forget; it or its next call finds the changes made while it runs
 * @before_write: function called before blocks are written, when their bits are cleared; or
 *	NULL
 * @after_write: function called when blocks have been written; or NULL
 * @stop: function that ends the tracking; or NULL
 *
 * Functions with a result return 0 or a negative errno.
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
