/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A use: a reason not to take a drive away from its driver.
 */
#ifndef CHARIO_USE_H
#define CHARIO_USE_H

#include <stdint.h>

#include <chario/drive.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * enum chario_use_kind - the kind of a use
 * @CHARIO_USE_ROOT: the root file system is on the drive; what: the mount point
 * @CHARIO_USE_MOUNT: a mounted file system is on the drive; what: the mount point
 * @CHARIO_USE_SWAP: swap space is on the drive; what: the file or device
 * @CHARIO_USE_HOLDER: another block device uses the drive (LVM, MD, dm-crypt, ...);
 *	what: that device
 * @CHARIO_USE_LOOP: a loop device uses the drive; what: that device
 * @CHARIO_USE_PROCESS: a process has the drive open; what: its number and name
 * @CHARIO_USE_EXCLUSIVE: an unknown user has the drive open exclusively; what: nothing
 * @CHARIO_USE_UNKNOWN: a check for uses failed; what: the reason
 * @CHARIO_USE_EXPORT: Linux's NVMe target gives it to other machines; what: the NVMe qualified
 *	name that it has there
 */
enum chario_use_kind {
	CHARIO_USE_ROOT,
	CHARIO_USE_MOUNT,
	CHARIO_USE_SWAP,
	CHARIO_USE_HOLDER,
	CHARIO_USE_LOOP,
	CHARIO_USE_PROCESS,
	CHARIO_USE_EXCLUSIVE,
	CHARIO_USE_UNKNOWN,
	CHARIO_USE_EXPORT,
};

/**
 * struct chario_use - one use
 * @kind: kind of the use
 * @device: device that is used, without "/dev/": a namespace, a partition, a disk of
 *	CharIO, or a device that uses one of them
 * @what: text that depends on @kind; may be empty
 *
 * The library makes the struct, owns its strings and may add members at its end.
 */
struct chario_use {
	enum chario_use_kind kind;
	const char *device;
	const char *what;
};

/**
 * typedef chario_use_visit - function called for each use
 * @use: the use; belongs to the library, valid until the visit returns
 * @data: argument of chario_use_each()
 *
 * Return: 0 to go on; anything else ends the walk and is its result.
 */
typedef int chario_use_visit(const struct chario_use *use, void *data);

/**
 * chario_use_each() - visit all uses of a drive
 * @drive: the drive
 * @visit: function called for each use; the root file system comes first
 * @data: argument of @visit
 *
 * The function looks at mounts, swap, the holders of namespaces and partitions, loop
 * devices, exports of Linux's NVMe target, exclusive opens, and the open files of processes as
 * far as the caller may see them: root sees all of them.  A check that fails for lack of rights or memory is reported
 * as a use of kind CHARIO_USE_UNKNOWN.
 *
 * Context: may sleep; @visit runs in the calling thread.
 * Return: 0, also when the drive is not in use; the result of @visit when it is not 0;
 * -ENODEV when the drive has gone, -ENOMEM.
 */
int chario_use_each(const struct chario_drive *drive, chario_use_visit *visit, void *data);

/**
 * chario_use_text() - the words for a kind of use
 * @kind: the kind
 *
 * Context: any.
 * Return: words to stand between @device and @what, such as "mounted at".  The string is
 * constant.
 */
const char *chario_use_text(enum chario_use_kind kind);

#ifdef __cplusplus
}
#endif

#endif /* CHARIO_USE_H */
