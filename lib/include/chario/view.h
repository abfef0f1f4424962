/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A view: an area, or a part of it, loaded into a buffer; flushed; unloaded.
 *
 * The software form of a cache controller whose lines are blocks: the program
 * works on the buffer, at memory speed and without system calls, and a flush
 * writes only the blocks that have changed.
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
 * enum chario_tracking - how changed blocks are known
 * @CHARIO_TRACKING_AUTO: WRITE_PROTECT where this memory and this kernel have it,
 *	else COMPARE; MARKS where the CPU does not reach the buffer, or where the area
 *	is open for reading and nothing will be written
 * @CHARIO_TRACKING_MARKS: the program says so, chario_view_mark(); costs nothing
 * @CHARIO_TRACKING_WRITE_PROTECT: userfaultfd(2) in its asynchronous form (Linux
 *	6.7), without any right: a fault at the first write to a page after a flush,
 *	none later
 * @CHARIO_TRACKING_COMPARE: checksums of blocks, of 64 bits: nothing while the program
 *	works, a pass over all of the memory at each flush, and 8 bytes of memory
 *	for each block.  One change in 2^64 is missed, and what is changed and
 *	changed back while a flush writes it
 *
 * WRITE_PROTECT knows pages of the process: whole ones, so a page of 64 KiB is 16
 * blocks, and only what is written through the process' own mapping.  What a device
 * writes by DMA, or another process into shared memory, has to be marked; with
 * COMPARE it has not.
 */
enum chario_tracking {
	CHARIO_TRACKING_AUTO = 0,
	CHARIO_TRACKING_MARKS = 1,
	CHARIO_TRACKING_WRITE_PROTECT = 2,
	CHARIO_TRACKING_COMPARE = 3,
};

/**
 * chario_view_load() - load a part of an area into a buffer
 * @area: an open area, for writing where the view is to be flushed; must stay open
 *	as long as the view
 * @offset: of the part in the area, a multiple of CHARIO_STORE_BLOCK
 * @bytes: of the part, not 0; it is whole blocks that are loaded, and all of the
 *	last one belongs to the view
 * @buffer: of the store's device, of any kind; must stay as long as the view, and
 *	its memory where it is; the memory of the view is at chario_buffer_memory() plus
 *	@buffer_offset.  Pages are tracked in that mapping: who writes through another
 *	one of the same memory takes MARKS or COMPARE
 * @buffer_offset: where in it, a multiple of the DMA alignment; where pages are
 *	tracked the memory there begins at a page
 * @tracking: &enum chario_tracking
 * @view: where the view is put; the caller gives it to chario_view_unload()
 *
 * No two views of a process have memory in common, nor a part of an area that is open
 * for writing.  A view is of the process that has loaded it, not of its children.
 * What chario_area_write() or another transfer writes to the part meanwhile is not in
 * the view until it is reloaded, and a flush of the same blocks writes over it.
 *
 * Context: may sleep; nobody else uses that memory meanwhile, whose content is lost
 * when an error is returned.
 * Return: 0; -EINVAL where something is not aligned, or not inside area or buffer,
 * or @buffer is of another device; -EPERM where it is CHARIO_BUFFER_SOURCE; -EBUSY
 * where another view has the memory or the part; -EOPNOTSUPP where @tracking is not
 * possible for this memory or kernel; -EMFILE, -ENFILE, -ENOMEM; -EIO where the
 * disk ends before the part does; and the errors of chario_area_read_buffer().
 */
int chario_view_load(struct chario_area *area, uint64_t offset, size_t bytes,
		     const struct chario_buffer *buffer, uint64_t buffer_offset,
		     enum chario_tracking tracking, struct chario_view **view);

/**
 * chario_view_mark() - bytes have been changed
 * @view: the view
 * @offset: of the first in the view
 * @bytes: how many
 *
 * For CHARIO_TRACKING_MARKS; adds to what is found otherwise.  Comes after the
 * change: a flush between a mark and its change takes the mark and not the change.
 *
 * Context: does not sleep; several threads may call it at once, and while another
 * one flushes.
 * Return: 0; -EINVAL where they are not inside the view.
 */
int chario_view_mark(struct chario_view *view, uint64_t offset, size_t bytes);

/**
 * chario_view_flush() - write the blocks that have changed
 * @view: the view
 * @flags: CHARIO_TRANSFER_FUA to have each transfer durable, or 0;
 *	chario_area_sync() makes all of them durable at once
 * @written_bytes: how many have been written, also where an error is returned; or
 *	NULL; 0 where nothing has been tried
 *
 * Blocks that follow each other are written by one transfer, clean ones between
 * them are not written.  What the program changes meanwhile is written now or by
 * the next flush.  Blocks of which a write failed are still changed; after -EIO
 * those behind are written all the same.
 *
 * Context: may sleep; flushes of several threads follow each other.
 * Return: 0, or the first error: -EROFS where the area is open for reading; -EINVAL
 * where @flags has another bit; -ESTALE where a reload has failed; and the errors of
 * chario_area_write_buffer().
 */
int chario_view_flush(struct chario_view *view, unsigned int flags, uint64_t *written_bytes);

/**
 * chario_view_reload() - read again what is on the disk
 * @view: the view; what has changed in it is forgotten
 *
 * Where it fails nobody knows what the buffer holds, and chario_view_flush()
 * gives -ESTALE until it has succeeded.
 *
 * Context: may sleep; nobody else writes to the view meanwhile.
 * Return: 0; -EIO where the disk ends before the view does; or an error of
 * chario_area_read_buffer().
 */
int chario_view_reload(struct chario_view *view);

/**
 * chario_view_unload() - end a view
 * @view: the view, or NULL, which is let pass
 * @flush: not 0: flush it first; where that fails the view stays.  0 for an area that
 *	is open for reading
 *
 * Comes before the buffer is freed and the area closed; the memory stays as it is.
 * What has been flushed is durable after chario_area_sync().
 *
 * Context: may sleep; nobody uses the view any more.
 * Return: 0, or an error of chario_view_flush(); always 0 without @flush.
 */
int chario_view_unload(struct chario_view *view, int flush);

/**
 * chario_view_tracking() - how changed blocks of a view are known
 * @view: the view
 *
 * Return: &enum chario_tracking, never AUTO.
 */
enum chario_tracking chario_view_tracking(const struct chario_view *view);

/**
 * chario_view_dirty_bytes() - bytes of the blocks that have changed
 * @view: the view
 * @bytes: how many a flush would write now
 *
 * Context: may sleep.
 * Return: 0, or a negative errno of what the kernel was asked.
 */
int chario_view_dirty_bytes(struct chario_view *view, uint64_t *bytes);

#ifdef __cplusplus
}
#endif

#endif /* CHARIO_VIEW_H */
