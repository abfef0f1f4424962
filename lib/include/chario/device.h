/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A device: a character disk that is open, or a block device or a plain file
 * that takes its place.
 *
 * The structs of <chario/uapi.h> are the structs of this library too.  Their first member
 * is their size, which the functions below fill in from their last argument.  So an old
 * program keeps working with a newer library and kernel, and the other way round.
 *
 * Data do not pass through here: read(2), write(2) and io_uring take the file descriptor
 * that chario_device_fd() returns.
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
 * @name: name of the disk: a path (with a slash in it), else "chardiskN", "chardiskNpM" for
 *	a region, or just "N", else the serial number of its drive; "/dev/fd/N" and
 *	"/proc/self/fd/N" stand for a disk that this process has open already
 * @flags: flags of open(2): O_RDONLY, O_WRONLY or O_RDWR, with O_DSYNC, O_EXCL or
 *	O_NONBLOCK if wanted; O_CLOEXEC and O_NOCTTY are always added
 * @device: the new device; the caller owns it and gives it to
 *	chario_device_close()
 *
 * Context: may sleep.
 * Return: 0; -ENODEV if there is no such disk; -ENOTUNIQ if several disks have this serial
 * number; -ENOTTY if the file is not a disk of CharIO; -ENOTBLK if the file has the path of
 * a disk, /dev/chardiskN, and is not its node, such as a plain file that dd made there
 * while the disk was away; -EPROTO if this library is too old for the ABI of the module;
 * -EACCES or -EPERM without the right to open the disk; -EROFS if it is write-protected and
 * @flags ask for writing; -EBUSY if it is in exclusive use, or is to be open for writing and the
 * block disk, or a writer of another node of the disk, uses a part of it; -EINVAL if @name is empty;
 * -ENOMEM; or another error of open(2).
 */
int chario_device_open(const char *name, int flags, struct chario_device **device);

/**
 * chario_device_open_any() - open a character disk, a block device or a file
 * @name: name of the device, see chario_device_open(); a name without a slash that no
 *	disk has means a file in the current directory
 * @flags: see chario_device_open(); O_DIRECT makes it an error if a file or block
 *	device does not support direct I/O
 * @device: see chario_device_open()
 *
 * The device is used in the same way, whatever its kind.  For a block device or a plain
 * file, the library does what the kernel module does for a character disk:
 *
 * - O_DIRECT is set if the file supports it, which F_GETFL of fcntl(2) shows; otherwise
 *   data go through the page cache.
 * - chario_device_get_info() returns "block" or "file" as the backend, and 0 as the
 *   abi_version, since there is no module.  The capacity is the size at that moment, in
 *   whole logical blocks; writing does not make a file longer.  The alignment is that of
 *   direct I/O (4096 bytes on the disk and 512 in memory if the kernel does not report
 *   it); through the page cache it is sectors of 512 bytes on the disk and 4 bytes in
 *   memory.
 * - A buffer is memory of the process: chario_buffer_pool() and
 *   chario_buffer_register() make one.  It does not count against
 *   RLIMIT_MEMLOCK.
 * - CHARIO_TRANSFER_FUA is RWF_DSYNC, a flush is fdatasync(2).  There are no
 *   deadlines: @deadline_ns is checked and has no effect.
 * - Only the module has counters, options, private queues, pins, health and timelines:
 *   their functions return -ENOTTY.
 *
 * Context: may sleep.
 * Return: see chario_device_open(); -ENOENT if there is no such file; -ENOTTY if the file
 * has another type: a directory, a FIFO, another character device; -EINVAL if @flags has
 * O_CREAT, O_TRUNC, O_APPEND or O_PATH, or has O_DIRECT and the file does not support it.
 */
int chario_device_open_any(const char *name, int flags, struct chario_device **device);

/**
 * chario_device_close() - close a device
 * @device: the device, or NULL, which does nothing
 *
 * Afterwards neither @device nor its file descriptor must be used.
 *
 * Context: may sleep; no other thread may be using @device.
 */
void chario_device_close(struct chario_device *device);

/**
 * chario_device_fd() - the file descriptor of a device
 * @device: an open device, which keeps owning the descriptor
 *
 * Return: a descriptor for read(2), write(2), fsync(2) and io_uring.
 */
int chario_device_fd(const struct chario_device *device);

/**
 * chario_device_path() - the path that a device was opened by
 * @device: an open device, which owns the string
 *
 * Return: a path that ends with a NUL, "/dev/chardisk0" or the path that the caller gave.
 */
const char *chario_device_path(const struct chario_device *device);

/**
 * chario_device_get_info() - the properties and features of a disk
 * @device: an open device
 * @info: struct to fill in; members that the kernel does not know read as zero
 * @size: sizeof(*@info)
 *
 * Context: may sleep.
 * Return: 0; -ENODEV when the disk has been removed, -EINVAL when @size is
 * smaller than the first version of the struct.
 */
int chario_device_get_info(const struct chario_device *device, struct chario_info *info,
			   size_t size);

