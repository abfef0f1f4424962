/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * An area: a named, contiguous piece of a disk, see chario/store.h.
 */
#ifndef CHARIO_AREA_H
#define CHARIO_AREA_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <chario/buffer.h>
#include <chario/store.h>

#ifdef __cplusplus
extern "C" {
#endif

/** struct chario_area - an open area; its members are private */
struct chario_area;

/**
 * chario_area_open() - open an area
 * @store: an open store, which must stay open as long as the area
 * @name: name of the area
 * @flags: O_RDONLY, or O_RDWR for its only writer, which needs the store to be
 *	open for writing
 * @area: the open area; the caller gives it to chario_area_close()
 *
 * Until the area is closed, nobody else can move, shrink or remove it; it may be renamed.
 *
 * Context: may sleep; with O_RDWR also until a change of the table that is under way has
 * ended, and writes to the area by a process that has died, see chario_store_on_wait().
 * Return: 0; -ENOENT if there is no such area; -EBUSY if it has a writer, or is being moved
 * or removed, for all of a tenth of a second, if writes of a dead process have not ended in time, or if the lock
 * of the table could not be had, see chario_store_create(); -EROFS if
 * the store was opened for reading and @flags is O_RDWR; -EINVAL if @flags has another
 * value; -EMFILE, -ENOMEM; -EUCLEAN; or an error of pread(2).
 */
int chario_area_open(struct chario_store *store, const char *name, int flags,
		     struct chario_area **area);

/**
 * chario_area_close() - close an area
 * @area: the area, or NULL, which does nothing; its views must have been unloaded and
 *	its streams closed
 *
 * The call writes nothing: call chario_area_sync() before it.
 *
 * Context: may sleep; for an area that was open for writing also until transfers that were
 * given up have ended, at most for the recovery bound of the disk.
 */
void chario_area_close(struct chario_area *area);

/**
 * chario_area_get_info() - describe an area
 * @area: an open area
 * @info: struct to fill in; members that the library does not know read as zero
 * @size: sizeof(*@info)
 *
 * The description is that of the time when the area was opened, with later changes made
 * through @area.
 *
 * Return: 0; -EINVAL when @size is smaller than the first version of the struct.
 */
int chario_area_get_info(const struct chario_area *area, struct chario_area_info *info,
			 size_t size);

/**
 * chario_area_confine() - make a device that reaches an area only
 * @area: an open area of a store on a character disk
 * @flags: CHARIO_CONFINE_READ_ONLY if the new device cannot write, which an area needs that is
 *	open for reading; else 0
 * @confined: the new device; the caller owns it and gives it to chario_device_close()
 *
 * See chario_device_confine().  @area and its store may be closed and the process may end: as
 * long as any process has the file of @confined, nobody else can move, shrink or remove the area,
 * nor write to it if @area was open for writing, nor make a store there.
 *
 * Context: may sleep.
 * Return: 0; -EBUSY while the area lies in two pieces (CHARIO_AREA_MOVING); or an error of
 * chario_device_confine().
 */
int chario_area_confine(struct chario_area *area, uint32_t flags, struct chario_device **confined);

/**
 * chario_area_read() - read from an area into memory
 * @area: an open area
 * @memory: destination, of any alignment
 * @bytes: number of bytes, any
 * @offset: offset of the first byte in the area, any
 *
 * The bytes pass through a buffer of 1 MiB, which the area allocates at the first call.
 * chario_area_read_buffer() avoids the copy.
 *
 * Context: may sleep; concurrent calls are serialised.
 * Return: number of bytes read, fewer at the end of the area or before the first error; 0
 * behind the end; else an error of pread(2).
 */
ssize_t chario_area_read(struct chario_area *area, void *memory, size_t bytes, uint64_t offset);

/**
 * chario_area_write() - write from memory to an area
 * @area: an area that is open for writing
 * @memory: source, of any alignment
 * @bytes: number of bytes, any
 * @offset: offset of the first byte in the area, any
 *
 * The bytes pass through a buffer as in chario_area_read(); a block that is written in part
 * is read first.  Written data are durable after chario_area_sync().
 *
 * Context: may sleep; concurrent calls are serialised.
 * Return: number of bytes written, fewer at the end of the area or before the first error;
 * -ENOSPC behind the end; -EROFS if the area is open for reading; else an error of
 * pwrite(2).
 */
ssize_t chario_area_write(struct chario_area *area, const void *memory, size_t bytes,
			  uint64_t offset);

/**
 * chario_area_read_buffer() - read from an area into a buffer
 * @area: an open area
 * @buffer: any buffer of the store's device, see chario_store_device()
 * @buffer_offset: offset of the first byte in the buffer, a multiple of the DMA
 *	alignment
 * @bytes: number of bytes, a multiple of the logical block of the disk
 * @offset: offset of the first byte in the area, a multiple of the logical block
 * @flags: CHARIO_TRANSFER_* bits, or 0
 *
 * The call is one transfer, directly into the buffer, or two if the area is being moved.
 * With -ETIMEDOUT it returns only when no transfer uses the buffer any more, including
 * those of other threads; its own transfer ends after the deadline and at most the recovery
 * bound.  Memory and place may be used again after any error.
 *
 * Context: may sleep; several threads may call it at once.
 * Return: number of bytes read, fewer at the end of the space of the area; else the errors
 * of chario_buffer_read().
 */
ssize_t chario_area_read_buffer(struct chario_area *area, const struct chario_buffer *buffer,
				uint64_t buffer_offset, size_t bytes, uint64_t offset,
				unsigned int flags);

/**
 * chario_area_write_buffer() - write from a buffer to an area
 * @area: an area that is open for writing
 * @buffer: see chario_area_read_buffer()
 * @buffer_offset: see chario_area_read_buffer()
 * @bytes: see chario_area_read_buffer()
 * @offset: see chario_area_read_buffer()
 * @flags: CHARIO_TRANSFER_* bits, or 0
 *
 * Context: may sleep; several threads may call it at once.
 * Return: number of bytes written, fewer at the end of the space of the area; -ENOSPC
 * behind it; -EROFS if the area is open for reading; else the errors of
 * chario_buffer_write().
 */
ssize_t chario_area_write_buffer(struct chario_area *area, const struct chario_buffer *buffer,
				 uint64_t buffer_offset, size_t bytes, uint64_t offset,
				 unsigned int flags);

/**
 * chario_area_sync() - make all written data durable
 * @area: an open area
 *
 * The call is one flush of the disk, or none if the disk has no volatile write cache.
 * After an error it is unknown which data written since the last success are on the disk,
 * and a later success does not change that: write the data again; for a view, mark all of
 * it with chario_view_mark().
 *
 * Context: may sleep.
 * Return: 0, or an error of fsync(2); -EDQUOT if the file system that has the store's file
 * is full.
 */
int chario_area_sync(struct chario_area *area);

/**
 * chario_area_set_filled() - record how much of the content is there
 * @area: an area that is open for writing and has CHARIO_AREA_FILLING
 * @bytes: number of bytes from the start that chario_area_sync() has made durable; the
 *	length of the area ends the filling
 * @tag: number by which the caller recognises its source, or 0
 *
 * The record lets a copy continue after an interruption.  The call changes the table once.
 *
 * Context: may sleep.
 * Return: 0; -EINVAL if @bytes is more than the length of the area, or the area is not
 * being filled; -EROFS; -EUCLEAN if the table has lost the area; and the errors of
 * chario_store_create().
 */
int chario_area_set_filled(struct chario_area *area, uint64_t bytes, uint64_t tag);

/**
 * chario_area_publish() - end the filling of an area and rename it
 * @area: an area that is open for writing and has CHARIO_AREA_FILLING
 * @name: new name; another area with this name is removed
 *
 * The call replaces an area whose new content was written beside it, under another name.
 * It is one change: whatever happens, @name is the old content or all of the new content.
 * The new content must have been made durable by chario_area_sync().  Attributes are kept
 * as by chario_store_replace().
 *
 * Context: may sleep.
 * Return: 0; -EINVAL if the area is not being filled, or already has this name; and the
 * errors of chario_store_replace().
 */
int chario_area_publish(struct chario_area *area, const char *name);

#ifdef __cplusplus
}
#endif

#endif /* CHARIO_AREA_H */
