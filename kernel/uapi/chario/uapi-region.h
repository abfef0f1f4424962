/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/*
 * The application binary interface of CharIO, fourth part: regions, and files confined to
 * a range.  <chario/uapi.h> includes this file, and states the rules.
 */
#ifndef _CHARIO_UAPI_REGION_H
#define _CHARIO_UAPI_REGION_H

#include <linux/types.h>

/* The largest number of regions of a disk, and the largest number of a region. */
#define CHARIO_REGIONS_MAX	128

/**
 * struct chario_region - a region: a range of a disk with a node of its own
 * @number: number M of the region, from 1 on: its node is /dev/chardiskNpM
 * @reserved: zero
 * @offset: offset of its first byte on the disk, in bytes, a multiple of
 *	logical_block_bytes
 * @bytes: length of the region in bytes, a multiple of logical_block_bytes and not 0
 */
struct chario_region {
	__u32 number;
	__u32 reserved;
	__aligned_u64 offset;
	__aligned_u64 bytes;
};

/**
 * struct chario_regions - set the regions of a disk (CHARIO_IOC_SET_REGIONS)
 * @size: size of this struct, see &struct chario_info
 * @count: number of regions, 0 to CHARIO_REGIONS_MAX
 * @address: address of an array of @count &struct chario_region; no number stands there
 *	twice, no two regions overlap, and all lie on the disk
 *
 * These regions replace those that the disk has.  One that keeps its number, offset and
 * length stays as it is, open or not.  The regions are forgotten with the disk: what is to
 * stay is in a partition table, from which ``chario region`` sets them.
 *
 * Errors: EPERM without CAP_SYS_ADMIN; EINVAL if the file is not one of the whole disk, or
 * a region is not as described; EBUSY if a region that would change or go is open, and
 * then all stay; ENOSPC if the kernel has no minor number left, or ENOMEM, and then
 * some of the new regions may be missing.
 */
struct chario_regions {
	__u32 size;
	__u32 count;
	__aligned_u64 address;
};

/* Flags of &struct chario_confine. */
#define CHARIO_CONFINE_READ_ONLY	(1U << 0) /* the new file cannot write */

/**
 * struct chario_confine - make a file that is confined to a range (CHARIO_IOC_CONFINE)
 * @size: size of this struct, see &struct chario_info
 * @flags: CHARIO_CONFINE_READ_ONLY or 0
 * @offset: offset of the range in this file, in bytes, a multiple of logical_block_bytes
 * @bytes: length of the range in bytes, a multiple of logical_block_bytes and not 0
 *
 * The ioctl returns a new file descriptor, with close-on-exec.  Its file is a disk of
 * @bytes: offset 0 is the first byte of the range, and no call reaches another one.  It
 * may read and write as this file may, its writes are durable if those of this file are
 * (O_DSYNC, O_SYNC), it is urgent if this file is, and else begins with default options and
 * without buffers.  It can be confined further, but not widened: its descriptor can be given
 * to a process that has no right to the disk.  Opening it anew, by /proc/PID/fd, gives ENXIO.
 *
 * The new file keeps this one open, and so its locks (fcntl(2), F_OFD_SETLK), pins and
 * claims, until it is closed itself; of a confined file, the one that was opened by its path
 * stays open.  Locks of the new file are its own.
 *
 * A confined file can neither set pins, nor take a private queue, nor record a timeline,
 * nor change whether it is urgent (EPERM), because all of these concern others.
 *
 * Errors: EINVAL if the range is empty, misaligned or not inside this file, a flag is unknown,
 * or CHARIO_CONFINE_READ_ONLY is set and this file cannot read; EMFILE or ENFILE if there are
 * too many open files; EOPNOTSUPP if files of the disk are to take calls of any size and
 * cannot; ENOMEM.
 */
struct chario_confine {
	__u32 size;
	__u32 flags;
	__aligned_u64 offset;
	__aligned_u64 bytes;
};

#endif /* _CHARIO_UAPI_REGION_H */
