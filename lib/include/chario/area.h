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
 * @name: of the area
 * @flags: O_RDONLY, or O_RDWR for its only writer, which needs the store to be
 *	open for writing
 * @area: where the area is put; the caller gives it to chario_area_close()
 *
 * Until it is closed, nobody moves, shrinks or removes the area; it may be
 * renamed.
 *
 * Context: may sleep; with O_RDWR also until what a process that has died has begun to
 * write to it has ended, see chario_store_on_wait().
 * Return: 0; -ENOENT where there is no such area; -EBUSY where it has a writer
 * already, or is being moved or removed, or such writes have not ended in time; -EROFS where the store was opened for
 * reading and the area is to be written; -EINVAL where @flags are of another
 * kind; -EMFILE, -ENOMEM; -EUCLEAN, or an error of pread(2).
 */
int chario_area_open(struct chario_store *store, const char *name, int flags,
		     struct chario_area **area);

/**
 * chario_area_close() - close an area
 * @area: the area, or NULL, which is let pass; its views have been unloaded and its
 *	streams closed before
 *
 * Writes nothing: chario_area_sync() comes before.
 *
 * Context: may sleep; one that was open for writing also until transfers that were given
 * up have ended, for the bound of recovery of the disk at most.
 */
void chario_area_close(struct chario_area *area);

/**
 * chario_area_get_info() - what is known of an area
 * @area: an open area
 * @info: is filled in; members that the library does not know read as zero
 * @size: sizeof(*@info)
 *
 * As it was when the area was opened, with what has been done through @area.
 *
 * Return: 0; -EINVAL when @size is smaller than the first version of the struct.
 */
int chario_area_get_info(const struct chario_area *area, struct chario_area_info *info,
			 size_t size);

/**
 * chario_area_read() - read from an area into memory
 * @area: an open area
 * @memory: where to, of any alignment
 * @bytes: how many, any number
 * @offset: of the first byte in the area, any number
 *
 * The bytes pass through a buffer of the area of 1 MiB, which is made at the first
 * call.  Who wants no copy uses chario_area_read_buffer().
 *
 * Context: may sleep; calls of several threads follow each other.
 * Return: bytes that were read, fewer at the end of the area or before the
 * first error; 0 behind the end; else an error of pread(2).
 */
ssize_t chario_area_read(struct chario_area *area, void *memory, size_t bytes, uint64_t offset);

/**
 * chario_area_write() - write from memory to an area
 * @area: an area that is open for writing
 * @memory: where from, of any alignment
 * @bytes: how many, any number
 * @offset: of the first byte in the area, any number
 *
 * As chario_area_read(); a block of which a part is written is read first.  What has
 * been written is durable after chario_area_sync().
 *
 * Context: may sleep; calls of several threads follow each other.
 * Return: bytes that were written, fewer at the end of the area or before the
 * first error; -ENOSPC behind the end; -EROFS where the area is open for
 * reading; else an error of pwrite(2).
 */
ssize_t chario_area_write(struct chario_area *area, const void *memory, size_t bytes,
			  uint64_t offset);

/**
 * chario_area_read_buffer() - read from an area into a buffer
 * @area: an open area
 * @buffer: any buffer of the store's device, see chario_store_device()
 * @buffer_offset: of the first byte in it, a multiple of the DMA alignment
 * @bytes: how many, a multiple of the logical block of the disk
 * @offset: of the first byte in the area, a multiple of it too
 * @flags: CHARIO_TRANSFER_* bits, or 0
 *
 * One transfer, straight into the buffer; two where the area is being moved.  With
 * -ETIMEDOUT it ends when no transfer uses the buffer any more, those of other threads
 * included; the drive is done with its own after the deadline and at most the bound of
 * recovery.  Memory and place may be used again after any error.
 *
 * Context: may sleep; several threads may call it at once.
 * Return: bytes that were read, fewer at the end of the space of the area;
 * else as chario_buffer_read().
 */
ssize_t chario_area_read_buffer(struct chario_area *area, const struct chario_buffer *buffer,
				uint64_t buffer_offset, size_t bytes, uint64_t offset,
				unsigned int flags);

/**
 * chario_area_write_buffer() - write from a buffer to an area
 * @area: an area that is open for writing
 * @buffer: as for chario_area_read_buffer()
 * @buffer_offset: as for chario_area_read_buffer()
 * @bytes: as for chario_area_read_buffer()
 * @offset: as for chario_area_read_buffer()
 * @flags: CHARIO_TRANSFER_* bits, or 0
 *
 * Context: may sleep; several threads may call it at once.
 * Return: bytes that were written, fewer at the end of the space of the area;
 * -ENOSPC behind it; -EROFS where the area is open for reading; else as
 * chario_buffer_write().
 */
ssize_t chario_area_write_buffer(struct chario_area *area, const struct chario_buffer *buffer,
				 uint64_t buffer_offset, size_t bytes, uint64_t offset,
				 unsigned int flags);

/**
 * chario_area_sync() - have all that has been written durable
 * @area: an open area
 *
 * One flush of the disk; none where it has no volatile write cache.  After an error
 * nobody knows what of all that was written since the last success is there, and a
 * success later on does not say it: it has to be written again, a view by
 * chario_view_mark() for all of it.
 *
 * Context: may sleep.
 * Return: 0, or an error of fsync(2); -EDQUOT where the file system of the file of the
 * store has no room.
 */
int chario_area_sync(struct chario_area *area);

/**
 * chario_area_set_filled() - say how much of the content is there
 * @area: an area that is open for writing and has CHARIO_AREA_FILLING
 * @bytes: from its start, all of which chario_area_sync() has made durable; the
 *	length of the area ends the filling
 * @tag: what the caller calls its source, to know it again; 0 where it does not
 *
 * For copies that are to be taken up again after an interruption.  Changes the
 * table once.
 *
 * Context: may sleep.
 * Return: 0; -EINVAL where @bytes is more than the area has, or it is not being
 * filled; -EROFS; -EUCLEAN where the table has lost the area; and the errors of
 * chario_store_create().
 */
int chario_area_set_filled(struct chario_area *area, uint64_t bytes, uint64_t tag);

/**
 * chario_area_publish() - say that all of the content is there, and give it another name
 * @area: an area that is open for writing and has CHARIO_AREA_FILLING
 * @name: that it gets; an area that has this name goes
 *
 * For what replaces something: it is written beside it, under a name of its own.  One
 * change: whatever happens, @name is the old content or all of the new one.  The content
 * has been made durable before, by chario_area_sync().  Attributes are kept as by
 * chario_store_replace().
 *
 * Context: may sleep.
 * Return: 0; -EINVAL where it is not being filled, or has this name; and the errors of
 * chario_store_replace().
 */
int chario_area_publish(struct chario_area *area, const char *name);

#ifdef __cplusplus
}
#endif

#endif /* CHARIO_AREA_H */
