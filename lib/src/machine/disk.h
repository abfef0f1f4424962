/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Disks of CharIO as sysfs shows them, and their names.
 */
#ifndef CHARIO_DISK_H
#define CHARIO_DISK_H

#include <limits.h>

#define CHARIO_DISK_CLASS "/sys/class/chario"

/*
 * The device file that a name means: a path with a slash stays as it is,
 * "N" and "chardiskN" are names, anything else is a serial number.  Returns 0,
 * -ENODEV, -ENOTUNIQ, -EINVAL or another negative errno.
 */
int chario_disk_path(char path[PATH_MAX], const char *name);

/*
 * Whether what stands at a path may be opened: 0; -ENOTBLK where it is /dev/chardiskN and not
 * the node of that disk, such as a plain file that dd has made there while the disk was away;
 * -ENOENT where nothing stands there.
 */
int chario_disk_check_node(const char *path);

#endif /* CHARIO_DISK_H */
