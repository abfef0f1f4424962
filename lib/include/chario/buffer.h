/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A buffer: memory that is pinned and mapped for the drive once and used by
 * many transfers.  Each then costs a device command, one barrier and one
 * doorbell: nothing is pinned, mapped or allocated.
 *
 * Of a file or block device (chario_device_open_any()), a buffer is memory of the
 * process, with all pages in place, that does not count against RLIMIT_MEMLOCK:
 * chario_buffer_register() and chario_buffer_pool() make one, the others give
 * -EOPNOTSUPP.
 */
#ifndef CHARIO_BUFFER_H
#define CHARIO_BUFFER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <chario/device.h>

#ifdef __cplusplus
extern "C" {
#endif

/** struct chario_buffer - memory of a device; its members are private */
struct chario_buffer;

/**
 * chario_buffer_register() - make a buffer of memory that the caller has
 * @device: an open device, which must stay open as long as the buffer
 * @memory: heap, huge pages, shared memory; aligned as @dma_alignment_bytes of
 *	&struct chario_info says; stays the caller's
 * @bytes: its length, a multiple of the same alignment
 * @flags: CHARIO_BUFFER_SOURCE for memory that is only written from,
 *	CHARIO_BUFFER_STREAMING for memory that is synced, or 0
 * @buffer: where the new buffer is put; the caller gives it to
 *	chario_buffer_free()
 *
 * The memory counts against RLIMIT_MEMLOCK.  A child of fork(2) shares the
 * pages with its parent only until one of them writes: madvise(2) with
 * MADV_DONTFORK keeps that from happening.
 *
 * Context: may sleep.
 * Return: 0; -EFAULT where the memory is not accessible as asked for, or
 * cannot be pinned for long; -ENOMEM where RLIMIT_MEMLOCK does not allow it or
 * no memory is left; -EINVAL where an argument is not aligned; -ENOSPC where
 * the device has 65,535 buffers; -EOPNOTSUPP where the memory needs
 * chario_buffer_sync() and CHARIO_BUFFER_STREAMING is not set; -EIO where the memory cannot be mapped for the
 * drive; -ENODEV when the disk has been removed; -EINTR when the caller was
 * killed; -ENOTTY where the module is too old.
 */
int chario_buffer_register(struct chario_device *device, void *memory, size_t bytes,
			   unsigned int flags, struct chario_buffer **buffer);

/**
 * chario_buffer_pool() - make a buffer of memory that the module allocates
 * @device: an open device, which must stay open as long as the buffer; open for
 *	reading at least, and for reading and writing where the CPU is to write
 * @bytes: its length, a multiple of the DMA alignment
 * @flags: CHARIO_BUFFER_SOURCE, CHARIO_BUFFER_STREAMING, or 0
 * @buffer: where the new buffer is put; the caller gives it to
 *	chario_buffer_free()
 *
 * The memory is zeroed, lies near the drive, in as few pieces as there are, and
 * counts against RLIMIT_MEMLOCK.  It is mapped, cached, at
 * chario_buffer_memory(); a child of fork(2) shares it.
 *
 * Context: may sleep.
 * Return: 0; -EACCES where the device is open for writing only; -EOPNOTSUPP where
 * the memory needs chario_buffer_sync() and CHARIO_BUFFER_STREAMING is not set;
 * else as chario_buffer_register().
 */
int chario_buffer_pool(struct chario_device *device, size_t bytes, unsigned int flags,
		       struct chario_buffer **buffer);

/**
 * chario_buffer_window() - make a buffer of physical memory that is not Linux's
 * @device: an open device, as for chario_buffer_pool()
 * @address: physical address of its first byte, a multiple of the page size
 * @bytes: its length, a multiple of the page size
 * @flags: CHARIO_BUFFER_SOURCE, or 0
 * @buffer: where the new buffer is put; the caller gives it to
 *	chario_buffer_free()
 *
 * The memory lies inside a range that an administrator has opened, see the module
 * parameter ``windows`` in chario(4).  It is mapped, uncached, at
 * chario_buffer_memory().  A transfer with CHARIO_TRANSFER_PHYSICAL names it by
 * its physical address.
 *
 * Context: may sleep.
 * Return: 0; -EPERM without CAP_SYS_RAWIO; -ENXIO where no open range has all of
 * it; -EOPNOTSUPP where the disk has no DMA; else as chario_buffer_pool().
 */
int chario_buffer_window(struct chario_device *device, uint64_t address, size_t bytes,
			 unsigned int flags, struct chario_buffer **buffer);

/**
 * chario_buffer_import() - make a buffer of another driver's memory
 * @device: an open device, which must stay open as long as the buffer
 * @fd: file descriptor of a dma-buf; stays the caller's, who may close it
 * @bytes: length, from its start; a multiple of the DMA alignment
 * @flags: CHARIO_BUFFER_SOURCE, or 0
 * @buffer: where the new buffer is put; the caller gives it to
 *	chario_buffer_free()
 *
 * The whole dma-buf counts against RLIMIT_MEMLOCK, however short @bytes is, and again
 * for each import of it.
 *
 * The CPU reaches the memory by mmap(2) of @fd and as DMA_BUF_IOCTL_SYNC says;
 * chario_buffer_memory() is NULL.  When the exporter takes its memory back,
 * transfers give -EINVAL.
 *
 * Context: may sleep.
 * Return: 0; -EBADF where @fd is not open; -EINVAL where it is not a dma-buf or is
 * shorter, or its pieces do not fit together in pages; -EOPNOTSUPP where the
 * exporter refuses the drive, or the disk has no DMA; else as
 * chario_buffer_register().
 */
int chario_buffer_import(struct chario_device *device, int fd, size_t bytes, unsigned int flags,
			 struct chario_buffer **buffer);

/**
 * chario_buffer_inside() - make a buffer inside the drive
 * @device: an open device, which must stay open as long as the buffer
 * @bytes: its length, a multiple of the DMA alignment
 * @flags: CHARIO_BUFFER_SOURCE, or 0
 * @buffer: where the new buffer is put; the caller gives it to
 *	chario_buffer_free()
 *
 * The memory is the drive's controller memory, zeroed.  It counts against
 * RLIMIT_MEMLOCK.  The CPU does not reach it:
 * chario_buffer_memory() is NULL; other drives do, by chario_buffer_export().
 *
 * Context: may sleep.
 * Return: 0; -EOPNOTSUPP where the drive has none; -ENOMEM where no piece of it is
 * as long; else as chario_buffer_register().
 */
int chario_buffer_inside(struct chario_device *device, size_t bytes, unsigned int flags,
			 struct chario_buffer **buffer);

/**
 * chario_buffer_export() - hand a buffer inside a drive to another
 * @buffer: made by chario_buffer_inside()
 * @fd: where the file descriptor of a dma-buf is put, for chario_buffer_import()
 *	of the other; the caller closes it
 *
 * The memory stays until @buffer, @fd and what has been imported are gone.
 *
 * Context: may sleep.
 * Return: 0; -EOPNOTSUPP where the buffer is of another kind; -EMFILE, -ENOMEM;
 * -ENODEV when the disk has been removed.
 */
int chario_buffer_export(const struct chario_buffer *buffer, int *fd);

/**
 * chario_buffer_sync() - hand bytes over between CPU and drive
 * @buffer: the buffer
 * @offset: of the first byte in it
 * @bytes: how many
 * @direction: CHARIO_SYNC_FOR_DEVICE before a transfer, of what the CPU has
 *	written; CHARIO_SYNC_FOR_CPU after a read; CHARIO_SYNC_IDLE hands nothing
 *	over
 *
 * Needed for buffers that are CHARIO_BUFFER_STREAMING, so that a program works
 * where DMA is not cache-coherent.  Elsewhere it does nothing.
 *
 * CHARIO_SYNC_IDLE says whether a transfer uses the buffer, wherever in it.  A
 * transfer that gave -ETIMEDOUT, another error, or less than it was asked for, may
 * still be with the drive, which reads or writes the memory, and then the disk, until
 * recovery has ended that (see chario(4), TIME): do not use memory or place again
 * before this gives 0, which it also does for a disk that has been removed.
 *
 * Context: may sleep.
 * Return: 0; -EINVAL where the bytes are not inside the buffer; -EBUSY for
 * CHARIO_SYNC_IDLE while a transfer, or another call of this kind, uses the buffer;
 * -ENODEV of the others when the disk has been removed.
 */
int chario_buffer_sync(const struct chario_buffer *buffer, uint64_t offset, size_t bytes,
		       enum chario_sync direction);

/**
 * chario_buffer_free() - give a buffer back
 * @buffer: the buffer, or NULL, which is let pass
 *
 * Waits for transfers that are in flight; afterwards the drive no longer
 * touches the memory, and @buffer may not be used.
 *
 * Context: may sleep.
 * Return: 0; -EINTR when the caller was killed while it waited; the module lets
 * go of the memory when the transfers have ended; -EBUSY, and @buffer stays,
 * where the device is a file or block device and a transfer of the buffer is in
 * flight, or its result waits in a queue.
 */
int chario_buffer_free(struct chario_buffer *buffer);

/**
 * chario_buffer_memory() - where a buffer is for the CPU
 * @buffer: the buffer
 *
 * Return: its first byte, NULL where the library has none; memory that the library has mapped is gone after
 * chario_buffer_free().
 */
void *chario_buffer_memory(const struct chario_buffer *buffer);

/**
 * chario_buffer_bytes() - length of a buffer
 * @buffer: the buffer
 *
 * Return: its bytes.
 */
size_t chario_buffer_bytes(const struct chario_buffer *buffer);

/**
 * chario_buffer_id() - what the kernel calls a buffer
 * @buffer: the buffer
 *
 * Return: what stands in &struct chario_transfer.buffer.
 */
uint32_t chario_buffer_id(const struct chario_buffer *buffer);

/**
 * chario_buffer_mapping() - where the memory of a buffer can be mapped once more
 * @buffer: made by chario_buffer_pool() or chario_buffer_window()
 * @offset: is filled in: what mmap(2) is given
 *
 * For whoever needs a mapping of its own, in a language that ties memory to objects
 * or at an address of its choice: shared, as long as the buffer, from its first byte.
 *
 * Context: any.
 * Return: the file descriptor to map, which stays the device's; -EOPNOTSUPP where the
 * memory is of another kind, or nothing but memory of the process, as on a file.
 */
int chario_buffer_mapping(const struct chario_buffer *buffer, uint64_t *offset);

/**
 * chario_buffer_read() - read from the disk into a buffer
 * @buffer: the buffer
 * @buffer_offset: of the first byte in it, aligned like its memory
 * @bytes: length, a multiple of the logical block
 * @disk_offset: of the first byte on the disk, a multiple of the logical block
 * @flags: CHARIO_TRANSFER_* bits, or 0
 *
 * Costs the same device commands as pread(2) of the same range.
 *
 * Context: may sleep.
 * Return: bytes that were read: fewer at the end of the disk or before the
 * first failed command, CHARIO_TRANSFER_MAX at most; -EINVAL where something is
 * not aligned or not inside the buffer; -EPERM where the buffer is
 * CHARIO_BUFFER_SOURCE; and the errors of pread(2), see chario(4).
 */
ssize_t chario_buffer_read(const struct chario_buffer *buffer, uint64_t buffer_offset, size_t bytes,
			   uint64_t disk_offset, unsigned int flags);

/**
 * chario_buffer_write() - write from a buffer to the disk
 * @buffer: the buffer
 * @buffer_offset: as for chario_buffer_read()
 * @bytes: as for chario_buffer_read()
 * @disk_offset: as for chario_buffer_read()
 * @flags: CHARIO_TRANSFER_* bits, or 0
 *
 * Context: may sleep.
 * Return: bytes that were written, as chario_buffer_read(); -ENOSPC behind the
 * end of the disk; -ESTALE behind the end of a plain file that was cut since it was
 * opened, as of chario_buffer_read(); and the errors of pwrite(2), see chario(4).
 */
ssize_t chario_buffer_write(const struct chario_buffer *buffer, uint64_t buffer_offset,
			    size_t bytes, uint64_t disk_offset, unsigned int flags);

/**
 * chario_transfer() - a transfer with all that can be said of it
 * @device: the device of the buffer
 * @transfer: what to do; @size is filled in from @size
 * @size: sizeof(*@transfer)
 *
 * Context: may sleep.
 * Return: as chario_buffer_read(); -ENOENT where there is no such buffer;
 * -E2BIG where a member that this kernel does not know is not zero.
 */
ssize_t chario_transfer(const struct chario_device *device, struct chario_transfer *transfer,
			size_t size);

#ifdef __cplusplus
}
#endif

#endif /* CHARIO_BUFFER_H */
