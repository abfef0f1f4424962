/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A buffer: memory that is pinned and mapped for the drive once and used by many transfers.
 * Each transfer then costs a device command, one barrier and one doorbell: nothing is
 * pinned, mapped or allocated.
 *
 * A buffer of a file or block device (chario_device_open_any()) is memory of the process
 * with all pages in place, and does not count against RLIMIT_MEMLOCK.
 * chario_buffer_register() and chario_buffer_pool() make one; the other functions return
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
 * chario_buffer_register() - make a buffer of the caller's memory
 * @device: an open device, which must stay open as long as the buffer
 * @memory: heap, huge pages or shared memory, aligned to @dma_alignment_bytes of
 *	&struct chario_info; it stays the caller's
 * @bytes: length in bytes, a multiple of the same alignment
 * @flags: CHARIO_BUFFER_SOURCE for memory that is only written from,
 *	CHARIO_BUFFER_STREAMING for memory that is synced with chario_buffer_sync(), or 0
 * @buffer: the new buffer; the caller gives it to
 *	chario_buffer_free()
 *
 * The memory counts against RLIMIT_MEMLOCK.  A child of fork(2) shares the
 * pages with its parent only until one of them writes: madvise(2) with
 * MADV_DONTFORK keeps that from happening.
 *
 * Context: may sleep.
 * Return: 0; -EFAULT if the memory does not allow the access, or cannot be pinned for long;
 * -ENOMEM if RLIMIT_MEMLOCK is exceeded or no memory is left; -EINVAL if an argument is not
 * aligned; -ENOSPC if the device has 65,535 buffers; -EOPNOTSUPP if the memory needs
 * chario_buffer_sync() and CHARIO_BUFFER_STREAMING is not set; -EIO if the memory cannot be
 * mapped for the drive; -ENODEV when the disk has been removed; -EINTR when the caller was
 * killed; -ENOTTY if the module is too old.
 */
int chario_buffer_register(struct chario_device *device, void *memory, size_t bytes,
			   unsigned int flags, struct chario_buffer **buffer);

/**
 * chario_buffer_pool() - make a buffer of memory that the module allocates
 * @device: an open device, which must stay open as long as the buffer; open for
 *	reading at least, and for reading and writing if the CPU is to write
 * @bytes: length in bytes, a multiple of the DMA alignment
 * @flags: CHARIO_BUFFER_SOURCE, CHARIO_BUFFER_STREAMING, or 0
 * @buffer: the new buffer; the caller gives it to
 *	chario_buffer_free()
 *
 * The memory is zeroed, lies near the drive, in as few pieces as possible, and counts
 * against RLIMIT_MEMLOCK.  It is mapped, cached, at chario_buffer_memory(); a child of
 * fork(2) shares it.
 *
 * Context: may sleep.
 * Return: 0; -EACCES if the device is open for writing only; -EOPNOTSUPP if the memory
 * needs chario_buffer_sync() and CHARIO_BUFFER_STREAMING is not set; else the errors of
 * chario_buffer_register().
 */
int chario_buffer_pool(struct chario_device *device, size_t bytes, unsigned int flags,
		       struct chario_buffer **buffer);

/**
 * chario_buffer_window() - make a buffer of physical memory that Linux does not manage
 * @device: an open device, see chario_buffer_pool()
 * @address: physical address of its first byte, a multiple of the page size
 * @bytes: length in bytes, a multiple of the page size
 * @flags: CHARIO_BUFFER_SOURCE, or 0
 * @buffer: the new buffer; the caller gives it to
 *	chario_buffer_free()
 *
 * The memory lies inside a range that an administrator has opened, see the module
 * parameter ``windows`` in chario(4).  It is mapped, uncached, at
 * chario_buffer_memory().  A transfer with CHARIO_TRANSFER_PHYSICAL names it by
 * its physical address.
 *
 * Context: may sleep.
 * Return: 0; -EPERM without CAP_SYS_RAWIO; -ENXIO if the memory does not lie in one open
 * range; -EOPNOTSUPP if the disk has no DMA; else the errors of chario_buffer_pool().
 */
int chario_buffer_window(struct chario_device *device, uint64_t address, size_t bytes,
			 unsigned int flags, struct chario_buffer **buffer);

