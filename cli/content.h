/* SPDX-License-Identifier: MIT */
/*
 * What a disk holds, before it is overwritten.
 */
#ifndef CHARIO_CLI_CONTENT_H
#define CHARIO_CLI_CONTENT_H

#include <stddef.h>

/*
 * Look for file systems, RAID, LVM, LUKS and partition tables on a disk, a block
 * device or a file: 1 and what it is in @text ("a file system (ext4)"); 0 for nothing
 * that is known; a negative errno.
 */
int cli_find_content(const char *name, char *text, size_t size);

/*
 * Take away all marks by which such things are found, on a disk that has just got a
 * store: of a file system some lie where areas will.  Returns 0 or a negative errno.
 */
int cli_wipe_content(const char *name);

#endif /* CHARIO_CLI_CONTENT_H */
