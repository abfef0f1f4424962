/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Disks of CharIO as sysfs shows them, and their names.
 */
#ifndef CHARIO_DISK_H
#define CHARIO_DISK_H

#include <limits.h>

#define CHARIO_DISK_CLASS "/sys/class/chario"

/*
 * Find the device file for a name: a path with a slash stays as it is, "N" and "chardiskN" are
 * names of disks, any other text is a serial number.  Returns 0, -ENODEV, -ENOTUNIQ, -EINVAL or
 * another negative errno.
 */
int chario_disk_path(char path[PATH_MAX], const char *name);

/*
 * Check that the file at a path may be opened.  Returns 0; -ENOENT if there is none; -ENOTBLK if
 * it is /dev/chardiskN but not the node of that disk, such as a plain file that dd has made
 * there while the disk was away; or another negative errno.
 */
int chario_disk_check_node(const char *path);

#endif /* CHARIO_DISK_H */
