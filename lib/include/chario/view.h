/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A view: an area, or a part of it, that is loaded into a buffer, flushed, and unloaded.
 *
 * A view is a cache controller in software whose lines are blocks: the program works on the
 * buffer, at memory speed and without system calls, and a flush writes only the blocks that
 * have changed.
 */
#ifndef CHARIO_VIEW_H
#define CHARIO_VIEW_H

#include <stddef.h>
#include <stdint.h>

#include <chario/area.h>

#ifdef __cplusplus
extern "C" {
#endif

/** struct chario_view - a loaded part of an area; its members are private */
struct chario_view;

/**
 * enum chario_tracking - the way in which changed blocks are found
 * @CHARIO_TRACKING_AUTO: WRITE_PROTECT if this memory and this kernel have it, else
 *	COMPARE; MARKS if the CPU does not reach the buffer, or if the area is open for
 *	reading, because nothing will be written
 * @CHARIO_TRACKING_MARKS: calls of chario_view_mark() by the program; they cost nothing
 * @CHARIO_TRACKING_WRITE_PROTECT: userfaultfd(2) in its asynchronous form (Linux 6.7),
 *	which needs no right; it costs a fault at the first write to a page after a flush,
 *	and none later
 * @CHARIO_TRACKING_COMPARE: checksums of blocks, of 64 bits; they cost nothing while the
 *	program works, a pass over all of the memory at each flush, and 8 bytes of memory
 *	for each block.  One change in 2^64 is missed, and so is a block that is changed
 *	and changed back while a flush writes it
 *
 * WRITE_PROTECT finds whole pages of the process, so a page of 64 KiB is 16 blocks, and only
 * writes through the process' own mapping.  The program must mark the writes of devices by
 * DMA, and those of other processes to shared memory; COMPARE finds these, too.
 */
enum chario_tracking {
	CHARIO_TRACKING_AUTO = 0,
	CHARIO_TRACKING_MARKS = 1,
	CHARIO_TRACKING_WRITE_PROTECT = 2,
	CHARIO_TRACKING_COMPARE = 3,
};

/**
 * chario_view_load() - load a part of an area into a buffer
 * @area: an open area, open for writing if the view is to be flushed; it must stay open as
 *	long as the view
 * @offset: offset of the part in the area, a multiple of CHARIO_STORE_BLOCK
 * @bytes: length of the part, not 0; whole blocks are loaded, and all of the last block
 *	belongs to the view
 * @buffer: any buffer of the store's device; it must exist, and its memory stay in its
 *	place, as long as the view; the memory of the view is at chario_buffer_memory()
 *	plus @buffer_offset.  WRITE_PROTECT tracks the pages of that mapping: a program
 *	that writes through another mapping of the same memory needs MARKS or COMPARE
 * @buffer_offset: offset of the view in the buffer, a multiple of the DMA alignment; with
 *	WRITE_PROTECT, the memory there begins at a page
 * @tracking: &enum chario_tracking
 * @view: pointer to the new view; the caller gives it to chario_view_unload()
 *
 * No two views of a process have memory in common, nor a part of an area that is open for
 * writing.  A view belongs to the process that has loaded it, not to its children.  Data
 * that chario_area_write() or another transfer writes to the part meanwhile are not in the
 * view until it is reloaded, and a flush of the same blocks overwrites them.
 *
 * Context: may sleep; nobody else uses the memory of the view meanwhile; its content is lost
 * when an error is returned.
 * Return: 0; -EINVAL if an argument is not aligned, not inside the area or the buffer, or if
 * @buffer is of another device; -EPERM if @buffer has CHARIO_BUFFER_SOURCE; -EBUSY if
 * another view has the memory or the part; -EOPNOTSUPP if @tracking is not possible for this
 * memory or kernel; -EMFILE, -ENFILE, -ENOMEM; -EIO if the disk ends before the part does;
 * and the errors of chario_area_read_buffer().
 */
int chario_view_load(struct chario_area *area, uint64_t offset, size_t bytes,
		     const struct chario_buffer *buffer, uint64_t buffer_offset,
		     enum chario_tracking tracking, struct chario_view **view);

/**
 * chario_view_mark() - mark bytes as changed
 * @view: the view
 * @offset: offset of the first byte in the view
 * @bytes: number of bytes
 *
 * With CHARIO_TRACKING_MARKS, marks are the only way to find changes; otherwise they add to
 * the changes that are found.  The program marks bytes after it has changed them: a flush
 * between a mark and its change would use up the mark and miss the change.
 *
 * Context: does not sleep; several threads may call it at once, also while another one
 * flushes.
 * Return: 0; -EINVAL if the bytes are not inside the view; -EPERM in a child of fork(2).
 */
int chario_view_mark(struct chario_view *view, uint64_t offset, size_t bytes);

/**
 * chario_view_flush() - write the blocks that have changed
 * @view: the view
 * @flags: CHARIO_TRANSFER_FUA to have each transfer durable, or 0; chario_area_sync() makes
 *	all of them durable at once
 * @written_bytes: number of bytes that have been written, also if an error is returned; 0
 *	if nothing has been tried; or NULL
 *
 * Changed blocks that follow each other are written by one transfer; clean blocks between
 * them are not written.  A change that the program makes meanwhile is written now or by the
 * next flush.  Blocks whose write failed still count as changed; after -EIO the blocks
 * behind them are written all the same.
 *
 * Context: may sleep; flushes of several threads follow each other.
 * Return: 0, or the first error: -EROFS if the area is open for reading; -EINVAL if @flags
 * has another bit; -ESTALE if a reload has failed; and the errors of
 * chario_area_write_buffer().
 */
int chario_view_flush(struct chario_view *view, unsigned int flags, uint64_t *written_bytes);

/**
 * chario_view_reload() - read a view from the disk again
 * @view: the view, whose changes are discarded
 *
 * After a failed reload the content of the buffer is unknown, and chario_view_flush()
 * returns -ESTALE until a reload succeeds.
 *
 * Context: may sleep; nobody else writes to the view meanwhile.
 * Return: 0; -EIO if the disk ends before the view does; or an error of
 * chario_area_read_buffer().
 */
int chario_view_reload(struct chario_view *view);

/**
 * chario_view_unload() - end a view
 * @view: the view, or NULL for none
 * @flush: any value but 0 to flush the view first, which stays if the flush fails; 0 for an
 *	area that is open for reading
 *
 * The program unloads a view before it frees the buffer and closes the area; the memory
 * stays as it is.  Flushed data are durable after chario_area_sync().
 *
 * Context: may sleep; nobody uses the view any more.
 * Return: 0; -EPERM in a child of fork(2); or with @flush an error of chario_view_flush().
 */
int chario_view_unload(struct chario_view *view, int flush);

/**
 * chario_view_tracking() - get the way in which changed blocks of a view are found
 * @view: the view
 *
 * Return: &enum chario_tracking, never AUTO.
 */
enum chario_tracking chario_view_tracking(const struct chario_view *view);

/**
 * chario_view_dirty_bytes() - count the bytes of the blocks that have changed
 * @view: the view
 * @bytes: number of bytes that a flush would write now
 *
 * Context: may sleep.
 * Return: 0; -EPERM in a child of fork(2); or a negative errno of the kernel, which
 * WRITE_PROTECT asks.
 */
int chario_view_dirty_bytes(struct chario_view *view, uint64_t *bytes);

#ifdef __cplusplus
}
#endif

#endif /* CHARIO_VIEW_H */
