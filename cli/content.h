/* SPDX-License-Identifier: MIT */
/* The content of a disk, before it is overwritten. */
#ifndef CHARIO_CLI_CONTENT_H
#define CHARIO_CLI_CONTENT_H

#include <stddef.h>

/*
 * Look for file systems, RAID, LVM, LUKS and partition tables on a disk, a block device or
 * a file.  Returns 1 and a description in @text ("a file system (ext4)"); 0 if nothing is
 * found; or a negative errno.
 */
int cli_find_content(const char *name, char *text, size_t size);

/*
 * Remove all marks of such content from a disk that has just got a store; some marks of a
 * file system lie in the space of areas.  Returns 0 or a negative errno.
 */
int cli_wipe_content(const char *name);

#endif /* CHARIO_CLI_CONTENT_H */
