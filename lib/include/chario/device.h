/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A device: a character disk that is open, or a block device or a plain file
 * that takes its place.
 *
 * The structs of <chario/uapi.h> are the structs of this library too.  Their
 * first member is their size, which the functions below fill in from their
 * last argument, so a program that was compiled long ago keeps working with a
 * newer library and kernel, and the other way round.
 *
 * Data does not pass through here: read(2), write(2) and io_uring take the
 * file descriptor that chario_device_fd() returns.
 */
#ifndef CHARIO_DEVICE_H
#define CHARIO_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include <chario/uapi.h>

#ifdef __cplusplus
extern "C" {
#endif

/** struct chario_device - an open disk or file; its members are private */
struct chario_device;

/**
 * chario_device_open() - open a character disk
 * @name: which disk: a path (it has a slash in it), else "chardiskN" or just
 *	"N", else the serial number of its drive
 * @flags: how, as for open(2): O_RDONLY, O_WRONLY or O_RDWR, with O_DSYNC,
 *	O_EXCL or O_NONBLOCK if wanted; O_CLOEXEC is always added
 * @device: where the new device is put; the caller owns it and gives it to
 *	chario_device_close()
 *
 * Context: may sleep.
 * Return: 0; -ENODEV where no such disk is there, -ENOTUNIQ where several
 * disks have this serial number, -ENOTTY where the file is not a disk of
 * CharIO, -ENOTBLK where it has the path of a disk, /dev/chardiskN, and is not its
 * node, such as a plain file that dd made there while the disk was away, -EPROTO where the module speaks an ABI this library is too old for,
 * -EACCES or -EPERM without the right to open it, -EROFS when it is
 * write-protected and to be written, -EBUSY when it is in exclusive use,
 * -EINVAL where @name is empty, -ENOMEM, or what else open(2) gives.
 */
int chario_device_open(const char *name, int flags, struct chario_device **device);

/**
 * chario_device_open_any() - open a character disk, a block device or a file
 * @name: which: as for chario_device_open(); without a slash in it, and where
 *	there is no such disk, a file in the current directory
 * @flags: as for chario_device_open(); O_DIRECT says that a file or block device
 *	without direct I/O is an error
 * @device: as for chario_device_open()
 *
 * The device is used in the same way, whatever it is.  For a block device or a
 * plain file, the library does what the kernel module does for a character disk:
 *
 * - O_DIRECT is set where the file takes it, F_GETFL of fcntl(2) tells; else
 *   data go through the page cache.
 * - chario_device_get_info() says "block" or "file" as its backend, and 0 as
 *   its abi_version: there is no module.  The capacity is the size at that
 *   moment, in whole logical blocks; a file does not grow by being written.
 *   Alignment is what direct I/O needs (4096 bytes on the disk and 512 in memory
 *   where the kernel does not tell); through the page cache, whole sectors of
 *   512 bytes on the disk and 4 bytes in memory.
 * - A buffer is memory of the process: chario_buffer_pool() and
 *   chario_buffer_register() make one.  It does not count against
 *   RLIMIT_MEMLOCK.
 * - CHARIO_TRANSFER_FUA is RWF_DSYNC, a flush is fdatasync(2).  There are no
 *   deadlines: @deadline_ns is checked and has no effect.
 * - Counters, options, queues of one's own, pins, health and timelines are the
 *   module's: -ENOTTY.
 *
 * Context: may sleep.
 * Return: as chario_device_open(); -ENOENT where there is no such file, -ENOTTY
 * where it is something else: a directory, a FIFO, another character device;
 * -EINVAL where @flags has O_CREAT, O_TRUNC, O_APPEND or O_PATH, or has O_DIRECT
 * and the file does not know it.
 */
int chario_device_open_any(const char *name, int flags, struct chario_device **device);

/**
 * chario_device_close() - close a device
 * @device: the device, or NULL, which is let pass
 *
 * Afterwards neither @device nor its file descriptor may be used.
 *
 * Context: may sleep; no other thread may be using @device.
 */
void chario_device_close(struct chario_device *device);

/**
 * chario_device_fd() - the file descriptor of a device
 * @device: an open device, which goes on to own the descriptor
 *
 * Return: a descriptor for read(2), write(2), fsync(2) and io_uring.
 */
int chario_device_fd(const struct chario_device *device);

/**
 * chario_device_path() - the path that a device was opened by
 * @device: an open device, which owns the string
 *
 * Return: a path that ends with a NUL, "/dev/chardisk0" or as the caller
 * gave it.
 */
const char *chario_device_path(const struct chario_device *device);

/**
 * chario_device_get_info() - what a disk is and what it can do
 * @device: an open device
 * @info: is filled in; members that the kernel does not know read as zero
 * @size: sizeof(*@info)
 *
 * Context: may sleep.
 * Return: 0; -ENODEV when the disk has been removed, -EINVAL when @size is
 * smaller than the first version of the struct.
 */
int chario_device_get_info(const struct chario_device *device, struct chario_info *info,
			   size_t size);

/**
 * chario_device_get_stats() - what has happened on a disk so far
 * @device: an open device
 * @stats: is filled in; members that the kernel does not know read as zero
 * @size: sizeof(*@stats)
 *
 * Each counter is exact, but they are not read at one instant.
 *
 * Context: may sleep.
 * Return: 0; -ENODEV when the disk has been removed, -EINVAL when @size is
 * smaller than the first version of the struct.
 */
int chario_device_get_stats(const struct chario_device *device, struct chario_stats *stats,
			    size_t size);

/**
 * chario_device_get_options() - the options of this open file
 * @device: an open device
 * @options: is filled in; members that the kernel does not know read as zero
 * @size: sizeof(*@options)
 *
 * Context: may sleep.
 * Return: 0; -ENODEV when the disk has been removed, -EINVAL when @size is
 * smaller than the first version of the struct.
 */
int chario_device_get_options(const struct chario_device *device,
			      struct chario_file_options *options, size_t size);

/**
 * chario_device_set_options() - set the options of this open file
 * @device: an open device; its file alone is changed, not the disk
 * @options: all options; what is zero goes back to the setting of the disk
 * @size: sizeof(*@options)
 *
 * Calls that are under way keep the options that they began with.
 *
 * Context: may sleep.
 * Return: 0; -EOPNOTSUPP where polling is asked for and the disk has no queue
 * to poll, -EINVAL where a value is out of its range, -E2BIG where a member
 * that this kernel does not know is not zero, -ENODEV when the disk has been
 * removed.
 */
int chario_device_set_options(const struct chario_device *device,
			      const struct chario_file_options *options, size_t size);

/**
 * chario_device_take_queue() - have a queue of one's own
 * @device: an open device; all calls of its file use the queue from then on
 * @queue: what is wanted; what was granted is put there
 * @size: sizeof(*@queue)
 *
 * The queue goes with the last close of the file.
 *
 * Context: may sleep.
 * Return: 0; -EBUSY where the file has one; -ENOSPC where all that the module
 * has set aside are taken; -EAGAIN while the drive is being recovered, or will
 * be; -EINVAL where there is no such CPU or a flag is not known; -EPERM where the
 * caller may not have interrupts on that CPU; -EOPNOTSUPP where the disk has none;
 * -ENOMEM; -EINTR on a fatal signal; -ETIMEDOUT where the drive does not answer,
 * and is reset; -EIO, -EBUSY, -EACCES or -EOPNOTSUPP where it refuses; -ENODEV
 * when the disk has been removed; -ENOTTY where the module is too old.
 */
int chario_device_take_queue(const struct chario_device *device, struct chario_queue_create *queue,
			     size_t size);

/**
 * chario_device_settle() - wait for transfers that have been given up
 * @device: an open device
 * @offset: on the disk, bytes
 * @bytes: from there; transfers elsewhere are not waited for
 * @deadline_ns: how long to wait: 0 for the disk's recovery bound, else 1 ms to 1 hour
 *
 * A transfer that gave -ETIMEDOUT, or whose caller was killed, may still be with the
 * drive, and reach the disk later, until recovery has ended it.  When this returns 0, none
 * that was made through this open file can reach these bytes any more.  A block device and a plain file give no transfer
 * up: there is nothing to wait for.
 *
 * Who gives back a lock of the file (fcntl(2), F_OFD_SETLK) calls this before.  Who closes
 * the device need not: such transfers keep its file open, and its locks.
 *
 * Context: may sleep.
 * Return: 0; -ETIMEDOUT where there still was one at the deadline; -EINTR where the
 * caller was killed; -EINVAL where @deadline_ns is out of its range, or the bytes end
 * beyond 2^64; -ENOTTY where the module is too old.  A disk that has gone gives no -ENODEV.
 */
int chario_device_settle(const struct chario_device *device, uint64_t offset, uint64_t bytes,
			 uint64_t deadline_ns);

#ifdef __cplusplus
}
#endif

#endif /* CHARIO_DEVICE_H */
