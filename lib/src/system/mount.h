/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Mounts: what stands in /proc/self/mountinfo, see proc_pid_mountinfo(5).
 */
#ifndef CHARIO_MOUNT_H
#define CHARIO_MOUNT_H

/**
 * struct chario_mount - one mount
 * @number: "major:minor" of the file system
 * @point: where it is mounted
 * @type: type of the file system
 * @source: what it was mounted from
 * @options: options of the file system
 * @line: the line that the members point into
 */
struct chario_mount {
	const char *number;
	const char *point;
	const char *type;
	const char *source;
	const char *options;
	char *line;
};

/*
 * Read all mounts that the caller can see.  Returns how many, or a negative
 * errno.  The caller frees them with chario_mount_free().
 */
int chario_mount_read(struct chario_mount **mounts);
void chario_mount_free(struct chario_mount *mounts, int nr_mounts);

/* Replace the octal escapes with which procfs writes blanks in paths. */
void chario_mount_unescape(char *text);

#endif /* CHARIO_MOUNT_H */