/**
 * chario_buffer_import() - make a buffer of another driver's memory
 * @device: an open device, which must stay open as long as the buffer
 * @fd: file descriptor of a dma-buf, which the caller keeps and may close
 * @bytes: length in bytes from the start of the dma-buf, a multiple of the DMA
 *	alignment
 * @flags: CHARIO_BUFFER_SOURCE, or 0
 * @buffer: the new buffer; the caller gives it to
 *	chario_buffer_free()
 *
 * The whole dma-buf counts against RLIMIT_MEMLOCK, however small @bytes is, and again for
 * each import of it.
 *
 * The CPU accesses the memory through mmap(2) of @fd, with DMA_BUF_IOCTL_SYNC;
 * chario_buffer_memory() is NULL.  When the exporter takes its memory back, transfers
 * return -EINVAL.
 *
 * Context: may sleep.
 * Return: 0; -EBADF if @fd is not open; -EINVAL if it is not a dma-buf or is shorter, or
 * its pieces do not fit together in pages; -EOPNOTSUPP if the exporter refuses the drive,
 * or the disk has no DMA; else the errors of chario_buffer_register().
 */
int chario_buffer_import(struct chario_device *device, int fd, size_t bytes, unsigned int flags,
			 struct chario_buffer **buffer);

/**
 * chario_buffer_inside() - make a buffer inside the drive
 * @device: an open device, which must stay open as long as the buffer
 * @bytes: length in bytes, a multiple of the DMA alignment
 * @flags: CHARIO_BUFFER_SOURCE, or 0
 * @buffer: the new buffer; the caller gives it to
 *	chario_buffer_free()
 *
 * The memory is the drive's controller memory, zeroed.  It counts against RLIMIT_MEMLOCK.
 * The CPU cannot access it, so chario_buffer_memory() is NULL; other drives can, through
 * chario_buffer_export().
 *
 * Context: may sleep.
 * Return: 0; -EOPNOTSUPP if the drive has no such memory; -ENOMEM if no piece of it is long
 * enough; else the errors of chario_buffer_register().
 */
int chario_buffer_inside(struct chario_device *device, size_t bytes, unsigned int flags,
			 struct chario_buffer **buffer);

/**
 * chario_buffer_export() - hand a buffer inside a drive to another
 * @buffer: buffer made by chario_buffer_inside()
 * @fd: the file descriptor of a dma-buf, for chario_buffer_import() on the other
 *	drive; the caller closes it
 *
 * The memory stays allocated until @buffer, @fd and all imports of it are gone.
 *
 * Context: may sleep.
 * Return: 0; -EOPNOTSUPP if the buffer is of another kind; -EMFILE, -ENOMEM;
 * -ENODEV when the disk has been removed.
 */
int chario_buffer_export(const struct chario_buffer *buffer, int *fd);

/**
 * chario_buffer_sync() - hand bytes over between CPU and drive
 * @buffer: the buffer
 * @offset: offset of the first byte in the buffer
 * @bytes: number of bytes
 * @direction: CHARIO_SYNC_FOR_DEVICE before a transfer, for bytes that the CPU has
 *	written; CHARIO_SYNC_FOR_CPU after a read; CHARIO_SYNC_IDLE to hand nothing over
 *
 * Buffers with CHARIO_BUFFER_STREAMING need this call, so that a program works where DMA is
 * not cache-coherent.  On other buffers it does nothing.
 *
 * CHARIO_SYNC_IDLE finds out if a transfer uses any part of the buffer.  A transfer that
 * returned -ETIMEDOUT, another error, or fewer bytes than asked may still be with the
 * drive, which then accesses the memory and the disk until recovery has ended the transfer
 * (see chario(4), TIME).  Do not use the memory or the place on the disk again before this
 * call returns 0, which it also does for a disk that has been removed.
 *
 * Context: may sleep.
 * Return: 0; -EINVAL if the bytes are not inside the buffer; -EBUSY for CHARIO_SYNC_IDLE
 * while a transfer, or another call with CHARIO_SYNC_IDLE, uses the buffer; -ENODEV for the
 * other directions when the disk has been removed.
 */
int chario_buffer_sync(const struct chario_buffer *buffer, uint64_t offset, size_t bytes,
		       enum chario_sync direction);

