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
 * enum chario_use_kind - how a drive is used
 * @CHARIO_USE_ROOT: it holds the root file system; what: the mount point
 * @CHARIO_USE_MOUNT: it holds a mounted file system; what: the mount point
 * @CHARIO_USE_SWAP: it holds swap space; what: the file or device
 * @CHARIO_USE_HOLDER: another block device stands on it (LVM, MD, dm-crypt,
 *	...); what: that device
 * @CHARIO_USE_LOOP: a loop device stands on it; what: that device
 * @CHARIO_USE_PROCESS: a process has it open; what: its number and name
 * @CHARIO_USE_EXCLUSIVE: something that shows itself nowhere else has it open
 *	exclusively; what: nothing
 * @CHARIO_USE_UNKNOWN: it could not be found out whether it is used; what: the
 *	reason
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
};

/**
 * struct chario_use - one use
 * @kind: how the drive is used
 * @device: which of its devices is: a namespace, a partition, a disk of CharIO
 *	or a device that stands on one of them, without "/dev/"
 * @what: depends on @kind; empty when there is nothing to say
 *
 * The library makes it, owns its strings and may add members at its end.
 */
struct chario_use {
	enum chario_use_kind kind;
	const char *device;
	const char *what;
};

/**
 * typedef chario_use_visit - what is called for each use
 * @use: the use; belongs to the library, valid until the visit returns
 * @data: what the caller of chario_use_each() gave
 *
 * Return: 0 to go on; anything else ends the walk and is its result.
 */
typedef int chario_use_visit(const struct chario_use *use, void *data);

/**
 * chario_use_each() - visit all uses of a drive
 * @drive: the drive
 * @visit: is called once for each use; the root file system comes first
 * @data: is passed to @visit
 *
 * Looked at are mounts, swap, the holders of namespaces and partitions, loop
 * devices, exclusive opens, and the open files of processes as far as the
 * caller may see them: root sees all of them.  When a use must be missed for
 * lack of rights or memory, that is a use of kind CHARIO_USE_UNKNOWN.
 *
 * Context: may sleep; @visit runs in the calling thread.
 * Return: 0, also when the drive is not in use; what @visit returned when that
 * was not 0; -ENODEV when the drive has gone, -ENOMEM.
 */
int chario_use_each(const struct chario_drive *drive, chario_use_visit *visit, void *data);

/**
 * chario_use_text() - a kind of use in words
 * @kind: the kind
 *
 * Context: any.
 * Return: words to stand between the device and the what, as "mounted at".
 * The string is constant.
 */
const char *chario_use_text(enum chario_use_kind kind);

#ifdef __cplusplus
}
#endif

#endif /* CHARIO_USE_H */
