/* SPDX-License-Identifier: MIT */
/*
 * A store on a plain file whose writes are counted and may fail, with two areas in
 * it, and views of them by one kind of tracking: the one that TRACKING names.
 *
 * It is a file, and not the disk in memory of log-device.h, because the kernel is
 * to move the bytes: what it reads into pages that are watched, and into pages that
 * cannot be written to, is a part of what is tested, and so is a file that shrinks.
 */
#ifndef CHARIO_VIEW_DISK_H
#define CHARIO_VIEW_DISK_H

#include <stddef.h>
#include <stdint.h>

#include <chario/view.h>

#define BLOCK     ((size_t)CHARIO_STORE_BLOCK)
#define NR_BLOCKS ((size_t)256)
#define BYTES     (NR_BLOCKS * BLOCK)

/* No block of an area fails. */
#define NO_BLOCK SIZE_MAX

/**
 * struct disk - what there is
 * @tracking: that the program was asked to test
 * @store: on the file "disk", open for writing
 * @area: "one", of NR_BLOCKS blocks; @other is "two"
 * @buffer: as long, of the pool
 * @memory: of @buffer
 * @view: of all of @area in @buffer, where disk_load() has made it
 * @nr_writes: transfers to @area that have written something
 * @nr_written: blocks that they have written
 * @flags: of the last one
 * @bad_block: of @area, cannot be written
 * @bad_error: what writing it gives
 * @deaf: reading fails too
 * @events: what has happened to memory so far, a letter each: d and c, a hand-over to
 *	the device and to the CPU; r and w, a transfer
 * @nr_events: how many
 */
struct disk {
	enum chario_tracking tracking;
	struct chario_store *store;
	struct chario_area *area;
	struct chario_area *other;
	struct chario_buffer *buffer;
	unsigned char *memory;
	struct chario_view *view;
	size_t nr_writes;
	size_t nr_written;
	unsigned int flags;
	size_t bad_block;
	int bad_error;
	int deaf;
	char events[32];
	size_t nr_events;
};

extern struct disk disk;

/* Take the kind of tracking that TRACKING names; its name. */
const char *disk_choose(void);

/* Make a new disk, the areas with random content; and take all away again. */
void disk_begin(void);
void disk_end(void);

/* Load all of the area. */
int disk_load(void);

/* Change a byte of a block, and mark it where the program has to. */
void disk_change(struct chario_view *view, unsigned char *memory, size_t block);

/* Flush the view; how many blocks have been written, or a negative errno. */
long disk_flush(void);

/* Blocks that have changed, or a negative errno. */
long disk_count_dirty(const struct chario_view *view);

/* Whether blocks of an area are the same as memory. */
int disk_is_same(struct chario_area *area, const void *memory, size_t nr_blocks);

#endif /* CHARIO_VIEW_DISK_H */