/**
 * chario_device_get_stats() - the counters of a disk
 * @device: an open device
 * @stats: struct to fill in; members that the kernel does not know read as zero
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
 * @options: struct to fill in; members that the kernel does not know read as zero
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
 * @options: all options; a zero restores the setting of the disk
 * @size: sizeof(*@options)
 *
 * Calls under way keep the options that they began with.
 *
 * Context: may sleep.
 * Return: 0; -EOPNOTSUPP if polling is asked for and the disk has no queue to poll; -EINVAL
 * if a value is out of its range; -E2BIG if a member that this kernel does not know is not
 * zero; -ENODEV when the disk has been removed.
 */
int chario_device_set_options(const struct chario_device *device,
			      const struct chario_file_options *options, size_t size);

/**
 * chario_device_set_urgent() - say that the calls of this open file are urgent
 * @device: an open device
 * @urgent: 1 if they are from now on, 0 if they are not
 *
 * While an urgent call is under way, and for some milliseconds afterwards, the drive has few
 * commands of block disks or none (isolation_depth and isolation_ms in sysfs), so that the
 * call waits for no file system.  Other options of the file stay.
 *
 * Context: may sleep.
 * Return: 0; -ENODEV when the disk has been removed; -EINVAL if the module is too old; -ENOTTY
 * if @device is no character disk.
 */
int chario_device_set_urgent(const struct chario_device *device, int urgent);

/**
 * chario_device_take_queue() - get a private queue
 * @device: an open device; all calls of its file use the queue from then on
 * @queue: the wanted properties; set to the granted ones
 * @size: sizeof(*@queue)
 *
 * The queue is released with the last close of the file.
 *
 * Context: may sleep.
 * Return: 0; -EBUSY if the file has one; -ENOSPC if all private queues of the module are
 * taken; -EAGAIN while the drive is being recovered or is about to be; -EINVAL if there is
 * no such CPU or a flag is unknown; -EPERM if the caller may not have interrupts on that
 * CPU; -EOPNOTSUPP if the disk has no private queues; -ENOMEM; -EINTR on a fatal signal;
 * -ETIMEDOUT if the drive does not answer, and is reset; -EIO, -EBUSY, -EACCES or
 * -EOPNOTSUPP if the drive refuses; -ENODEV when the disk has been removed; -ENOTTY if the
 * module is too old.
 */
int chario_device_take_queue(const struct chario_device *device, struct chario_queue_create *queue,
			     size_t size);

/**
 * chario_device_settle() - wait for transfers that have been given up
 * @device: an open device
 * @offset: offset on the disk in bytes
 * @bytes: number of bytes from there; transfers elsewhere are not waited for
 * @deadline_ns: longest wait in nanoseconds: 0 for the disk's recovery bound, or its
 *	deadline if that bound is 0; else 1 ms to 1 hour
 *
 * A transfer that returned -ETIMEDOUT, or whose caller was killed, may still be with the
 * drive, and reach the disk later, until recovery has ended it.  When this call returns 0,
 * no such transfer of this open file can reach these bytes any more.  A block device or a
 * plain file never gives up a transfer, so there is nothing to wait for.
 *
 * Call this before releasing a lock of the file (fcntl(2), F_OFD_SETLK).  It is not needed
 * before closing the device: such transfers keep its file open, and so its locks.
 *
 * Context: may sleep.
 * Return: 0; -ETIMEDOUT if such a transfer was left at the deadline; -EINTR if the caller
 * was killed; -EINVAL if @deadline_ns is out of its range, or the bytes end beyond 2^64;
 * -ENOTTY if the module is too old.  A disk that has gone does not cause -ENODEV.
 */
int chario_device_settle(const struct chario_device *device, uint64_t offset, uint64_t bytes,
			 uint64_t deadline_ns);

/**
 * chario_device_confine() - make a device that reaches a range of another one only
 * @device: an open character disk
 * @offset: offset of the range in @device, in bytes, a multiple of the logical block
 * @bytes: length of the range in bytes, a multiple of the logical block and not 0
 * @flags: CHARIO_CONFINE_READ_ONLY if the new device cannot write; else 0
 * @confined: the new device; the caller owns it and gives it to chario_device_close()
 *
 * The new device is a disk of @bytes: offset 0 is the first byte of the range, and no call
 * reaches another one.  Nobody can widen it, so its descriptor can be given to a process that
 * has no right to the disk, which opens it by the path /dev/fd/N (chario_device_open()).  Its
 * file keeps that of @device open, and so the locks that have been taken through it: @device may
 * be closed.  If @device is confined itself, the file that was opened by its path is kept open.
 *
 * Context: may sleep.
 * Return: 0; -EINVAL if the range is empty, misaligned or not inside @device, or @flags has
 * another bit; -EMFILE, -ENFILE, -ENOMEM; -ENODEV when the disk has been removed; -ENOTTY if
 * the module is too old or @device is no character disk.
 */
int chario_device_confine(const struct chario_device *device, uint64_t offset, uint64_t bytes,
			  uint32_t flags, struct chario_device **confined);

#ifdef __cplusplus
}
#endif

#endif /* CHARIO_DEVICE_H */
