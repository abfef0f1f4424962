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

#include <chario/view.h>

#include "device/ops.h"
#include "store/area-inner.h"
#include "scratch.h"

#define BLOCK     ((size_t)CHARIO_STORE_BLOCK)
#define NR_BLOCKS ((size_t)256)
#define BYTES     (NR_BLOCKS * BLOCK)

#define DISK_BYTES ((size_t)32 << 20)

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

static struct disk disk;

static const struct chario_device_ops *file_ops;
static struct chario_device_ops ops;

/* @err is 0 where all is well. */
static inline void need(int err, const char *what)
{
	if (!err)
		return;
	printf("Bail out! %s: %s\n", what, strerror(-err));
	exit(1);
}

static inline void note(char event)
{
	if (disk.nr_events < sizeof(disk.events) - 1)
		disk.events[disk.nr_events++] = event;
}

/* The first of the blocks of a transfer that fails, counted from its start. */
static inline size_t bytes_before_fault(const struct chario_transfer *transfer)
{
	uint64_t begin = disk.area ? disk.area->fields.offset : 0;
	uint64_t bad = begin + disk.bad_block * BLOCK;

	if (!disk.area || disk.bad_block == NO_BLOCK || bad < transfer->disk_offset ||
	    bad >= transfer->disk_offset + transfer->bytes)
		return transfer->bytes;
	return bad - transfer->disk_offset;
}

static inline void count(const struct chario_transfer *transfer, ssize_t done)
{
	uint64_t begin = disk.area ? disk.area->fields.offset : 0;

	if (!disk.area || transfer->disk_offset < begin || transfer->disk_offset >= begin + BYTES ||
	    done <= 0)
		return;
	disk.nr_writes++;
	disk.nr_written += (size_t)done / BLOCK;
	disk.flags = transfer->flags;
}

static inline ssize_t transfer_or_fail(const struct chario_device *device,
				       struct chario_transfer *transfer)
{
	size_t whole = transfer->bytes;
	ssize_t done;

	note(transfer->op == CHARIO_TRANSFER_READ ? 'r' : 'w');
	if (transfer->op == CHARIO_TRANSFER_READ)
		return disk.deaf ? -EIO : file_ops->transfer(device, transfer);
	transfer->bytes = bytes_before_fault(transfer);
	if (!transfer->bytes && whole)
		return disk.bad_error;
	done = file_ops->transfer(device, transfer);
	count(transfer, done);
	return done;
}

static inline int note_sync(const struct chario_buffer *buffer, struct chario_buffer_sync *sync)
{
	note(sync->direction == CHARIO_SYNC_FOR_DEVICE ? 'd' : 'c');
	return 0;
}

static inline void open_store(void)
{
	struct chario_device *device;

	need(chario_device_open_any("./disk", O_RDWR, &device), "the disk cannot be opened");
	file_ops = device->ops;
	ops = *device->ops;
	ops.transfer = transfer_or_fail;
	ops.sync_buffer = note_sync;
	device->ops = &ops;
	need(chario_store_open_device(device, O_RDWR, &disk.store), "no store on the disk");
}

static inline void make_area(const char *name, struct chario_area **area)
{
	static unsigned char content[BYTES];

	for (size_t i = 0; i < BYTES; i++)
		content[i] = (unsigned char)rand();
	need(chario_store_create(disk.store, name, BYTES, 0), "an area cannot be created");
	need(chario_area_open(disk.store, name, O_RDWR, area), "an area cannot be opened");
	need(chario_area_write(*area, content, BYTES, 0) == (ssize_t)BYTES ? 0 : -EIO,
	     "an area cannot be filled");
}

/* Take the kind of tracking that TRACKING names; its name. */
static inline const char *disk_choose(void)
{
	static const char *const names[] = {
		[CHARIO_TRACKING_MARKS] = "marks",
		[CHARIO_TRACKING_WRITE_PROTECT] = "write-protect",
		[CHARIO_TRACKING_COMPARE] = "compare",
	};
	const char *name = getenv("TRACKING");

	for (unsigned int i = CHARIO_TRACKING_MARKS; i <= CHARIO_TRACKING_COMPARE; i++) {
		if (name && !strcmp(name, names[i]))
			disk.tracking = i;
	}
	need(disk.tracking ? 0 : -EINVAL, "TRACKING is to be a kind of tracking");
	return name;
}

/* Make a new disk, the areas with random content; and take all away again. */
static inline void disk_begin(void)
{
	enum chario_tracking tracking = disk.tracking;

	disk = (struct disk){ .tracking = tracking, .bad_block = NO_BLOCK, .bad_error = -EIO };
	scratch_file("disk", DISK_BYTES);
	need(chario_store_format("./disk", NULL), "no store can be made");
	open_store();
	make_area("one", &disk.area);
	make_area("two", &disk.other);
	need(chario_buffer_pool(chario_store_device(disk.store), BYTES, 0, &disk.buffer),
	     "no buffer");
	disk.memory = chario_buffer_memory(disk.buffer);
	disk.nr_writes = disk.nr_written = 0;
}

static inline void disk_end(void)
{
	chario_view_unload(disk.view, 0);
	chario_buffer_free(disk.buffer);
	chario_area_close(disk.other);
	chario_area_close(disk.area);
	chario_store_close(disk.store);
}

/* Load all of the area. */
static inline int disk_load(void)
{
	return chario_view_load(disk.area, 0, BYTES, disk.buffer, 0, disk.tracking, &disk.view);
}

/* Change a byte of a block, and mark it where the program has to. */
static inline void disk_change(struct chario_view *view, unsigned char *memory, size_t block)
{
	memory[block * BLOCK + (size_t)rand() % BLOCK] += 1;
	if (disk.tracking == CHARIO_TRACKING_MARKS)
		chario_view_mark(view, block * BLOCK, BLOCK);
}

/* Flush the view; how many blocks have been written, or a negative errno. */
static inline long disk_flush(void)
{
	uint64_t bytes = 0;
	int err;

	disk.nr_writes = disk.nr_written = 0;
	err = chario_view_flush(disk.view, 0, &bytes);
	need(bytes == disk.nr_written * BLOCK ? 0 : -EIO, "a flush counts what it has not written");
	return err ? err : (long)(bytes / BLOCK);
}

/* Blocks that have changed, or a negative errno. */
static inline long disk_count_dirty(const struct chario_view *view)
{
	uint64_t bytes = 0;
	int err = chario_view_dirty_bytes((struct chario_view *)view, &bytes);

	return err ? err : (long)(bytes / BLOCK);
}

/* Whether blocks of an area are the same as memory. */
static inline int disk_is_same(struct chario_area *area, const void *memory, size_t nr_blocks)
{
	static unsigned char content[BYTES];
	size_t bytes = nr_blocks * BLOCK;

	return chario_area_read(area, content, bytes, 0) == (ssize_t)bytes &&
	       !memcmp(content, memory, bytes);
}

#endif /* CHARIO_VIEW_DISK_H */