/**
 * chario_buffer_free() - free a buffer
 * @buffer: the buffer, or NULL, which does nothing
 *
 * The call waits for transfers in flight; afterwards the drive no longer accesses the
 * memory, and @buffer must not be used.
 *
 * Context: may sleep.
 * Return: 0; -EINTR when the caller was killed during the wait, and then the module
 * releases the memory when the transfers have ended; -EBUSY, and @buffer stays valid, if
 * the device is a file or block device and a transfer of the buffer is in flight, or its
 * result waits in a queue.
 */
int chario_buffer_free(struct chario_buffer *buffer);

/**
 * chario_buffer_memory() - the address of a buffer for the CPU
 * @buffer: the buffer
 *
 * Return: address of its first byte; NULL if the library has none.  Memory that the library
 * has mapped is gone after chario_buffer_free().
 */
void *chario_buffer_memory(const struct chario_buffer *buffer);

/**
 * chario_buffer_bytes() - length of a buffer
 * @buffer: the buffer
 *
 * Return: number of bytes.
 */
size_t chario_buffer_bytes(const struct chario_buffer *buffer);

/**
 * chario_buffer_id() - the kernel's number of a buffer
 * @buffer: the buffer
 *
 * Return: value for &struct chario_transfer.buffer.
 */
uint32_t chario_buffer_id(const struct chario_buffer *buffer);

/**
 * chario_buffer_mapping() - file and offset for another mapping of a buffer
 * @buffer: buffer made by chario_buffer_pool() or chario_buffer_window()
 * @offset: set to the offset for mmap(2) in bytes
 *
 * Some programs need a mapping of their own, because their language ties memory to objects
 * or they need a certain address.  Such a mapping must be shared, have the length of the
 * buffer, and begin at its first byte.
 *
 * Context: any.
 * Return: the file descriptor to map, which stays the device's; -EOPNOTSUPP if the buffer
 * is of another kind, or its memory belongs to the process, as on a file.
 */
int chario_buffer_mapping(const struct chario_buffer *buffer, uint64_t *offset);

/**
 * chario_buffer_read() - read from the disk into a buffer
 * @buffer: the buffer
 * @buffer_offset: offset of the first byte in the buffer, aligned like its memory
 * @bytes: length in bytes, a multiple of the logical block
 * @disk_offset: offset of the first byte on the disk, a multiple of the logical block
 * @flags: CHARIO_TRANSFER_* bits, or 0
 *
 * A call costs the same device commands as pread(2) of the same range.
 *
 * Context: may sleep.
 * Return: number of bytes read: fewer at the end of the disk or before the first failed
 * command, CHARIO_TRANSFER_MAX at most; -EINVAL if something is not aligned or not inside
 * the buffer; -EPERM if the buffer is CHARIO_BUFFER_SOURCE; and the errors of pread(2), see
 * chario(4).
 */
ssize_t chario_buffer_read(const struct chario_buffer *buffer, uint64_t buffer_offset, size_t bytes,
			   uint64_t disk_offset, unsigned int flags);

/**
 * chario_buffer_write() - write from a buffer to the disk
 * @buffer: the buffer
 * @buffer_offset: see chario_buffer_read()
 * @bytes: see chario_buffer_read()
 * @disk_offset: see chario_buffer_read()
 * @flags: CHARIO_TRANSFER_* bits, or 0
 *
 * Context: may sleep.
 * Return: number of bytes written, see chario_buffer_read(); -ENOSPC behind the end of the
 * disk; -ESTALE behind the end of a plain file that was truncated since it was opened,
 * which chario_buffer_read() returns, too; and the errors of pwrite(2), see chario(4).
 */
ssize_t chario_buffer_write(const struct chario_buffer *buffer, uint64_t buffer_offset,
			    size_t bytes, uint64_t disk_offset, unsigned int flags);

/**
 * chario_transfer() - perform a transfer with all its options
 * @device: the device of the buffer
 * @transfer: the transfer; its size is filled in from @size
 * @size: sizeof(*@transfer)
 *
 * Context: may sleep.
 * Return: see chario_buffer_read(); -ENOENT if there is no such buffer; -E2BIG if a member
 * that this kernel does not know is not zero.
 */
ssize_t chario_transfer(const struct chario_device *device, struct chario_transfer *transfer,
			size_t size);

#ifdef __cplusplus
}
#endif

#endif /* CHARIO_BUFFER_H */
